"""The plot of a run on word problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markscheme.verifiers.errors import MissingExtraError

COLORS = {"sft": "0.5", "outcome": "black", "process": "tab:blue", "both": "tab:purple"}
SMOOTHED = 5
"""Updates of a moving mean: one update is few problems."""


def moving(values: Sequence[float | None], width: int = SMOOTHED) -> list[float | None]:
    """The mean of each value and those before it, ``width`` in all; None where there is none."""
    out: list[float | None] = []
    for place in range(len(values)):
        known = [value for value in values[max(0, place - width + 1) : place + 1] if value is not None]
        out.append(sum(known) / len(known) if known else None)
    return out


def plot(figures: Mapping[str, Any], path: Path) -> None:
    """Draw right answers and right steps over training, and the held-out accuracies with their intervals.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("the plot needs matplotlib: install markscheme[bench]") from error
    with mpl.rc_context({"text.usetex": False, "text.parse_math": False}):
        figure = Figure(figsize=(14, 4.5), layout="constrained")
        answers, steps, held_out = figure.subplots(1, 3)
        for axes, measure, title in (
            (answers, "accuracy", "right answers in training, %"),
            (steps, "step_accuracy", "right steps in training, %"),
        ):
            for name, arm in figures["arms"].items():
                for place, rows in enumerate(arm["curves"]):
                    tokens = [row["tokens"] / 1000 for row in rows]
                    values = [None if v is None else 100 * v for v in moving([row[measure] for row in rows])]
                    label = name if rows and place == 0 else None
                    axes.plot(tokens, values, color=COLORS[name], linewidth=1.6, label=label)
            axes.set(title=f"{title}, mean of {SMOOTHED} updates", xlabel="generated tokens, thousands")
        if len(figures["arms"]) > 1:
            answers.legend(fontsize="small", frameon=False)
        _held_out(held_out, figures)
        for axes in (answers, steps, held_out):
            axes.spines[["top", "right"]].set_visible(False)
        what = "a demonstration: one seed" if figures["demonstration"] else f"{len(figures['settings']['seeds'])} seeds"
        figure.suptitle(f"Word problems ({what})")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120)


def _held_out(axes: Any, figures: Mapping[str, Any]) -> None:
    names, kinds = list(figures["arms"]), figures["kinds"]
    for row, name in enumerate(names):
        for place, kind in enumerate(kinds):
            mean, low, high = (100 * end for end in figures["arms"][name]["greedy"]["kinds"][kind]["accuracy"])
            axes.errorbar(
                mean,
                row + 0.2 * (place - (len(kinds) - 1) / 2),
                xerr=[[mean - low], [high - mean]],
                fmt="os^"[place],
                color=COLORS[name],
                capsize=3,
                label=kind if row == 0 else None,
            )
    axes.set(yticks=range(len(names)), yticklabels=names, title="right answers held out, greedy, %", xlim=(0, 100))
    axes.invert_yaxis()
    axes.legend(fontsize="small", frameon=False)
