"""The policy: a Llama of a hundred thousand parameters over single characters, and what it writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedModel, PreTrainedTokenizerFast
from transformers.utils import logging

from markscheme.benchmarks.learning.task import Judged, Problem, judge

CHARACTERS = "\n#*+-0123456789:=abcdefghijkl"
PAD, EOS = "<pad>", "<eos>"


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer with one token a character."""
    vocabulary = {token: at for at, token in enumerate([PAD, EOS, *CHARACTERS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=PAD))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],
    )


def make_model(tokenizer: PreTrainedTokenizerFast, seed: int, *, hidden: int = 64, layers: int = 2) -> LlamaForCausalLM:
    """Return a new model: 100,608 parameters at the defaults."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        attention_dropout=0.0,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    return LlamaForCausalLM(config)


def quiet() -> None:
    """Let transformers and TRL print errors alone: a run of many units has a progress bar of its own."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()


@torch.no_grad()
def sample(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    problems: Sequence[Problem],
    *,
    limit: int,
    greedy: bool = False,
) -> list[list[int]]:
    """Return one completion a problem as token ids, of at most ``limit``, the end-of-sequence token included."""
    encoded = tokenizer([problem.prompt for problem in problems], return_tensors="pt", padding=True)
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
    generate: Any = model.generate
    written = generate(**encoded, generation_config=config)[:, encoded["input_ids"].shape[1] :]  # (N, T)
    model.train(was_training)
    return [trim(row, tokenizer) for row in written.tolist()]


def trim(ids: Sequence[int], tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """Return the ids up to the first end-of-sequence token, which stays."""
    end = tokenizer.eos_token_id
    return list(ids[: ids.index(end) + 1]) if end in ids else list(ids)


def judge_ids(problem: Problem, ids: Sequence[int], tokenizer: PreTrainedTokenizerFast) -> Judged:
    """Judge a completion given as token ids; character k of its text is token k, a padding token reads as ``?``."""
    finished = bool(ids) and ids[-1] == tokenizer.eos_token_id
    tokens = tokenizer.convert_ids_to_tokens(list(ids[:-1] if finished else ids))
    return judge(problem, "".join(token if len(token) == 1 else "?" for token in tokens), finished=finished)
