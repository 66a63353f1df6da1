"""The frozen backbone's states of all training and evaluation data, computed before training begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tqdm.auto import tqdm  # type: ignore[import-untyped]

from markscheme.prm.model.states import StateCache

if TYPE_CHECKING:
    from markscheme.prm.model.pair import PairClassifier
    from markscheme.prm.training.config import PRMConfig
    from markscheme.prm.training.data import StepDataset


def fill_cache(model: PairClassifier, args: PRMConfig, sets: Sequence[StepDataset]) -> StateCache:
    """Compute what the cache lacks, with a progress bar; one process computes, the others read."""
    assert args.state_cache is not None  # noqa: S101 - for the type checker
    with args.main_process_first(desc="states of the backbone"):
        cache = StateCache(args.state_cache, model)
        if args.process_index == 0:
            missing = [
                one.ids for data in sets for place in range(len(data)) if (one := data.one(place)).ids not in cache
            ]
            bar = tqdm(
                total=sum(map(len, missing)), unit="token", desc="states", disable=args.disable_tqdm or not missing
            )
            with bar:
                cache.fill(missing, batch_size=args.per_device_eval_batch_size, done=bar.update)
    return cache
