"""Many verdicts at once, over worker processes that a hang or a crash cannot take down."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import current_process, get_context
from typing import TYPE_CHECKING

from markscheme.verifiers.verdict import Verdict

if TYPE_CHECKING:
    from markscheme.verifiers.math.verifier import MathVerifier

CHUNK = 64
WORTH_PROCESSES = 2000  # completions below which starting processes costs more than it saves


def _verify_chunk(verifier: MathVerifier, pairs: list[tuple[str, str]]) -> list[Verdict]:
    return [verifier.verify(completion, gold) for completion, gold in pairs]


def verify_many(
    verifier: MathVerifier, completions: Sequence[str], golds: Sequence[str], workers: int | None, *, progress: bool
) -> list[Verdict]:
    """See ``MathVerifier.verify_many``."""
    if len(completions) != len(golds):
        raise ValueError(f"as many golds as completions are needed: {len(completions)} completions, {len(golds)} golds")
    if workers is None:
        workers = min(os.cpu_count() or 1, 8) if len(completions) >= WORTH_PROCESSES else 1
    pairs = list(zip(completions, golds, strict=True))
    if workers > 1 and current_process().daemon:
        workers = 1  # a daemonic process may not have children
    verdicts = in_processes(verifier, pairs, workers) if workers > 1 else (verifier.verify(*pair) for pair in pairs)
    return list(_shown(verdicts, len(pairs)) if progress else verdicts)


def in_processes(verifier: MathVerifier, pairs: Iterable[tuple[str, str]], workers: int) -> Iterator[Verdict]:
    """Verdicts in order, from ``workers`` processes; a chunk whose process died is judged in this one."""
    chunks: list[list[tuple[str, str]]] = []
    source = iter(pairs)
    while chunk := list(itertools.islice(source, CHUNK)):
        chunks.append(chunk)
    with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as pool:
        futures = [pool.submit(_verify_chunk, verifier, chunk) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            try:
                yield from future.result()
            except BrokenProcessPool:
                yield from _verify_chunk(verifier, chunk)


def _shown(verdicts: Iterable[Verdict], total: int) -> Iterator[Verdict]:
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import track  # noqa: PLC0415

    yield from track(verdicts, total=total, description="grading", console=Console(stderr=True))
