"""Advantages and loss beside those that TRL's own GRPOTrainer computes, on a model of a few thousand weights."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

pytestmark = [
    pytest.mark.train,
    # TRL 1.16 uses names that transformers 5.24 calls deprecated (gradient_checkpointing and its kin).
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.* is deprecated:FutureWarning"),
]

NEEDED = "needs torch and TRL: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
trl = pytest.importorskip("trl", reason=NEEDED)
datasets = pytest.importorskip("datasets", reason=NEEDED)
tokenizers = pytest.importorskip("tokenizers", reason=NEEDED)
transformers = pytest.importorskip("transformers", reason=NEEDED)

from markscheme.trainer.credit import outcome_advantages, zero_variance_groups  # noqa: E402
from markscheme.trainer.kernel import grpo_loss  # noqa: E402

PROMPT_TOKENS, LENGTHS = 3, [6, 1, 4, 6, 2, 5, 6, 3]
ROWS, TOKENS = len(LENGTHS), max(LENGTHS)


def tiny_tokenizer() -> Any:
    vocabulary = {word: index for index, word in enumerate(["<pad>", "<eos>", "<unk>", *"abcdefghijklm"])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A GRPOTrainer with a reference model, ready to compute."""
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    model = transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=32,
            initializer_range=0.2,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
        )
    )
    trainer = trl.GRPOTrainer(
        model=model,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=trl.GRPOConfig(
            output_dir=str(tmp_path_factory.mktemp("out")),
            per_device_train_batch_size=ROWS,
            num_generations=4,
            max_completion_length=TOKENS,
            report_to=[],
            use_cpu=True,
            bf16=False,
            disable_tqdm=True,
        ),
        train_dataset=datasets.Dataset.from_dict({"prompt": ["a b c"] * ROWS}),
        processing_class=tokenizer,
    )
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = 1
    if getattr(trl.trainer.utils, "_ChunkedLogProbFunction", True) is None:
        # TRL 1.15 has these by a Triton kernel only, so not on a CPU; what is compared here comes after them.
        trainer._get_per_token_logps_and_entropies = plain_log_probabilities
    return trainer


def plain_log_probabilities(model: Any, ids: Any, attention: Any, tokens: int, **_: Any) -> tuple[Any, Any, None]:
    logits = model(input_ids=ids, attention_mask=attention).logits[:, -tokens - 1 : -1]
    everything = logits.log_softmax(dim=-1)
    chosen = everything.gather(2, ids[:, -tokens:].unsqueeze(2)).squeeze(2)
    return chosen, -(everything.exp() * everything).sum(dim=-1), None


# Advantages ------------------------------------------------------------------------------------------------------


def random_rewards(seed: int, size: int) -> list[float | None]:
    """Six groups: binary, graded, offset and missing rewards; two where nothing differs."""
    rng = random.Random(seed)
    kinds = [
        lambda: rng.choice([0.0, 1.0]),
        rng.random,
        lambda: 100 + rng.random(),
        lambda: rng.choice([None, 0.0, 1.0]),
        lambda: 0.7,
        lambda: None,
    ]
    return [kind() for kind in kinds for _ in range(size)]


@pytest.fixture
def scored(real: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """TRL's advantages for given rewards: its generation and scoring run, only the reward functions do not."""
    monkeypatch.setattr(real, "max_completion_length", 2)

    def advantages(rewards: list[float | None], size: int, scale: str) -> Any:
        given = torch.tensor([math.nan if r is None else r for r in rewards], dtype=torch.float32)
        monkeypatch.setattr(real, "_calculate_rewards", lambda *_: given.unsqueeze(1))
        monkeypatch.setattr(real, "num_generations", size)
        monkeypatch.setattr(real, "scale_rewards", scale)
        return real._generate_and_score_completions([{"prompt": "a b c"} for _ in rewards])["advantages"]

    return advantages


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [2, 4, 7, 16])
@pytest.mark.parametrize(("scale", "std"), [("group", "sample"), ("none", "none")])
def test_outcome_advantages_are_trl_s_to_the_last_bit(scored: Any, scale: str, std: str, size: int, seed: int) -> None:
    rewards = random_rewards(seed, size)
    theirs = scored(rewards, size, scale)
    ours = outcome_advantages(rewards, size, std=std)
    dead = zero_variance_groups(rewards, size).repeat_interleave(size)
    assert ours.dtype == theirs.dtype == torch.float32
    assert torch.equal(ours[~dead], theirs[~dead])
    assert not ours[dead].any()
    assert ours.count_nonzero() >= 2 * size, "the comparison must have something to compare"


def test_trl_s_advantages_of_constant_rewards_are_rounding_errors(scored: Any) -> None:
    """Why max == min is tested, and on the rewards: TRL gives the group a push although nothing differs in it."""
    theirs = scored([0.7] * 24, 8, "group")
    assert 1e-4 < theirs.abs().max() < 1e-3
    assert not outcome_advantages([0.7] * 24, 8).any()


# Loss ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def batch(real: Any) -> dict[str, Any]:
    """Ragged completions, old and reference log-probabilities near the present ones, so that both clips act."""
    generator = torch.Generator().manual_seed(1)
    mask = (torch.arange(TOKENS) < torch.tensor(LENGTHS).unsqueeze(1)).long()
    prompts = torch.randint(3, 16, (ROWS, PROMPT_TOKENS), generator=generator)
    completions = torch.randint(3, 16, (ROWS, TOKENS), generator=generator) * mask
    inputs = {
        "prompt_ids": prompts,
        "prompt_mask": torch.ones_like(prompts),
        "completion_ids": completions,
        "completion_mask": mask,
        "advantages": torch.randn(ROWS, generator=generator),
        "num_items_in_batch": mask.sum(),
    }
    logp = log_probabilities(real, inputs).detach()
    for name in ("old_per_token_logps", "ref_per_token_logps"):
        inputs[name] = logp + 0.4 * torch.randn(ROWS, TOKENS, generator=generator)
    return inputs


def log_probabilities(trainer: Any, inputs: dict[str, Any]) -> Any:
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
    return trainer._get_per_token_logps_and_entropies(trainer.model, ids, attention, TOKENS)[0]


def gradient(trainer: Any, loss: Any) -> Any:
    weights = [weight for weight in trainer.model.parameters() if weight.requires_grad]
    return torch.cat([part.flatten() for part in torch.autograd.grad(loss, weights)])


def settings_of_both(
    real: Any, monkeypatch: pytest.MonkeyPatch, loss_type: str, beta: float, *, corrected: bool
) -> Any:
    monkeypatch.setattr(real, "loss_type", loss_type)
    monkeypatch.setattr(real, "beta", beta)
    monkeypatch.setattr(real, "epsilon_low", 0.2)
    monkeypatch.setattr(real, "epsilon_high", 0.28)
    monkeypatch.setattr(real.args, "use_bias_correction_kl", corrected)
    return {
        "loss_type": loss_type,
        "beta": beta,
        "epsilon_low": 0.2,
        "epsilon_high": 0.28,
        "bias_corrected_kl": corrected,
        "max_completion_length": TOKENS,
    }


def both(real: Any, inputs: dict[str, Any], options: dict[str, Any]) -> tuple[Any, Any]:
    """TRL's loss and ours, each from a forward pass of its own."""
    ours = grpo_loss(
        log_probabilities(real, inputs),
        inputs.get("old_per_token_logps"),
        inputs["advantages"],
        inputs["completion_mask"],
        ref_logp=inputs["ref_per_token_logps"],
        **options,
    )
    return real._compute_loss(real.model, inputs), ours


@pytest.mark.parametrize("per_token", [False, True], ids=["B", "BT"])
@pytest.mark.parametrize("corrected", [False, True], ids=["paper's k3", "corrected k3"])
@pytest.mark.parametrize("beta", [0.0, 0.04])
@pytest.mark.parametrize("loss_type", ["grpo", "dr_grpo", "dapo", "bnpo"])
def test_the_loss_is_trl_s(
    real: Any,
    batch: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    loss_type: str,
    beta: float,
    *,
    corrected: bool,
    per_token: bool,
) -> None:
    inputs = dict(batch)
    if per_token:
        inputs["advantages"] = torch.randn(ROWS, TOKENS, generator=torch.Generator().manual_seed(2))
    theirs, ours = both(real, inputs, settings_of_both(real, monkeypatch, loss_type, beta, corrected=corrected))
    assert theirs.dtype == ours.dtype == torch.float32
    assert abs(theirs.item()) > 1e-3, "a loss of 0 would agree with anything"
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-6, abs=1e-7)
    difference = gradient(real, theirs) - gradient(real, ours)
    assert difference.abs().max().item() <= 1e-6


def test_the_loss_on_the_sampling_policy_is_trl_s(
    real: Any, batch: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = {name: value for name, value in batch.items() if name != "old_per_token_logps"}
    theirs, ours = both(real, inputs, settings_of_both(real, monkeypatch, "grpo", 0.04, corrected=False))
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-6, abs=1e-7)
    assert (gradient(real, theirs) - gradient(real, ours)).abs().max().item() <= 1e-6


@pytest.mark.parametrize("loss_type", ["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"])
def test_trl_takes_constant_token_advantages_as_completion_advantages(
    real: Any, batch: dict[str, Any], monkeypatch: pytest.MonkeyPatch, loss_type: str
) -> None:
    """What every per-token credit rests on: TRL's loss takes (B, T), and a constant row is the row's number."""
    settings_of_both(real, monkeypatch, loss_type, 0.04, corrected=True)
    if loss_type == "luspo":
        monkeypatch.setattr(real, "importance_sampling_level", "sequence")
    spread = {**batch, "advantages": batch["advantages"].unsqueeze(1).expand(-1, TOKENS)}
    one, many = real._compute_loss(real.model, dict(batch)), real._compute_loss(real.model, spread)
    assert many.item() == pytest.approx(one.item(), rel=1e-6, abs=1e-7)
    assert (gradient(real, one) - gradient(real, many)).abs().max().item() <= 1e-6
