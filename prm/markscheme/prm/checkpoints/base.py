"""A loaded judge of steps: a model, its layout, and how its rewards are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from markscheme.prm.model.batching import pad_ids, padded
from markscheme.prm.model.logps import token_logps

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from markscheme.prm.calibration import Calibrator
    from markscheme.prm.checkpoints.layouts import Layout
    from markscheme.prm.encode import Encoded
    from markscheme.prm.model.readout import Readout

Reward = Literal["probability", "difference"]


@dataclass(slots=True)
class Checkpoint:
    """A judge whose read-out gives one logit a step.

    Attributes:
        name: of the format.
        model: in evaluation.
        tokenizer: its own.
        layout: from a problem and its steps to ids and positions.
        readout: from ids and positions to logits.
        reward: what the checkpoint's authors call a step's reward: the ``probability`` p that it is right, or PURE's
            ``difference`` p - (1 - p).
        separator_length: tokens between a step's text and its position, the position included.
        threshold: p below which a step counts as wrong, where the checkpoint names one.
        threshold_source: the data that chose the threshold, where the checkpoint names them.
        calibration: applied to the probability, where the checkpoint brings one.
    """

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    layout: Layout
    readout: Readout
    reward: Reward = "probability"
    separator_length: int = 1
    threshold: float = 0.5
    calibration: Calibrator | None = None
    threshold_source: str = ""

    def encode(self, problem: str, steps: Sequence[str]) -> Encoded:
        """Lay one solution out."""
        return self.layout.encode(problem, steps)

    @torch.inference_mode()
    def logits(self, rows: Sequence[Encoded]) -> list[list[float]]:
        """The log-odds that each kept step is right, from one forward pass over all rows."""
        batch = padded(rows, self.separator_length, pad_id(self.tokenizer)).to(self.model.device)
        found = self.readout(self.model, batch).cpu().tolist()
        return [values[: len(row.positions)] for values, row in zip(found, rows, strict=True)]

    def rewards(self, logits: Sequence[float]) -> list[float]:
        """Rewards in the authors' own unit."""
        return [math.tanh(z / 2) if self.reward == "difference" else sigmoid(z) for z in logits]


@dataclass(slots=True)
class ImplicitCheckpoint:
    """A judge by the ratio of two language models: q of step k = β Σ log π/π_ref over the tokens up to its end.

    Yuan et al., 2412.01981, proposition 3.1; EurusPRM. Its q is taken as the log-odds that the step is right, as its
    authors' evaluation on ProcessBench does (their threshold is chosen on data: with β = 0.001 all are near 0.5).

    Attributes:
        name: of the format.
        model: π.
        reference: π_ref.
        tokenizer: of both.
        layout: positions are the last token that counts towards a step, ``prompt_length`` the first of the answer.
        beta: β.
        accumulate: q itself; False: what each step adds to it, PRIME's process reward.
        chunk: tokens whose vocabulary is looked at at once: bounds memory.
    """

    name: str
    model: PreTrainedModel
    reference: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    layout: Layout
    beta: float = 0.001
    accumulate: bool = True
    chunk: int = 1024
    threshold: float = 0.5
    calibration: Calibrator | None = None
    threshold_source: str = ""

    def encode(self, problem: str, steps: Sequence[str]) -> Encoded:
        """Lay one solution out."""
        return self.layout.encode(problem, steps)

    @torch.inference_mode()
    def logits(self, rows: Sequence[Encoded]) -> list[list[float]]:
        """Give q of each kept step, or its increase, from one forward pass of each model over all rows."""
        ids, mask = (part.to(self.model.device) for part in pad_ids([row.ids for row in rows], pad_id(self.tokenizer)))
        logps = [token_logps(model, ids, mask, self.chunk) for model in (self.model, self.reference)]
        ratio = logps[0] - logps[1]  # (B, T-1), of tokens 1 … T-1
        found = []
        for one, row in zip(ratio.double().cpu(), rows, strict=True):
            sums = torch.cat([one.new_zeros(1), one.cumsum(0)])  # sums[t]: over tokens 1 … t
            start = sums[row.prompt_length - 1]
            values = [float(self.beta * (sums[position] - start)) for position in row.positions]
            if not self.accumulate:
                values = [value - before for value, before in zip(values, [0.0, *values], strict=False)]
            found.append(values)
        return found

    def rewards(self, logits: Sequence[float]) -> list[float]:
        """Rewards in the authors' own unit: q itself."""
        return list(logits)


def probability(checkpoint: AnyCheckpoint, logit: float) -> float:
    """The calibrated probability that a step is right."""
    value = sigmoid(logit)
    return value if checkpoint.calibration is None else checkpoint.calibration.apply(value)


AnyCheckpoint = Checkpoint | ImplicitCheckpoint
Loader = Callable[..., AnyCheckpoint]


def sigmoid(value: float) -> float:
    """1 / (1 + e^-v), without overflow."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


def pad_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """What to fill rows with; attention leaves it out, so any token will do."""
    return int(tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id or 0)
