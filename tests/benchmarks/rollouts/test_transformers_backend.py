"""Against transformers' own ``generate`` on a tiny model with random weights."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from markscheme.verifiers.errors import DataError

NEEDED = "needs torch and transformers: pip install markscheme[train]"
pytest.importorskip("torch", reason=NEEDED)
transformers = pytest.importorskip("transformers", reason=NEEDED)

from markscheme.benchmarks.rollouts import Prompt, Sampling  # noqa: E402 - after what it needs
from markscheme.benchmarks.rollouts.transformers_backend import TransformersBackend, cut_at  # noqa: E402
from tiny import saved_model  # noqa: E402

pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_model(tmp_path_factory.mktemp("model"))


def alone(folder: Path, text: str, most: int) -> tuple[str, list[int]]:
    """One greedy completion by transformers itself, without batch or padding."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder)
    ids: Any = tokenizer(text, return_tensors="pt")
    out = network.generate(**ids, max_new_tokens=most, do_sample=False)[0, ids["input_ids"].shape[1] :]
    return tokenizer.decode(out, skip_special_tokens=True), out.tolist()


def test_greedy_completions_in_a_padded_batch_are_each_ones_own(model: Path) -> None:
    backend = TransformersBackend(str(model), batch_size=3)
    assert backend.chats
    texts = ["1 + 1", "a much longer question, which pads the others", "x", "How many?"]
    found = backend.generate([Prompt(text=text) for text in texts], Sampling(max_tokens=12), 0)
    for text, (generated,) in zip(texts, found, strict=True):
        expected, ids = alone(model, text, 12)
        assert generated.text == expected
        assert generated.tokens == len(ids)
        assert generated.finish == ("stop" if 1 in ids else "length")


def test_messages_go_through_the_template(model: Path) -> None:
    backend = TransformersBackend(str(model))
    chat = Prompt(messages=({"role": "user", "content": "1 + 1"},))
    plain = Prompt(text="1 + 1=")
    sampling = Sampling(max_tokens=8)
    assert backend.generate([chat], sampling, 0) == backend.generate([plain], sampling, 0)


def test_draws_follow_the_seed(model: Path) -> None:
    backend = TransformersBackend(str(model), batch_size=4)
    prompts = [Prompt(text=str(n)) for n in range(3)]
    sampling = Sampling(n=5, temperature=1.0, max_tokens=8)
    first = backend.generate(prompts, sampling, 1)
    assert [len(group) for group in first] == [5, 5, 5]
    assert backend.generate(prompts, sampling, 1) == first
    assert backend.generate(prompts, sampling, 2) != first
    assert len({one.text for one in first[0]}) > 1


def test_a_stop_text_ends_a_completion_and_is_left_out(model: Path) -> None:
    backend = TransformersBackend(str(model))
    whole = backend.generate([Prompt(text="1 + 1")], Sampling(max_tokens=12), 0)[0][0]
    stop = whole.text[4:6]
    cut = backend.generate([Prompt(text="1 + 1")], Sampling(max_tokens=12, stop=(stop,)), 0)[0][0]
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.finish == "stop"
    assert cut_at("one. two", (". ", "t")) == ("one", True)
    assert cut_at("one", ("two",)) == ("one", False)


def test_what_does_not_fit_or_load_is_named(model: Path, tmp_path: Path) -> None:
    backend = TransformersBackend(str(model))
    with pytest.raises(DataError, match="a prompt of 500 tokens and 100 more do not fit the model's 512"):
        backend.generate([Prompt(text="x" * 500)], Sampling(max_tokens=100), 0)
    with pytest.raises(DataError, match=r"It is one of 1 of these 2, and ends in 'x+ 2 \+ 2'"):
        backend.generate([Prompt(text="1"), Prompt(text="x" * 500 + " 2 + 2")], Sampling(max_tokens=10), 0)
    with pytest.raises(DataError, match="cannot be loaded"):
        TransformersBackend(str(tmp_path))


def test_settings_of_the_checkpoint_are_not_at_work(model: Path, tmp_path: Path) -> None:
    """Instruct models bring a repetition penalty, which greedy search would be under without having been asked."""
    other = Path(shutil.copytree(model, tmp_path / "other"))
    own = transformers.GenerationConfig.from_pretrained(other)
    own.update(repetition_penalty=5.0, no_repeat_ngram_size=2, do_sample=True, temperature=0.7, top_k=20)
    own.save_pretrained(other)
    for sampling in (Sampling(max_tokens=12), Sampling(n=3, temperature=1.0, max_tokens=8)):
        expected, found = (
            TransformersBackend(str(one)).generate([Prompt(text="1 + 1")], sampling, 3) for one in (model, other)
        )
        assert found == expected
    assert alone(other, "1 + 1", 12)[0] != alone(model, "1 + 1", 12)[0]  # they would be seen


def test_ends_are_the_checkpoints_own(model: Path, tmp_path: Path) -> None:
    """Chat models name several ends; generation stops at each."""
    prompts = [Prompt(text="1 + 1")]
    first = alone(model, "1 + 1", 12)[1][0]
    other = Path(shutil.copytree(model, tmp_path / "other"))
    own = transformers.GenerationConfig.from_pretrained(other)
    own.eos_token_id = [own.eos_token_id, first]
    own.save_pretrained(other)
    ((found,),) = TransformersBackend(str(other)).generate(prompts, Sampling(max_tokens=12), 0)
    assert (found.tokens, found.finish) == (1, "stop")
