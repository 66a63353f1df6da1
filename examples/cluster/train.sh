#!/usr/bin/env bash
# One trainer node of a training run. The same command on every trainer node, but for NODE_RANK:
#
#   NODES=4 NODE_RANK=0 GPUS=8 MAIN=10.0.0.2 examples/cluster/train.sh examples/cluster/grpo.yaml --output_dir runs/math
#
# NODES: trainer nodes. NODE_RANK: this one's, from 0. GPUS: processes a node. MAIN: the address of the node of rank 0,
# which also talks to the rollout server. PORT: a free port there. CONFIG: accelerate's configuration (zero3.yaml or
# fsdp2.yaml): what it says of machines is overridden here.
#
# It goes on from the last checkpoint in output_dir, if there is one: starting it again is how a run is taken up.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${NODES:?how many trainer nodes}" "${NODE_RANK:?which of them this is, from 0}" "${MAIN:?the address of node 0}"
recipe=${1:?usage: train.sh RECIPE.yaml [--field value …]}
shift
exec accelerate launch \
  --config_file "${CONFIG:-$here/accelerate/zero3.yaml}" \
  --num_machines "$NODES" --machine_rank "$NODE_RANK" --num_processes "$((NODES * ${GPUS:-8}))" \
  --main_process_ip "$MAIN" --main_process_port "${PORT:-29500}" --rdzv_backend static \
  -m markscheme.trainer.train --config "$recipe" --resume "$@"
