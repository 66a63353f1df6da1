"""A trainer of a small policy with random weights, for measurements of what is not the model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def small_trainer(
    folder: Path,
    rows: int,
    group: int,
    length: int,
    *,
    hidden: int = 128,
    rollout_func: Callable[..., Any] | None = None,
    **settings: Any,
) -> Any:
    """A `ProcessGRPOTrainer` of a Qwen2 policy of four layers (0.9 M parameters), ready to score and to give losses.

    Args:
        folder: its output.
        rows: completions a batch.
        group: completions a prompt.
        length: tokens a completion at most.
        hidden: the policy's width.
        rollout_func: makes completions in the place of the policy.
        settings: of the trainer.
    """
    import tokenizers  # noqa: PLC0415 - an extra
    import transformers  # noqa: PLC0415
    from datasets import Dataset  # noqa: PLC0415

    from markscheme.trainer import ProcessGRPOConfig, ProcessGRPOTrainer  # noqa: PLC0415

    words = {"<pad>": 0, "<eos>": 1, "<unk>": 2, **{f"w{number}": number for number in range(3, 512)}}
    model = tokenizers.models.WordLevel(words, unk_token="<unk>")  # noqa: S106 - tokens of text
    special = {"pad_token": "<pad>", "eos_token": "<eos>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(model), **special)
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    size = {"hidden_size": hidden, "intermediate_size": 3 * hidden, "num_hidden_layers": 4, "num_attention_heads": 4}
    transformers.set_seed(0)
    policy = transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(vocab_size=512, num_key_value_heads=4, pad_token_id=0, eos_token_id=1, **size)
    )
    policy.save_pretrained(folder)  # a reference is loaded from here
    tokenizer.save_pretrained(folder)
    base: dict[str, Any] = {
        "output_dir": str(folder),
        "per_device_train_batch_size": rows,
        "num_generations": group,
        "max_completion_length": length,
        "gradient_checkpointing": False,
        "bf16": False,
        "use_cpu": True,
        "report_to": [],
    }
    trainer = ProcessGRPOTrainer(
        str(folder),
        lambda prompts, **_: [0.0] * len(prompts),
        ProcessGRPOConfig(**{**base, **settings}),
        Dataset.from_dict({"prompt": ["w3"] * rows}),
        rollout_func=rollout_func,
    )
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    return trainer
