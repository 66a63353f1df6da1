"""Where a completion holds its program."""

from __future__ import annotations

import pytest

from markscheme.verifiers import Reason
from markscheme.verifiers.code import read_program
from markscheme.verifiers.code.extract import joined

ONE, TWO = "print(1)\n", "print(2)\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"So:\n```python\n{ONE}```\nDone.", ONE),
        (f"```py\n{ONE}```", ONE),
        (f"```Python3\n{ONE}```", ONE),
        (f"```\n{ONE}```", ONE),
        (f"~~~python\n{ONE}~~~", ONE),
        (f"````python\n{ONE}```\n````", f"{ONE}```\n"),
        (f"```python\n{ONE}```\nNo:\n```python\n{TWO}```", TWO),
        (f"```python\n{ONE}```\nIt prints\n```\n1\n```", ONE),
        (f"```python\n{ONE}```\nRun it\n```bash\npython a.py\n```", ONE),
        (f"1. So\n   ```python\n   if 1:\n       {ONE}   ```", f"if 1:\n    {ONE}"),
        (f"<think>\n```python\n{ONE}```\n</think>\n```python\n{TWO}```", TWO),
        (f"```{{.python}}\n{ONE}```", ONE),
        (f"```python\r\n{ONE}```", ONE),
    ],
)
def test_blocks(text: str, code: str) -> None:
    found = read_program(text)
    assert found.code == code
    assert found.fenced
    assert found.span is not None
    assert text[slice(*found.span)].strip() != ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"```python\n{ONE}", Reason.CUT_OFF),
        (f"```python\n{ONE}```\nBetter:\n```python\n{TWO}", Reason.CUT_OFF),
        (f"<think>\n```python\n{ONE}```", Reason.CUT_OFF),
        ("No idea.", Reason.NO_CODE),
        ("", Reason.NO_CODE),
        ("```python\n```", Reason.NO_CODE),
        ("```java\nclass A {}\n```", Reason.NO_CODE),
        ("x" * 1_000_001, Reason.TOO_LARGE),
    ],
)
def test_none(text: str, reason: Reason) -> None:
    found = read_program(text)
    assert (found.code, found.reason) == (None, reason)
    assert found.why


def test_thinking_that_the_prompt_opened() -> None:
    text = f"```python\n{ONE}```"
    assert read_program(text, thinking=True).reason is Reason.CUT_OFF
    assert read_program(f"…</think>{text}", thinking=True).code is None  # a fence begins a line
    assert read_program(f"…</think>\n{text}", thinking=True).code == ONE


def test_languages() -> None:
    text = f"```python\n{ONE}```\n```c++\nint main(){{}}\n```"
    assert read_program(text, "cpp").code == "int main(){}\n"
    assert read_program(text).code == ONE


def test_the_whole_text() -> None:
    assert read_program(ONE, is_program=lambda _: True).code == ONE
    assert read_program(ONE, is_program=lambda _: False).code is None


def test_joined() -> None:
    prompt = 'from typing import List\n\n\ndef f(a: List[int]) -> int:\n    """Sum."""\n'
    assert joined(prompt, "    return sum(a)\n", "f") == f"{prompt}    return sum(a)\n"
    whole = joined(prompt, "def f(a: List[int]) -> int:\n    return sum(a)\n", "f")
    names: dict[str, object] = {}
    exec(whole, names)
    assert names["f"]([1, 2]) == 3  # type: ignore[operator]
