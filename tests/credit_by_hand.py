"""The credit formulas of the papers as plain float64 loops over completions, steps and tokens.

Written from the papers, one form at a time, to check the package by: nothing here imports it, or torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Steps = Sequence[Sequence[float | None]]
Ends = Sequence[Sequence[int]]
Table = list[list[float]]


def deviation(values: list[float], std: str) -> float:
    """The standard deviation, by N-1 or N."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - (std == "sample")))


def normalized(value: float, values: list[float], std: str, eps: float) -> float:
    """(v - mean) / (std + ε); 0 where nothing differs."""
    if len(values) < 2 or max(values) == min(values):
        return 0.0
    centred = value - math.fsum(values) / len(values)
    return centred if std == "none" else centred / (deviation(values, std) + eps)


def outcome(rewards: Sequence[float | None], group: int, std: str, eps: float) -> list[float]:
    """DeepSeekMath §4.1.2."""
    advantages = []
    for i, reward in enumerate(rewards):
        first = i - i % group
        peers = [peer for peer in rewards[first : first + group] if peer is not None]
        advantages.append(0.0 if reward is None else normalized(reward, peers, std, eps))
    return advantages


def process_sum(rewards: Steps, ends: Ends, group: int, length: int, std: str, eps: float) -> Table:
    """DeepSeekMath §4.1.3, token by token: normalise in the group, then add the steps that end at or after t."""
    table = [[0.0] * length for _ in rewards]
    for i, row in enumerate(rewards):
        first = i - i % group
        everything = [r for peer in rewards[first : first + group] for r in peer if r is not None]
        scores = [0.0 if r is None else normalized(r, everything, std, eps) for r in row]
        for t in range(length):
            table[i][t] = math.fsum(score for score, end in zip(scores, ends[i], strict=True) if end >= t)
    return table


def returns_min(row: Sequence[float | None], tau: float) -> list[float | None]:
    """PURE: softmax(-r/τ) over the completion's steps, then the weighted rewards from k on."""
    scored = [r for r in row if r is not None]
    if not scored:
        return [None] * len(row)
    low = min(scored)
    total = math.fsum(math.exp(-(r - low) / tau) for r in scored)
    weighted = [None if r is None else math.exp(-(r - low) / tau) / total * r for r in row]
    return [
        None if row[k] is None else math.fsum(value for value in weighted[k:] if value is not None)
        for k in range(len(row))
    ]


def returns_delta(row: Sequence[float | None]) -> list[float | None]:
    """2410.15115: rewards r_k - r_{k+1} (the last keeps its own), added up from k on without cancelling by hand."""
    scored = [r for r in row if r is not None]
    differences = [r - after for r, after in zip(scored, [*scored, 0.0][1:], strict=True)]
    sums = iter([math.fsum(differences[k:]) for k in range(len(scored))])
    return [None if r is None else next(sums) for r in row]


def returns_clip(row: Sequence[float | None], eta: float) -> list[float | None]:
    """2410.15115: min(r_j - η, 0) from k on."""
    return [
        None if row[k] is None else math.fsum(min(r - eta, 0.0) for r in row[k:] if r is not None)
        for k in range(len(row))
    ]


def process_returns(
    rewards: Steps, returns: Sequence[Sequence[float | None]], ends: Ends, group: int, length: int, std: str, eps: float
) -> Table:
    """Returns normalised over the group's steps; a token has the value of the next scored step that ends after it."""
    table = [[0.0] * length for _ in rewards]
    for i, row in enumerate(returns):
        first = i - i % group
        raw = [r for peer in rewards[first : first + group] for r in peer if r is not None]
        if len(raw) < 2 or max(raw) == min(raw):
            continue
        everything = [value for peer in returns[first : first + group] for value in peer if value is not None]
        scores = [None if value is None else normalized(value, everything, std, eps) for value in row]
        for t in range(length):
            for score, end in zip(scores, ends[i], strict=True):
                if score is not None and end >= t:
                    table[i][t] = score
                    break
    return table


def process(
    rewards: Steps,
    ends: Ends,
    group: int,
    length: int,
    *,
    credit: str,
    std: str = "sample",
    eps: float = 1e-4,
    tau: float = 0.1,
    eta: float = 0.5,
) -> Table:
    """Any form by its name."""
    if credit == "sum":
        return process_sum(rewards, ends, group, length, std, eps)
    forms = {
        "min": lambda row: returns_min(row, tau),
        "delta": returns_delta,
        "clip": lambda row: returns_clip(row, eta),
    }
    return process_returns(rewards, [forms[credit](row) for row in rewards], ends, group, length, std, eps)


def mean_to_go(rewards: Steps, ends: Ends, group: int, length: int, std: str, eps: float) -> Table:
    """The mean normalised reward of the steps that end at or after t."""
    table = [[0.0] * length for _ in rewards]
    for i, row in enumerate(rewards):
        first = i - i % group
        everything = [r for peer in rewards[first : first + group] for r in peer if r is not None]
        for t in range(length):
            left = [r for r, end in zip(row, ends[i], strict=True) if end >= t and r is not None]
            if left:
                table[i][t] = math.fsum(normalized(r, everything, std, eps) for r in left) / len(left)
    return table


def first_error(
    rewards: Sequence[float | None],
    steps: Steps,
    ends: Ends,
    group: int,
    length: int,
    *,
    threshold: float,
    outcome_threshold: float,
    prefix_credit: float,
    flawed_weight: float,
    std: str = "sample",
    eps: float = 1e-4,
) -> Table:
    """Blame from the first wrong step on; half-hearted praise for a right answer with a wrong step."""
    table = []
    for i, (reward, advantage) in enumerate(zip(rewards, outcome(rewards, group, std, eps), strict=True)):
        first = i - i % group
        peers = {peer for peer in rewards[first : first + group] if peer is not None}
        wrong = [k for k, r in enumerate(steps[i]) if r is not None and r < threshold]
        if reward is None or len(peers) < 2:
            table.append([0.0] * length)
        elif not wrong:
            table.append([advantage] * length)
        elif reward >= outcome_threshold:
            table.append([advantage * flawed_weight if advantage > 0 else advantage] * length)
        else:
            before = ends[i][wrong[0] - 1] + 1 if wrong[0] else 0
            table.append([prefix_credit] * before + [min(advantage, 0.0)] * (length - before))
    return table


def loss(
    logp: Table,
    old: Table,
    advantages: Table,
    mask: list[list[int]],
    *,
    loss_type: str,
    low: float,
    high: float,
    beta: float,
    ref: Table,
    corrected: bool,
    cap: int,
) -> float:
    """DeepSeekMath equation 3, token by token, in the four reductions."""
    sums, counts = [], []
    for i, row in enumerate(logp):
        terms = []
        for t, value in enumerate(row):
            if not mask[i][t]:
                continue
            ratio = math.exp(value - old[i][t])
            clipped = min(max(ratio, 1 - low), 1 + high)
            gap = ref[i][t] - value
            kl = (math.exp(gap) - gap - 1) * (ratio if corrected else 1.0)
            terms.append(-min(ratio * advantages[i][t], clipped * advantages[i][t]) + beta * kl)
        sums.append(math.fsum(terms))
        counts.append(len(terms))
    if loss_type == "grpo":
        return math.fsum(total / max(count, 1) for total, count in zip(sums, counts, strict=True)) / len(sums)
    if loss_type == "dr_grpo":
        return math.fsum(sums) / (len(sums) * cap)
    return math.fsum(sums) / max(sum(counts), 1)
