"""Rewards for programs, as TRL, verl and OpenRLHF call them."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from markscheme.verifiers import DataError, Outcome
from markscheme.verifiers.code import CodeVerifier, Execution, RunOutcome, Sandbox
from markscheme.verifiers.rewards import BrokenVerifierAlarm, CodeReward, RewardAlarm
from markscheme.verifiers.rewards import code as code_rewards

RIGHT = "```python\nprint(2 * int(input()))\n```"
WRONG = "```python\nprint(int(input()))\n```"
CUT = "```python\nprint(2 *"
CASES = [{"stdin": "4", "stdout": "8"}]


def test_called_as_trl_calls_it(verifier: CodeVerifier) -> None:
    columns: dict[str, list[Any]] = {}
    metrics: dict[str, float] = {}
    rewards = CodeReward(verifier=verifier)(
        prompts=["Double it."] * 4,
        completions=[RIGHT, WRONG, CUT, [{"role": "assistant", "content": RIGHT}]],
        completion_ids=[[1]] * 4,
        cases=[json.dumps(CASES), CASES, {"cases": CASES}, json.dumps(CASES)],
        level=[1] * 4,
        trainer_state=object(),
        log_extra=columns.__setitem__,
        log_metric=metrics.__setitem__,
    )
    assert rewards == [1.0, 0.0, 0.0, 1.0]
    assert columns["code_reward/outcome"] == ["correct", "incorrect", "unreadable", "correct"]
    assert columns["code_reward/reason"] == ["passed", "wrong_answer", "cut_off", "passed"]
    assert metrics == {
        "code_reward/correct": 0.5,
        "code_reward/unreadable": 0.25,
        "code_reward/undecided": 0.0,
        "code_reward/broken": 0.0,
    }


def test_programs_are_judged_while_others_are_generated(verifier: CodeVerifier) -> None:
    programs = [RIGHT, WRONG, CUT, RIGHT]
    cases: list[Any] = [json.dumps(CASES), CASES, {"cases": CASES}, [{"stdin": "4", "stdout": "9"}]]
    at_once = CodeReward(verifier=verifier)(completions=programs, cases=cases)
    reward = CodeReward(verifier=verifier)
    begun = [one for n in (2, 3, 0) for one in reward.begin(completions=[programs[n]], cases=[cases[n]])]
    assert [one.result().outcome for one in begun] == [Outcome.UNREADABLE, Outcome.INCORRECT, Outcome.CORRECT]
    assert reward(completions=programs, cases=cases) == at_once == [1.0, 0.0, 0.0, 0.0]
    assert reward.begin(completions=[RIGHT], cases=[[]]) == []
    with pytest.raises(DataError, match=r"row 1 of this batch.*no cases are never a pass"):
        reward(completions=[RIGHT, RIGHT], cases=[CASES, []])


def test_columns_of_tests(verifier: CodeVerifier) -> None:
    reward = CodeReward(
        tests_column="test", entry_point_column="entry_point", prompt_column="stub", verifier=verifier, name="tests"
    )
    rewards = reward(
        completions=["    return 2 * x\n", "    return x\n"],
        test=["def check(candidate):\n    assert candidate(2) == 4\n", ["assert f(2) == 4", "assert f(3) == 6"]],
        entry_point=["f", "f"],
        stub=["def f(x):\n"] * 2,
    )
    assert rewards == [1.0, 0.0]
    with pytest.raises(DataError, match="no column 'entry_point'"):
        reward(completions=["x"], test=["assert f(1)"])


def test_errors(verifier: CodeVerifier) -> None:
    reward = CodeReward(verifier=verifier)
    with pytest.raises(DataError, match=r"no cases column: expected 'cases'.*CodeReward\(cases_column=…\)"):
        reward(completions=[RIGHT], tests=[CASES])
    with pytest.raises(DataError, match=r"row 1 of this batch.*no cases are never a pass"):
        reward(completions=[RIGHT, RIGHT], cases=[CASES, []])
    with pytest.raises(ValueError, match="expected one each"):
        reward(completions=[RIGHT], cases=[])


def test_partial_credit(judge_sandbox: Sandbox) -> None:
    cases = [*CASES, {"stdin": "0", "stdout": "0"}]
    reward = CodeReward(verifier=CodeVerifier(judge_sandbox, score="fraction"))
    assert reward(completions=[RIGHT, WRONG], cases=[cases, cases]) == [1.0, 0.5]


def test_copies_and_pickles() -> None:
    reward = CodeReward(workers=1, name="mine")
    for other in (copy.deepcopy(reward), pickle.loads(pickle.dumps(reward))):
        assert other.__name__ == "mine"
        assert other(completions=[RIGHT, WRONG], cases=[CASES, CASES]) == [1.0, 0.0]
        other.verifier.close()


class Broken(Sandbox):
    def __init__(self) -> None:
        self.level, self.workers, self.preload, self.runs = 3, 1, (), 0

    def run(self, *_: Any, **__: Any) -> Execution:
        self.runs += 1
        return Execution(outcome=RunOutcome.BROKEN, level=3, detail="no memory for a jail")

    call = run


def test_a_broken_sandbox_gives_no_reward_and_sets_off_the_alarm() -> None:
    broken = Broken()
    alarm = BrokenVerifierAlarm(window=2, reading="code")
    reward = CodeReward(verifier=CodeVerifier(broken), alarm=alarm)
    with pytest.warns(RewardAlarm, match=r"the verifier itself failed.*no memory for a jail"):
        assert reward(completions=[RIGHT, RIGHT], cases=[CASES, CASES]) == [None, None]
    assert broken.runs == 4  # each is judged a second time


@pytest.mark.parametrize(
    ("completion", "cause"),
    [
        (CUT, "end inside the block that would hold the program: raise max_completion_length"),
        ("No idea.", "hold no fenced block of the language"),
        (WRONG, "run known solutions on the cases"),
    ],
)
def test_causes(verifier: CodeVerifier, completion: str, cause: str) -> None:
    alarm = BrokenVerifierAlarm(window=4, reading="code")
    reward = CodeReward(verifier=verifier, alarm=alarm)
    with pytest.warns(RewardAlarm, match=cause):
        reward(completions=[completion] * 4, cases=[CASES] * 4)


def test_verl() -> None:
    score = code_rewards.compute_score("set", RIGHT, json.dumps(CASES), {"index": 3})
    assert (score["score"], score["acc"], score["outcome"], score["reason"]) == (1.0, 1.0, "correct", "passed")
    wrong = code_rewards.compute_score("set", CUT, CASES, score="fraction", cpu_seconds=1)
    assert (wrong["score"], wrong["acc"], wrong["unreadable"], wrong["low_trust"]) == (0.0, 0.0, 1.0, 0.0)
    assert score.keys() == wrong.keys()
    with pytest.raises(DataError, match=r"index 3: .*no cases are never a pass"):
        code_rewards.compute_score("set", RIGHT, "[]", {"index": 3})


def test_openrlhf(verifier: CodeVerifier) -> None:
    pytest.importorskip("torch", reason="OpenRLHF's rewards are tensors")
    found = code_rewards.OpenRLHFCodeReward(verifier)(
        ["Q: " + RIGHT, "Q: " + WRONG], ["Q: "] * 2, [json.dumps(CASES)] * 2
    )
    assert found["rewards"].tolist() == [1.0, 0.0]
    assert found["extra_logs"][str(Outcome.CORRECT)].tolist() == [1.0, 0.0]
