from __future__ import annotations

import dataclasses
import functools
import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.prm import LostStepsWarning, StepEncoder, StepSample
from markscheme.prm.encoding import EncoderConfig
from markscheme.prm.joining import Joiner, contains
from markscheme.prm.segment import token_steps
from markscheme.verifiers.errors import DataError, StepDataError
from profiles import scaled

pytest.importorskip("transformers")

from tokenizer_families import FAMILIES, KNOWN, SPECIALS, Family

pytestmark = pytest.mark.train

families = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
templates = pytest.mark.parametrize("template", ["plain", "chat"])


@functools.cache
def encoder(family: Family, separator: str, template: str) -> StepEncoder:
    return StepEncoder(family.tokenizer, separator=separator, template=template, separator_in_step="allow")


def texts(family: Family) -> st.SearchStrategy[str]:
    """Texts that a family keeps: any for one that has every byte, else of its characters."""
    spaces = " \n" if family.name != "WordPiece" else " "
    known = st.text(alphabet=KNOWN + spaces, min_size=1, max_size=25)
    spelled = st.sampled_from(["<step>", "<s> 1", "+", "a+b", "x\n\ny", "= 2", "=", "\n=\n3", "Step 2: 5 + 8 = 13."])
    anything = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=25)
    drawn = st.one_of(known, spelled, anything) if family.lossless else st.one_of(known, spelled)
    return drawn.filter(lambda text: text.strip())


def solutions(family: Family) -> st.SearchStrategy[tuple[str, list[str], str]]:
    steps = st.lists(texts(family), min_size=1, max_size=5)
    return st.tuples(texts(family), steps, st.sampled_from(family.separators))


@families
@scaled(0.4)
@given(data=st.data())
def test_ids_decode_to_the_text(family: Family, data: st.DataObject) -> None:
    problem, steps, separator = data.draw(solutions(family))
    made = encoder(family, separator, "plain")
    found, wanted = made.decode(made.encode(problem, steps).ids), made.text(problem, steps)
    assert family.canonical(found) == family.canonical(wanted)
    assert wanted == "".join([problem.strip() + "\n\n", *(step.strip() + separator for step in steps)])


@families
@scaled(0.2)
@given(data=st.data())
def test_behind_a_chat_template_too(family: Family, data: st.DataObject) -> None:
    problem, steps, separator = data.draw(solutions(family))
    made = encoder(family, separator, "chat")
    encoded = made.encode(problem, steps)
    turns = [{"role": "user", "content": problem.strip()}]
    standard = family.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False)
    assert list(encoded.ids[: encoded.prompt_length]) == standard  # what the backbone was trained on, blanks included
    found, before = made.decode(encoded.ids), made.decode(standard)
    assert family.canonical(found) == family.canonical(before + "".join(step.strip() + separator for step in steps))
    if family.name == "byte-level BPE":
        assert found == made.text(problem, steps)


@families
@templates
@scaled(0.2)
@given(data=st.data())
def test_one_position_a_step_on_its_separator(family: Family, template: str, data: st.DataObject) -> None:
    problem, steps, separator = data.draw(solutions(family))
    made = encoder(family, separator, template)
    encoded = made.encode(problem, steps)
    n = len(made.separator_ids)
    assert len(encoded.positions) == len(encoded.starts) == len(steps)
    assert encoded.positions[-1] == len(encoded.ids) - 1
    assert encoded.starts == (encoded.prompt_length, *(position + 1 for position in encoded.positions[:-1]))
    for step, start, position in zip(steps, encoded.starts, encoded.positions, strict=True):
        assert start <= position - n + 1
        assert encoded.ids[position - n + 1 : position + 1] == made.separator_ids
        own = made.decode([*encoded.ids[: encoded.starts[0]], *encoded.ids[start : position - n + 1]])
        assert family.canonical(own).endswith(family.canonical(step.strip()))


@families
@scaled(0.2)
@given(data=st.data())
def test_training_and_scoring_see_the_same_ids(family: Family, data: st.DataObject) -> None:
    problem, steps, separator = data.draw(solutions(family))
    labels = data.draw(st.lists(st.sampled_from([True, False, None]), min_size=len(steps), max_size=len(steps)))
    sample = StepSample(prompt=problem, completions=tuple(steps), labels=tuple(labels))
    made = encoder(family, separator, "plain")
    trained = made.encode_sample(sample)
    saved = json.loads(json.dumps(made.config.model_dump()))
    scored = StepEncoder.from_config(family.tokenizer, saved).encode(problem, steps)
    assert dataclasses.replace(trained, labels=()) == scored
    assert trained.labels == sample.targets
    for k in range(1, len(steps)):  # one pass over the whole reads each step behind the prefix that ends with it
        prefix = made.encode(problem, steps[:k])
        assert scored.ids[: len(prefix.ids)] == prefix.ids
        assert scored.positions[:k] == prefix.positions


@families
@scaled(0.2)
@given(data=st.data())
def test_every_step_is_kept_whole_or_counted_as_lost(family: Family, data: st.DataObject) -> None:
    problem, steps, separator = data.draw(solutions(family))
    whole = encoder(family, separator, "plain").encode(problem, steps)
    limit = data.draw(st.integers(1, len(whole.ids) + 2))
    config = encoder(family, separator, "plain").config.model_copy(update={"max_length": limit})
    made = StepEncoder(family.tokenizer, config)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        cut = made.encode(problem, steps)
    kept = sum(position < limit for position in whole.positions)
    assert (len(cut.positions), cut.lost) == (kept, len(steps) - kept)
    assert cut.positions == whole.positions[:kept]
    assert cut.ids == (whole.ids[: cut.positions[-1] + 1] if kept else whole.ids[: whole.prompt_length])
    assert (made.report.lost, made.report.cut) == (cut.lost, int(cut.lost > 0))
    assert [one.category for one in shown] == [LostStepsWarning] * (cut.lost > 0)
    strict = StepEncoder(family.tokenizer, config, strict=True)
    if cut.lost:
        with pytest.raises(DataError, match=r"are beyond max_length|no step fits"):
            strict.encode(problem, steps)
    else:
        assert strict.encode(problem, steps) == cut


@families
@scaled(0.2)
@given(data=st.data())
def test_steps_cut_from_a_completion_have_the_ids_of_the_steps(family: Family, data: st.DataObject) -> None:
    """What a labelled sample, a policy's completion and its tokens give is laid out alike."""
    problem, steps, separator = data.draw(solutions(family))
    steps = [" ".join(step.split()) for step in steps]
    made = encoder(family, separator, "plain")
    wanted = made.encode(problem, steps)
    gap = data.draw(st.sampled_from(["\n\n", "\n\n\n", " \n\n "]))
    completion = gap.join(steps)
    assert made.encode_completion(problem, completion) == wanted
    if family.lossless:
        ids = family.tokenizer(completion, add_special_tokens=False)["input_ids"]
        spans = token_steps(ids, family.tokenizer, "\n\n")
        if sum(span.count for span in spans) == len(spans) and not any(special in completion for special in SPECIALS):
            assert made.encode(problem, [span.text for span in spans]) == wanted


def test_a_completion_without_steps_has_no_positions() -> None:
    encoded = encoder(FAMILIES[0], "<step>", "plain").encode_completion("p", " \n\n ")
    assert (encoded.positions, encoded.lost) == ((), 0)
    assert len(encoded.ids) == encoded.prompt_length


# Bad data and bad settings -------------------------------------------------------------------------------------------

BYTES, UNIGRAM, LLAMA, WORDPIECE, CHARACTERS = FAMILIES


def rows(*solved: tuple[str, list[str]]) -> list[StepSample]:
    return [
        StepSample(prompt=problem, completions=tuple(steps), labels=(1,) * len(steps), id=f"r{i}")
        for i, (problem, steps) in enumerate(solved)
    ]


def test_bad_rows_are_named_all_at_once_or_left_out_and_shown() -> None:
    made = StepEncoder(BYTES.tokenizer, template="plain", max_length=40)
    samples = rows(("p", ["a", "b"]), ("p", ["a\n\nb"]), ("long " * 40, ["a"]), ("p", ["a", "word " * 40]))
    with pytest.raises(StepDataError) as caught:
        made.encode_many(samples)
    assert [row for row, _, _ in caught.value.rows] == [1, 2]
    assert "row 1 (r1): step 0 holds the separator '\\n\\n'" in str(caught.value)
    assert "row 2 (r2): no step fits: the problem alone takes " in str(caught.value)
    assert 'on_bad="skip"' in str(caught.value)
    with pytest.warns(LostStepsWarning) as shown:
        done, report = made.encode_many(samples, on_bad="skip")
    assert len(done) == 2
    assert (report.rows, report.steps, report.lost, report.cut, len(report.skipped)) == (2, 4, 1, 1, 2)
    text = str(shown[0].message)
    assert "2 rows were left out: row 1: step 0 holds" in text
    assert "1 of 4 steps, in 1 of 2 rows, are beyond max_length." in text


def test_a_lost_step_is_an_error_when_strict() -> None:
    made = StepEncoder(BYTES.tokenizer, template="plain", max_length=40, strict=True)
    with pytest.raises(StepDataError, match=r"row 1 \(r1\): 1 of 2 steps are beyond max_length=40"):
        made.encode_many(rows(("p", ["a"]), ("p", ["a", "word " * 40])))


def test_a_step_that_holds_the_separator_is_refused_or_counted() -> None:
    strict = StepEncoder(BYTES.tokenizer, separator="<step>", template="plain")
    with pytest.raises(DataError, match="step 1 holds the separator '<step>'"):
        strict.encode("p", ["a", "b <step> c"])
    counted = StepEncoder(BYTES.tokenizer, separator="<step>", template="plain", separator_in_step="allow")
    encoded = counted.encode("p", ["a", "b <step> c"])
    assert counted.report.separators == 1
    assert [i for i, token in enumerate(encoded.ids) if token == counted.separator_ids[0]] == list(encoded.positions)
    assert counted.report.sentences() == ["1 of 2 steps hold the separator."]


@pytest.mark.parametrize("spelled", ["<step>", "</s>", "<|end|>"])
def test_what_a_step_or_a_problem_spells_never_becomes_a_special_token(spelled: str) -> None:
    token = BYTES.tokenizer.convert_tokens_to_ids(spelled)
    made = StepEncoder(BYTES.tokenizer, template="plain")
    assert token not in made.encode(f"p {spelled}", [f"a {spelled} b"]).ids
    chat = StepEncoder(BYTES.tokenizer, template="chat")
    encoded = chat.encode("p", [f"a {spelled} b"])
    assert token not in encoded.ids[encoded.prompt_length :]


def test_an_empty_step_is_refused() -> None:
    with pytest.raises(DataError, match="step 1 is empty"):
        StepEncoder(BYTES.tokenizer).encode("p", ["a", " \n"])


@pytest.mark.parametrize(
    ("family", "separator"), [(WORDPIECE, "\n\n"), (CHARACTERS, "§"), (UNIGRAM, "§"), (WORDPIECE, "ки")]
)
def test_a_separator_that_the_tokenizer_cannot_write_is_refused(family: Family, separator: str) -> None:
    with pytest.raises(DataError, match="cannot write the separator"):
        StepEncoder(family.tokenizer, separator=separator)


def test_an_empty_separator_is_refused() -> None:
    for empty in ("", ()):
        with pytest.raises(DataError, match="the separator is empty"):
            StepEncoder(BYTES.tokenizer, separator=empty)


def test_a_separator_may_be_given_as_ids() -> None:
    token = BYTES.tokenizer.convert_tokens_to_ids("<step>")
    made = StepEncoder(BYTES.tokenizer, separator=(token,))
    assert (made.separator_ids, made.separator) == ((token,), "<step>")
    assert made.encode("p", ["a"]) == StepEncoder(BYTES.tokenizer, separator="<step>").encode("p", ["a"])


def test_a_chat_template_is_needed_where_one_is_asked_for() -> None:
    bare = type(BYTES.tokenizer)(tokenizer_object=BYTES.make())
    with pytest.raises(DataError, match="no chat template"):
        StepEncoder(bare, template="chat")
    assert StepEncoder(bare).config.template == "plain"
    assert StepEncoder(BYTES.tokenizer).config.template == "chat"


def test_messages_and_a_system_prompt() -> None:
    made = StepEncoder(BYTES.tokenizer, system="be brief")
    head = "<|start|>system\nbe brief<|end|>\n<|start|>user\n2+2?<|end|>\n<|start|>assistant\n"
    assert made.text("2+2?", ["4"]) == head + "4\n\n"
    turns = [{"role": "system", "content": "be long"}, {"role": "user", "content": "2+2?"}]
    assert made.text(turns, ["4"]) == head.replace("brief", "long") + "4\n\n"
    plain = StepEncoder(BYTES.tokenizer, template="plain")
    assert plain.text(turns, ["4"]) == "be long\n\n2+2?\n\n4\n\n"


def test_white_space_around_steps_can_be_kept() -> None:
    made = StepEncoder(BYTES.tokenizer, template="plain", strip=False, separator="<step>")
    assert made.decode(made.encode(" p", [" a\n", "\n\nb "]).ids) == " p\n\n a\n<step>\n\nb <step>"


def test_a_config_from_a_file_is_read_strictly() -> None:
    with pytest.raises(ValueError, match="seperator"):
        EncoderConfig.model_validate({"seperator": "x"})


def test_an_anchor_is_used_only_where_one_is_needed() -> None:
    asked: list[str] = []

    class Spy:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __call__(self, text: Any, **options: Any) -> Any:
            asked.extend(text if isinstance(text, list) else [text])
            return self.inner(text, **options)

        def __getattr__(self, name: str) -> Callable[..., Any]:
            found: Callable[..., Any] = getattr(self.inner, name)
            return found

    for family, wanted in ((BYTES, ["one", "two"]), (LLAMA, ["\none", "\ntwo"]), (WORDPIECE, ["one", "two"])):
        joiner = Joiner(Spy(family.tokenizer))
        asked.clear()
        joiner.pieces(["one", "two"])
        assert asked == wanted


@given(st.lists(st.integers(0, 2), max_size=8), st.lists(st.integers(0, 2), min_size=1, max_size=3))
def test_contains(ids: list[int], part: list[int]) -> None:
    assert contains(ids, part) == (",".join(map(str, part)) in ",".join(map(str, ids)))
