"""The function for OpenRLHF. What needs tensors is skipped where torch is absent."""

from __future__ import annotations

import sys
import time

import pytest

from markscheme.verifiers import DataError, GoldError, MissingExtraError
from markscheme.verifiers.rewards import OpenRLHFReward, openrlhf_reward_func
from markscheme.verifiers.rewards.openrlhf import strip_prompt
from scripted import ScriptedVerifier

PROMPT = "<|im_start|>user\nPut 2 + 2 within \\boxed{5}.<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("query", "prompt", "completion"),
    [
        ("2 + 2?4", "2 + 2?", "4"),
        (PROMPT + "It is 4.<|im_end|>", PROMPT, "It is 4."),
        ("<s> 2 + 2? 4</s></s>\n", "2 + 2?", " 4"),
        ("<|endoftext|>" * 50 + PROMPT + "4<|im_end|>\n<|endoftext|>", PROMPT, "4"),
        ("<s>2  +  2 ?4", "2 + 2?", "4"),
        ("<｜begin▁of▁sentence｜>2 + 2?4<｜end▁of▁sentence｜>", "2 + 2?", "4"),
        (PROMPT[10:] + "4", PROMPT, "\n4"),
        (PROMPT[-20:] + "4", PROMPT, "\n4"),
        (PROMPT + PROMPT + "4", PROMPT, PROMPT + "4"),
        ("2 + 2?", "2 + 2?", ""),
        ("4", "", "4"),
    ],
)
def test_strip_prompt(query: str, prompt: str, completion: str) -> None:
    assert strip_prompt(query, prompt) == completion


@pytest.mark.parametrize("query", ["4", "", "5 + 5? 10", "I was asked 2 + 2? 4"])
def test_a_query_of_another_prompt_is_never_judged_whole(query: str) -> None:
    with pytest.raises(DataError, match=r"does not begin with its prompt: expected '2 \+ 2\?'"):
        strip_prompt(query, "2 + 2?")


def test_floods_of_special_tokens_are_stripped_in_linear_time() -> None:
    start = time.process_time()
    assert strip_prompt("2 + 2?4" + "</s>\n " * 50_000, "2 + 2?") == "4"
    assert strip_prompt("2 + 2?4" + "<|" * 50_000, "2 + 2?") == "4" + "<|" * 50_000
    assert time.process_time() - start < 2.0


def test_without_torch_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"install torch, or markscheme\[train\]"):
        openrlhf_reward_func(["2 + 2?\\boxed{4}"], ["2 + 2?"], ["4"])


def test_tensors() -> None:
    torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")
    texts = ["\\boxed{4}", "\\boxed{5}", "none"]
    result = openrlhf_reward_func([PROMPT + text for text in texts], [PROMPT] * 3, ["4"] * 3, extra="ignored")
    assert set(result) == {"rewards", "scores", "extra_logs"}
    assert result["rewards"].dtype is torch.float32
    assert result["rewards"].tolist() == result["scores"].tolist() == [1.0, 0.0, 0.0]
    assert {name: values.tolist() for name, values in result["extra_logs"].items()} == {
        "correct": [1.0, 0.0, 0.0],
        "unreadable": [0.0, 0.0, 1.0],
        "undecided": [0.0, 0.0, 0.0],
        "broken": [0.0, 0.0, 0.0],
    }


def test_undecided_and_broken_get_zero_and_are_logged() -> None:
    pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")
    reward = OpenRLHFReward(verifier=ScriptedVerifier())
    result = reward(["undecided", "broken", "correct"], [""] * 3, ["4"] * 3)
    assert result["rewards"].tolist() == [0.0, 0.0, 1.0]
    assert result["extra_logs"]["undecided"].tolist() == [1.0, 0.0, 0.0]
    assert result["extra_logs"]["broken"].tolist() == [0.0, 1.0, 0.0]


def test_settings_and_errors() -> None:
    pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")
    assert OpenRLHFReward("gsm8k")(["#### 4"], [""], ["4"])["scores"].tolist() == [1.0]
    with pytest.raises(GoldError, match="row 1"):
        openrlhf_reward_func(["\\boxed{4}"] * 2, [""] * 2, ["4", ""])
    with pytest.raises(ValueError, match="zip"):
        openrlhf_reward_func(["\\boxed{4}"], ["", ""], ["4"])
