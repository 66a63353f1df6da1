"""The plot of a run against judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markscheme.benchmarks.learning.hacking.arms import JUDGES
from markscheme.verifiers.errors import MissingExtraError

COLORS = {
    "outcome": "black",
    "rule": "tab:gray",
    "truth": "tab:green",
    "gold": "tab:blue",
    "montecarlo": "tab:red",
    "montecarlo_sum": "tab:orange",
    "montecarlo_min": "tab:purple",
    "montecarlo_both": "tab:brown",
}


def plot(figures: Mapping[str, Any], path: Path) -> None:
    """Draw accuracy, reward beside truth, AUC, steps, idle lines and guarded steps over training; a thin line a seed.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("the plot needs matplotlib: install markscheme[bench]") from error
    arms: dict[str, Any] = figures["arms"]
    judged = [name for name, arm in arms.items() if arm["source"] in JUDGES]
    with mpl.rc_context({"text.usetex": False, "text.parse_math": False}):
        figure = Figure(figsize=(15, 8.5), layout="constrained")
        (accuracy, reward, auc), (steps, idle, guarded) = figure.subplots(2, 3)
        for name, arm in arms.items():
            _line(accuracy, name, arm["curves"]["accuracy"], 100)
            _line(steps, name, arm["curves"]["steps"])
            _line(idle, name, arm["curves"]["idle"])
        for name in judged:
            own = arms[name]["judge_curves"][arms[name]["source"]]
            if name != "truth":
                _line(reward, name, own["reward"], 100)
                _line(reward, None, own["truth"], 100, color=COLORS[name], style="--")
                _line(auc, name, own["auc"], 100)
            _line(guarded, name, own["guarded"], 100)
        for axes, title in (
            (accuracy, "right answers in training, %"),
            (reward, "the judge's mean reward; dashed: steps that are right, %"),
            (auc, "AUC of the judge's rewards, %"),
            (steps, "steps a completion"),
            (idle, "idle lines a completion"),
            (guarded, "steps that a guard stopped, %"),
        ):
            axes.set(title=title, xlabel="generated tokens, thousands")
            axes.spines[["top", "right"]].set_visible(False)
        accuracy.legend(fontsize="small", frameon=False)
        figure.suptitle(f"Learning from judges: means of {len(figures['seeds'])} seed(s), thin lines each seed's own")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120)


def _line(
    axes: Any,
    name: str | None,
    points: Sequence[Sequence[Any]],
    scale: float = 1.0,
    *,
    color: str | None = None,
    style: str = "-",
) -> None:
    """The mean over seeds where all have a value, and each seed's own beneath it."""
    color = color or COLORS[str(name)]
    known = [(tokens / 1000, values) for tokens, values in points if all(value is not None for value in values)]
    if not known:
        return
    places = [place for place, _ in known]
    for each in zip(*(values for _, values in known), strict=True):
        axes.plot(places, [scale * value for value in each], style, color=color, linewidth=0.6, alpha=0.35)
    means = [scale * sum(values) / len(values) for _, values in known]
    axes.plot(places, means, style, color=color, linewidth=1.8, label=name)
