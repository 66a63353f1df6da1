"""Objects by name: known names, ``module:attribute``, ``file.py:attribute``; with keyword arguments."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from markscheme.verifiers.errors import TrainerConfigError

REWARDS = {
    "code": "markscheme.verifiers.rewards:CodeReward",
    "composite": "markscheme.verifiers.rewards:CompositeReward",
    "math": "markscheme.verifiers.rewards:MathReward",
    "similarity": "markscheme.trainer:SimilarityReward",
    "accuracy_reward": "trl.rewards:accuracy_reward",
    "get_soft_overlong_punishment": "trl.rewards:get_soft_overlong_punishment",
    "reasoning_accuracy_reward": "trl.rewards:reasoning_accuracy_reward",
    "think_format_reward": "trl.rewards:think_format_reward",
}
"""Reward functions: ours, and those that TRL's own script knows."""


class StepSource(NamedTuple):
    """A step reward that is made of a judge.

    Attributes:
        judge: what judges.
        reward: what makes step rewards of its judgements.
        slot: the reward's argument that takes the judge.
    """

    judge: str
    reward: str
    slot: str


STEPS = {
    "equations": StepSource(
        "markscheme.verifiers.steps:EquationStepVerifier", "markscheme.trainer:StepReward", "verifier_or_callable"
    ),
    "prm": StepSource("markscheme.prm.scoring:PRMScorer.from_pretrained", "markscheme.trainer:PRMStepReward", "scorer"),
}
"""Step rewards. Arguments of the reward (``splitter`` …) and of the judge (``folder`` …) are written side by side."""

CALLBACKS = {
    "broken_verifier": "markscheme.trainer:BrokenVerifierCallback",
    "early_stopping": "markscheme.trainer:EarlyStoppingOnPlateau",
    "reward_ema": "markscheme.trainer:RewardEMACallback",
}
"""Callbacks."""

_NESTED = {
    "alarm": "markscheme.verifiers.rewards:BrokenVerifierAlarm",
    "guards": "markscheme.trainer.prm_reward:Guards",
    "limits": "markscheme.verifiers.code:Limits",
    "policy": "markscheme.verifiers:Policy",
    "splitter": "markscheme.prm:StepSplitter",
}
"""Arguments that are objects of ours and may be written as a mapping."""


class Spec(NamedTuple):
    """A name and the keyword arguments that come with it.

    Attributes:
        name: as written.
        arguments: may be empty.
        where: what errors begin with.
    """

    name: str
    arguments: dict[str, Any]
    where: str


def read_spec(value: Any, where: str) -> Spec:
    """Read ``math``, ``{name: math, reading: boxed}``, or the latter as JSON.

    Raises:
        TrainerConfigError: it is neither.
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise TrainerConfigError(f"{where}: no JSON: {error}") from None
    if isinstance(value, str):
        return Spec(value, {}, where)
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        return Spec(value["name"], {key: item for key, item in value.items() if key != "name"}, where)
    raise TrainerConfigError(
        f"{where}: expected a name, or a mapping with a name and keyword arguments, such as {{name: math, reading: "
        f"boxed}}; found {value!r:.80}"
    )


def build(spec: Spec, known: Mapping[str, str], *, call: bool = False, **extra: Any) -> Any:
    """Return the object that ``spec`` names.

    A class is called with the arguments, a function with arguments likewise (it makes the object), and a function
    without is the object itself.

    Args:
        spec: the name and its arguments.
        known: names, and what they stand for.
        call: call a function without arguments too.
        extra: arguments that are passed if they are taken.

    Raises:
        TrainerConfigError: there is no such name, it does not take the arguments, or it refuses their values.
    """
    found = locate(spec, known)
    taken = _parameters(found)
    extra = {key: value for key, value in extra.items() if key in taken and key not in spec.arguments}
    if not inspect.isclass(found) and not spec.arguments and not extra and not call:
        return found
    if not callable(found):
        raise TrainerConfigError(f"{spec.where}: {spec.name} is no class or function, and takes no arguments")
    _check_arguments(spec, taken)
    arguments = {key: _nested(key, value, spec.where) for key, value in spec.arguments.items()}
    try:
        return found(**arguments, **extra)
    except (TypeError, ValueError) as error:
        raise TrainerConfigError(f"{spec.where}: {spec.name}: {error}") from error


def locate(spec: Spec, known: Mapping[str, str]) -> Any:
    """Return the class, function or object that a name stands for.

    Raises:
        TrainerConfigError: there is none.
    """
    target = known.get(spec.name, spec.name)
    home, colon, attribute = target.rpartition(":")
    if not colon and "." in target:  # TRL's own form: a dotted path
        home, _, attribute = target.rpartition(".")
    if not home:
        near = difflib.get_close_matches(spec.name, known, n=1, cutoff=0.5)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise TrainerConfigError(
            f"{spec.where}: no {spec.name!r}{hint}; known are {', '.join(sorted(known))}, and anything as "
            "module:attribute or file.py:attribute"
        )
    module = _import(home, spec)
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise TrainerConfigError(f"{spec.where}: {home} has no {attribute!r}")
        value = getattr(value, part)
    return value


def _import(home: str, spec: Spec) -> ModuleType:
    if home.endswith(".py"):
        return _from_file(Path(home), spec)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # as TRL's script does: a module beside the recipe is found wherever Python started
    try:
        return importlib.import_module(home)
    except ModuleNotFoundError as error:
        if error.name is not None and not home.startswith(error.name):
            raise  # the module is there, and something that it needs is not
        raise TrainerConfigError(
            f"{spec.where}: no module {home!r}: install it, start in its folder ({here} is looked in), or write "
            "path/to/file.py:attribute"
        ) from None


def _from_file(path: Path, spec: Spec) -> ModuleType:
    if not path.is_file():
        raise TrainerConfigError(f"{spec.where}: no file {path} (looked for from {Path.cwd()})")
    full = path.resolve()
    # A name of its own, the same in every process, so that what it defines can be pickled and is loaded once.
    name = f"markscheme_recipe_{full.stem}_{hashlib.sha256(os.fsencode(full)).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    loading = importlib.util.spec_from_file_location(name, full)
    if loading is None or loading.loader is None:
        raise TrainerConfigError(f"{spec.where}: {path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(loading)
    sys.modules[name] = module
    try:
        loading.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _parameters(found: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(found).parameters)
    except (TypeError, ValueError):
        return {}


def _check_arguments(spec: Spec, taken: Mapping[str, inspect.Parameter]) -> None:
    if not taken or any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        return
    for name in spec.arguments:
        if name not in taken:
            near = difflib.get_close_matches(name, taken, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(taken) or 'none'}"
            raise TrainerConfigError(f"{spec.where}: {spec.name} takes no argument {name!r}: {hint}")


def _nested(key: str, value: Any, where: str) -> Any:
    if key in _NESTED and isinstance(value, Mapping):
        return build(Spec(_NESTED[key], dict(value), f"{where}: {key}"), {})
    return value
