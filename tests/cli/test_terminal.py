from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from fakes import Run
from markscheme.cli.terminal import clip, errors_shown, safe
from markscheme.verifiers.errors import GoldError
from markscheme.verifiers.release import release


def test_controls_become_visible() -> None:
    assert safe("a\x1b[31mb\x00\x7f\n") == "a␛[31mb␀␡␊"
    assert (
        safe("\x9b\u202e\u2066\u200b\u2028\U000e0041\ud800") == "\\u009b\\u202e\\u2066\\u200b\\u2028\\U000e0041\\ud800"
    )
    assert safe("a\n\tb\r", keep_newlines=True) == "a\n\tb␍"


def test_what_is_harmless_stays() -> None:
    text = "½ \\frac12 √3 [red]x[/red] 中 é \u2009\u00a0 😀"
    assert safe(text) == text


@given(st.text())
def test_nothing_that_a_terminal_acts_on_is_left(text: str) -> None:
    categories = {unicodedata.category(c) for c in safe(text)}
    assert not categories & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_clip() -> None:
    assert [clip("abcd", n) for n in (3, 4)] == ["ab…", "abcd"]


def test_a_fix_is_one_that_the_command_has(capsys: pytest.CaptureFixture[str]) -> None:
    for error, fix in (
        (GoldError([(3, "", "it is empty")]), "Mend them, or pass --on-bad-gold skip to leave these rows out."),
        (GoldError([(3, "", "it is empty")], "Mend them."), "Mend them."),
    ):
        with pytest.raises(typer.Exit), errors_shown():
            raise error
        assert capsys.readouterr().err.splitlines()[1:] == ["  row 3: '': it is empty", fix]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; import markscheme.cli.main as m\n"
        "heavy = {'sympy', 'jinja2', 'torch', 'datasets', 'latex2sympy2_extended'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_version(run: Run) -> None:
    assert run("--version").stdout == f"markscheme {release()}\n"


def test_python_m_works() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "markscheme.cli", "--help"], capture_output=True, text=True, check=True
    )
    for command in ("grade", "audit", "eval"):
        assert command in result.stdout
