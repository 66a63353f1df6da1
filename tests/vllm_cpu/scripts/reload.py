"""Load new weights into a running engine by vLLM's own ``reload_weights``; say what it generates before and after."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import vllm


def main(folder: Path) -> None:
    settings = json.loads((folder / "settings.json").read_text())
    engine = vllm.LLM(
        settings["policy"], dtype="float32", enforce_eager=True, max_model_len=64, enable_prefix_caching=False
    )
    greedy = vllm.SamplingParams(temperature=0, max_tokens=16)

    def generated() -> list[list[int]]:
        outputs = engine.generate(settings["prompts"], greedy, use_tqdm=False)
        return [list(output.outputs[0].token_ids) for output in outputs]

    found = {"before": generated()}
    engine.collective_rpc("reload_weights", kwargs={"weights_path": settings["other"]})
    found["after"] = generated()
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
