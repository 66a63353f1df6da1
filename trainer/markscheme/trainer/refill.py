"""Dynamic sampling: fresh prompts in the place of groups that teach nothing (DAPO, arXiv 2503.14476, §3.2 and eq. 11).

A batch is generated and scored as TRL does it; then the groups whose rewards are all the same give way to groups of
prompts that are drawn anew, for as many rounds as are allowed. TRL gets the batch that came of it, whole, before it
pads, runs the log-probability passes and logs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from torch import Tensor

from markscheme.trainer import credit
from markscheme.trainer.collect import Steps, check_groups
from markscheme.verifiers.errors import RewardError, TrainerConfigError

if TYPE_CHECKING:
    from markscheme.trainer.grpo import ProcessGRPOTrainer
    from markscheme.trainer.overlap import Overlap


class Row(NamedTuple):
    """One completion of this rank: the data set's row, what was made of it, and what was logged of it."""

    columns: dict[str, Any]
    made: tuple[Any, ...]  # ids of the prompt and of the completion, mask of tools, completion, log-probabilities
    fields: dict[str, Any]
    logged: dict[str, Any]


class Batch(NamedTuple):
    """Completions that were scored: this rank's rows, and all ranks' rewards (B, functions) and steps."""

    rows: list[Row]
    rewards: Tensor
    steps: list[Steps] | None

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """The rows of the data set, for TRL."""
        return [dict(row.columns) for row in self.rows]

    @property
    def made(self) -> tuple[Any, ...]:
        """What TRL's ``_generate`` would have returned."""
        parts = [list(part) for part in zip(*(row.made for row in self.rows), strict=True)]
        prompt_ids, completion_ids, mask, completions, logprobs = (
            None if any(one is None for one in part) else part for part in parts
        )
        fields = {name: [row.fields[name] for row in self.rows] for name in self.rows[0].fields}
        return prompt_ids, completion_ids, mask, completions, logprobs, fields, None, []


class Prompts:
    """Prompts of a data set in random order, each once before any comes again; the order depends on the seed alone.

    Args:
        data: the data set.
        seed: of the order.

    Attributes:
        drawn: how many were looked at so far. Whoever sets it goes on from there.
    """

    def __init__(self, data: Dataset, seed: int) -> None:
        self.data, self.seed, self.drawn = data, seed, 0
        self._order: tuple[int, list[int]] = (-1, [])

    def draw(self, count: int, taken: set[str]) -> list[dict[str, Any]]:
        """Up to ``count`` rows whose prompts are not in ``taken``, to which they are added."""
        found: list[dict[str, Any]] = []
        for _ in range(len(self.data)):
            if len(found) == count:
                break
            row = self.data[self._at(self.drawn)]
            self.drawn += 1
            if (prompt := repr(row["prompt"])) not in taken:
                taken.add(prompt)
                found.append(row)
        return found

    def _at(self, place: int) -> int:
        epoch, place = divmod(place, len(self.data))
        if self._order[0] != epoch:
            # not the sampler's seed, or both would draw the same prompts at the same time
            draw = torch.Generator().manual_seed((self.seed + 1) * 1_000_003 + epoch)
            self._order = epoch, torch.randperm(len(self.data), generator=draw).tolist()
        return self._order[1][place]


def check(trainer: ProcessGRPOTrainer) -> Prompts:
    """See that prompts can be drawn and replaced.

    Raises:
        TrainerConfigError: the data set is a stream or has images, or tools or environments are in play.
    """
    data = trainer.train_dataset
    faults = {
        f"a {type(data).__name__}, from which a resumed run cannot draw the same prompts: load it into memory": (
            not isinstance(data, Dataset)
        ),
        "images, which TRL prepares before it generates": trainer._is_vlm
        or bool({"image", "images"} & {*(getattr(data, "column_names", None) or ())}),
        "tools or environments, whose state belongs to the prompts that they were reset with": bool(trainer.tools)
        or getattr(trainer, "environment_factories", None) is not None,
    }
    if found := [fault for fault, holds in faults.items() if holds]:
        raise TrainerConfigError(f"refill_rounds does not work with {'; nor with '.join(found)}. Set refill_rounds=0.")
    assert trainer.credit_args is not None  # noqa: S101 - without it nothing is refilled
    if (judge := trainer.credit_args.refill_on) not in (None, *trainer.reward_func_names):
        raise TrainerConfigError(
            f"refill_on={judge!r}: the reward functions are {', '.join(trainer.reward_func_names)}"
        )
    return Prompts(trainer._remove_unused_columns(data, "refilling"), trainer.args.seed)


@contextmanager
def settled(trainer: ProcessGRPOTrainer, overlap: Overlap, inputs: list[dict[str, Any]]) -> Iterator[list[Any]]:
    """The rows for TRL to go on with; where they were refilled, it is handed what was generated and scored for them."""
    args = trainer.credit_args
    if args is None or not args.refill_rounds or not trainer.model.training:
        yield inputs
        return
    trainer._batch = refilled(trainer, overlap, inputs, args.refill_rounds)
    try:
        yield trainer._batch.inputs
    finally:
        trainer._batch = None


def refilled(trainer: ProcessGRPOTrainer, overlap: Overlap, inputs: list[dict[str, Any]], rounds: int) -> Batch:
    """Generate and score a batch; in up to ``rounds`` rounds, put fresh groups in the place of those that are dead.

    All ranks take part in every round with as many completions each, and see the same rewards: they agree on the
    number of rounds, on the prompts, and on which group takes whose place. A group may span ranks.
    """
    batch = _scored(trainer, overlap, inputs)
    size, ranks, rank = trainer._group_size, trainer.accelerator.num_processes, trainer.accelerator.process_index
    taken = {repr(prompt) for prompt in gather_object([row["prompt"] for row in inputs])}
    source = trainer._prompts
    assert source is not None  # noqa: S101 - made with the trainer
    whole = ranks // math.gcd(size, ranks)  # so many groups can be dealt out to the ranks evenly
    ran = prompts = 0
    while (dead := _dead(trainer, batch.rewards, alive=False)) and ran < rounds:
        fresh = source.draw(-(-len(dead) // whole) * whole, taken)
        if not (fresh := fresh[: len(fresh) // whole * whole]):
            break  # every prompt of the data set is in this batch, or was
        ran, prompts = ran + 1, prompts + len(fresh)
        each = len(fresh) * size // ranks
        mine = [fresh[place // size] for place in range(rank * each, (rank + 1) * each)]
        candidates = _scored(trainer, overlap, [dict(row) for row in mine])
        batch = _replaced(batch, candidates, dead, _dead(trainer, candidates.rewards, alive=True), size, rank)
    log, groups = trainer._metrics["train"], len(batch.rewards) // size
    log["refill/rounds"].append(ran)
    log["refill/prompts"].append(prompts)
    log["refill/live_frac"].append(1 - len(dead) / groups)
    for column in dict.fromkeys(name for row in batch.rows for name in row.logged):
        trainer._log_completion_extra(column, [row.logged.get(column) for row in batch.rows])
    return batch


def _scored(trainer: ProcessGRPOTrainer, overlap: Overlap, inputs: list[dict[str, Any]]) -> Batch:
    """Generate and score; what reward functions logged for the table is taken off the trainer."""
    prompts = [row["prompt"] for row in inputs]
    overlap.inputs = inputs
    made = trainer._generate(prompts)
    prompt_ids, completion_ids, mask, completions, logprobs, fields, *_ = made
    count = len(prompts)
    check_groups(count, len(completions), trainer._group_size, trainer.accelerator.num_processes)
    by_row = _by_row(fields, count, "the rollout function returned the field")
    scored = [{**row, **more} for row, more in zip(inputs, by_row, strict=True)]
    trainer._calculate_rewards(scored, prompts, completions, completion_ids)
    rewards, steps = trainer._scored
    logged = _by_row(trainer._pending_extra_logs, count, "a reward function logged the column")
    trainer._pending_extra_logs.clear()
    nothing = [None] * count
    parts = zip(prompt_ids, completion_ids, mask or nothing, completions, logprobs or nothing, strict=True)
    rows = [Row(*one) for one in zip(inputs, parts, by_row, logged, strict=True)]
    return Batch(rows, rewards, steps)


def _by_row(columns: dict[str, Any], count: int, what: str) -> list[dict[str, Any]]:
    for name, values in columns.items():
        if isinstance(values, list) and len(values) != count:
            raise RewardError(
                f"{what} {name!r} with {len(values)} values for {count} completions: with refill_rounds it must have "
                "one for each, since completions change places."
            )
    return [{k: v[row] if isinstance(v, list) else v for k, v in columns.items()} for row in range(count)]


def _dead(trainer: ProcessGRPOTrainer, rewards: Tensor, *, alive: bool) -> list[int]:
    """The groups of all ranks whose rewards are all the same, or the others."""
    args = trainer.credit_args
    assert args is not None  # noqa: S101 - without it nothing is refilled
    if args.refill_on is None:
        dead = trainer._dead_groups(rewards)
    else:
        judged = rewards[:, trainer.reward_func_names.index(args.refill_on)]
        dead = credit.zero_variance_groups(judged, trainer._group_size)
    return (dead != alive).nonzero().flatten().tolist()


def _replaced(batch: Batch, candidates: Batch, dead: list[int], live: list[int], size: int, rank: int) -> Batch:
    """The batch with live candidates in the place of as many dead groups; rows go to the rank whose place they take."""
    pairs = list(zip(dead, live, strict=False))
    if not pairs:
        return batch
    everyones: list[Row] = gather_object(candidates.rows)
    rows, rewards, steps = list(batch.rows), batch.rewards.clone(), list(batch.steps or ())
    for old, new in ((old * size + n, new * size + n) for old, new in pairs for n in range(size)):
        rewards[old] = candidates.rewards[new]
        if candidates.steps is not None:
            steps[old] = candidates.steps[new]
        if 0 <= old - rank * len(rows) < len(rows):
            rows[old - rank * len(rows)] = everyones[new]
    return Batch(rows, rewards, None if batch.steps is None else steps)
