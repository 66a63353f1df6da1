"""Completions of TRL's colocate engine, each as soon as it is finished.

TRL calls ``LLM.generate`` for a whole batch, which returns with the longest completion. Inside, the engine advances by
steps, and each step says which requests it finished. The engine's ``add_request`` and ``step`` are listened to while it
generates; what they do is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from markscheme.trainer.grpo import ProcessGRPOTrainer

Tell = Callable[[int, list[int]], object]
"""Called with the row among a rank's prompts, and the ids of its completion."""


def engine_of(trainer: ProcessGRPOTrainer) -> Any:
    """The engine whose finished requests are the trainer's completions, or None.

    None for a server, which answers once; for a rollout function, tools and environments, where a request is a part of
    a completion; and for a template that parses responses, where the completion is not the decoded text.
    """
    if not trainer.use_vllm or trainer.vllm_mode != "colocate":
        return None
    if trainer.rollout_func is not None or trainer.tools or trainer.environments is not None:
        return None
    tokenizer = getattr(trainer.processing_class, "tokenizer", trainer.processing_class)
    if getattr(tokenizer, "response_template", None) or getattr(tokenizer, "response_schema", None):
        return None
    return getattr(getattr(trainer.vllm_generation, "llm", None), "llm_engine", None)


@contextmanager
def finished(trainer: ProcessGRPOTrainer, rows: int, tell: Tell) -> Iterator[None]:
    """Tell of each of this rank's completions that is finished inside, from the thread that generates.

    Args:
        trainer: generates.
        rows: the number of this rank's prompts.
        tell: called for each completion; nothing is told where `engine_of` knows no engine.
    """
    if (engine := engine_of(trainer)) is None:
        yield
        return
    generation = trainer.vllm_generation
    # With tensor parallelism every rank of a group generates the completions of all of them.
    first = torch.distributed.get_rank(generation.tp_group) * rows if generation.tensor_parallel_size > 1 else 0
    places: dict[str, int] = {}
    add, step, own = engine.add_request, engine.step, dict(vars(engine))

    def add_request(request_id: Any, *rest: Any, **named: Any) -> Any:
        places[str(request_id)] = len(places)
        return add(request_id, *rest, **named)

    def one_step(*rest: Any, **named: Any) -> Any:
        outputs = step(*rest, **named)
        for output in outputs:
            row = places.get(str(output.request_id), -1) - first
            if output.finished and 0 <= row < rows:
                tell(row, list(output.outputs[0].token_ids))
        return outputs

    engine.add_request, engine.step = add_request, one_step
    try:
        yield
    finally:
        for name in ("add_request", "step"):
            delattr(engine, name)
            if name in own:  # somebody else listens too
                setattr(engine, name, own[name])
