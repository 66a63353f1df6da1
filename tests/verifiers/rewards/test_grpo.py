"""Two real optimiser steps of TRL's GRPOTrainer on a model of a few thousand random weights, without a network."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from markscheme.verifiers.rewards import MathReward

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

WORDS = ["What", "is", "2", "+", "?", "so", "\\boxed{4}", "\\boxed{5}"]
QUESTION = "What is 2 + 2 ?"


def tiny_tokenizer() -> Any:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.WordLevelTrainer(special_tokens=["<pad>", "<eos>", "<unk>"], show_progress=False)
    tokenizer.train_from_iterator([" ".join(WORDS)], trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )
    fast.chat_template = "{% for message in messages %}{{ message['content'] + ' ' }}{% endfor %}"
    return fast


def tiny_model(tokenizer: Any) -> Any:
    torch.manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    return transformers.Qwen2ForCausalLM(config)


@pytest.mark.parametrize("prompt", [QUESTION, [{"role": "user", "content": QUESTION}]], ids=["plain", "conversational"])
def test_two_steps_of_grpo(prompt: Any, tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    arguments = trl.GRPOConfig(
        output_dir=str(tmp_path),
        max_steps=2,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=8,
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        disable_tqdm=True,
        seed=1,
    )
    trainer = trl.GRPOTrainer(
        model=tiny_model(tokenizer),
        reward_funcs=[MathReward()],
        args=arguments,
        train_dataset=datasets.Dataset.from_dict({"prompt": [prompt] * 8, "answer": ["2 + 2 = 4\n#### 4"] * 8}),
        processing_class=tokenizer,
    )
    trainer.train()

    assert trainer.state.global_step == 2
    logs = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert len(logs) == 2
    # TRL keeps the columns of the last batch only.
    extra = trainer._logs["extra"]
    outcomes = list(extra["math_reward/outcome"])
    assert {"correct", "incorrect"} <= set(outcomes), "a policy that is uniform over eleven tokens boxes 4 and 5"
    assert set(outcomes) <= {"correct", "incorrect", "unreadable"}
    assert [answer or "none" for answer in extra["math_reward/answer"]] == [
        {"correct": "4", "incorrect": "5", "unreadable": "none"}[outcome] for outcome in outcomes
    ]
    assert len(extra["math_reward/reason"]) == len(outcomes) == 8
    assert list(trainer._logs["rewards"]["math_reward"]) == [float(outcome == "correct") for outcome in outcomes]
    assert math.isclose(logs[-1]["math_reward/correct"], outcomes.count("correct") / 8, abs_tol=1e-6)
    assert math.isclose(logs[-1]["math_reward/unreadable"], outcomes.count("unreadable") / 8, abs_tol=1e-6)
    for entry in logs:
        assert math.isclose(entry["rewards/math_reward/mean"], entry["math_reward/correct"], abs_tol=1e-6)
        assert entry["math_reward/undecided"] == entry["math_reward/broken"] == 0.0
