"""Rows of public data sets as labelled solutions.

Each converter takes one row as the data set writes it and yields the fields of `StepSample`, or nothing for a row that
is no labelled solution. It raises DataError, without the row's number, where the row is not of its format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from markscheme.verifiers.errors import DataError

Row = Mapping[str, Any]
Fields = dict[str, Any]
Converter = Callable[[Row], Iterator[Fields]]
Format = Literal["steps", "prm800k", "math_shepherd", "processbench", "prmbench"]
FORMATS: tuple[Format, ...] = get_args(Format)


def steps(row: Row) -> Iterator[Fields]:
    """``{problem, steps, labels}`` or TRL's ``{prompt, completions, labels}``, with `StepSample`'s other fields if any.

    A source of "ProcessBench/gsm8k" is the subset gsm8k of ProcessBench; ``classification`` is the kind.
    """
    problem, solution = _first(row, "problem", "prompt"), _first(row, "steps", "completions")
    source, _, part = str(row.get("source") or "").partition("/")
    fields = {"source": source, "subset": part, "kind": row.get("classification") or ""}
    fields |= {name: row[name] for name in ("subset", "kind", "zero") if row.get(name)}
    fields |= {"prompt": problem, "completions": solution, "labels": _first(row, "labels")}
    fields |= {name: row.get(name) for name in ("final_answer_correct", "first_error_index")}
    yield {**fields, "id": _text(row.get("id")), "generator": _text(row.get("generator"))}


def processbench(row: Row) -> Iterator[Fields]:
    """ProcessBench (2412.06559): ``label`` is the first wrong step from 0, or -1. Steps after it are unlabelled."""
    solution, label = _first(row, "steps"), _first(row, "label")
    if not isinstance(label, int) or isinstance(label, bool) or not -1 <= label < len(solution):
        raise DataError(f"label is {label!r}: expected -1 or a step from 0 to {len(solution) - 1}")
    n = len(solution)
    labels = [1] * n if label == -1 else [1] * label + [0] + [None] * (n - label - 1)
    name = _text(row.get("id"))
    yield {
        "prompt": _first(row, "problem"),
        "completions": solution,
        "labels": labels,
        "id": name,
        "source": "ProcessBench",
        "subset": name.rpartition("-")[0],
        "generator": _text(row.get("generator")),
        "final_answer_correct": row.get("final_answer_correct"),
        "first_error_index": label,
    }


def prmbench(row: Row, *, originals: bool = False) -> Iterator[Fields]:
    """PRMBench (2501.03124): ``error_steps`` counts from 1; every other step of ``modified_process`` is right.

    Args:
        row: the row.
        originals: also yield the solution before it was modified, as kind "correct"; like PRMBench's own evaluation,
            for rows of kind "redundency" alone, since the same solutions stand in the other kinds' rows.
    """
    kind, name = _text(row.get("classification")), _text(row.get("idx"))
    common = {"source": "PRMBench", "subset": kind}
    if originals and kind == "redundency":
        problem, original = _first(row, "original_question"), _first(row, "original_process")
        right = {"prompt": problem, "completions": original, "labels": [1] * len(original), "source": "PRMBench"}
        yield {**right, "id": f"correct_{name}", "kind": "correct", "subset": "correct"}
    solution, wrong = _first(row, "modified_process"), set(_first(row, "error_steps"))
    outside = sorted(step for step in wrong if not isinstance(step, int) or not 1 <= step <= len(solution))
    if outside:
        raise DataError(f"error_steps holds {outside[0]!r}: expected steps from 1 to {len(solution)}")
    labels = [0 if i + 1 in wrong else 1 for i in range(len(solution))]
    problem = _first(row, "modified_question")
    name = name if name.startswith(kind) else f"{kind}_{name}"
    yield {**common, "prompt": problem, "completions": solution, "labels": labels, "id": name, "kind": kind}


# Math-Shepherd -------------------------------------------------------------------------------------------------------

STEP_TAG = "ки"
"""What Math-Shepherd puts after each step, where the score is read."""
_FIRST_STEP = re.compile(r"\s*Step 1\s*:")


def math_shepherd(row: Row) -> Iterator[Fields]:
    """Math-Shepherd (2312.08935): ``input`` has a tag after each step, ``label`` has + or - in the tag's place.

    The last step's label says whether the answer is right: nothing was left to roll out after it. Steps keep their
    "Step k:". The first release wrote "ки +" in ``label`` for the tag; both are read.
    """
    plain, labelled = _first(row, "input"), _first(row, "label")
    if not isinstance(plain, str) or not isinstance(labelled, str):
        raise DataError("expected input and label to be texts")
    plain = re.sub(f"{STEP_TAG} \\?", STEP_TAG, plain)
    parts, place, labels = plain.split(STEP_TAG), 0, []
    if len(parts) < 2:
        raise DataError(f"no {STEP_TAG!r} in input: it stands after each step of Math-Shepherd")
    for i, part in enumerate(parts[:-1]):
        sign = re.compile(f"{re.escape(part)}(?:{STEP_TAG} )?([+-])").match(labelled, place)
        if sign is None:
            found = labelled[place : place + 40]
            raise DataError(f"step {i}: label does not repeat input with + or - for {STEP_TAG!r}: found {found!r}")
        labels.append(int(sign[1] == "+"))
        place = sign.end()
    if parts[-1].strip():
        raise DataError(f"after the last {STEP_TAG!r} of input stands a step without one: {parts[-1].strip()[:40]!r}")
    starts = list(_FIRST_STEP.finditer(parts[0]))
    if not starts:
        raise DataError(f'no "Step 1:" in input: it ends the problem; found {parts[0][:40]!r}')
    problem, first = parts[0][: starts[-1].start()], parts[0][starts[-1].start() :]
    yield {
        "prompt": problem.strip(),
        "completions": [part.strip() for part in (first, *parts[1:-1])],
        "labels": labels,
        "source": "Math-Shepherd",
        "subset": _text(row.get("task")),
        "final_answer_correct": labels[-1] == 1,
    }


# PRM800K -------------------------------------------------------------------------------------------------------------


def prm800k(row: Row, *, alternatives: bool = False) -> Iterator[Fields]:
    """PRM800K (2305.20050): the solution that was followed, with its ratings -1/0/1.

    Of each step it is the chosen completion, or the one that the labeler wrote, which counts as +1. Where neither is,
    the solution ends: with the step that had been generated (else the first rated -1, else the first). Rows of broken
    problems, and the control and screening rows that every labeler was shown, yield nothing.

    Args:
        row: the row.
        alternatives: also yield a solution for each rated completion that was not followed; the steps before it are
            unlabelled there, so that each rating counts once.
    """
    question, label = _first(row, "question"), _first(row, "label")
    if row.get("is_quality_control_question") or row.get("is_initial_screening_question"):
        return
    if label.get("finish_reason") == "bad_problem":
        return
    followed: list[tuple[str, int | None]] = []
    others: list[tuple[list[str], str, int]] = []
    generated = question.get("pre_generated_steps") or []
    for i, step in enumerate(_first(label, "steps")):
        completions = step.get("completions") or []
        text, rating, place, ends = _followed(step, completions, generated[i] if i < len(generated) else None)
        before = [said for said, _ in followed]
        others += [
            (before, one["text"], one["rating"])
            for k, one in enumerate(completions)
            if k != place and one.get("rating") is not None
        ]
        if text is not None:
            followed.append((text, rating))
        if ends:
            break
    common = {"prompt": _first(question, "problem"), "source": "PRM800K"}
    solved = True if label.get("finish_reason") == "solution" else None
    if followed:
        texts, ratings = zip(*followed, strict=True)
        yield {**common, "completions": list(texts), "labels": list(ratings), "final_answer_correct": solved}
    if alternatives:
        for before, text, rating in others:
            yield {**common, "completions": [*before, text], "labels": [None] * len(before) + [rating]}


def _followed(
    step: Row, completions: Sequence[Row], generated: str | None
) -> tuple[str | None, int | None, int | None, bool]:
    """The text of a step, its rating, which completion it is, and whether the solution ends with it."""
    chosen, human = step.get("chosen_completion"), step.get("human_completion")
    if chosen is not None:
        if not isinstance(chosen, int) or not 0 <= chosen < len(completions):
            raise DataError(f"chosen_completion is {chosen!r}, of {len(completions)} completions")
        return completions[chosen]["text"], completions[chosen].get("rating"), chosen, False
    if isinstance(human, Mapping) and human.get("text"):
        return human["text"], 1, None, False
    if not completions:
        return None, None, None, True
    same = [k for k, one in enumerate(completions) if one["text"] == generated]
    wrong = [k for k, one in enumerate(completions) if one.get("rating") == -1]
    place = [*same, *wrong, 0][0]
    return completions[place]["text"], completions[place].get("rating"), place, True


# Which is which ------------------------------------------------------------------------------------------------------

CONVERTERS: dict[Format, Converter] = {
    "steps": steps,
    "prm800k": prm800k,
    "math_shepherd": math_shepherd,
    "processbench": processbench,
    "prmbench": prmbench,
}


def detect(row: Row) -> Format:
    """Tell the format of a row from its fields.

    Raises:
        DataError: it is none of them.
    """
    if "modified_process" in row:
        return "prmbench"
    if isinstance(row.get("question"), Mapping) and isinstance(row.get("label"), Mapping):
        return "prm800k"
    if {"input", "label"} <= row.keys():
        return "math_shepherd"
    if {"steps", "label"} <= row.keys() and "labels" not in row:
        return "processbench"
    if "labels" in row and ({"steps", "problem"} <= row.keys() or {"prompt", "completions"} <= row.keys()):
        return "steps"
    found = ", ".join(list(row)[:12]) or "no fields"
    raise DataError(
        "no known format of labelled steps: expected problem, steps and labels (or prompt, completions and labels), or "
        f"a row of PRM800K, Math-Shepherd, ProcessBench or PRMBench; the row has {found}"
    )


def _first(row: Row, *names: str) -> Any:
    """The first of some fields that is there; DataError where none is."""
    for name in names:
        if row.get(name) is not None:
            return row[name]
    found = ", ".join(list(row)[:12]) or "no fields"
    raise DataError(f"no {' or '.join(map(repr, names))}; the row has {found}")


def _text(value: Any) -> str:
    return "" if value is None else str(value)
