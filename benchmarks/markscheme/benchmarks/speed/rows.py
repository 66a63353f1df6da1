"""The pairs that the benchmark of answers judges."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from markscheme.verifiers import DataError

Form = Literal["answer", "completion"]


@dataclass(frozen=True, slots=True)
class Row:
    """One pair. ``expected`` is None where nobody has said whether the prediction is right."""

    id: str
    gold: str
    prediction: str
    expected: bool | None
    form: Form


def load_rows(path: Path) -> list[Row]:
    """Read a JSONL file of ``{id, gold, prediction, expected, form}``; ``completion`` may stand for ``prediction``.

    ``id`` and ``expected`` may be absent. ``form`` is "answer" (a bare answer) or "completion" (a model's text); when
    absent it follows from the field's name.

    Raises:
        DataError: a line that is not such a row, with file and line; a file without rows.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    rows = [_row(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise DataError(f"{path}: no rows; expected one JSON object a line")
    return rows


def _row(line: str, where: str) -> Row:
    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{where}:{error.colno}: not JSON: {error.msg}") from error
    if not isinstance(fields, dict):
        raise DataError(f"{where}: expected a JSON object, not {type(fields).__name__}")
    name = "prediction" if "prediction" in fields else "completion"
    missing = [field for field in ("gold", name) if not isinstance(fields.get(field), str)]
    if missing:
        raise DataError(f"{where}: expected text in {' and '.join(missing)}; the fields that came: {_names(fields)}")
    expected, form = fields.get("expected"), fields.get("form", "completion" if name == "completion" else "answer")
    if expected not in (True, False, None) or form not in ("answer", "completion"):
        raise DataError(
            f'{where}: expected must be true or false, form "answer" or "completion": {expected!r}, {form!r}'
        )
    return Row(str(fields.get("id", where)), fields["gold"], fields[name], expected, form)


def _names(fields: Mapping[str, Any]) -> str:
    return ", ".join(sorted(fields)) or "none"


def sample_rows(rows: Sequence[Row], limit: int | None, seed: int) -> list[Row]:
    """Return ``limit`` rows drawn without repetition, in their order; all of them when there are fewer."""
    if limit is None or limit >= len(rows):
        return list(rows)
    chosen = random.Random(seed).sample(range(len(rows)), limit)  # noqa: S311 - a sample, no secret
    return [rows[at] for at in sorted(chosen)]


# (gold, prediction, expected, form); some of each kind that a grader meets, a wrong one beside each right one.
_BUILT_IN: tuple[tuple[str, str, bool, Form], ...] = (
    ("4", "4", True, "answer"),
    ("4", "5", False, "answer"),
    ("1234", "1,234", True, "answer"),
    ("1234", "1,243", False, "answer"),
    ("0.5", "\\frac{1}{2}", True, "answer"),
    ("0.5", "\\frac{1}{3}", False, "answer"),
    ("\\frac{3}{4}", "0.75", True, "answer"),
    ("2\\sqrt{5}", "\\sqrt{20}", True, "answer"),
    ("2\\sqrt{5}", "\\sqrt{10}", False, "answer"),
    ("(1, 2)", "(1,2)", True, "answer"),
    ("(1, 2)", "(2,1)", False, "answer"),
    ("\\{1, 2, 3\\}", "3, 1, 2", True, "answer"),
    ("\\{1, 2, 3\\}", "1, 2", False, "answer"),
    ("[0, 1)", "0 \\le x < 1", True, "answer"),
    ("[0, 1)", "(0, 1]", False, "answer"),
    ("x^2 + 2x + 1", "(x+1)^2", True, "answer"),
    ("x^2 + 2x + 1", "(x-1)^2", False, "answer"),
    ("50\\%", "0.5", True, "answer"),
    ("12 \\text{ cm}", "12 \\text{ m}", False, "answer"),
    ("18", "16 - 3 - 4 = 9, and 9 * 2 = 18.\n#### 18", True, "completion"),
    ("18", "16 - 3 = 13, and 13 * 2 = 26.\n#### 26", False, "completion"),
    ("\\frac{1}{2}", "The probability is $\\boxed{\\frac{1}{2}}$.", True, "completion"),
    ("\\frac{1}{2}", "The probability is $\\boxed{\\frac{1}{4}}$.", False, "completion"),
    ("7", "First $\\boxed{5}$; correcting, the answer is $\\boxed{7}$.", True, "completion"),
)


def built_in_rows() -> list[Row]:
    """Return a small list of pairs, for a first look without any file."""
    return [Row(f"built-in-{number:02}", *pair) for number, pair in enumerate(_BUILT_IN)]
