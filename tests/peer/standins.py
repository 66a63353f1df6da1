"""Tiny stand-ins for the models and data sets that TRL's own tests load by name: `standins.py FOLDER`.

TRL's tests name `trl-internal-testing/<model>`; a folder of that name in the working directory is taken in the place of
the Hub's. Weights are random, tokens are bytes, chat templates are those that TRL ships for each family.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

OWNER = "trl-internal-testing"
SIZE: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 4096,
}
EXPERTS: dict[str, Any] = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
CHAT_ML = ["<|im_end|>", "<|endoftext|>", "<|im_start|>", "<tool_call>", "</tool_call>", "<tool_response>"]
CHAT_ML += ["</tool_response>", "<think>", "</think>"]
# With random weights a large vocabulary makes the end of a sequence rare, as some of the tests want it.
MANY_WORDS = 16384

# The folder's name: (classes' prefix, chat template, special tokens with the end of sequence first, more settings)
FAMILIES: dict[str, tuple[str, str, list[str], dict[str, Any]]] = {
    "tiny-Qwen2ForCausalLM-2.5": ("Qwen2", "qwen2_5", CHAT_ML, {}),
    "tiny-Qwen2ForSequenceClassification-2.5": ("Qwen2", "qwen2_5", CHAT_ML, {}),
    "tiny-Qwen3ForCausalLM": ("Qwen3", "qwen3", CHAT_ML, {}),
    "tiny-Qwen3ForSequenceClassification": ("Qwen3", "qwen3", CHAT_ML, {}),
    "tiny-Qwen3MoeForCausalLM": ("Qwen3Moe", "qwen3", CHAT_ML, EXPERTS),
    "tiny-LlamaForCausalLM-3.2": ("Llama", "llama3_2", ["<|eot_id|>", "<|end_of_text|>", "<|start_header_id|>"], {}),
    "tiny-LlamaForSequenceClassification-3.2": ("Llama", "llama3_2", ["<|eot_id|>", "<|end_of_text|>"], {}),
    "tiny-MistralForCausalLM-0.2": ("Mistral", "qwen2_5", CHAT_ML, {}),
    "tiny-Cohere2ForCausalLM": ("Cohere2", "cohere2", ["<|END_OF_TURN_TOKEN|>", "<PAD>"], {}),
    "tiny-Gemma2ForCausalLM": ("Gemma2", "gemma", ["<eos>", "<pad>", "<end_of_turn>"], {}),
    "tiny-Glm4MoeForCausalLM": (
        "Glm4Moe",
        "glm4moe",
        ["<|endoftext|>", "<|pad|>", "<|user|>"],
        {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "first_k_dense_replace": 1},
    ),
    "tiny-GptOssForCausalLM": (
        "GptOss",
        "gptoss",
        ["<|return|>", "<|endoftext|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>"],
        {"num_local_experts": 4, "num_experts_per_tok": 2},
    ),
}


def byte_tokenizer(template: str, special: list[str], words: int) -> Any:
    """Bytes, words that no text is split into, and special tokens: the first ends a sequence, the second pads."""
    symbols = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *(f"w{number}" for number in range(words))]
    tokenizer = Tokenizer(models.BPE({symbol: index for index, symbol in enumerate(symbols)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    # Marks of thoughts and tool calls stay in a completion when special tokens are skipped.
    tokenizer.add_tokens([AddedToken(t, special="think" not in t and "tool_" not in t) for t in special])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=special[0], pad_token=special[1])
    fast.chat_template = files("trl").joinpath("chat_templates", f"{template}.jinja").read_text()
    return fast


def save_model(folder: Path, prefix: str, template: str, special: list[str], more: dict[str, Any]) -> None:
    words = MANY_WORDS if folder.name.startswith("tiny-Qwen2ForCausalLM") else 0
    tokenizer = byte_tokenizer(template, special, words)
    ids = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id, "bos_token_id": None}
    settings = {**SIZE, "vocab_size": len(tokenizer), **ids, **more}
    kind = "ForSequenceClassification" if "SequenceClassification" in folder.name else "ForCausalLM"
    if kind == "ForSequenceClassification":
        settings["num_labels"] = 1
    torch.manual_seed(0)
    config = getattr(transformers, f"{prefix}Config")(**settings)
    getattr(transformers, f"{prefix}{kind}")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_prompts(folder: Path) -> None:
    """The data set of prompts: 17 rows to train and 2 to test, plain and as messages."""
    texts = [f"What is {number} and {number + 1}?" for number in range(19)]
    formats = {
        "standard_prompt_only": [{"prompt": text} for text in texts],
        "conversational_prompt_only": [{"prompt": [{"role": "user", "content": text}]} for text in texts],
    }
    configs = []
    for name, rows in formats.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for split, part in (("train", rows[:17]), ("test", rows[17:])):
            (folder / name / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
        files_of = "".join(f"\n  - split: {split}\n    path: {name}/{split}.jsonl" for split in ("train", "test"))
        configs.append(f"- config_name: {name}\n  data_files:{files_of}\n")
    (folder / "README.md").write_text("---\nconfigs:\n" + "".join(configs) + "---\n")


def main(folder: str) -> None:
    home = Path(folder) / OWNER
    for name, family in FAMILIES.items():
        if not (home / name / "config.json").is_file():
            save_model(home / name, *family)
    save_prompts(home / "zen")


if __name__ == "__main__":
    main(*sys.argv[1:])
