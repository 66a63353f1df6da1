"""Best of N on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from markscheme.cli.terminal import clip, console, safe, table
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from markscheme.cli.prm.judges import Judging
    from markscheme.prm.metrics.bestofn import Candidate, Sampled

Aggregation = Literal["last", "min", "product", "mean", "softmin"]


def measure(
    judging: Judging, paths: Sequence[Path], aggregation: Aggregation, separator: str, limit: int | None
) -> dict[str, Any]:
    """Return the figures of a judge, ready for JSON. Raises DataError and OSError as the readers do."""
    from markscheme.prm.evaluation import LIKELIHOOD, ORACLE
    from markscheme.prm.judging import Solution
    from markscheme.prm.metrics.bestofn import best_of_n, load_sampled

    if len(paths) != 1:
        raise DataError(f"--benchmark bestofn takes one --data file, got {len(paths)}")
    loaded = load_sampled(paths[0], splitter=separator, limit=limit, on_bad=judging.on_bad)
    solutions = [
        Solution(0, one.problem, candidate.steps, {"problem": i, "sample": k}, f"row {one.row}, solution {k}")
        for i, one in enumerate(loaded.problems)
        for k, candidate in enumerate(one.candidates)
    ]
    solutions = [replace(one, row=row) for row, one in enumerate(solutions)]

    def result(flat: Sequence[Sequence[float]], how: Aggregation) -> dict[str, Any]:
        return best_of_n(loaded.problems, _by_problem(flat, loaded.problems), aggregation=how).summary()

    if judging.is_baseline:
        flat = _by_baseline(judging.judge, loaded.problems)
    else:
        flat, _ = judging.scores(solutions)
    likely = judging.likelihood(solutions, "mean") if judging.policy else None
    found = result(flat, aggregation)
    oracle = result(_by_baseline(ORACLE, loaded.problems), aggregation)["accuracy"]
    beside = {name: found[name] for name in ("majority", "pass_at_n", "mean")} | {ORACLE: oracle}
    if likely is not None:
        beside[LIKELIHOOD] = result(likely, "mean")["accuracy"]
    return {
        **found,
        "benchmark": "bestofn",
        "data": [loaded.name],
        "judge": Path(judging.judge).name,
        "baselines": beside,
        "disagree": loaded.disagree,
        "skipped": [{"data": loaded.name, "row": row, "id": own, "why": why} for row, own, why in loaded.skipped],
        "unusable": len(judging.failed),
        "notes": judging.notes,
    }


def _by_baseline(name: str, problems: Sequence[Sampled]) -> list[list[float]]:
    """What judges that know nothing of steps give: the oracle knows each solution's outcome."""

    def scores(candidate: Candidate) -> list[float]:
        right = {"outcome-oracle": candidate.right, "always-right": True, "always-wrong": False}[name]
        return [float(right)] * len(candidate.steps)

    return [scores(candidate) for one in problems for candidate in one.candidates]


def _by_problem(flat: Sequence[Sequence[float]], problems: Sequence[Sampled]) -> list[list[Sequence[float]]]:
    rest = iter(flat)
    return [[next(rest) for _ in one.candidates] for one in problems]


def show(found: dict[str, Any]) -> None:
    """Print a judge's figures, with the baselines below it."""
    out = console()
    low, high = found["samples"]
    n = str(high) if low == high else f"{low}-{high}"
    names = {"majority": f"majority (maj@{n})", "pass_at_n": f"some is right (pass@{n})", "mean": "one at random"}
    interval = f"95 % interval {found['interval'][0]:.1f} to {found['interval'][1]:.1f}"
    rows = [(f"{clip(found['judge'], 40)}, best by {found['aggregation']}", f"{found['accuracy']:.1f}", interval)]
    others = [(name, value) for name, value in found["baselines"].items() if name != found["judge"]]
    rows += [(names.get(name, name), f"{value:.1f}", "") for name, value in others]
    out.print(f"bestofn: {safe(', '.join(found['data']))}, {found['n']} problems, {n} solutions each", soft_wrap=True)
    out.print(table(("chosen by", "right %", ""), rows, right=(1,)))
    said = []
    if found["last_smallest"] is not None:
        said.append(f"smallest score on the last step: {found['last_smallest']:.1f} % of solutions")
    if found["unscored"]:
        said.append(f"{found['unscored']} solutions have no score (cut off, or without steps)")
    if found["disagree"]:
        said.append(
            f"{found['disagree']} solutions: the file's is_correct, which counts, is not the verifier's verdict"
        )
    if found["unusable"]:
        said.append(f"{found['unusable']} solutions cannot be laid out by the judge and have no score")
    if found["skipped"]:
        first = found["skipped"][0]
        said.append(f"left out: {len(found['skipped'])} bad rows, such as row {first['row']}: {first['why']}")
    for line in (*said, *found["notes"]):
        out.print(safe(line), soft_wrap=True)
