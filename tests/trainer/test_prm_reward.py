"""Step rewards by a judge: at the right tokens, guarded, watched, and in TRL's form."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)

import tiny_judges as tiny  # noqa: E402
from markscheme.prm.scoring import PRMScorer  # noqa: E402
from markscheme.trainer.prm_reward import Guard, Guards, PRMStepReward  # noqa: E402
from markscheme.trainer.step_monitor import Shape, StepDriftWarning, StepMonitor  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402


class Judge:
    """Scores a step by the number it begins with, over ten; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def score(self, problem: str, steps: Sequence[str]) -> list[float]:
        self.asked.append((problem, list(steps)))
        if any("<sep>" in step for step in steps):
            raise DataError("step 0 holds the separator")
        return [int(step[0]) / 10 if step[0].isdigit() else math.nan for step in steps]


@pytest.fixture(scope="module")
def tokenizer():
    return tiny.small_tokenizer()


def ids(tokenizer, text: str, *, ended: bool = True) -> list[int]:
    return [*tokenizer.encode(text), *([tokenizer.eos_token_id] if ended else [])]


def reward(tokenizer, texts: list[str], *, ended: bool = True, **options: object):
    judge = Judge()
    made = PRMStepReward(judge, tokenizer=tokenizer, **options)
    held = [ids(tokenizer, text, ended=ended) for text in texts]
    found = made(prompts=["Add."] * len(texts), completions=texts, completion_ids=held)
    return judge, made, held, found


def test_each_step_is_rewarded_at_its_last_token(tokenizer):
    judge, _, held, found = reward(tokenizer, ["9 is one.\n\n4 is two.\n\n7 is three."])
    assert judge.asked == [("Add.", ["9 is one.", "4 is two.", "7 is three."])]
    ends, values = zip(*found[0], strict=True)
    assert values == (0.9, 0.4, 0.7)
    assert ends[-1] == len(held[0]) - 1, "the last step ends with the end of sequence"
    cut = [
        tokenizer.decode(held[0][start : end + 1])
        for start, end in zip([0, *(e + 1 for e in ends)], ends, strict=False)
    ]
    assert cut == ["9 is one.\n\n", "4 is two.\n\n", "7 is three.<|im_end|>"]


def test_a_step_that_was_cut_off_has_no_reward(tokenizer):
    judge, _, held, found = reward(tokenizer, ["9 is one.\n\n4 is tw"], ended=False)
    assert judge.asked == [("Add.", ["9 is one."])]
    assert [value for _, value in found[0]] == [0.9]
    assert found[0][-1][0] < len(held[0]) - 1


def test_ids_that_end_a_completion_make_its_last_step_whole(tokenizer):
    dot = tokenizer.encode("4 is two.")[-1]
    _, _, held, found = reward(tokenizer, ["9 is one.\n\n4 is two."], ended=False, end_ids=[dot])
    assert [value for _, value in found[0]] == [0.9, 0.4]
    assert found[0][-1][0] == len(held[0]) - 1


def test_a_completion_without_steps_has_none(tokenizer):
    judge, _, _, found = reward(tokenizer, ["", "\n\n \n\n"])
    assert found == [None, None]
    assert judge.asked == []


def test_a_step_without_a_score_is_left_out_and_counted(tokenizer):
    _, made, _, found = reward(tokenizer, ["9 is one.\n\nbeyond the length."])
    assert [value for _, value in found[0]] == [0.9, None]
    assert made.figures["steps/unscored"] == 0.5


@pytest.mark.parametrize(
    ("step", "guard"),
    [
        ("---", Guard.EMPTY),
        ("**…**", Guard.EMPTY),
        ("Step 2:", Guard.EMPTY),
        ("ok", Guard.SHORT),
        ("Step 3: 5", Guard.SHORT),
        ("9 is  ONE.", Guard.REPEATED),
        ("**Step 4.** 9 is one.", Guard.REPEATED),
        ("x=2", None),
        ("9 is two.", None),
    ],
)
def test_what_is_no_step_earns_the_lowest_reward(tokenizer, step, guard):
    _, made, _, found = reward(tokenizer, [f"9 is one.\n\n{step}\n\n8 is three."])
    values = [value for _, value in found[0]]
    assert values[::2] == [0.9, 0.8]
    assert made.guards.check(["9 is one.", step, "8 is three."]) == [None, guard, None]
    if guard is not None:
        assert values[1] == 0.0
        assert made.figures[f"steps/{guard.value}"] == pytest.approx(1 / 3)
        assert made.figures["steps/guarded"] == pytest.approx(1 / 3)


def test_more_empty_steps_do_not_raise_a_completions_rewards(tokenizer):
    """What a policy would try: parting one step into many."""
    _, _, _, plain = reward(tokenizer, ["9 is one."])
    _, _, _, padded = reward(tokenizer, ["9 is one." + "\n\n9 is one." * 5 + "\n\n---" * 5])
    assert sum(value for _, value in padded[0]) == sum(value for _, value in plain[0])


def test_guards_can_leave_steps_out_or_be_switched_off(tokenizer):
    _, _, _, found = reward(tokenizer, ["9 is one.\n\n9 is one.\n\n7"], guards=Guards(reward=None))
    assert [value for _, value in found[0]] == [0.9, None, None]
    _, _, _, found = reward(tokenizer, ["9 is one.\n\n9 is one.\n\n7"], guards=Guards(min_characters=1, repeated=False))
    assert [value for _, value in found[0]] == [0.9, 0.9, 0.7]


def test_a_completion_that_the_judge_cannot_lay_out_does_not_stop_training_nor_pay(tokenizer):
    _, made, _, found = reward(tokenizer, ["9 is one.\n\n8 <sep> is two.", "7 is fine."])
    assert [[value for _, value in steps] for steps in found] == [[0.0, 0.0], [0.7]]
    assert made.figures["steps/refused"] == pytest.approx(2 / 3)


def test_the_difference_is_pures_reward(tokenizer):
    _, _, _, found = reward(tokenizer, ["9 is one.\n\n2 is two.\n\n---"], unit="difference")
    assert [value for _, value in found[0]] == pytest.approx([0.8, -0.6, -1.0])


def test_problems_come_from_a_column_or_the_last_user(tokenizer):
    judge = Judge()
    made = PRMStepReward(judge, tokenizer=tokenizer, problem_column="question")
    held = [ids(tokenizer, "9 is one.")]
    made(prompts=["Reason step by step. What?"], completions=["…"], completion_ids=held, question=["What?"])
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    PRMStepReward(judge, tokenizer=tokenizer)(prompts=[chat], completions=["…"], completion_ids=held)
    assert [problem for problem, _ in judge.asked] == ["What?", "Why?"]
    with pytest.raises(DataError, match=r"no column 'question' \(columns: answer\); pass"):
        made(prompts=["…"], completions=["…"], completion_ids=held, answer=["1"])


def test_figures_go_to_trls_log(tokenizer):
    logged = {}
    made = PRMStepReward(Judge(), tokenizer=tokenizer)
    texts = ["9 is one.\n\n3 is two.", "6 is three."]
    held = [ids(tokenizer, text) for text in texts]
    made(prompts=["Add."] * 2, completions=texts, completion_ids=held, log_metric=logged.__setitem__)
    assert logged["steps/count"] == 1.5
    assert logged["steps/reward"] == pytest.approx(0.6)
    assert logged["steps/tokens"] == sum(map(len, held)) / 2
    assert logged == made.figures


def test_a_trained_judge_rewards_as_it_scores(tokenizer, tmp_path):
    scorer = PRMScorer.from_pretrained(tiny.save_small_judge(tmp_path), format="trl", separator="\n\n")
    made = PRMStepReward(scorer, tokenizer=tokenizer)
    texts = ["2 + 3 = 5.\n\nThe answer is 5.", "2 + 3 = 6."]
    found = made(prompts=["What?"] * 2, completions=texts, completion_ids=[ids(tokenizer, text) for text in texts])
    for text, steps in zip(texts, found, strict=True):
        assert [value for _, value in steps] == pytest.approx(scorer.score("What?", text.split("\n\n")), abs=1e-5)


def watch(monitor: StepMonitor, steps: int, tokens: int, guarded: int = 0, batches: int = 20) -> None:
    for _ in range(batches):
        monitor.watch([Shape(steps, tokens, guarded)] * 32)


@pytest.mark.parametrize(
    ("drift", "message"),
    [
        (
            {"steps": 12, "tokens": 100},
            r"had 4\.0 steps at first and have \d+\.\d now: a sum of step rewards pays for more",
        ),
        (
            {"steps": 1, "tokens": 100},
            r"had 4\.0 steps at first and have 1\.\d now: a minimum over steps pays for fewer",
        ),
        ({"steps": 4, "tokens": 500}, r"had 100\.0 tokens at first .*repeated or padded"),
        ({"steps": 4, "tokens": 20}, "look at whether reasoning is left out"),
        ({"steps": 4, "tokens": 100, "guarded": 2}, r"\d\d % of the policy's steps are empty, repeated or very short"),
    ],
)
def test_drift_is_told_once(drift, message):
    monitor = StepMonitor(warm_up=64)
    watch(monitor, 4, 100)
    with pytest.warns(StepDriftWarning, match=message) as told:
        watch(monitor, **drift)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch(monitor, **drift)


def test_steps_that_stay_as_they_were_are_no_drift():
    monitor = StepMonitor(warm_up=64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for place in range(60):
            watch(monitor, 3 + place % 3, 80 + 30 * (place % 2), batches=1)
    assert monitor.seen == 60 * 32


def test_settings_out_of_range_are_refused(tokenizer):
    with pytest.raises(DataError, match="expected warm_up >= 1"):
        StepMonitor(factor=1.0)
    with pytest.raises(DataError, match="unit: expected probability or difference, got 'logit'"):
        PRMStepReward(Judge(), tokenizer=tokenizer, unit="logit")
