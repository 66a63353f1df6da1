"""The proof, on the data's own rows, that packed solutions do not see each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from markscheme.prm.model.batching import packed, padded
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from torch import nn

    from markscheme.prm.encode import Encoded
    from markscheme.prm.model.readout import Readout
    from markscheme.prm.training.data import StepCollator

_TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.bfloat16: 0.25, torch.float16: 0.05}


@torch.no_grad()
def check_packing(model: nn.Module, readout: Readout, rows: Sequence[Encoded], collator: StepCollator) -> float:
    """Compare logits of packed rows with those of the same rows alone.

    Whether attention stays within a packed solution is up to the model's code: transformers builds such a mask from the
    positions for most architectures and attention back ends, but not for all (recurrent layers, positions that are
    counted from the mask), and none says so.

    Returns:
        The largest difference between logits.

    Raises:
        DataError: they differ by more than the number type's rounding.
    """
    first = next(model.parameters())
    training = model.training
    model.eval()
    try:
        alone = readout(model, padded(rows, collator.separator_length, collator.pad_id).to(first.device))
        together = readout(model, packed([rows], collator.separator_length, collator.pad_id).to(first.device))
    except TypeError as error:  # a model that is told no positions cannot keep packed solutions apart
        raise DataError(f"{_refusal(model)} ({error}); pass packing=False") from error
    finally:
        model.train(training)
    flat = torch.cat([values[: len(row.positions)] for values, row in zip(alone, rows, strict=True)])
    difference = float((flat - together[0]).abs().max())
    allowed = _TOLERANCE.get(first.dtype, 0.25) * (1 + float(flat.abs().max()))
    if not difference <= allowed:
        raise DataError(
            f"{_refusal(model)}: its logits differ by {difference:.3g} from those it has alone; pass packing=False"
        )
    return difference


def _refusal(model: nn.Module) -> str:
    config = getattr(model, "config", None)
    name = getattr(config, "model_type", type(model).__name__)
    return f"packing: with this model ({name}) a packed solution sees its neighbours"
