"""Language models of a few thousand parameters, made on the spot: no hub, no downloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHARACTERS = "0123456789+-*/=<>()., \nabcdefghijklmnopqrstuvwxyz|"
CHAT = (
    "{% for message in messages %}{{ '<' + message['role'][0] + '>' + message['content'] + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)


def character_tokenizer() -> Any:
    """One token a character; the unknown ones become the padding's neighbour."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers  # noqa: PLC0415
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    vocabulary = {token: index for index, token in enumerate(["<pad>", "<eos>", "<unk>", *CHARACTERS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )
    fast.chat_template = CHAT
    return fast


def save_policy(folder: Path, *, hidden: int = 32, layers: int = 2, seed: int = 0) -> Path:
    """A Qwen2 policy with random weights, and its tokenizer, as a model folder."""
    import torch  # noqa: PLC0415
    from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415

    tokenizer = character_tokenizer()
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
