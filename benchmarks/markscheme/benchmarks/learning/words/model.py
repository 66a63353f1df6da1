"""The model of a run and what it writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from markscheme.benchmarks.learning.policy import trim
from markscheme.benchmarks.learning.task import Judged
from markscheme.benchmarks.learning.words.problems import Problem, judge
from markscheme.benchmarks.models import smollm2
from markscheme.prm.segment import StepSpan, token_steps

BATCH = 60
"""Completions generated at once in an evaluation."""
_SPECIAL = ("<|end|>", "<|user|>", "<|assistant|>")
_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def model_folder(model: str | None, work: Path) -> Path:
    """Return the folder of a run's model; see `Settings.model`."""
    if model is None:
        return smollm2()
    if model != "random":
        return Path(model)
    folder = work / "random"
    if not (folder / "config.json").exists():
        _random(folder)
    return folder


def _random(folder: Path) -> None:
    """Save a tiny model with random weights and a tokenizer of bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: place for place, token in enumerate([*_SPECIAL, *alphabet])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token=_SPECIAL[0],
        pad_token=_SPECIAL[0],
        additional_special_tokens=list(_SPECIAL[1:]),
        chat_template=_TEMPLATE,
        model_input_names=["input_ids", "attention_mask"],
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=1024,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def load(folder: Path) -> PreTrainedModel:
    """Return the model in 32 bits: on a CPU they are faster than 16."""
    model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return model


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Return the model's tokenizer, which pads on the left."""
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder, padding_side="left")
    return tokenizer


def messages(problem: Problem) -> list[dict[str, str]]:
    """Return a problem as a conversation."""
    return [{"role": "user", "content": problem.text}]


def prompt_ids(problem: Problem, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the tokens of a problem's prompt, the assistant's turn opened."""
    text = tokenizer.apply_chat_template(messages(problem), tokenize=False, add_generation_prompt=True)
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def example(problem: Problem, text: str, tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """Return the tokens of a prompt and of its completion, the end of the turn included."""
    return prompt_ids(problem, tokenizer), [
        *tokenizer(text, add_special_tokens=False)["input_ids"],
        int(tokenizer.eos_token_id),
    ]


@torch.no_grad()
def write(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    problems: Sequence[Problem],
    *,
    limit: int,
    greedy: bool,
) -> list[list[int]]:
    """Return one completion a problem as token ids, the end of the turn included; sampled at temperature 1."""
    config = GenerationConfig(
        max_new_tokens=limit,
        do_sample=not greedy,
        temperature=None if greedy else 1.0,
        top_k=None if greedy else 0,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    was_training = model.training
    model.eval()
    found: list[list[int]] = []
    generate: Any = model.generate
    for start in range(0, len(problems), BATCH):
        ids = [prompt_ids(problem, tokenizer) for problem in problems[start : start + BATCH]]
        batch = tokenizer.pad({"input_ids": ids}, padding_side="left", return_tensors="pt")
        rows = generate(**batch, generation_config=config)[:, batch["input_ids"].shape[1] :]  # (N, T)
        found += [trim(row, tokenizer) for row in rows.tolist()]
    model.train(was_training)
    return found


def judge_ids(
    problem: Problem, ids: Sequence[int], tokenizer: PreTrainedTokenizerBase
) -> tuple[Judged, list[StepSpan]]:
    """Judge a completion given as tokens. Return its lines' truth, and where each line's tokens are."""
    spans = token_steps(ids, tokenizer, "\n")
    finished = not (spans and spans[-1].truncated)
    return judge(problem, [span.text for span in spans], finished=finished), spans
