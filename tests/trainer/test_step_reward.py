"""Step rewards by rule: where each step's reward stands, and what is logged."""

from __future__ import annotations

from typing import Any

import pytest

from markscheme.trainer import StepReward
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.steps import EquationStepVerifier


class Characters:
    """A tokenizer of single characters; 0 ends a sequence."""

    eos_token_id = 0
    pad_token_id = 0
    all_special_ids = (0,)

    def decode(self, ids: Any, *, skip_special_tokens: bool = False, **_: Any) -> str:
        return "".join(chr(i) for i in ids if i or not skip_special_tokens)

    def encode(self, text: str) -> list[int]:
        return [ord(character) for character in text]


TOKENIZER = Characters()
TEXT = "2 + 2 = 4\n\nSo we go on.\n\n4 + 4 = 9"


def rewards(**options: Any) -> list[list[tuple[int, float | None]]]:
    reward = StepReward(EquationStepVerifier(), tokenizer=TOKENIZER, **options)
    return reward(completion_ids=[[*TOKENIZER.encode(TEXT), 0], TOKENIZER.encode("1 + 1 = 2\n\n3 + 3"), []])


def test_each_step_is_rewarded_at_its_last_token() -> None:
    whole, cut, empty = rewards()
    ends = [TEXT.index("So"), TEXT.index("4 + 4"), len(TEXT) + 1]
    assert whole == [(ends[0] - 1, 1.0), (ends[1] - 1, None), (ends[2] - 1, 0.0)]
    assert cut == [(10, 1.0), (15, None)]  # the last step was cut off
    assert empty == []


def test_rewards_can_be_chosen() -> None:
    assert [reward for _, reward in rewards(right=0.5, wrong=-1.0, no_claim=0.0)[0]] == [0.5, 0.0, -1.0]
    assert len(rewards(splitter="\n")[0]) == 3
    cut = TOKENIZER.encode("1 + 1 = 2\n\n3 + 3 = 6")
    for end_ids, last in ((None, None), ([ord("6")], 1.0)):
        reward = StepReward(EquationStepVerifier(), tokenizer=TOKENIZER, end_ids=end_ids)
        assert [value for _, value in reward(completion_ids=[cut])[0]] == [1.0, last]


def test_rates_and_the_first_wrong_claim_are_logged() -> None:
    columns: dict[str, list[Any]] = {}
    metrics: dict[str, float] = {}
    reward = StepReward(EquationStepVerifier(), tokenizer=TOKENIZER)
    ids = [*TOKENIZER.encode(TEXT), 0]
    reward(completion_ids=[ids, []], log_extra=columns.__setitem__, log_metric=metrics.__setitem__)
    assert columns == {"step_reward/first_wrong": ["4 + 4 = 9", ""]}
    assert metrics == {f"step_reward/{name}": pytest.approx(1 / 3) for name in ("right", "wrong", "no_claim")}


def test_a_function_of_steps() -> None:
    reward = StepReward(lambda steps: [float(len(step)) for step in steps], tokenizer=TOKENIZER)
    assert [value for _, value in reward(completion_ids=[[*TOKENIZER.encode(TEXT), 0]])[0]] == [9.0, 12.0, 9.0]
    with pytest.raises(DataError, match="completion 0: the step function gave 1 rewards for 3 steps"):
        StepReward(lambda _: [1.0], tokenizer=TOKENIZER)(completion_ids=[TOKENIZER.encode(TEXT)])
    with pytest.raises(TypeError, match="expected a verifier with verify_steps, or a function of steps, not str"):
        StepReward("equations", tokenizer=TOKENIZER)  # type: ignore[arg-type]


def test_completions_are_judged_while_others_are_generated() -> None:
    calls: list[list[str]] = []

    def lengths(steps: list[str]) -> list[float]:
        calls.append(steps)
        return [float(len(step)) for step in steps]

    ids = [[*TOKENIZER.encode(TEXT), 0], TOKENIZER.encode("1 + 1 = 2\n\n3 + 3"), []]
    for judge in (lengths, EquationStepVerifier()):
        at_once = StepReward(judge, tokenizer=TOKENIZER)(completion_ids=ids)
        reward = StepReward(judge, tokenizer=TOKENIZER)
        for one in reward.begin(completion_ids=ids[:2], answer=["", ""]):
            one.result()
        assert reward(completion_ids=ids) == at_once
    assert len(calls) == 6, "each completion once"
    with pytest.raises(DataError, match="completion 1: the step function gave 1 rewards for 0 steps"):
        reward = StepReward(lambda _: [1.0], tokenizer=TOKENIZER)
        reward.begin(completion_ids=[[]])
        reward(completion_ids=[TOKENIZER.encode("one step"), []])
