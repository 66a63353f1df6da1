from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.verifiers import DataError
from markscheme.verifiers.jsonl import Row, as_text, read_rows

GOOD = b'{"gold": "1", "completion": "a"}\n'


def message(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        list(read_rows(path))
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        pytest.param(b"", ["the file is empty", "expected one JSON object a line"], id="empty"),
        pytest.param(b"\n \n", ["the file is empty"], id="blank lines only"),
        pytest.param(GOOD + b'{"gold": "1" "b": 2}\n', ["line 2, column 14", "Expecting ',' delimiter"], id="comma"),
        pytest.param(GOOD + b'{"gold": "1\n', ["line 2, column 10", "Unterminated string"], id="cut off"),
        pytest.param(GOOD + b"\n\n[1]\n", ["line 4, column 1", "found a list", "expected one JSON object"], id="list"),
        pytest.param(b'{"gold": NaN}\n', ["line 1, column 10", "NaN is not JSON", "as a string"], id="NaN"),
        pytest.param(b"[" * 100_000 + b"\n", ["line 1, column 1"], id="nested"),
        pytest.param(GOOD + b'{"a": "\xff"}\n', ["line 2", "not UTF-8", "0xff at byte offset 40"], id="not UTF-8"),
        pytest.param("{}".encode("utf-16"), ["line 1", "not UTF-8", "byte offset 0"], id="UTF-16"),
        pytest.param(GOOD + b'{"a": "\0"}\n', ["line 2", "a NUL byte at byte offset 40"], id="NUL"),
    ],
)
def test_bad_lines_name_their_place_and_what_was_expected(tmp_path: Path, content: bytes, parts: list[str]) -> None:
    said = message(tmp_path / "rows.jsonl", content)
    for part in ["rows.jsonl", *parts]:
        assert part in said


def test_a_row_as_it_should_be_is_shown_where_it_is_known(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for content in (b"", b"oops\n", b"[1]\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r'expected one JSON object a line, such as \{"id": 1\}$'):
            list(read_rows(path, '{"id": 1}'))
        with pytest.raises(DataError, match=r"expected one JSON object a line$"):
            list(read_rows(path))


def test_rows_before_a_bad_line_are_yielded(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD * 3 + b"oops\n" + GOOD)
    rows = read_rows(path)
    assert [next(rows).number for _ in range(3)] == [0, 1, 2]
    with pytest.raises(DataError, match="line 4, column 1"):
        next(rows)


def test_blank_lines_crlf_and_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": 2}')
    assert [(row.number, row.line, row.fields["a"]) for row in read_rows(path)] == [(0, 1, 1), (1, 3, 2)]


def test_numbers_keep_their_written_digits(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"gold": 1.10, "answer": 7, "response": 1' + "0" * 5000 + "}")
    (row,) = read_rows(path)
    assert row.text(("gold",), "gold answer") == "1.10"
    assert row.text(("answer",), "gold answer") == "7"
    assert row.text(("response",), "completion") == "1" + "0" * 5000


def test_a_missing_field_names_what_was_looked_for_and_what_is_there() -> None:
    row = Row(Path("f.jsonl"), 2, 3, {"id": "a", "completion": "b"})
    with pytest.raises(DataError) as caught:
        row.text(("gold", "answer"), "gold answer")
    assert str(caught.value) == (
        'f.jsonl, line 3: no gold answer: looked for "gold", "answer"; the row has "id", "completion"'
    )


@pytest.mark.parametrize(
    ("value", "found"),
    [(None, "null"), (True, "the boolean true"), ([1], "a list"), ({"a": 1}, "an object")],
)
def test_other_types_are_errors(value: object, found: str) -> None:
    row = Row(Path("f.jsonl"), 0, 1, {"gold": value})
    with pytest.raises(DataError) as caught:
        row.text(("gold",), "gold answer")
    assert str(caught.value) == f"f.jsonl, line 1: 'gold': expected a string or a number, found {found}"


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert as_text("a\ud800b", "here") == "a\ufffdb"


@given(st.binary(max_size=60))
def test_no_bytes_make_it_raise_anything_else(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.jsonl"
    path.write_bytes(content)
    try:
        rows = list(read_rows(path))
    except DataError as error:
        assert str(path) in str(error)
    else:
        assert rows
