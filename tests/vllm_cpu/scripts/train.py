"""A run from a recipe, with what vLLM got: ``python train.py FOLDER`` (settings.json in, found.json out)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from markscheme.trainer import launch, recipe
from tinyrecipes import write_recipe


def engine_of(trainer: Any) -> dict[str, Any]:
    """What reached vLLM's own configuration."""
    found = trainer.vllm_generation.llm.llm_engine.vllm_config
    speculative = found.speculative_config
    return {
        "dtype": str(found.model_config.dtype),
        "enforce_eager": found.model_config.enforce_eager,
        "max_model_len": found.model_config.max_model_len,
        "logprobs_mode": str(found.model_config.logprobs_mode),
        "max_num_batched_tokens": found.scheduler_config.max_num_batched_tokens,
        "speculative": None if speculative is None else [speculative.method, speculative.num_speculative_tokens],
    }


def drawn_by(trainer: Any) -> list[list[Any]]:
    """The list that every call's sampling parameters will be put into, by the engine's own ``generate``."""
    engine, seen = trainer.vllm_generation.llm, []
    generate = engine.generate

    def watched(prompts: Any, sampling_params: Any, **more: Any) -> Any:
        seen.append([sampling_params.temperature, sampling_params.top_k, sampling_params.max_tokens])
        return generate(prompts, sampling_params=sampling_params, **more)

    engine.generate = watched
    return seen


def main(folder: Path) -> None:
    settings = json.loads((folder / "settings.json").read_text())
    policy = Path(settings.pop("policy"))
    path = write_recipe(folder, policy, step_reward="tinytraining:every_third", **settings)
    trainer = launch.build(recipe.parse(["--config", str(path)]))
    drawn = drawn_by(trainer)
    trainer.train()
    found = {"log": trainer.state.log_history, "engine": engine_of(trainer), "drawn": drawn}
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
