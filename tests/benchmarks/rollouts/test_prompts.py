from __future__ import annotations

import pytest

from markscheme.benchmarks.rollouts.prompts import INSTRUCTION, STOP, prompter
from markscheme.benchmarks.rollouts.sampling import PRESETS, Sampling
from markscheme.benchmarks.rollouts.shots import SHOTS
from markscheme.verifiers import MathVerifier, Outcome
from markscheme.verifiers.errors import DataError

SHOT_ANSWERS = {"gsm8k": ["43", "8", "240", "8"], "math500": ["6", "30", "1/6", "(x-3)(x+3)"]}


def test_chat_puts_examples_in_earlier_turns() -> None:
    prompt = prompter("auto", SHOTS["gsm8k"], 2, chats=True)("How many?")
    assert [message["role"] for message in prompt.messages] == ["user", "assistant"] * 2 + ["user"]
    assert prompt.messages[-1]["content"] == f"{INSTRUCTION}\n\nHow many?"
    assert prompt.text == ""


def test_plain_is_one_text_that_stops_at_the_next_question() -> None:
    made = prompter("auto", SHOTS["gsm8k"], 1, chats=False)
    prompt = made("How many?")
    assert prompt.messages == ()
    assert prompt.text.startswith(INSTRUCTION)
    assert prompt.text.endswith("Question: How many?\nAnswer:")
    assert prompt.text.count("Question:") == 2
    assert made.stop == STOP


def test_what_cannot_be_had_is_refused() -> None:
    with pytest.raises(DataError, match="at most 4 worked examples, 5 were asked for"):
        prompter("auto", SHOTS["gsm8k"], 5, chats=True)
    with pytest.raises(DataError, match="no chat template: pass --style plain"):
        prompter("chat", SHOTS["gsm8k"], 0, chats=False)


@pytest.mark.parametrize("suite", SHOTS)
def test_every_worked_example_states_its_answer(suite: str) -> None:
    verifier = MathVerifier(reading="boxed")
    for shot, answer in zip(SHOTS[suite], SHOT_ANSWERS[suite], strict=True):
        assert verifier.verify(shot.solution, answer).outcome is Outcome.CORRECT


def test_presets_are_settings_and_seeds_are_parted() -> None:
    assert {name: Sampling.model_validate(preset).greedy for name, preset in PRESETS.items()} == {
        "greedy": True,
        "default": False,
        "focused": False,
    }
    seeds = {Sampling(seed=seed).seed_of(chunk) for seed in range(20) for chunk in range(20)}
    assert len(seeds) == 400
    assert max(seeds) < 2**31
