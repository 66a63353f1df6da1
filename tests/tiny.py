"""A tiny model with random weights that several tests share. Needs torch, transformers and tokenizers."""

from __future__ import annotations

from pathlib import Path

import tokenizers
import torch
import transformers

TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}{% if add_generation_prompt %}={% endif %}"


def saved_model(folder: Path) -> Path:
    """A tiny character model with a chat template, saved as any other is."""
    characters = [chr(code) for code in range(32, 127)] + ["\n"]
    vocabulary = {token: n for n, token in enumerate(["<pad>", "<eos>", *characters])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=" "))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("[\\s\\S]"), "isolated")
    tokenizer.decoder = tokenizers.decoders.Fuse()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")
    fast.chat_template = TEMPLATE
    torch.manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=len(vocabulary), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=512, pad_token_id=0, eos_token_id=1, bos_token_id=None,
        initializer_range=0.5,
    )  # fmt: skip
    transformers.Qwen2ForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
