from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from fakes import HOSTILE, verdict
from markscheme.cli.report import Report, ReportRow, build, render
from markscheme.verifiers import Outcome, Reason


def row(name: str, outcome: Outcome, reason: Reason = Reason.DIFFERENT, text: str = "x") -> ReportRow:
    return ReportRow(name, "a problem", text, "2", verdict(outcome, reason))


def data(page: str) -> list[dict[str, object]]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    rows: list[dict[str, object]] = json.loads(found[1])
    return rows


def test_hostile_text_is_only_text() -> None:
    evil = ReportRow(HOSTILE, HOSTILE, HOSTILE, HOSTILE, verdict(Outcome.INCORRECT, answer=HOSTILE, detail=HOSTILE))
    page = render(Report(HOSTILE, [evil], [(HOSTILE, HOSTILE)], [HOSTILE]))
    assert len(re.findall(r"<script", page)) == 2
    assert "<img" not in page
    for character in "\x1b\x07\x9b\u202e\u2028":
        assert character not in page
    (entry,) = data(page)
    assert "".join(entry["completion"]).startswith("</script><script>")


def test_the_policy_lets_only_the_pages_own_script_and_style_run() -> None:
    page = render(Report("t", [row("a", Outcome.CORRECT)]))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for tag in ("script", "style"):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert len(text) == 1
        digest = base64.b64encode(hashlib.sha256(text[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none';")
    assert "unsafe" not in policy[1]


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = render(Report("t", [row("a", Outcome.CORRECT)]))
    assert not re.search(r"https?://|\bsrc=|<link|@import|url\(", page)


def test_the_place_read_is_marked() -> None:
    spanned = verdict(Outcome.CORRECT, span=(4, 6))
    (entry,) = data(render(Report("t", [ReportRow("a", "", "so, 18\x1b 😀", "18", spanned)])))
    assert entry["completion"] == ["so, ", "18", "␛ 😀"]


def test_long_completions_keep_the_place_read() -> None:
    text = "a" * 100_000 + "18" + "b" * 100_000
    spanned = verdict(Outcome.CORRECT, span=(100_000, 100_002))
    (entry,) = data(render(Report("t", [ReportRow("a", "", text, "18", spanned)])))
    before, answer, after = entry["completion"]
    assert answer == "18"
    assert "[… 90,000 characters left out …]" in before
    assert len(before) + len(after) < 21_000


def test_failures_come_by_urgency_then_by_number() -> None:
    rows = [
        row("a", Outcome.INCORRECT), row("b", Outcome.UNREADABLE, Reason.NO_ANSWER), row("c", Outcome.CORRECT),
        row("d", Outcome.BROKEN, Reason.WORKER_FAILED), row("e", Outcome.UNDECIDED, Reason.TIMEOUT),
        *[row("f", Outcome.INCORRECT, Reason.TYPE_MISMATCH)] * 2,
    ]  # fmt: skip
    found = build._failures(rows)
    assert [(f.outcome, f.reason, f.count) for f in found] == [
        ("undecided", "timeout", 1),
        ("broken", "worker_failed", 1),
        ("unreadable", "no_answer", 1),
        ("incorrect", "type_mismatch", 2),
        ("incorrect", "different", 1),
    ]


def test_beyond_the_cap_correct_rows_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_ROWS", 2)
    rows = [row("a", Outcome.CORRECT), row("b", Outcome.CORRECT), row("c", Outcome.INCORRECT)]
    page = render(Report("t", rows))
    assert [entry["name"] for entry in data(page)] == ["a", "c"]
    assert "1 left out of this page, correct ones first." in page
    assert "<dd>3</dd>" in page


def test_no_rows() -> None:
    assert "Every row is correct." in render(Report("t", []))
