"""The figures of an evaluation: accuracy with its interval, pass@k, maj@n."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from markscheme.verifiers.grading import AnswerVerifier
from markscheme.verifiers.verdict import Outcome, Verdict

Z95 = 1.959964
"""The normal quantile of a two-sided 95 % interval."""


def wilson(correct: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Return the Wilson score interval of a proportion, as fractions; (0, 1) where ``n`` is 0.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209-212.
    """
    if n <= 0:
        return 0.0, 1.0
    p, spread = correct / n, z * z / n
    centre = (p + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(p * (1 - p) / n + spread / (4 * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def clustered_interval(groups: Sequence[Sequence[bool]]) -> tuple[float, float]:
    """Return the 95 % interval of the mean over samples that come in groups, one group a problem.

    Samples of one problem resemble each other, so they count for less than as many problems (E. Miller, "Adding error
    bars to evals", arXiv 2411.00640, eq. 4). The clustered variance gives the number of independent samples that would
    have it, between the number of problems and the number of samples; the interval is Wilson's for that number. With
    one sample a problem it is Wilson's own. Departure: the paper's interval is the normal one.
    """
    groups = [group for group in groups if group]
    n, correct = sum(map(len, groups)), sum(map(sum, groups))
    if n == len(groups):
        return wilson(correct, n)
    p, m = correct / n, len(groups)
    variance = sum((sum(group) - p * len(group)) ** 2 for group in groups) / n**2
    effective = p * (1 - p) / variance if variance > 0 else float(n)
    # Where all are alike nothing shows that samples of one problem differ: a problem counts once.
    effective = min(max(effective, m), n) if 0 < p < 1 else m
    return wilson(p * effective, effective)


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Return the unbiased estimate of pass@k from ``n`` samples (Chen et al. 2021, arXiv 2107.03374, eq. 1)."""
    if not 1 <= k <= n:
        raise ValueError(f"expected 1 <= k <= n, got k={k}, n={n}")
    return 1.0 - math.comb(n - correct, k) / math.comb(n, k)


def ks(n: int) -> list[int]:
    """The powers of two up to ``n``, and ``n`` itself."""
    return sorted({1 << i for i in range(n.bit_length())} | {n}) if n > 0 else []


def majority_correct(verdicts: Sequence[Verdict], verifier: AnswerVerifier) -> bool:
    """Whether the answer that most samples of one problem give is CORRECT.

    Answers vote together when the verifier finds them equal, or when both are CORRECT; an unread answer does not vote;
    of answers with equally many votes the one that was given first wins. Equality is only asked for where it can
    change the winner, and only between different strings.
    """
    answers = [verdict.answer for verdict in verdicts if verdict.answer is not None]
    right = {
        verdict.answer for verdict in verdicts if verdict.outcome is Outcome.CORRECT and verdict.answer is not None
    }
    if not right:
        return False
    votes = Counter(answers)
    right_votes, wrong = sum(votes[answer] for answer in right), [answer for answer in votes if answer not in right]
    if right_votes > votes.total() - right_votes:
        return True
    classes: list[list[str]] = []
    for answer in wrong:  # in the order in which they were first given
        home = next((c for c in classes if verifier.verify_answer(answer, c[0]).outcome is Outcome.CORRECT), None)
        if home is None:
            classes.append([answer])
        else:
            home.append(answer)
    first_right = min(answers.index(answer) for answer in right)
    for members in classes:
        count = sum(votes[answer] for answer in members)
        if count > right_votes or (count == right_votes and answers.index(members[0]) < first_right):
            return False
    return True
