"""Where a completion holds its program: the last fenced block, or the whole text where that is a program."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from markscheme.verifiers.outcomes import Reason
from markscheme.verifiers.reading import visible_part

NAMES: dict[str, tuple[str, ...]] = {
    "python": ("python", "py", "python3", "py3"),
    "c": ("c",),
    "cpp": ("cpp", "c++", "cc", "cxx"),
    "javascript": ("javascript", "js", "node"),
}
"""By what names a fence calls each language."""
MOST_CHARACTERS = 1_000_000
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*\{?\.?([A-Za-z0-9_+#-]*)[^\n`]*$", re.MULTILINE)


class ReadProgram(NamedTuple):
    """A program as it was read.

    Attributes:
        code: the program, or None.
        why: why there is none, in a few words.
        reason: the code for that.
        span: where it stands in the completion, in characters.
        fenced: it stood in a block.
    """

    code: str | None
    why: str = ""
    reason: Reason = Reason.NO_CODE
    span: tuple[int, int] | None = None
    fenced: bool = False


class _Block(NamedTuple):
    label: str
    start: int
    end: int
    indent: str
    closed: bool


def read_program(
    completion: str,
    language: str = "python",
    *,
    thinking: bool = False,
    is_program: Callable[[str], bool] | None = None,
) -> ReadProgram:
    """Find the program that a completion holds.

    The last closed block that names the language counts; where none does, the last that names no language. A block that
    is never closed was cut off: then there is no program, whatever stands before it.

    Args:
        completion: a model's text. Only what follows ``</think>`` counts.
        language: a key of ``NAMES``.
        thinking: the prompt's template opened a think block.
        is_program: says whether a text without a fence is a program; None: it never is.
    """
    start, end, why = visible_part(completion, thinking=thinking)
    if why:
        return ReadProgram(None, why, Reason.CUT_OFF)
    if end - start > MOST_CHARACTERS:
        return ReadProgram(None, f"longer than {MOST_CHARACTERS} characters", Reason.TOO_LARGE)
    blocks = list(_blocks(completion, start, end))
    named = [block for block in blocks if block.label in NAMES[language]]
    plain = [block for block in blocks if not block.label]
    if not named and not plain:
        if blocks:
            return ReadProgram(None, f"the fenced blocks are in {blocks[-1].label}, not in {language}")
        text = completion[start:end]
        if is_program is not None and text.strip() and is_program(text):
            return ReadProgram(text, span=(start, end))
        return ReadProgram(None, f"no fenced block, and the text is no {language} program")
    last = (named or plain)[-1]
    if not last.closed:
        return ReadProgram(None, "the fenced block is never closed", Reason.CUT_OFF, (last.start, last.end))
    code = _without_indent(completion[last.start : last.end], last.indent)
    if not code.strip():
        return ReadProgram(None, "the fenced block is empty", span=(last.start, last.end))
    return ReadProgram(code, span=(last.start, last.end), fenced=True)


def _blocks(text: str, start: int, end: int) -> list[_Block]:
    found: list[_Block] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text, start, end):
        if opened is None:
            opened = fence
            continue
        mark = fence[2]
        bare = fence[0].strip() == mark
        if bare and mark[0] == opened[2][0] and len(mark) >= len(opened[2]):
            found.append(_block(opened, fence.start(), closed=True))
            opened = None
    if opened is not None:
        found.append(_block(opened, end, closed=False))
    return found


def _block(fence: re.Match[str], end: int, *, closed: bool) -> _Block:
    return _Block(fence[3].lower(), min(fence.end() + 1, end), end, fence[1], closed)


def _without_indent(code: str, indent: str) -> str:
    """A block inside a list is indented as its fence is."""
    if not indent:
        return code
    return "".join(line.removeprefix(indent) for line in code.splitlines(keepends=True))


def joined(prompt: str, code: str, entry_point: str) -> str:
    """A program of a prompt to complete and its completion: the rest of the last function, or a function of its own.

    The prompt's imports and helpers stand before a function of its own too.
    """
    name = re.escape(entry_point.partition(".")[0])
    if not re.search(rf"^(?:async[ \t]+def|def|class)[ \t]+{name}\b|^{name}[ \t]*=", code, re.MULTILINE):
        return prompt + code
    if re.search(r"^from __future__ import", code, re.MULTILINE):
        return code
    return f"{prompt.rstrip()}\n    pass\n\n\n{code}"


IS_PYTHON = """
import ast, sys
body = ast.parse(sys.stdin.read()).body
inert = [isinstance(one, ast.Expr) and not isinstance(one.value, (ast.Call, ast.Await)) for one in body]
sys.exit(all(inert))
"""
"""Exits with 0 where standard input is Python that does something. It runs in a jail: parsers can be made to crash."""
