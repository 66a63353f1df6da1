"""Best of N (2305.20050): does picking a problem's best-scored solution beat asking what most of them say?

Most judges of steps lose to majority voting (2501.07301), so a judge's accuracy never stands without maj@N, and never
without pass@N, which a judge that knows the answer would reach, and the mean, which one that knows nothing would.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from markscheme.prm.aggregation import Aggregation, aggregate
from markscheme.prm.metrics.scores import Scores
from markscheme.prm.segment import StepSplitter
from markscheme.verifiers.errors import DataError, StepDataError
from markscheme.verifiers.grading import AnswerVerifier
from markscheme.verifiers.jsonl import Row, read_rows
from markscheme.verifiers.math.verifier import MathVerifier
from markscheme.verifiers.statistics import majority_correct, wilson
from markscheme.verifiers.verdict import Outcome, Verdict

_PROBLEM = ("problem", "question", "prompt")
_GOLD = ("ground_truth", "gold", "answer", "reference")
_SOLUTIONS = ("solutions", "samples", "completions")
_TEXT = ("text", "completion", "response", "solution")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One solution.

    Attributes:
        steps: of it; none of a blank text.
        right: whether its final answer is right.
        verdict: the verifier's, on its final answer; majority voting needs it.
    """

    steps: tuple[str, ...]
    right: bool
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Sampled:
    """A problem and the solutions sampled for it.

    Attributes:
        problem: its text.
        candidates: the solutions.
        row: its row in its file, where it was read from one.
    """

    problem: str
    candidates: tuple[Candidate, ...]
    row: int | None = None


@dataclass(frozen=True, slots=True)
class SampledProblems:
    """A file of sampled solutions.

    Attributes:
        problems: in the order of the file.
        name: of the file.
        disagree: solutions whose ``is_correct`` in the file is not what the verifier finds; the file's counts.
        skipped: bad rows that were left out, as (row, id, why).
    """

    problems: tuple[Sampled, ...]
    name: str
    disagree: int
    skipped: tuple[tuple[int, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class BestOfNResult:
    """The figures of one judge, in percent of the problems.

    Attributes:
        n: problems.
        samples: solutions of each: the fewest and the most.
        accuracy: the best-scored solution is right; of several best ones the share that is.
        interval: the 95 % Wilson interval of ``accuracy``.
        majority: maj@N: the answer most often given is right.
        pass_at_n: some solution is right.
        mean: of the solutions, the share that is right: a judge that knows nothing.
        aggregation: what made one score of a solution's steps.
        unscored: solutions without a score (cut off, or without steps); they are chosen only where all are.
        last_smallest: percent of solutions whose smallest score is that of the last step alone.
    """

    n: int
    samples: tuple[int, int]
    accuracy: float
    interval: tuple[float, float]
    majority: float
    pass_at_n: float
    mean: float
    aggregation: Aggregation
    unscored: int
    last_smallest: float | None

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return asdict(self)


def load_sampled(
    path: Path | str,
    *,
    splitter: StepSplitter | str = "\n",
    verifier: AnswerVerifier | None = None,
    limit: int | None = None,
    on_bad: str = "error",
) -> SampledProblems:
    r"""Read a file of problems with sampled solutions.

    A row holds ``problem`` (or ``question``), ``ground_truth`` (or ``gold``, ``answer``) and ``solutions`` (or
    ``samples``, ``completions``): texts, or objects with ``text`` (or ``completion``) and ``is_correct``. Where
    ``is_correct`` is missing the verifier's verdict on the final answer stands for it.

    Args:
        path: the file.
        splitter: finds the steps of a solution; a text parts them ("\n" by default).
        verifier: of final answers; `MathVerifier` by default.
        limit: take at most so many solutions a problem, the first ones.
        on_bad: ``error`` raises once for all bad rows, ``skip`` leaves them out.

    Raises:
        StepDataError: rows cannot be used; it lists every one.
        DataError: the file is no JSON Lines file.
        OSError: the file cannot be read.
    """
    path = Path(path)
    finder = splitter if isinstance(splitter, StepSplitter) else StepSplitter(splitter)
    judge = verifier or MathVerifier()
    problems, disagree, bad = [], 0, []
    for row in read_rows(path):
        try:
            sampled, differing = _sampled(row, finder, judge, limit)
        except DataError as error:
            bad.append((row.number, str(row.fields.get("id", "")), str(error).removeprefix(f"{row.where}: ")))
            continue
        problems.append(sampled)
        disagree += differing
    if bad and (on_bad == "error" or not problems):
        raise StepDataError(bad, str(path))
    return SampledProblems(tuple(problems), path.name, disagree, tuple(bad))


def best_of_n(
    problems: Sequence[Sampled],
    scores: Sequence[Sequence[Scores]],
    *,
    aggregation: Aggregation = "min",
    verifier: AnswerVerifier | None = None,
) -> BestOfNResult:
    """Compute the best-of-N figures of a judge.

    Args:
        problems: with their solutions.
        scores: of each problem, of each solution, a score a step.
        aggregation: makes one score of a solution's steps.
        verifier: tells which answers are equal, for the majority; `MathVerifier` by default.

    Raises:
        DataError: there are no problems, or the numbers of problems, solutions and scores do not fit.
    """
    if not problems:
        raise DataError("no problems to choose solutions for")
    if [len(one.candidates) for one in problems] != [len(found) for found in scores]:
        raise DataError("expected the scores of each solution of each problem")
    equal = verifier or MathVerifier()
    picked, unscored = [], 0
    for one, found in zip(problems, scores, strict=True):
        values = [_value(each.steps, given, aggregation) for each, given in zip(one.candidates, found, strict=True)]
        unscored += values.count(-math.inf)
        best = max(values)
        tied = [each.right for each, value in zip(one.candidates, values, strict=True) if value == best]
        picked.append(sum(tied) / len(tied))
    n, sizes = len(problems), [len(one.candidates) for one in problems]
    low, high = wilson(sum(picked), n)
    return BestOfNResult(
        n=n,
        samples=(min(sizes), max(sizes)),
        accuracy=100 * math.fsum(picked) / n,
        interval=(100 * low, 100 * high),
        majority=100 * sum(majority_correct([c.verdict for c in one.candidates], equal) for one in problems) / n,
        pass_at_n=100 * sum(any(c.right for c in one.candidates) for one in problems) / n,
        mean=100 * math.fsum(sum(c.right for c in one.candidates) / len(one.candidates) for one in problems) / n,
        aggregation=aggregation,
        unscored=unscored,
        last_smallest=_last_smallest([given for found in scores for given in found]),
    )


def _sampled(row: Row, finder: StepSplitter, judge: AnswerVerifier, limit: int | None) -> tuple[Sampled, int]:
    problem, gold = row.text(_PROBLEM, "problem"), row.text(_GOLD, "gold answer")
    name = next((name for name in _SOLUTIONS if name in row.fields), None)
    found = row.fields[name] if name is not None else None
    if not isinstance(found, list) or not found:
        raise DataError(f"{row.where}: expected a list of solutions in {' or '.join(map(repr, _SOLUTIONS))}")
    candidates, disagree = [], 0
    for i, solution in enumerate(found[:limit]):
        text, stated = _solution(solution, f"{row.where}: solution {i}")
        verdict = judge.verify(text, gold)
        right = verdict.outcome is Outcome.CORRECT
        disagree += stated is not None and stated != right
        candidates.append(Candidate(tuple(finder.split(text)), right if stated is None else stated, verdict))
    return Sampled(problem, tuple(candidates), row.number), disagree


def _solution(solution: Any, where: str) -> tuple[str, bool | None]:
    if isinstance(solution, str):
        return solution, None
    text = None
    if isinstance(solution, Mapping):
        text = next((solution[name] for name in _TEXT if isinstance(solution.get(name), str)), None)
    if text is None:
        raise DataError(f"{where}: expected a text, or an object with {' or '.join(map(repr, _TEXT))}")
    stated = solution.get("is_correct")
    if stated is not None and not isinstance(stated, bool):
        raise DataError(f"{where}: 'is_correct': expected true or false, found {stated!r:.40}")
    return text, stated


def _value(steps: Sequence[str], found: Scores, aggregation: Aggregation) -> float:
    """One score of a solution; -inf where it has none."""
    if not steps or len(found) != len(steps):
        return -math.inf
    value = aggregate(found, aggregation)
    return -math.inf if math.isnan(value) else value


def _last_smallest(scores: Sequence[Scores]) -> float | None:
    whole = [found for found in scores if len(found) > 1 and not any(map(math.isnan, found))]
    return 100 * sum(found[-1] < min(found[:-1]) for found in whole) / len(whole) if whole else None
