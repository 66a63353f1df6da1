"""A recipe: one YAML file, or ``--field value`` arguments, from which all settings of a training run come.

The conventions are TRL's: every field of our config, of TRL's `ModelConfig`, of its dataset mixture and of
`RecipeArguments` is a key of the file and an option of the command line, which wins; ``env:`` sets environment
variables. Beyond TRL's parser, a field that does not exist is an error that names the nearest one, values are checked
as the file is read, and ``1e-6`` is a number.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped]
from trl import DatasetMixtureConfig, ModelConfig, ScriptArguments

from markscheme.trainer.config import ProcessGRPOConfig
from markscheme.trainer.fields import FieldParser, changed, plain
from markscheme.trainer.rollouts.settings import Rollouts
from markscheme.trainer.yamlfile import read_recipe
from markscheme.verifiers.errors import MarkschemeError, TrainerConfigError

_RESUMING = ("auto", "last", "latest", "true")
_SECRETS = ("TOKEN", "KEY", "SECRET", "PASSWORD")


@dataclass
class RecipeArguments(ScriptArguments):
    """What a run needs beside the trainer's settings and the model's."""

    dataset_name: str | None = field(
        default=None,
        metadata={
            "help": "A file (.jsonl, .json, .parquet, .csv), a folder that a data set was saved to, or a hub name."
        },
    )
    eval_dataset_name: str | None = field(
        default=None,
        metadata={"help": "The same for evaluation. Default: the split `dataset_test_split` of `dataset_name`."},
    )
    prompt_column: str = field(
        default="prompt", metadata={"help": "The column that holds the prompt, as text or as messages."}
    )
    prompt_template: str | None = field(
        default=None,
        metadata={
            "help": "Makes the prompt from a row: {{column}} stands for a column's value. Braces alone are text."
        },
    )
    system_prompt: str | None = field(
        default=None, metadata={"help": "A system message before each prompt; prompts become conversations."}
    )
    conversational: bool = field(
        default=False, metadata={"help": "Make each prompt that is text a conversation: one message of the user."}
    )
    reward_model_name_or_path: str | None = field(
        default=None, metadata={"help": "A reward model: a folder or a hub name. Its reward comes first."}
    )
    reward_funcs: list[str] | None = field(
        default=None,
        metadata={
            "help": "Reward functions: names (math, code, similarity, composite, and TRL's), module:attribute or "
            "file.py:attribute; with arguments as a mapping, {name: math, reading: boxed, weight: 1.0}."
        },
    )
    step_reward: dict[str, Any] | str | None = field(
        default=None,
        metadata={
            "help": "Rewards of steps: equations, prm (with folder: its judge), module:attribute or file.py:attribute, "
            "with arguments as for reward_funcs; or field:NAME for what the rollout function returns under that name."
        },
    )
    callbacks: list[str] = field(
        default_factory=lambda: ["reward_ema", "broken_verifier"],
        metadata={
            "help": "Callbacks: reward_ema, early_stopping, broken_verifier, module:attribute; with arguments alike."
        },
    )
    preset: str | None = field(
        default=None,
        metadata={"help": "A paper's settings (dapo, deepseekmath, dr_grpo), on which the other fields build."},
    )
    rollouts: dict[str, Any] | str | None = field(
        default=None,
        metadata={
            "help": "Completions by vLLM: colocate, server, or a mapping (mode, sampling, tensor_parallel_size, "
            "quantization, speculative_config, ...; docs/rollouts.md). TRL's vllm fields follow from it."
        },
    )


KINDS = (RecipeArguments, ProcessGRPOConfig, ModelConfig, DatasetMixtureConfig)
"""The dataclasses whose fields a recipe may set."""


class Recipe(NamedTuple):
    """All settings of a run.

    Attributes:
        script: data, rewards, callbacks.
        training: the trainer's.
        model: which model, and its LoRA.
        mixture: TRL's mixture of data sets.
        given: the fields that the file or the command line set, with where.
        values: what they were set to.
        rollouts: what vLLM is to do, where ``rollouts`` says so.
        environment: the variables that ``env`` set.
    """

    script: RecipeArguments
    training: ProcessGRPOConfig
    model: ModelConfig
    mixture: DatasetMixtureConfig
    given: dict[str, str]
    values: dict[str, Any]
    rollouts: Rollouts | None = None
    environment: dict[str, str] = {}  # noqa: RUF012 - never written to

    def where(self, name: str) -> str:
        """Where a field was set, as errors name it."""
        return self.given.get(name, name)

    def as_yaml(self) -> str:
        """Write the settings as a recipe that runs again: what was given, and in comments what follows from it.

        Tokens (``hub_token``) are left out, and variables of ``env`` whose names speak of a secret.
        """
        given = {name: plain(value) for name, value in self.values.items() if not name.endswith("_token")}
        given.pop("resume_from_checkpoint", None)
        secret = {name for name in self.environment if any(word in name.upper() for word in _SECRETS)}
        if variables := {name: text for name, text in self.environment.items() if name not in secret}:
            given["env"] = variables
        text: str = yaml.safe_dump(given, sort_keys=True, allow_unicode=True, width=100)
        parts = (self.script, self.training, self.model, self.mixture)
        for kind, part in zip(KINDS, parts, strict=True):
            for name, value in changed(kind, part).items():
                if name not in self.given and not name.endswith("_token"):
                    text += f"# follows: {name}: {value}\n"
        return text + "".join(f"# left out: env: {name}\n" for name in sorted(secret))


def parse(arguments: list[str]) -> Recipe:
    """Read ``--config FILE`` and ``--field value`` arguments.

    Raises:
        TrainerConfigError: an unknown field, a value of the wrong kind, or settings that contradict each other.
        DataError: the file is no recipe.
        OSError: the file cannot be read.
    """
    path, rest = take_option(arguments, "--config")
    parser = FieldParser(KINDS)
    values: dict[str, Any] = {}
    given: dict[str, str] = {}
    environment: dict[str, str] = {}
    if path is not None:
        file = read_recipe(Path(path))
        for name, value in file.values.items():
            if name == "env":
                environment = _set_environment(value, file.where(name))
            else:
                values[name] = parser.read(name, value, file.where(name))
                given[name] = file.where(name)
    for name, value in parser.from_command_line(rest).items():
        values[name] = value
        given[name] = f"--{name}"
    return _assemble(values, given)._replace(environment=environment)


def take_option(arguments: list[str], option: str) -> tuple[str | None, list[str]]:
    """Take ``option VALUE`` or ``option=VALUE`` out of a list of arguments; return the value and the others.

    Raises:
        TrainerConfigError: the option comes twice, or without a value.
    """
    found: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == option:
            value = next(waiting, None)
            if value is None:
                raise TrainerConfigError(f"command line: {option} needs a value")
            found.append(value)
        elif argument.startswith(f"{option}="):
            found.append(argument.partition("=")[2])
        else:
            rest.append(argument)
    if len(found) > 1:
        raise TrainerConfigError(f"command line: {option} comes {len(found)} times: {', '.join(found)}")
    return (found[0] if found else None), rest


def _set_environment(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise TrainerConfigError(f"{where}: expected names and values of environment variables")
    variables = {str(name): str(text) for name, text in value.items()}
    os.environ.update(variables)
    return variables


def _assemble(values: dict[str, Any], given: dict[str, str]) -> Recipe:
    def part(kind: type) -> dict[str, Any]:
        return {name: values[name] for name in kind.__dataclass_fields__ if name in values}  # type: ignore[attr-defined]

    script = RecipeArguments(**part(RecipeArguments))
    settings = part(ProcessGRPOConfig)
    settings.setdefault("logging_steps", 1)  # one observation a step: what early stopping and the averages count in
    resume = settings.get("resume_from_checkpoint")
    if isinstance(resume, str) and resume.lower() in _RESUMING:
        settings["resume_from_checkpoint"] = "auto" if resume.lower() == "auto" else "last"
    rollouts = None
    if script.rollouts is not None:
        rollouts = Rollouts.read(script.rollouts, given["rollouts"])
        settings = {**rollouts.training_fields(settings), **settings}
    try:
        if script.preset is not None:
            training = ProcessGRPOConfig.preset(script.preset, **settings)  # type: ignore[arg-type]
        else:
            training = ProcessGRPOConfig(**settings)
        model, mixture = ModelConfig(**part(ModelConfig)), DatasetMixtureConfig(**part(DatasetMixtureConfig))
    except MarkschemeError:
        raise
    except (TypeError, ValueError) as error:
        raise TrainerConfigError(f"settings: {error}") from error
    if model.model_name_or_path is None:
        raise TrainerConfigError("no model: set model_name_or_path to a folder or a hub name")
    return Recipe(script, training, model, mixture, given, values, rollouts)
