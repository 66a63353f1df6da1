"""Read a process reward model through vLLM's pooling runner: both classes' probabilities at each separator."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import vllm
from vllm.config import PoolerConfig


def main(folder: Path) -> None:
    settings = json.loads((folder / "settings.json").read_text())
    engine = vllm.LLM(
        settings["judge"],
        runner="pooling",
        dtype="float32",
        enforce_eager=True,
        max_model_len=512,
        pooler_config=PoolerConfig(tok_pooling_type="STEP", step_tag_id=settings["separator"]),
    )
    prompts = [{"prompt_token_ids": ids} for ids in settings["solutions"]]
    outputs = engine.encode(prompts, pooling_task="token_classify", use_tqdm=False)
    found = {"probabilities": [output.outputs.data.tolist() for output in outputs]}
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
