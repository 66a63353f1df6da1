#!/usr/bin/env bash
# A training run under Slurm: the first node serves rollouts, the others train. Whatever fails ends all of it, and the
# job goes back into the queue and on from its last checkpoint, up to RESTARTS times.
#
#   sbatch --nodes=5 examples/cluster/slurm.sh examples/cluster/grpo.yaml --output_dir /shared/runs/math
#
# The checkout, its Python environment, the recipe, the model and output_dir must be on a file system of all nodes.
#SBATCH --job-name=markscheme
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=markscheme-%j.log
set -euo pipefail
here=${EXAMPLES:-$SLURM_SUBMIT_DIR/examples}
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
server=${hosts[0]}
trainers=("${hosts[@]:1}")
export MAIN=${trainers[0]} NODES=${#trainers[@]} GPUS=${GPUS:-8}
model=$(sed -En "s/^model_name_or_path: *[\"']?([^\"'#]*[^\"'# ]).*/\1/p" "$1") # without quotes and what a comment says
export MODEL=${MODEL:-$model} TENSOR_PARALLEL=${TENSOR_PARALLEL:-8}
list=$(IFS=,; echo "${trainers[*]}")

srun --kill-on-bad-exit=1 --nodes=1 --ntasks=1 --nodelist="$server" "$here/cluster/serve.sh" &
serving=$!
srun --kill-on-bad-exit=1 --nodes="$NODES" --ntasks="$NODES" --nodelist="$list" \
  bash -c 'NODE_RANK=$SLURM_PROCID exec "$0" "$@"' "$here/cluster/train.sh" "$@" \
  --vllm_server_base_url "http://$server:${SERVER_PORT:-8000}" &
training=$!

# Whichever ends first decides: the trainers' end is the run's, the server's end is a failure.
code=0
wait -n -p first "$serving" "$training" || code=$?
if [ "$first" = "$serving" ]; then code=1; fi
kill "$serving" "$training" 2>/dev/null || true
wait || true
if [ "$code" != 0 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt "${RESTARTS:-5}" ]; then
  echo "a part of the run ended with $code: back into the queue, restart $((${SLURM_RESTART_COUNT:-0} + 1))"
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
