"""What a program is judged by: input and output, calls of functions, or tests; and how rows of data hold them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from markscheme.verifiers.code import codec, syntax
from markscheme.verifiers.errors import DataError

Relation = Literal["==", "!=", "is", "true", "false", "in", "close"]
THROUGH = ("len", "list", "set", "sorted", "sum", "tuple", "str", "int", "float", "bool", "abs")
"""Built-in functions that a result may be put through, in the program's jail, before it is compared."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StdioCase(_Frozen):
    """A program reads ``stdin`` and must write ``stdout``."""

    stdin: str
    stdout: str


class CallCase(_Frozen):
    """A function of the program is called, and what it returns is compared with ``expected``, outside its jail."""

    function: str = Field(min_length=1)
    """Its name; ``Class.method`` makes an object first. A name that is missing is looked for in ``class Solution``."""
    arguments: tuple[Any, ...] = ()
    """Of exact built-in types, as all values here."""
    keywords: dict[str, Any] = {}
    expected: Any
    relation: Relation = "=="
    """How the result must stand to ``expected``: equal (as Python has it), not equal, identical (None, True, False),
    true, false, equal to one of several, or a float within ``tolerance``."""
    through: tuple[str, ...] = ()
    """Built-in functions, innermost first, that the result goes through: ``("sorted",)``."""
    tolerance: tuple[float, float] = (0.0, 0.0)
    """Absolute and relative, for ``close``."""
    strict: bool = True
    """For ``close``: the absolute tolerance itself is too far."""
    tuples_as_lists: bool = False
    """A tuple equals a list of the same items: where expected values came by JSON, which has no tuples."""

    @model_validator(mode="after")
    def _plain(self) -> Self:
        for name in ("arguments", "keywords", "expected"):
            try:
                codec.encode(getattr(self, name))
            except codec.NotPlain as error:
                raise ValueError(f"{name}: expected values of exact built-in types, found {error}") from None
        unknown = [step for step in self.through if step not in THROUGH]
        if unknown:
            raise ValueError(f"through: expected some of {', '.join(THROUGH)}, found {unknown[0]!r}")
        return self


class AssertTests(_Frozen):
    """Tests that ``assert``: plain ones, a ``check(candidate)`` as HumanEval has it, or ``test_…`` functions."""

    code: str
    entry_point: str | None = None
    """The function under test; None where the tests call it by its name."""
    prompt: str = ""
    """Code that the model was to complete: a completion without the entry point is read as the rest of it."""


class UnitTests(_Frozen):
    """A file of ``unittest`` cases or ``test_…`` functions that imports the program.

    It must run in the program's own jail, where a program that means to can make any test pass: the verdict's trust is
    low.
    """

    code: str
    module: str = "solution"
    """The name by which the tests import the program."""


Case = StdioCase | CallCase
Cases = tuple[Case, ...] | AssertTests | UnitTests

_FORMS = '{"stdin", "stdout"} or {"function", "arguments", "expected"}'
_ROW = f'expected "cases": a list of {_FORMS}, or "tests": Python text'


def parse_cases(data: object, where: str = "the row") -> Cases:
    """Read what a program is judged by.

    Args:
        data: cases as they are; a list of objects; a row ``{"cases": […]}`` or ``{"tests": "…", "entry_point": "f"}``
            (``"unit_tests"`` for tests that import the program); or such as JSON text. A tuple, set or other value
            that JSON lacks stands as a Python literal in ``arguments_python`` and ``expected_python``.
        where: what errors call it.

    Raises:
        DataError: with the field, what was expected and what was found. No cases are an error.
    """
    if isinstance(data, AssertTests | UnitTests):
        return _tests_with_calls(data, where)
    if isinstance(data, str):
        data = _json(data, where)
    if isinstance(data, Mapping):
        return _row(data, where)
    if isinstance(data, StdioCase | CallCase):
        return (data,)
    if not isinstance(data, Sequence) or isinstance(data, bytes):
        raise DataError(f"{where}: {_ROW}; found {_kind(data)}")
    if not data:
        raise DataError(f'{where}: field "cases": expected at least one case, found none; no cases are never a pass')
    found: tuple[Case, ...] = tuple(_case(one, f'{where}: field "cases", case {n}') for n, one in enumerate(data))
    if len({type(one) for one in found}) > 1:
        raise DataError(f'{where}: field "cases": expected cases of one kind, found both {_FORMS}')
    return found


def _json(text: str, where: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataError(f"{where}: {_ROW}, as JSON; found text that is not JSON: {error}") from None
    except RecursionError:
        raise DataError(f"{where}: nested too deeply") from None


def _row(row: Mapping[str, Any], where: str) -> Cases:
    given = {key: value for key, value in row.items() if value is not None}
    kinds: list[str] = [key for key in ("cases", "tests", "unit_tests") if key in given]
    if not kinds and ("stdin" in given or "function" in given):
        return (_case(row, where),)
    if len(kinds) != 1:
        found = ", ".join(f'"{key}"' for key in (kinds or list(row))) or "no fields"
        raise DataError(f"{where}: {_ROW}; found {found}")
    kind = kinds[0]
    if kind == "cases":
        inner = given["cases"]
        if isinstance(inner, Mapping):
            raise DataError(f'{where}: field "cases": expected a list of {_FORMS}, found an object')
        return parse_cases(inner, where)
    text = given[kind]
    if isinstance(text, list) and text and all(isinstance(line, str) for line in text):
        text = "\n".join(text)  # MBPP's list of assertions
    if not isinstance(text, str) or not text.strip():
        raise DataError(f'{where}: field "{kind}": expected Python text, found {_kind(text)}')
    if kind == "unit_tests":
        return _tests_with_calls(UnitTests(code=text, module=_name(given, "module", where) or "solution"), where)
    entry, prompt = _name(given, "entry_point", where), given.get("prompt", "")
    if not isinstance(prompt, str):
        raise DataError(f'{where}: field "prompt": expected text, found {_kind(prompt)}')
    return _tests_with_calls(AssertTests(code=text, entry_point=entry or None, prompt=prompt), where)


def _name(row: Mapping[str, Any], field: str, where: str) -> str:
    value = row.get(field, "")
    if not isinstance(value, str) or (value and not all(part.isidentifier() for part in value.split("."))):
        raise DataError(f'{where}: field "{field}": expected a name, found {_kind(value)} {str(value)[:60]!r}')
    return value


def _tests_with_calls(tests: AssertTests | UnitTests, where: str) -> AssertTests | UnitTests:
    try:
        calls = syntax.calls_something(tests.code)
    except ValueError as error:
        raise DataError(f"{where}: the tests are not Python: {error}") from None
    if not calls:
        raise DataError(f"{where}: the tests call nothing; no cases are never a pass")
    return tests


def _case(data: object, where: str) -> Case:
    if isinstance(data, StdioCase | CallCase):
        return data
    if not isinstance(data, Mapping):
        raise DataError(f"{where}: expected {_FORMS}, found {_kind(data)}")
    if data.get("function") is not None:
        return _call_case(data, where)
    if data.get("stdin") is None and data.get("stdout") is None:
        found = ", ".join(f'"{key}"' for key in data) or "no fields"
        raise DataError(f"{where}: expected {_FORMS}, found {found}")
    for field in ("stdin", "stdout"):
        if not isinstance(data.get(field), str):
            raise DataError(f'{where}: field "{field}": expected text, found {_kind(data.get(field))}')
    return StdioCase(stdin=data["stdin"], stdout=data["stdout"])


def _call_case(data: Mapping[str, Any], where: str) -> CallCase:
    function = _name(data, "function", where)
    arguments, _ = _value(data, "arguments", where)
    expected, literal = _value(data, "expected", where)
    keywords = data.get("keywords") or {}
    if not isinstance(arguments, list | tuple):
        raise DataError(f'{where}: field "arguments": expected a list, found {_kind(arguments)}')
    if not isinstance(keywords, Mapping) or not all(isinstance(key, str) for key in keywords):
        raise DataError(f'{where}: field "keywords": expected an object, found {_kind(keywords)}')
    try:
        return CallCase(
            function=function,
            arguments=tuple(arguments),
            keywords=_exact(dict(keywords)),
            expected=expected,
            tuples_as_lists=not literal,
        )
    except ValueError as error:
        raise DataError(f"{where}: {error}") from None


def _value(data: Mapping[str, Any], field: str, where: str) -> tuple[Any, bool]:
    """A value as JSON holds it, or as a Python literal; and whether it was the latter."""
    text = data.get(f"{field}_python")
    if text is not None:
        try:
            return syntax.literal(str(text)), True
        except ValueError:
            found = str(text)[:60]
            raise DataError(f'{where}: field "{field}_python": expected a Python literal, found {found!r}') from None
    if field not in data:
        raise DataError(f'{where}: field "{field}": expected a value, found none')
    return _exact(data[field]), False


def _exact(value: Any, depth: int = 0) -> Any:
    """Exact built-in types for those of readers that keep digits."""
    if depth > codec.MAX_DEPTH:
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
    if isinstance(value, list | tuple):
        return type(value)(_exact(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return {key: _exact(item, depth + 1) for key, item in value.items()}
    return value


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    return {"str": "text", "dict": "an object", "list": "a list"}.get(type(value).__name__, type(value).__name__)
