"""Several samples a problem: groups of them, and pass@k."""

from __future__ import annotations

from collections.abc import Sequence

from markscheme.cli.run import Graded
from markscheme.verifiers.statistics import ks, pass_at_k
from markscheme.verifiers.verdict import Outcome


def grouped(graded: Sequence[Graded], key: str) -> dict[str | int, list[Graded]]:
    """Group by a key of the task, in the order in which its values first come; samples keep their order."""
    groups: dict[str | int, list[Graded]] = {}
    for item in graded:
        groups.setdefault(item.task.keys[key], []).append(item)
    return groups


def pass_figures(groups: Sequence[Sequence[Graded]]) -> list[tuple[str, str]]:
    """Return pass@k as shown; nothing where each problem has only one sample.

    k goes up to the smallest number of samples that a problem has, so that every problem counts for every k.
    """
    sizes = [len(group) for group in groups]
    if not sizes or max(sizes) == 1:
        return []
    figures = []
    right = [sum(item.verdict.outcome is Outcome.CORRECT for item in group) for group in groups]
    for k in ks(min(sizes)):
        mean = sum(pass_at_k(n, c, k) for n, c in zip(sizes, right, strict=True)) / len(groups)
        figures.append((f"pass@{k}", f"{100 * mean:.1f} %"))
    return figures
