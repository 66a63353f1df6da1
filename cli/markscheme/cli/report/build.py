"""From verdicts to the page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from markscheme.cli.terminal import safe
from markscheme.verifiers.verdict import Outcome, Verdict

MAX_ROWS = 20_000
"""Rows that a page holds; beyond it correct ones are left out first. 5,276 samples of GSM8K make a page of 8 MB."""
MAX_COMPLETION = 20_000
"""Characters shown of a completion: its beginning, the place of the answer and its end."""
MAX_SHORT = 2_000
"""Characters shown of a problem, a gold answer, an answer as read."""
EXAMPLES = 3
"""Examples for each reason in the view of failures."""
URGENCY = (Outcome.UNDECIDED, Outcome.BROKEN, Outcome.UNREADABLE, Outcome.INCORRECT)
"""The order of the failures: first what says something of the checker and not of the model."""

_FOR_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One graded row: its name, the problem (may be empty), what the model wrote, the gold answer, the verdict."""

    name: str
    problem: str
    completion: str
    gold: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Words:
    """What a page calls the parts of a row: what the model wrote, what was read of it, and what it is held against."""

    completion: str
    answer: str
    gold: str


ANSWERS = Words("Completion", "Answer read", "Gold")
PROGRAMS = Words("Program", "Cases passed", "First failing case")


@dataclass(frozen=True, slots=True)
class Report:
    """What a page shows.

    Attributes:
        title: its heading.
        rows: the graded rows.
        figures: names and values, such as the accuracy, as they are to be read.
        notes: sentences that qualify the figures.
        interval: accuracy and the ends of its 95 % interval, as fractions, for the drawing.
        words: what the parts of a row are called.
    """

    title: str
    rows: Sequence[ReportRow]
    figures: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    interval: tuple[float, float, float] | None = None
    words: Words = ANSWERS


@dataclass(frozen=True, slots=True)
class _Failure:
    """The rows that failed for one reason."""

    outcome: str
    reason: str
    count: int
    examples: list[dict[str, Any]] = field(default_factory=list)


def write_report(path: Path, report: Report) -> None:
    """Write the page; folders above it are made. Raises OSError when it cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(report), encoding="utf-8")


def render(report: Report) -> str:
    """Return the page as one HTML document.

    All text of models and data sets goes in through Jinja's autoescaping or as JSON that can end no element, with its
    control and bidi characters made visible; the policy in the page's head lets only its own script and style run.
    """
    from jinja2 import Environment, StrictUndefined

    shown, left_out = _chosen(report.rows)
    entries = [_entry(row) for row in shown]
    notes = [*report.notes, *([f"{left_out:,} left out of this page, correct ones first."] if left_out else [])]
    style, script = _asset("report.css"), _asset("report.js")
    template = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(_asset("report.html.j2"))
    return template.render(
        title=safe(report.title),
        total=len(report.rows),
        bars=_bars(report.rows),
        figures=[(safe(name), safe(value)) for name, value in report.figures],
        interval=report.interval,
        notes=[safe(note) for note in notes],
        words=report.words,
        failures=_failures(report.rows),
        outcomes=[outcome.value for outcome in Outcome],
        reasons=sorted({entry["reason"] for entry in entries}),
        style=style,
        style_hash=_csp_hash(style),
        script=script,
        script_hash=_csp_hash(script),
        data=json.dumps(entries, separators=(",", ":")).translate(_FOR_SCRIPT),
    )


def _asset(name: str) -> str:
    return resources.files("markscheme.cli.report").joinpath("assets", name).read_text(encoding="utf-8")


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _chosen(rows: Sequence[ReportRow]) -> tuple[list[ReportRow], int]:
    if len(rows) <= MAX_ROWS:
        return list(rows), 0
    ranked = sorted(range(len(rows)), key=lambda i: (rows[i].verdict.outcome is Outcome.CORRECT, i))
    return [rows[i] for i in sorted(ranked[:MAX_ROWS])], len(rows) - MAX_ROWS


def _bars(rows: Sequence[ReportRow]) -> list[dict[str, Any]]:
    counts, start, bars = Counter(row.verdict.outcome for row in rows), 0.0, []
    for outcome in Outcome:
        share = 100 * counts[outcome] / len(rows) if rows else 0.0
        bars.append({"outcome": outcome.value, "count": counts[outcome], "share": share, "start": start})
        start += share
    return bars


def _failures(rows: Sequence[ReportRow]) -> list[_Failure]:
    groups: dict[tuple[Outcome, str], list[ReportRow]] = defaultdict(list)
    for row in rows:
        if row.verdict.outcome is not Outcome.CORRECT:
            groups[row.verdict.outcome, row.verdict.reason.value].append(row)
    ordered = sorted(groups.items(), key=lambda item: (URGENCY.index(item[0][0]), -len(item[1]), item[0][1]))
    return [
        _Failure(outcome.value, reason, len(found), [_entry(row) for row in found[:EXAMPLES]])
        for (outcome, reason), found in ordered
    ]


def _entry(row: ReportRow) -> dict[str, Any]:
    verdict = row.verdict
    return {
        "name": _short(row.name),
        "outcome": verdict.outcome.value,
        "reason": verdict.reason.value,
        "detail": _short(verdict.detail),
        "answer": None if verdict.answer is None else _short(verdict.answer),
        "gold": _short(row.gold),
        "expected": None if verdict.expected is None else _short(verdict.expected),
        "reading": verdict.reading,
        "problem": _short(row.problem),
        "completion": _pieces(row.completion, verdict.span),
        "ms": round(verdict.seconds * 1000, 2),
    }


def _short(text: str) -> str:
    return safe(_middle_out(text, MAX_SHORT), keep_newlines=True)


def _pieces(text: str, span: tuple[int, int] | None) -> list[str]:
    """Split a completion into what stands before the answer, the answer and what follows, each cut to its share."""
    start, end = span if span is not None else (len(text), len(text))
    half = MAX_COMPLETION // 2
    parts = (text[:start], text[start:end], text[end:])
    return [safe(_middle_out(part, half), keep_newlines=True) for part in parts]


def _middle_out(text: str, limit: int) -> str:
    """Cut from the middle: the beginning and the end say most."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[-half:]}"
