"""What a recipe names, made: reward functions and their weights, step rewards, callbacks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from markscheme.trainer.named import CALLBACKS, REWARDS, STEPS, Spec, build, locate, read_spec
from markscheme.trainer.recipe import Recipe
from markscheme.trainer.watch import BrokenVerifierCallback
from markscheme.verifiers.errors import TrainerConfigError
from markscheme.verifiers.rewards.trl import TRLReward


@dataclass(slots=True)
class Parts:
    """The objects that a trainer gets beside its settings.

    Attributes:
        rewards: reward functions, or models by name.
        weights: one a reward, or None for TRL's own (1 each).
        steps: the step rewards, or None.
        callbacks: in the order in which they run.
    """

    rewards: list[Any] = field(default_factory=list)
    weights: list[float] | None = None
    steps: Callable[..., Any] | str | None = None
    callbacks: list[Any] = field(default_factory=list)


def make(recipe: Recipe, tokenizer: Any = None) -> Parts:
    """Make what a recipe names. The alarm, where it is among the callbacks, watches every reward.

    Args:
        recipe: the settings.
        tokenizer: the policy's; needed for step rewards alone.

    Raises:
        TrainerConfigError: a name is not known, arguments do not fit, or no reward is named, or none of steps where
            they are learnt from.
    """
    parts = Parts()
    _rewards(recipe, parts)
    if recipe.script.step_reward is not None:
        spec = read_spec(recipe.script.step_reward, recipe.where("step_reward"))
        parts.steps = _step_reward(spec, tokenizer)
    elif recipe.training.supervision != "outcome":
        raise TrainerConfigError(
            f"{recipe.where('supervision')}: {recipe.training.supervision!r} needs step rewards: "
            "set step_reward, for example step_reward: equations"
        )
    for entry in recipe.script.callbacks:
        parts.callbacks.append(build(read_spec(entry, recipe.where("callbacks")), CALLBACKS))
    for callback in parts.callbacks:
        if isinstance(callback, BrokenVerifierCallback):
            parts.rewards = callback.watch_all(parts.rewards)
            if callable(parts.steps):
                parts.steps = callback.watch_steps(parts.steps)
    return parts


def needs_tokenizer(recipe: Recipe) -> bool:
    """Whether a recipe's step rewards are to be made with the policy's tokenizer."""
    step = recipe.script.step_reward
    return step is not None and not (isinstance(step, str) and step.startswith("field:"))


def check_rows(parts: Parts, rows: Any) -> None:
    """Read every gold answer, or set of cases, of a data set before anything is generated.

    Raises:
        GoldError: golds that cannot be read, all of them with their rows.
        DataError: cases that cannot, or a column that is not there.
    """
    for function in _flat(parts.rewards):
        if isinstance(function, TRLReward):
            function.check(_Columns(rows))


class _Columns(Mapping[str, Any]):
    """A data set as a mapping of columns, each read when it is asked for."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> Any:
        if name not in self._rows.column_names:
            raise KeyError(name)
        return list(self._rows[name])

    def __iter__(self) -> Any:
        return iter(self._rows.column_names)

    def __len__(self) -> int:
        return len(self._rows.column_names)


def _rewards(recipe: Recipe, parts: Parts) -> None:
    script = recipe.script
    weights: list[float] = []
    weighted = False
    if script.reward_model_name_or_path:
        parts.rewards.append(script.reward_model_name_or_path)
        weights.append(1.0)
    for number, entry in enumerate(script.reward_funcs or ()):
        spec = read_spec(entry, f"{recipe.where('reward_funcs')}[{number}]")
        weighted |= "weight" in spec.arguments
        weights.append(_number(spec.arguments.pop("weight", 1.0), f"{spec.where}: weight"))
        parts.rewards.append(_composite(spec) if spec.name == "composite" else build(spec, REWARDS))
    if not parts.rewards:
        raise TrainerConfigError("no reward: set reward_funcs, for example reward_funcs: [math]")
    if weighted and recipe.training.reward_weights is not None:
        raise TrainerConfigError(
            f"{recipe.where('reward_weights')}: weights stand in reward_funcs too: write them once"
        )
    parts.weights = weights if weighted else None


def _composite(spec: Spec) -> Any:
    """``{name: composite, parts: [{name: math, weight: 1.0}, …]}``."""
    entries = spec.arguments.get("parts")
    if not isinstance(entries, list) or not entries:
        raise TrainerConfigError(f"{spec.where}: composite needs parts, a list such as [{{name: math, weight: 1.0}}]")
    parts = []
    for number, entry in enumerate(entries):
        part = read_spec(entry, f"{spec.where}: parts[{number}]")
        weight = _number(part.arguments.pop("weight", 1.0), f"{part.where}: weight")
        parts.append((_composite(part) if part.name == "composite" else build(part, REWARDS), weight))
    others = {key: value for key, value in spec.arguments.items() if key != "parts"}
    made = locate(spec, REWARDS)
    return made(parts, **others)


def _step_reward(spec: Spec, tokenizer: Any) -> Any:
    if spec.name.startswith("field:"):
        return spec.name.removeprefix("field:")
    if spec.name not in STEPS:
        known = {name: source.judge for name, source in STEPS.items()}
        return build(spec, known, tokenizer=tokenizer)
    source = STEPS[spec.name]
    taken = set(inspect.signature(locate(Spec(source.reward, {}, spec.where), {})).parameters) - {source.slot, "name"}
    own = {key: value for key, value in spec.arguments.items() if key in taken}
    others = {key: value for key, value in spec.arguments.items() if key not in taken}
    judge = build(Spec(source.judge, others, spec.where), {}, call=True)
    return build(Spec(source.reward, own, spec.where), {}, **{source.slot: judge, "tokenizer": tokenizer})


def _flat(functions: list[Any]) -> list[Any]:
    """The functions, and those inside composites."""
    found: list[Any] = []
    for function in functions:
        found.append(function)
        inner = getattr(function, "parts", None) or ()
        found += _flat([part[0] if isinstance(part, tuple) else part for part in inner])
    return found


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TrainerConfigError(f"{where}: expected a number, found {value!r:.80}")
    return float(value)
