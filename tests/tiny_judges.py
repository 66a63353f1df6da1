"""Tiny models and tokenizers laid out as the public judges of steps are: the same ids, the same names of weights."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForTokenClassification,
)

PROBLEM = "Sue has 18 flamingos. She paints 6 of them white. How many stay pink?"
STEPS = [
    "Sue begins with 18 pink flamingos.",
    "She paints 6 of them, so 18 - 6 = 12 stay pink.\nThat is two thirds.",
    "The answer is: 12",
]
SHORT = ("What is 2 + 3?", ["2 + 3 = 5.", "The answer is 5."])
CORPUS = [PROBLEM, *STEPS, SHORT[0], *SHORT[1], "Step 1: Step 2: Step 3: Step 10: assistant user system + - ки"] * 3

CHATML = (
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}"
    "{% endif %}{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA3 = (
    "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'"
    " + message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ '[INST] ' + message['content'] + ' [/INST]' }}{% else %}{{ ' ' + message['content'] + eos_token }}{% endif %}"
    "{% endfor %}"
)
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
"""Llama 3's; Qwen's takes digits one by one."""
QWEN_SPECIAL = {
    "<|endoftext|>": 151643,
    "<|im_start|>": 151644,
    "<|im_end|>": 151645,
    "<extra_0>": 151651,
}


def qwen_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE with Qwen's splitting, its special tokens at their ids."""
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = _split(SPLIT.replace("{1,3}", ""))
    made.decoder = decoders.ByteLevel()
    trained = _trained(made, 420)
    return _wrap(_placed(trained, QWEN_SPECIAL), CHATML, bos=None, eos="<|im_end|>", pad="<|endoftext|>")


def small_tokenizer() -> PreTrainedTokenizerFast:
    """Qwen's kind with a small vocabulary, for training."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = _split(SPLIT.replace("{1,3}", ""))
    made.decoder = decoders.ByteLevel()
    trained = _trained(made, 320)
    special = {token: 320 + place for place, token in enumerate(QWEN_SPECIAL)}
    return _wrap(_placed(trained, special), CHATML, bos=None, eos="<|im_end|>", pad="<|endoftext|>")


def llama_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE with Llama 3's splitting; + and - at their ids, 10 and 12."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = _split(SPLIT)
    made.decoder = decoders.ByteLevel()
    special = {
        "<|begin_of_text|>": 128000,
        "<|start_header_id|>": 128006,
        "<|end_header_id|>": 128007,
        "<|eot_id|>": 128009,
    }
    placed = _placed(_trained(made, 420), special, {"+": 10, "-": 12})
    return _wrap(placed, LLAMA3, bos="<|begin_of_text|>", eos="<|eot_id|>", pad=None)


def mistral_tokenizer(template: str | None = None) -> PreTrainedTokenizerFast:
    """SentencePiece's kind of BPE with bytes to fall back on; ▁+, ▁- and ▁ки at their ids: 648, 387, 12902."""
    special = {"<unk>": 0, "<s>": 1, "</s>": 2}
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    texts = [line.replace("\n", " ") for line in CORPUS]
    made.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")  # no piece goes across words
    trainer = trainers.BpeTrainer(
        vocab_size=400, show_progress=False, special_tokens=[*special, *(f"<0x{b:02X}>" for b in range(256))]
    )
    made.train_from_iterator(texts, trainer)
    state = {**json.loads(made.to_str()), "pre_tokenizer": None}
    vocabulary, merges = state["model"]["vocab"], state["model"]["merges"]
    for left, right in (("▁", "+"), ("▁", "-"), ("к", "и"), ("▁", "ки")):
        if [left, right] not in merges:
            merges.append([left, right])
        vocabulary.setdefault(left + right, len(vocabulary))
    made = Tokenizer.from_str(json.dumps(state))
    placed = _placed(made, special, {"▁+": 648, "▁-": 387, "▁ки": 12902})
    placed.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", special["<s>"])])
    return _wrap(placed, template, bos="<s>", eos="</s>", pad=None, unk="<unk>")


def save_qwen_prm(folder: Path, hidden: int = 16) -> Path:
    """Qwen2.5-Math-PRM: the causal model's weights, ``lm_head`` among them, and ``score.0``, ``score.2``."""
    torch.manual_seed(0)
    config = qwen_config(hidden)
    weights = {
        **_weights(Qwen2ForCausalLM(config)),
        **_linear("score.0", hidden, hidden),
        **_linear("score.2", hidden, 2),
    }
    return save(folder, config, weights, "Qwen2ForProcessRewardModel", qwen_tokenizer(), "qwen2")


def save_skywork(folder: Path) -> Path:
    """Skywork-o1: the causal model's weights and ``v_head.summary``."""
    torch.manual_seed(0)
    config = qwen_config()
    weights = {**_weights(Qwen2ForCausalLM(config)), **_linear("v_head.summary", 16, 1)}
    tokenizer = qwen_tokenizer()
    tokenizer.bos_token = "<|endoftext|>"
    return save(folder, config, weights, "Qwen2ForPrmModel", tokenizer, "qwen2")


def save_pure(folder: Path) -> Path:
    """PURE: transformers' own token classifier."""
    torch.manual_seed(0)
    Qwen2ForTokenClassification(qwen_config(num_labels=2)).save_pretrained(folder)
    qwen_tokenizer().save_pretrained(folder)
    return folder


def save_small_judge(folder: Path) -> Path:
    """A token classifier of a few thousand weights, as TRL's former PRMTrainer left them."""
    torch.manual_seed(0)
    tokenizer = small_tokenizer()
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = Qwen2Config(
        vocab_size=len(tokenizer) + 4,
        num_key_value_heads=1,
        max_position_embeddings=512,
        initializer_range=0.3,
        num_labels=2,
        **sizes,
    )
    Qwen2ForTokenClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_causal(folder: Path, kind: str, seed: int = 0) -> Path:
    """A plain language model: Qwen's, Llama's, Mistral's, or a small one of Qwen's kind."""
    torch.manual_seed(seed)
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 512,
        "initializer_range": 0.3,
    }
    if kind == "mistral":
        model: Any = MistralForCausalLM(MistralConfig(vocab_size=32000, **sizes))
        tokenizer = mistral_tokenizer()
    elif kind == "mistral-turns":
        model, tokenizer = MistralForCausalLM(MistralConfig(vocab_size=32000, **sizes)), mistral_tokenizer(MISTRAL)
    elif kind == "llama":
        model, tokenizer = LlamaForCausalLM(LlamaConfig(vocab_size=128256, **sizes)), llama_tokenizer()
    elif kind == "small":
        tokenizer = small_tokenizer()
        sizes["initializer_range"] = 0.1
        model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tokenizer) + 4, **sizes))
    else:
        model, tokenizer = Qwen2ForCausalLM(qwen_config()), qwen_tokenizer()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def qwen_config(hidden: int = 16, **more: Any) -> Qwen2Config:
    """Qwen2.5-Math's vocabulary, all else tiny."""
    return Qwen2Config(
        vocab_size=152064,
        hidden_size=hidden,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        initializer_range=0.3,
        tie_word_embeddings=False,
        **more,
    )


def save(
    folder: Path, config: Any, weights: dict[str, torch.Tensor], architecture: str, tokenizer: Any, model_type: str
) -> Path:
    """Write a checkpoint by hand, with an ``auto_map`` of remote code, as the public ones have."""
    folder.mkdir(parents=True, exist_ok=True)
    held = config.to_dict()
    held |= {
        "architectures": [architecture],
        "auto_map": {"AutoModel": "modeling_other.Other"},
        "model_type": model_type,
    }
    held.pop("num_labels", None)
    (folder / "config.json").write_text(json.dumps(held))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save_pretrained(folder)
    return folder


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    """The weights as they lie in the file."""
    return load_file(folder / "model.safetensors")


def _weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: weight.clone().contiguous() for name, weight in model.state_dict().items()}


def _linear(name: str, inputs: int, outputs: int) -> dict[str, torch.Tensor]:
    return {f"{name}.weight": 0.2 * torch.randn(outputs, inputs), f"{name}.bias": 0.2 * torch.randn(outputs)}


def _split(pattern: str) -> Any:
    from tokenizers import Regex  # noqa: PLC0415

    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _trained(made: Tokenizer, size: int) -> Tokenizer:
    trainer = trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


def _placed(made: Tokenizer, special: dict[str, int], fixed: dict[str, int] | None = None) -> Tokenizer:
    """A vocabulary with special and some other tokens at given ids, and the rest at the ids that are left, in order."""
    state = json.loads(made.to_str())
    places = {**special, **(fixed or {})}
    taken = set(places.values())
    free = (place for place in range(1 << 20) if place not in taken)
    others = [token for token in state["model"]["vocab"] if token not in places]
    state["model"]["vocab"] = {**places, **dict(zip(others, free, strict=False))}
    state["added_tokens"] = []
    found = Tokenizer.from_str(json.dumps(state))
    found.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return found


def _wrap(
    made: Tokenizer, template: str | None, *, bos: str | None, eos: str, pad: str | None, unk: str | None = None
) -> PreTrainedTokenizerFast:
    found = PreTrainedTokenizerFast(tokenizer_object=made, bos_token=bos, eos_token=eos, pad_token=pad, unk_token=unk)
    found.chat_template = template
    return found


def toy_rows(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Sums, some of them wrong: labelled solutions of one to four steps."""
    rng = random.Random(seed)
    rows = []
    for place in range(count):
        steps, labels = [], []
        for _ in range(rng.randint(1, 4)):
            one, two, right = rng.randint(1, 9), rng.randint(1, 9), rng.random() < 0.6
            steps.append(f"{one} + {two} = {one + two if right else rng.choice([1, 2, 3])}.")
            labels.append(right)
        rows.append(
            {"prompt": f"Add them up, number {place}.", "completions": steps, "labels": labels, "subset": "toy"}
        )
    return rows
