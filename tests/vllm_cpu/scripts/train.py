"""A run from a recipe, with what vLLM got: ``python train.py FOLDER`` (settings.json in, found.json out)."""

from __future__ import annotations

import json
import sys
from concurrent.futures import wait
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


def told_by(trainer: Any) -> list[list[Any]]:
    """The list that each generation's completions will be put into: as told one by one, and as there in the end."""
    told: dict[int, list[int]] = {}
    seen: list[list[Any]] = []
    begin, generate = trainer.begin_rewards, trainer._generate

    def beginning(row: int, completion_ids: list[int]) -> None:
        assert row not in told
        told[row] = completion_ids
        begin(row, completion_ids)
        wait([one.future for one in trainer._overlap.begun])  # so that each is given before the next completion

    def generating(prompts: list[Any]) -> Any:
        made = generate(prompts)
        seen.append([[told[row] for row in sorted(told)], made[1], list(told)])
        told.clear()
        return made

    trainer.begin_rewards, trainer._generate = beginning, generating
    return seen


def main(folder: Path) -> None:
    settings = json.loads((folder / "settings.json").read_text())
    policy = Path(settings.pop("policy"))
    path = write_recipe(folder, policy, step_reward="tinytraining:every_third", **settings)
    trainer = launch.build(recipe.parse(["--config", str(path)]))
    drawn, told = drawn_by(trainer), told_by(trainer)
    trainer.train()
    found = {"log": trainer.state.log_history, "engine": engine_of(trainer), "drawn": drawn, "told": told}
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
