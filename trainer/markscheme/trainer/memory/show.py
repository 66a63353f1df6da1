"""A plan as text, and as JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from markscheme.trainer.memory.plan import RESERVE, Plan, alternatives

_UNITS = (("GB", 1e9), ("MB", 1e6))
_WHEN = {"always": "", "generate": " (generation)", "update": " (update)"}


def describe(plan: Plan) -> str:
    """Write a plan as a table, its sums, and what would make it fit."""
    run = plan.run
    names = [item.name + _WHEN[item.phase] for item in plan.items]
    width = max(map(len, names))
    unit, size = _UNITS[plan.peak < 1e9]
    lines = [_headline(plan), f"{f'{unit} of {size:,.0f} bytes':{width}} {'whole':>8} {'a GPU':>8}            how"]
    for name, item in zip(names, plan.items, strict=True):
        kind = "exact" if item.exact else "estimate"
        lines.append(f"{name:{width}} {item.whole / size:8.2f} {item.gpu / size:8.2f}  {kind:8}  {item.how}")
    lines += [
        f"Adam's moments of all that is trained: {plan.adam / size:.1f} {unit}.",
        f"Each GPU needs {plan.needed('generate') / size:.1f} {unit} to generate and "
        f"{plan.needed('update') / size:.1f} {unit} to update; {plan.usable / 1e9:.1f} of its "
        f"{run.gpu_memory / 1e9:.1f} GB are usable ({RESERVE:.0%} kept for the CUDA context, communication and "
        f"fragmentation): {'it fits' if plan.fits else 'it does NOT fit'}.",
    ]
    if plan.host:
        lines.append(f"The hosts need {plan.host / size:.1f} {unit} for it.")
    if not plan.fits:
        found = [f"{name} ({other.peak / 1e9:.1f} GB)" for name, other in alternatives(run)]
        lines.append(f"It fits with: {'; '.join(found)}." if found else _hopeless(plan))
    return "\n".join(lines)


def as_json(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON values, in bytes."""
    run = {key: value for key, value in asdict(plan.run).items() if key != "shape"}
    shape = {key: value for key, value in asdict(plan.run.shape).items() if key != "windows"}
    return {
        "model": shape,
        "run": run,
        "items": [asdict(item) for item in plan.items],
        "adam": plan.adam,
        "generate": plan.needed("generate"),
        "update": plan.needed("update"),
        "host": plan.host,
        "usable": plan.usable,
        "fits": plan.fits,
        "alternatives": {} if plan.fits else {name: other.peak for name, other in alternatives(plan.run)},
    }


def _headline(plan: Plan) -> str:
    run, shape = plan.run, plan.run.shape
    lora = "" if run.lora_rank is None else f", LoRA of rank {run.lora_rank} on {', '.join(run.lora_targets)}"
    count = f"{shape.parameters / 1e9:.4g}e9" if shape.parameters >= 1e8 else f"{shape.parameters:,}"
    return (
        f"{run.algorithm.upper()}, {count} parameters in the shape of {shape.name}{lora}; "
        f"{run.dtype}, {run.precision} precision; {run.gpus} GPU(s), ZeRO stage {run.zero}; {run.prompts} prompt(s) x "
        f"{run.group} completions of {run.context} tokens at once, {run.sequences} on each GPU"
    )


def _hopeless(plan: Plan) -> str:
    largest = max((item for item in plan.items), key=lambda item: item.gpu)
    return f"The largest part is {largest.name}: use more GPUs, fewer prompts at once or a shorter context."
