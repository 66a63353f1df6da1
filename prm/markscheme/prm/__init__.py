"""The judge of steps: labelled solutions, one encoder, models, calibration and metrics.

Names load on first use; torch and transformers are not imported until something needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme.prm.aggregation import aggregate
    from markscheme.prm.alignment import Alignment, align
    from markscheme.prm.calibration import calibrator, fit_isotonic, fit_temperature, reliability_plot
    from markscheme.prm.encode import StepEncoder
    from markscheme.prm.encoding import Encoded, EncoderConfig, EncodingReport, LostStepsWarning
    from markscheme.prm.likelihood import LikelihoodScorer
    from markscheme.prm.load import Loaded, load_samples, require_both, samples_from_rows
    from markscheme.prm.protocol import StepScorer
    from markscheme.prm.schema import Message, StepSample
    from markscheme.prm.scoring import PRMScorer
    from markscheme.prm.segment import StepSpan, StepSplitter, token_steps
    from markscheme.prm.threshold import Threshold, choose_threshold
    from markscheme.prm.training import PRMConfig, PRMTrainer

_HOMES = {
    "Alignment": "alignment",
    "Encoded": "encoding",
    "EncoderConfig": "encoding",
    "EncodingReport": "encoding",
    "LikelihoodScorer": "likelihood",
    "Loaded": "load",
    "LostStepsWarning": "encoding",
    "Message": "schema",
    "PRMConfig": "training",
    "PRMScorer": "scoring",
    "PRMTrainer": "training",
    "StepEncoder": "encode",
    "StepSample": "schema",
    "StepScorer": "protocol",
    "StepSpan": "segment",
    "StepSplitter": "segment",
    "Threshold": "threshold",
    "aggregate": "aggregation",
    "align": "alignment",
    "calibrator": "calibration",
    "choose_threshold": "threshold",
    "fit_isotonic": "calibration",
    "fit_temperature": "calibration",
    "load_samples": "load",
    "reliability_plot": "calibration",
    "require_both": "load",
    "samples_from_rows": "load",
    "token_steps": "segment",
}

__all__ = [
    "Alignment",
    "Encoded",
    "EncoderConfig",
    "EncodingReport",
    "LikelihoodScorer",
    "Loaded",
    "LostStepsWarning",
    "Message",
    "PRMConfig",
    "PRMScorer",
    "PRMTrainer",
    "StepEncoder",
    "StepSample",
    "StepScorer",
    "StepSpan",
    "StepSplitter",
    "Threshold",
    "aggregate",
    "align",
    "calibrator",
    "choose_threshold",
    "fit_isotonic",
    "fit_temperature",
    "load_samples",
    "reliability_plot",
    "require_both",
    "samples_from_rows",
    "token_steps",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
