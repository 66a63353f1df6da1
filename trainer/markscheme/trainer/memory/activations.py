"""What a forward pass keeps for the backward pass: estimates, with their formulas.

The count follows Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (arXiv 2205.05198,
§4.1), who have 34·h bytes a token and layer for a GPT with 16-bit numbers, dropout and an MLP of 4h. Redone here for
what transformers saves for a decoder with RMSNorm, grouped queries, attention that keeps no scores (SDPA,
FlashAttention) and a gated MLP. On a CPU it agrees with the tensors that autograd saves to the byte (see the tests). It
stays an
estimate: kernels differ, and temporaries come on top.
"""

from __future__ import annotations

from markscheme.trainer.memory.architecture import Architecture

TILE = (4096, 32768)
"""Tokens and words of a tile of logits in TRL's chunked output head (1.14 to 1.16)."""


def token_bytes(shape: Architecture, width: int, *, autocast: bool = False) -> int:
    """Return the bytes that one layer keeps for one token.

    With c = ``width`` bytes a number, h, f, q, k the features of the residual stream, the MLP, all queries and all
    keys, and a query heads:

    - each of two norms: its input in fp32, 4h, the normalised input c·h, and the output c·h, and 4 for the scale;
    - attention: queries and output 2c·q, keys and values 2c·k, the softmax's normaliser 4a;
    - the MLP: gate, up, the activated gate and their product, 4c·f.

    Under ``autocast`` the residual stream and the norms are fp32, and each of the five linear maps that read a norm's
    output keeps a 16-bit copy of it.
    """
    h = shape.hidden
    norms = 2 * (8 * h + 4) + 5 * width * h if autocast and width < 4 else 2 * (4 * h + 2 * width * h + 4)
    attention = 2 * width * shape.queries + 2 * width * shape.keys + 4 * shape.heads
    return norms + attention + 4 * width * shape.intermediate


def layers(shape: Architecture, tokens: int, width: int, precision: str, *, checkpointing: bool) -> tuple[int, str]:
    """Return the bytes that all layers keep for ``tokens``, and the formula in words.

    With checkpointing each layer keeps its input alone, and one layer at a time is computed again.
    """
    autocast = precision == "autocast"
    one = token_bytes(shape, width, autocast=autocast) * tokens
    if not checkpointing:
        return shape.layers * one, f"{shape.layers} layers x {one // tokens:,} B x {tokens} tokens (arXiv 2205.05198)"
    kept = (4 if autocast else width) * shape.hidden
    text = f"{shape.layers} layers' inputs of {kept:,} B and one layer's {one // tokens:,} B, x {tokens} tokens"
    return shape.layers * kept * tokens + one, text


def head(shape: Architecture, tokens: int, width: int, *, trained: bool) -> tuple[int, str]:
    """Return the bytes of the output head's work on ``tokens`` in TRL's chunked head, and the formula in words.

    A tile of logits, the fp32 gradient of the hidden states (tokens·h), and, where the head is ``trained``, the fp32
    gradient of its weight (V·h). The logits of all tokens are never there at once.
    """
    tile = min(tokens, TILE[0]) * min(shape.vocabulary, TILE[1]) * width
    size = tile + 4 * tokens * shape.hidden + (4 * shape.vocabulary * shape.hidden if trained else 0)
    return size, "TRL's chunked head: a tile of logits, fp32 gradients of the hidden states" + (
        " and of its weight" if trained else ""
    )
