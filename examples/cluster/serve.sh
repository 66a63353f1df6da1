#!/usr/bin/env bash
# The rollout server of a training run: on one node, or on several that a Ray cluster joins.
#
#   MODEL=Qwen/Qwen2.5-7B-Instruct TENSOR_PARALLEL=8 examples/cluster/serve.sh
#
# MODEL: the recipe's model_name_or_path. TENSOR_PARALLEL: GPUs that the model is spread over; for more than this node
# has, start Ray on the nodes first and pass --distributed_executor_backend ray. More options go to vLLM as they are.
#
# It must not be restarted under a running trainer: it would generate with the weights that it loaded. It ends with the
# run, and both are started again together.
set -euo pipefail
: "${MODEL:?the model_name_or_path of the recipe}"
exec trl vllm-serve --model "$MODEL" --host 0.0.0.0 --port "${SERVER_PORT:-8000}" \
  --tensor_parallel_size "${TENSOR_PARALLEL:-1}" --gpu_memory_utilization "${GPU_MEMORY:-0.9}" \
  --max_model_len "${MAX_MODEL_LEN:-4096}" "$@"
