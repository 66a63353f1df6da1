from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import markscheme.prm
import profiles  # noqa: F401 - loads the profile
from markscheme.prm import StepSpan, StepSplitter, align, token_steps
from markscheme.verifiers.errors import DataError
from prm.conftest import CORPUS, Characters, encode

STEPS = st.lists(
    st.sampled_from(["She has 3.", "9 * 2 = 18", "🙂", "你好", "It's 4.", " x ", "", "\n", "Step 2: so", "👩‍👩‍👧!"])
    | st.text(max_size=8),
    max_size=7,
)


def shown(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=True))


# The splitter -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text", "steps"),
    [
        ("\n\n", "One.\n\nTwo.\nStill two.\n\n\n\nThree.", ["One.", "Two.\nStill two.", "Three."]),
        ("\n\n", "\n\n  One.  \n\n \n\n", ["One."]),
        ("\n\n", "", []),
        ("\n\n", " \n\n\t", []),
        ("\n", "One.\nTwo.\n#### 3", ["One.", "Two.", "#### 3"]),
        ("ки", "Step 1: a ки\nStep 2: b ки", ["Step 1: a", "Step 2: b"]),
        ("steps", "So:\nStep 1: a\nStep 2: b\n\nc\nStep 10. d", ["So:", "Step 1: a", "Step 2: b\n\nc", "Step 10. d"]),
        ("steps", "**Step 1:** a\n### Step 2 - b\n  step 3) c", ["**Step 1:** a", "### Step 2 - b", "step 3) c"]),
        ("steps", "Step 1\na", ["Step 1\na"]),
        ("steps", "See Step 2: a.\nStep 1 is none.\nStepping 3: b", ["See Step 2: a.\nStep 1 is none.\nStepping 3: b"]),
        (re.compile(r"\n\s*\n"), "a\n \nb\n\n\n c", ["a", "b", "c"]),
        (re.compile(r"(?=\(\d\))"), "so (1) a (2) b", ["so", "(1) a", "(2) b"]),
        (lambda text: [m.span() for m in re.finditer(r"[^.]+\.", text)], "One. Two. rest", ["One.", "Two."]),
    ],
    ids=lambda value: "callable" if callable(value) else repr(value)[:30],
)  # fmt: skip
def test_steps_of_a_text(pattern: Any, text: str, steps: list[str]) -> None:
    splitter = StepSplitter(pattern)
    assert splitter.split(text) == steps
    assert [text[a:b] for a, b in splitter.spans(text)] == steps


@given(steps=STEPS)
def test_a_separator_parts_as_split_does(steps: list[str]) -> None:
    text = "\n\n".join(steps)
    assert StepSplitter("\n\n").split(text) == [step.strip() for step in text.split("\n\n") if step.strip()]


@pytest.mark.parametrize(
    ("pattern", "text", "is_open"),
    [
        ("\n\n", "a\n\nb", True),
        ("\n\n", "a\n\nb\n\n", False),
        ("\n\n", "a\n\nb\n", True),
        ("steps", "Step 1: a\n\n", True),
        (lambda text: [(0, len(text))], "a\n\n", True),
        ("\n\n", "", True),
    ],
    ids=lambda value: "callable" if callable(value) else repr(value)[:20],
)
def test_whether_the_last_step_may_go_on(pattern: Any, text: str, is_open: bool) -> None:  # noqa: FBT001
    assert StepSplitter(pattern).is_open(text) is is_open


def test_a_splitter_says_what_is_wrong() -> None:
    with pytest.raises(
        ValueError, match=r'an empty separator parts nothing: pass the text between steps, such as "\\n\\n"'
    ):
        StepSplitter("")
    with pytest.raises(TypeError, match="expected text, a compiled pattern or a callable, not int"):
        StepSplitter(3)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"the splitter's span 1 is \(1, 3\): expected 2 <= start <= stop <= 4"):
        StepSplitter(lambda text: [(0, 2), (1, 3)]).spans("abcd")
    with pytest.raises(DataError, match=r"the splitter's span 0 is \(0, 9\)"):
        StepSplitter(lambda text: [(0, 9)]).spans("abcd")
    assert repr(StepSplitter("\n")) == r"StepSplitter('\n')"


# Tokens of the steps ------------------------------------------------------------------------------------------------


def check(steps: list[StepSpan], ids: list[int], tokenizer: Any, splitter: StepSplitter) -> None:
    """What holds of every completion, said by decoding prefixes."""
    text = shown(tokenizer, ids)
    assert sum(step.count for step in steps) == len(splitter.spans(text))  # none is lost
    assert [step.text for step in steps if step.count == 1] == [
        text[step.start_char : step.end_char] for step in steps if step.count == 1
    ]
    if not steps:
        return
    assert steps[0].first_token == 0
    for one, two in pairwise(steps):
        assert one.first_token <= one.last_token < two.last_token
        assert two.first_token == one.last_token + 1
    reached = align(ids, tokenizer).reached
    for n, step in enumerate(steps):
        # Its last character is there with its last token, and the next step's first whole token is not.
        assert reached[step.last_token] >= step.end_char
        before = reached[step.last_token - 1] if step.last_token else 0
        if n + 1 < len(steps):
            assert before < step.end_char or reached[step.last_token] <= steps[n + 1].start_char
    assert steps[-1].last_token < len(ids)


@given(steps=STEPS, end=st.booleans())
@pytest.mark.parametrize("separator", ["\n\n", "\n", "steps", ". "])
def test_steps_and_their_tokens(separator: str, steps: list[str], end: bool, tokenizer: Any) -> None:  # noqa: FBT001
    ids = encode(tokenizer, ("\n" if separator == "steps" else separator).join(steps)) + [0] * end
    found = token_steps(ids, tokenizer, separator, end_ids=[0])
    check(found, ids, tokenizer, StepSplitter(separator))
    if found:
        assert found[-1].last_token == len(ids) - 1
        assert not any(step.truncated for step in found[:-1])
        assert found[-1].truncated == (not end and StepSplitter(separator).is_open(shown(tokenizer, ids)))


def test_a_separator_of_its_own_belongs_to_the_step_before(made: dict[str, Any]) -> None:
    tokenizer = made["byte_level_bpe"]
    ids = encode(tokenizer, CORPUS[0])
    one, two = token_steps(ids, tokenizer)
    assert [tokenizer.id_to_token(n) for n in ids[one.last_token - 2 : two.first_token + 1]] == [".", "Ċ", "Ċ", "Step"]
    assert two.last_token == len(ids) - 1
    assert (one.text, two.text) == tuple(CORPUS[0].strip().split("\n\n"))


def test_a_token_across_the_border_belongs_to_the_step_it_completes(made: dict[str, Any]) -> None:
    tokenizer = made["greedy_bpe"]
    ids = encode(tokenizer, CORPUS[0])
    one, two = token_steps(ids, tokenizer)
    border = tokenizer.id_to_token(ids[one.last_token])
    assert "ĊĊStep" in border  # or this tokenizer no longer shows what it is for
    assert two.first_token == one.last_token + 1
    assert two.text.startswith("Step 2")
    assert shown(tokenizer, ids[: one.last_token]).rstrip().endswith("eg")


def test_a_separator_that_a_token_shares_with_the_next_step_alone(made: dict[str, Any]) -> None:
    tokenizer = made["unigram"]
    ids = encode(tokenizer, "The total is 12.\n\n Done.")
    one, two = token_steps(ids, tokenizer)
    assert (one.text, two.text) == ("The total is 12.", "Done.")
    assert shown(tokenizer, ids[: one.last_token + 1]).strip() == "The total is 12."


class Whole:
    """Tokens that hold whole steps."""

    eos_token_id = 9

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        return "".join({0: "a\n\nb\n\n", 1: "c", 2: "\n\nd", 9: ""}[n] for n in ids)


def test_steps_that_one_token_ends_are_one_and_counted() -> None:
    assert token_steps([0, 1, 2, 9], Whole()) == [
        StepSpan("a\n\nb", 0, 4, 0, 0, count=2),
        StepSpan("c", 6, 7, 1, 1),
        StepSpan("d", 9, 10, 2, 3),
    ]


@pytest.mark.parametrize(
    ("text", "tail", "truncated", "last"),
    [
        ("One.\n\nTwo.", [], True, -1),
        ("One.\n\nTwo.\n\n", [], False, -1),
        ("One.\n\nTwo.", [0], False, -1),
        ("One.\n\nTwo.", [0, 1, 1], False, -3),
        ("One.\n\nTwo.", [0, 0, 0], False, -3),
        ("One.\n\nTwo.", [1, 1], False, -3),
    ],
)
def test_truncation_and_padding(text: str, tail: list[int], truncated: bool, last: int) -> None:  # noqa: FBT001
    tokenizer = Characters()
    ids = tokenizer.encode(text) + tail
    one, two = token_steps(ids, tokenizer)
    assert (one.truncated, two.truncated) == (False, truncated)
    assert two.last_token == len(ids) + last


def test_truncation_can_be_told() -> None:
    tokenizer = Characters()
    ids = tokenizer.encode("One.\n\nTwo.")
    assert not token_steps(ids, tokenizer, truncated=False)[-1].truncated
    assert token_steps([*ids, 0], tokenizer, truncated=True)[-1].truncated
    assert not token_steps([*ids, 5], tokenizer, end_ids=[5])[-1].truncated


def test_a_tokenizer_without_an_end_cannot_say(made: dict[str, Any]) -> None:
    ids = encode(made["byte_level_bpe"], "One.\n\nTwo.")
    assert not any(step.truncated for step in token_steps(ids, made["byte_level_bpe"]))


class Marked(Characters):
    """A tokenizer with a mark of steps that has no text."""

    all_special_ids = (0, 1, 1000)

    def decode(self, ids: list[int], *, skip_special_tokens: bool = False) -> str:
        return super().decode([n for n in ids if n != 1000], skip_special_tokens=skip_special_tokens)


def test_a_special_token_after_a_separator_belongs_to_the_step_before() -> None:
    tokenizer = Marked()
    ids = [*tokenizer.encode("One.\n\n"), 1000, *tokenizer.encode("Two.\n\n"), 1000, 0]
    one, two = token_steps(ids, tokenizer)
    assert ids[one.last_token] == 1000
    assert (two.first_token, two.last_token) == (one.last_token + 1, len(ids) - 1)


@pytest.mark.parametrize("ids", [[], [0], [0, 0], [1]])
def test_no_text_has_no_steps(ids: list[int]) -> None:
    assert token_steps(ids, Characters()) == []


def test_separators_alone_have_no_steps(tokenizer: Any) -> None:
    assert token_steps(encode(tokenizer, "\n\n\n\n  \n\n"), tokenizer) == []


def test_a_tokenizer_of_transformers(made: dict[str, Any]) -> None:
    transformers = pytest.importorskip("transformers")
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made["byte_level_bpe"], eos_token="<eos>", pad_token="<pad>", extra_special_tokens=["<step>"]
    )
    ids = wrapped("One 🙂.\n\nTwo.")["input_ids"] + [wrapped.eos_token_id]
    one, two = token_steps(ids, wrapped)
    assert (one.text, two.text, two.truncated) == ("One 🙂.", "Two.", False)
    assert two.last_token == len(ids) - 1
    assert token_steps(ids[:-1], wrapped)[-1].truncated


def test_the_public_names() -> None:
    assert markscheme.prm.__all__ == sorted(markscheme.prm.__all__) == dir(markscheme.prm)
    assert all(getattr(markscheme.prm, name) for name in markscheme.prm.__all__)
    assert set(markscheme.prm._HOMES) == set(markscheme.prm.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = markscheme.prm.nothing
