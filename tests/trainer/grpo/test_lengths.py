"""Micro-batches of like lengths: less padding, and the gradient of TRL's."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, build, losses, questions, trl, varied

torch = pytest.importorskip("torch")
TrainerCallback = pytest.importorskip("transformers").TrainerCallback
pytestmark = MARKS

LONG = 40


def ragged(prompts: list[Any], trainer: Any) -> dict[str, Any]:
    """Completions of which one in eight is long."""
    encoded = [trainer.processing_class(text=str(prompt)).input_ids for prompt in prompts]
    completions = []
    for row in range(len(prompts)):
        draw = random.Random(row + 1000 * trainer.state.global_step)
        length = LONG if row % 8 == 5 else draw.randint(2, 10)
        tokens = [draw.randrange(3, 40) for _ in range(length)]
        completions.append([*tokens[:-1], trainer.processing_class.eos_token_id] if length < LONG else tokens)
    return {
        "prompt_ids": encoded,
        "completion_ids": completions,
        "logprobs": [[-1.0] * len(ids) for ids in completions],
        "env_mask": [[1, 0] * (len(ids) // 2) + [1] * (len(ids) % 2) for ids in completions],
    }


class Gradients(TrainerCallback):
    """Keeps the gradient of every update."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        self.kept.append(torch.cat([p.grad.flatten().clone() for p in model.parameters()]))


def gradients(policy: Path, folder: Path, *, ours: bool, **given: Any) -> tuple[Any, Any, list[int]]:
    """The trainer, the gradient of each of its updates, and the places of each forward's batch."""
    base: dict[str, Any] = {
        "rollout_func": ragged,
        "train_dataset": questions(16),
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 4,
        "max_completion_length": LONG,
        "max_steps": 1,
        "optim": "sgd",
        "learning_rate": 1e-2,
        "max_grad_norm": 0.0,
        "lr_scheduler_type": "constant",
    }
    trainer = build(policy, folder, batch_by_length=ours, **(base | given))
    places: list[int] = []
    passes = trl.GRPOTrainer._get_per_token_logps_and_entropies

    def noting(of: Any, model: Any, ids: Any, mask: Any, keep: int, *more: Any, **named: Any) -> Any:
        places.append(keep * len(ids))
        return passes(of, model, ids, mask, keep, *more, **named)

    kept = Gradients()
    trainer.add_callback(kept)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trl.GRPOTrainer, "_get_per_token_logps_and_entropies", noting)
        trainer.train()
    return trainer, torch.stack(kept.kept), places


CASES: dict[str, dict[str, Any]] = {
    "grpo": {"loss_type": "grpo"},
    "dapo": {"loss_type": "dapo"},
    "dr_grpo": {"loss_type": "dr_grpo"},
    "cispo": {"loss_type": "cispo", "epsilon_high": 5.0},
    "sequence": {"loss_type": "grpo", "importance_sampling_level": "sequence"},
    "two updates a generation": {"loss_type": "grpo", "steps_per_generation": 8, "max_steps": 2},
    "two generations an update": {"loss_type": "dapo", "steps_per_generation": 2},
    "reference": {"loss_type": "grpo", "beta": 0.04, "num_iterations": 2, "max_steps": 2},
    "steps": {"loss_type": "dapo", "supervision": "both", "step_reward_func": "every_third"},
    "masked": {"loss_type": "dapo", "mask_truncated_completions": True},
    "bnpo": {"loss_type": "bnpo"},
}


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_is_trls(policy: Path, tmp_path: Path, case: str) -> None:
    from tinytraining import every_third  # noqa: PLC0415

    given = {k: every_third if v == "every_third" else v for k, v in CASES[case].items()}
    (theirs, expected, wide), (ours, found, narrow) = (
        gradients(policy, tmp_path, ours=o, **given) for o in (False, True)
    )
    assert float((found - expected).abs().max()) <= 1e-6
    assert len(expected) == given.get("max_steps", 1) and float(expected.abs().amax(1).min()) > 1e-2
    assert sum(losses(ours)) == pytest.approx(sum(losses(theirs)), abs=1e-6)
    assert sum(narrow) < (0.9 if case == "bnpo" else 0.7) * sum(wide)


def test_rows_stay_in_their_update_and_groups_may_be_parted(policy: Path, tmp_path: Path) -> None:
    """With plain TRL, the k-th update of a generation has the rows of its k-th quarter; so it has here."""
    rows: dict[bool, list[set[tuple[int, ...]]]] = {}
    for ours in (False, True):
        trainer, _, _ = gradients(policy, tmp_path, ours=ours, steps_per_generation=16, max_steps=1)
        batches = trainer._buffered_inputs
        assert len(batches) == 16 and all(len(b["completion_ids"]) == 4 for b in batches)
        rows[ours] = [
            {
                tuple(ids[m.bool()].tolist())
                for b in batches[n : n + 4]
                for ids, m in zip(b["completion_ids"], b["completion_mask"], strict=True)
            }
            for n in range(0, 16, 4)
        ]
        if ours:
            lengths = [[int(n) for n in b["completion_mask"].sum(1)] for b in batches]
            for n in range(0, 16, 4):
                together = [length for of in lengths[n : n + 4] for length in of]
                assert together == sorted(together, reverse=True)
            assert [b["completion_ids"].size(1) for b in batches] == [max(of) for of in lengths]
            assert all(v.untyped_storage().nbytes() == v.nbytes for b in batches for v in b.values() if v.dim())
    assert rows[True] == rows[False]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"loss_type": "bnpo"}, "loss_type='bnpo' (divided by the tokens of a micro-batch)"),
        ({"entropy_coef": 0.01}, "an entropy bonus"),
        ({"top_entropy_quantile": 0.5}, "top_entropy_quantile=0.5 (a threshold of the micro-batch)"),
    ],
)
def test_tied_rows_are_only_cut(
    policy: Path, tmp_path: Path, given: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    (_, expected, _), (ours, found, _) = (gradients(policy, tmp_path, ours=o, **given) for o in (False, True))
    assert f"only cuts their padding, because of {reason}" in caplog.text
    assert float((found - expected).abs().max()) <= 1e-6
    assert len({b["completion_ids"].size(1) for b in ours._buffered_inputs}) > 1


def test_log_probabilities_are_those_of_whole_batches(policy: Path, tmp_path: Path) -> None:
    trainer = build(policy, tmp_path, batch_by_length=True, rollout_func=ragged)
    made = ragged([f"{n}+{n}=" for n in range(16)], trainer)
    width = max(map(len, made["completion_ids"]))
    ids = torch.tensor(
        [
            [0] * (6 - len(p)) + p + c + [0] * (width - len(c))
            for p, c in zip(made["prompt_ids"], made["completion_ids"], strict=True)
        ]
    )
    mask = torch.tensor(
        [
            [0] * (6 - len(p)) + [1] * len(p + c) + [0] * (width - len(c))
            for p, c in zip(made["prompt_ids"], made["completion_ids"], strict=True)
        ]
    )
    scored = mask[:, -width:].bool()
    with torch.no_grad():
        whole = trl.GRPOTrainer._get_per_token_logps_and_entropies(trainer, trainer.model, ids, mask, width)[0]
        cut, entropies, loss = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, width, batch_size=3)
    assert cut.shape == whole.shape and entropies is None and loss is None
    assert torch.allclose(cut[scored], whole[scored], atol=1e-5) and float(cut[~scored].abs().max()) < 100


def test_off_leaves_everything_as_it_is(policy: Path, tmp_path: Path) -> None:
    trainer, _, places = gradients(policy, tmp_path, ours=False, reward_funcs=varied)
    assert {*places} == {4 * LONG} and {LONG} == {b["completion_ids"].size(1) for b in trainer._buffered_inputs}
