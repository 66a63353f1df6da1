from __future__ import annotations

import pytest

pytestmark = pytest.mark.train
pytest.importorskip("transformers", reason="needs transformers: pip install markscheme[train]")

import tiny_judges as tiny  # noqa: E402
from markscheme.prm.labels import ChatAsk, PrefixPrompt  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402
from rollout_fakes import task  # noqa: E402


def test_steps_stand_behind_the_opened_turn_as_they_are() -> None:
    prompt = PrefixPrompt(ChatAsk(tiny.small_tokenizer()))
    text = prompt(task("one ", " two"), 2)
    assert text.endswith("<|im_start|>user\nP<|im_end|>\n<|im_start|>assistant\none \n\n two\n\n")


def test_the_beginning_of_a_sequence_stands_once() -> None:
    tokenizer = tiny.small_tokenizer()
    tokenizer.bos_token = "<extra_0>"
    tokenizer.chat_template = "{{ bos_token }}" + tokenizer.chat_template
    ask = ChatAsk(tokenizer)
    assert ask("P").startswith("<extra_0><|im_start|>")  # this tokenizer adds none

    class Adds:
        bos_token, bos_token_id, chat_template = tokenizer.bos_token, tokenizer.bos_token_id, "x"

        def __call__(self, text: str) -> dict[str, list[int]]:
            return {"input_ids": [self.bos_token_id, *tokenizer(text)["input_ids"]]}

        def apply_chat_template(self, *args: object, **options: object) -> str:
            return str(tokenizer.apply_chat_template(*args, **options))

    assert ChatAsk(Adds())("P").startswith("<|im_start|>")


def test_a_tokenizer_without_a_template() -> None:
    tokenizer = tiny.small_tokenizer()
    tokenizer.chat_template = None
    with pytest.raises(DataError, match="has no chat template: ask in plain text"):
        ChatAsk(tokenizer)("P")
