"""Arms and measurements: which reward lands on which token, and what is counted."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")
pytest.importorskip("trl", reason="needs TRL: pip install markscheme[train]")

from markscheme.benchmarks.learning.arms import ARMS, BY_NAME, PROBES, Arm, Marker, spoil, token_ends  # noqa: E402
from markscheme.benchmarks.learning.measure import Signs, sign_accuracy, summary  # noqa: E402
from markscheme.benchmarks.learning.policy import judge_ids, make_model, make_tokenizer, sample  # noqa: E402
from markscheme.benchmarks.learning.task import Problem, held_out, judge  # noqa: E402
from markscheme.trainer import ProcessGRPOConfig  # noqa: E402
from markscheme.trainer.credit import process_advantages  # noqa: E402

pytestmark = pytest.mark.train

PROMPT = "7a*3b+8c*5:"
RIGHT = "7a*3=1\n1b+8=9\n9=9\n9c*5=5\n#5"
FLAWED = "7a*3=3\n3b+8=1\n1c*5=5\n#5"
TOKENIZER = make_tokenizer()


def ids(text: str) -> list[int]:
    return [*TOKENIZER.encode(text), TOKENIZER.eos_token_id]


def test_the_arms_of_the_comparison() -> None:
    assert [arm.name for arm in ARMS] == [
        *("sft", "rejection", "outcome", "sum", "min", "delta", "first_error", "both"),
        *("delta_shuffled", "delta_constant"),
    ]
    assert all(arm.probes in BY_NAME for arm in PROBES)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # transformers 5 deprecates what TRL 1.16 sets
@pytest.mark.parametrize("arm", [arm for arm in BY_NAME.values() if arm.kind == "grpo"], ids=lambda arm: arm.name)
def test_every_arm_is_a_setting_of_the_trainer(arm: Arm, tmp_path: object) -> None:
    config = ProcessGRPOConfig(
        str(tmp_path), supervision=arm.supervision, credit=arm.credit, bf16=False, use_cpu=True, report_to="none"
    )
    assert config.uses_steps is (arm.name != "outcome")


def test_a_character_is_a_token_and_a_step_ends_at_its_line_feed() -> None:
    assert TOKENIZER.decode(ids(RIGHT)[:-1]) == RIGHT
    assert len(ids(RIGHT)) == len(RIGHT) + 1
    judged = judge(Problem.read(PROMPT), RIGHT)
    ends = token_ends(judged, len(ids(RIGHT)))
    assert [RIGHT[end : end + 1] for end in ends] == ["\n"] * 4 + [""]
    assert ends[-1] == len(ids(RIGHT)) - 1, "the last step ends with the end of the sequence"
    assert token_ends(judge(Problem.read(PROMPT), ""), 1) == []


def test_padding_and_cut_tails_keep_a_character_a_token() -> None:
    problem = Problem.read(PROMPT)
    padded = [*ids("7a*3=1")[:-1], TOKENIZER.pad_token_id, *ids("\n1b")[:-1]]
    judged = judge_ids(problem, padded, TOKENIZER)
    assert [step.right for step in judged.steps] == [False, None]
    assert token_ends(judged, len(padded)) == [7, 9]


def test_spoilt_rewards_keep_what_they_say() -> None:
    rewards, rng = [1.0, 1.0, None, 0.0, 1.0], random.Random(0)
    dealt = [spoil(rewards, "shuffled", rng) for _ in range(50)]
    assert all(one[2] is None and sorted(filter(None, one)) == [1.0, 1.0, 1.0] for one in dealt)
    assert {one.index(0.0) for one in dealt} == {0, 1, 3, 4}
    assert spoil(rewards, "constant", rng) == [0.75, 0.75, None, 0.75, 0.75]
    assert spoil(rewards, None, rng) == rewards
    assert spoil([None], "shuffled", rng) == [None]


def test_one_reward_for_every_step_of_all_teaches_nothing() -> None:
    advantages = process_advantages([[1.0] * 3, [1.0] * 5], [[1, 3, 5], [0, 1, 2, 3, 4]], 2, 6, credit="delta")
    assert not advantages.any()


def test_the_marker_gives_the_trainer_what_was_judged() -> None:
    batch = {"prompts": [PROMPT, PROMPT], "completion_ids": [ids(RIGHT), ids(FLAWED)]}
    marker = Marker(TOKENIZER, BY_NAME["delta"], seed=0)
    assert marker.outcome(**batch, trainer_state=None) == [1.0, 1.0]
    assert marker.tokens == len(RIGHT) + len(FLAWED) + 2
    right, flawed = marker.steps(**batch)
    assert [reward for _, reward in right] == [1.0, 1.0, None, 1.0, 1.0]
    assert flawed == [(6, 0.0), (13, 1.0), (20, 1.0), (23, 1.0)]
    paid = Marker(TOKENIZER, BY_NAME["delta_idle"], seed=0).steps(**batch)[0]
    assert [reward for _, reward in paid] == [1.0] * 5


def test_figures_of_completions() -> None:
    problem = Problem.read(PROMPT)
    figures = summary([judge(problem, text) for text in (RIGHT, FLAWED, "7a*3=2\n2b+8c*5=0\n#0", "#5")])
    assert figures == {
        "accuracy": 0.75,
        "sound": 0.25,
        "flawed": pytest.approx(2 / 3),
        "step_accuracy": pytest.approx(10 / 13),
        "steps": 13 / 4,
        "idle": 0.25,
    }
    assert summary([judge(problem, "#1")])["flawed"] is None


def test_signs_are_counted_at_each_steps_last_token() -> None:
    judged = [judge(Problem.read(PROMPT), text) for text in (RIGHT, FLAWED)]
    lengths = [len(RIGHT) + 1, len(FLAWED) + 1]
    by_token = torch.ones(2, max(lengths))
    by_token[0, 6], by_token[0, 13], by_token[1, 6] = -1.0, 0.0, -1.0
    signs = Signs()
    signs.add(judged, lengths, by_token)
    # the idle line is not counted
    assert signs.counts == {"right": {"above": 5, "below": 1, "zero": 1}, "wrong": {"above": 0, "below": 1, "zero": 0}}
    assert sign_accuracy(signs.counts) == {
        "right": pytest.approx(5 / 7),
        "wrong": 1.0,
        "balanced": pytest.approx(6 / 7),
        "zero": 1 / 8,
    }
    whole = Signs()
    whole.add(judged, lengths, torch.tensor([1.0, -1.0]))
    assert whole.counts == {"right": {"above": 4, "below": 3, "zero": 0}, "wrong": {"above": 0, "below": 1, "zero": 0}}
    assert sign_accuracy(Signs().counts) == {"right": None, "wrong": None, "balanced": None, "zero": None}


def test_samples_end_with_their_end_of_sequence() -> None:
    model = make_model(TOKENIZER, 0)
    assert sum(one.numel() for one in model.parameters()) == 100_608
    assert model.training
    written = sample(model, TOKENIZER, held_out(0, 40, 2), limit=30)
    assert model.training, "sampling leaves the model as it was"
    assert all(TOKENIZER.eos_token_id not in one[:-1] for one in written)
    assert any(one[-1] == TOKENIZER.eos_token_id for one in written)
    assert max(map(len, written)) <= 30
