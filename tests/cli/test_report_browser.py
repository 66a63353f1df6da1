"""The report in a real browser: it renders, filters, and runs nothing that a model wrote."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fakes import HOSTILE, verdict
from markscheme.cli.report import Report, ReportRow, write_report
from markscheme.verifiers import Outcome, Reason

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (Debian: apt install chromium)")

ROWS = 5_000


def browse(page: Path, fragment: str, profile: Path, *options: str) -> str:
    """Open a page and return its document as it stands when its scripts have run."""
    command = [
        str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
        "--hide-scrollbars", f"--user-data-dir={profile}", "--window-size=1280,1400",
        *options, page.as_uri() + fragment,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, encoding="utf-8").stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    rows = []
    for i in range(ROWS):
        outcome, reason = (
            (Outcome.UNDECIDED, Reason.TIMEOUT) if i == 7
            else (Outcome.INCORRECT, Reason.DIFFERENT) if i % 5 == 0
            else (Outcome.CORRECT, Reason.EQUAL)
        )  # fmt: skip
        spanned = verdict(outcome, reason, answer="42", span=(HOSTILE.rindex("42"), HOSTILE.rindex("42") + 2))
        rows.append(ReportRow(f"row-{i}", f"{i}: {HOSTILE}", HOSTILE, HOSTILE, spanned))
    write_report(folder / "r.html", Report("a report", rows, [("accuracy", "80 %")], [HOSTILE], (0.8, 0.78, 0.82)))
    return folder


def test_the_payload_does_run_in_an_unguarded_page(folder: Path) -> None:
    page = folder / "unguarded.html"
    page.write_text(f"<!doctype html><title>a report</title><script>0{HOSTILE}", encoding="utf-8")
    document = browse(page, "", folder / "profile", "--dump-dom")
    assert "<title>owned</title>" in document
    assert 'data-owned="yes"' in document


@pytest.mark.parametrize(
    ("fragment", "count"),
    [
        ("#view=rows", "5,000 of 5,000 rows"),
        ("#outcome=incorrect", "1,000 of 5,000 rows"),
        ("#outcome=undecided&reason=timeout", "1 of 5,000 rows"),
        ("#q=ROW-4999", "1 of 5,000 rows"),
        ("#q=%3C%2Fscript%3E&page=100", "5,000 of 5,000 rows"),
        ("#outcome=%3Cimg%20src%3Dx%3E", "0 of 5,000 rows"),
    ],
)
def test_it_renders_filters_and_runs_nothing_of_a_models(folder: Path, fragment: str, count: str) -> None:
    document = browse(folder / "r.html", fragment, folder / "profile", "--dump-dom")
    assert 'data-ready="yes"' in document
    assert f">{count}</p>" in document
    assert "<title>a report · markscheme</title>" in document
    assert "data-owned" not in document
    assert "<img" not in document
    expected = min(50, int(count.split(" of ", maxsplit=1)[0].replace(",", "")))
    assert document.count('<tr class="line">') == expected


def test_a_single_row_is_opened_with_the_place_read_marked(folder: Path) -> None:
    document = browse(folder / "r.html", "#q=row-4999", folder / "profile", "--dump-dom")
    mark = re.search(r"<mark[^>]*>(.*?)</mark>", document)
    assert mark is not None
    assert mark[1] == "42"
    assert "[red]x[/red] [/] :smile: ␛[2J" in html.unescape(document)


def test_failures_are_shown_first_and_undecided_above_incorrect(folder: Path) -> None:
    document = browse(folder / "r.html", "", folder / "profile", "--dump-dom")
    assert '<section id="rows" aria-label="All rows" hidden="">' in document
    shown = re.findall(r'<h3><span class="tag tag-(\w+)">', document)
    assert shown == ["undecided", "incorrect"]


def test_on_a_phone_nothing_is_wider_than_the_screen(folder: Path) -> None:
    page = folder / "phone.html"
    page.write_text(
        """<!doctype html><iframe src="r.html#outcome=incorrect" width="375" height="800"></iframe><script>
        document.querySelector("iframe").onload = (event) => {
          const seen = event.target.contentDocument.documentElement;
          document.title = `${seen.clientWidth} ${seen.scrollWidth}`;
        }</script>""",
        encoding="utf-8",
    )
    document = browse(page, "", folder / "profile", "--dump-dom", "--allow-file-access-from-files")
    assert "<title>375 375</title>" in document


@pytest.mark.parametrize("options", [(), ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")])
def test_a_screenshot_can_be_taken(folder: Path, options: tuple[str, ...]) -> None:
    picture = folder / "picture.png"
    browse(folder / "r.html", "#view=rows", folder / "profile", f"--screenshot={picture}", *options)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000
