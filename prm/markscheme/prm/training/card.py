"""The model card of a trained judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markscheme.prm.checkpoints.own import PRMFile

COLUMNS = {
    "processbench_f1": "F1 of the first error",
    "acc_error": "found",
    "acc_correct": "left alone",
    "auc": "step AUC",
    "f1_wrong": "F1 of wrong steps",
    "ece": "ECE",
}
_HEADS = {
    "linear": "a linear head of two classes, read at each step's separator",
    "mlp": "a head of two layers and two classes, read at each step's separator",
    "lm": "two tokens of the language model, read at each step",
    "pair": "a head on pairs of state and token over the frozen backbone, its soft minimum over a step's tokens",
}


def card(file: PRMFile, name: str) -> str:
    """Write a card: what it is, how to use it, what was measured.

    Args:
        file: what the checkpoint says of itself.
        name: of the checkpoint.
    """
    base = f"base_model: {file.base_model}\n" if "/" in file.base_model else ""  # a name on the Hub
    chosen = f", chosen on {file.threshold_source}" if file.threshold_source else ""
    training = "\n".join(f"| {key.replace('_', ' ')} | {_show(value)} |" for key, value in file.training.items())
    return f"""---
library_name: transformers
pipeline_tag: token-classification
tags:
- process-reward-model
- prm
- markscheme
{base}---

# {name}

A process reward model: it says of each step of a solution how likely it is to be right. It is
{_HEADS[file.head]}{f", on {file.base_model}" if file.base_model else ""}.

```python
from markscheme.prm.scoring import PRMScorer

scorer = PRMScorer.from_pretrained("{name}")
scorer.score("What is 2 + 3?", ["2 + 3 = 6.", "The answer is 6."])
```

A step counts as wrong below {file.threshold:g}{chosen}.

## Measured

{table(file.metrics, file.threshold_source)}

## Training

| | |
|---|---|
{training}

Layout: `{file.layout}`, template `{file.encoder.template}`, separator `{file.encoder.separator!r}`,
at most {file.encoder.max_length} tokens.
"""


def table(metrics: Mapping[str, Mapping[str, float | None]], threshold_source: str = "") -> str:
    """The measured figures, a row for each set; a set that chose the threshold is marked."""
    if not metrics:
        return "Nothing was measured."
    head = "| set | solutions | " + " | ".join(COLUMNS.values()) + " |\n|" + "---|" * (len(COLUMNS) + 2)
    rows = [
        f"| {name}{' (chose the threshold)' if name == threshold_source else ''} | {_show(found.get('solutions'))} | "
        + " | ".join(_show(found.get(column)) for column in COLUMNS)
        + " |"
        for name, found in metrics.items()
    ]
    return "\n".join([head, *rows])


def _show(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) >= 1 else f"{value:.3g}"
    return str(value)
