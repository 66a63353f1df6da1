"""A recipe becomes a run: ``markscheme train``, and what ``accelerate launch`` starts."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from markscheme.prm.folders import check_folder
from markscheme.trainer import parts as named_parts
from markscheme.trainer import rows
from markscheme.trainer.callbacks import add_first
from markscheme.trainer.config import ProcessGRPOConfig
from markscheme.trainer.fields import FieldParser
from markscheme.trainer.grpo import ProcessGRPOTrainer
from markscheme.trainer.recipe import KINDS, Recipe, parse, take_option
from markscheme.trainer.rollouts import Server, colocate_engine, server_command
from markscheme.verifiers.errors import DataError, TrainerConfigError

logger = logging.getLogger(__name__)

KEPT = "recipe.yaml"
"""The name under which a run's settings are kept in its output folder."""


def main(arguments: list[str]) -> None:
    """Run ``--config recipe.yaml [--field value …] [--resume] [--dry-run] [--server-command] [--fields[=PART]]``.

    Raises:
        MarkschemeError: something that the user can mend, with the fix.
    """
    flags = {flag: flag in arguments for flag in ("--dry-run", "--resume", "--fields", "--server-command")}
    rest = [argument for argument in arguments if argument not in flags]
    pattern = None
    if not flags["--fields"]:
        pattern, rest = take_option(rest, "--fields")
    if flags["--fields"] or pattern is not None:
        print(list_fields(pattern or ""))  # noqa: T201
        return
    if flags["--resume"]:
        rest += ["--resume_from_checkpoint", "auto"]
    recipe = parse(rest)
    if flags["--server-command"]:
        print(server_of(recipe).line())  # noqa: T201
        return
    if flags["--dry-run"]:
        from markscheme.trainer.preview import dry_run  # noqa: PLC0415 - it uses this module

        print(dry_run(recipe))  # noqa: T201
        return
    run(recipe)


def run(recipe: Recipe) -> ProcessGRPOTrainer:
    """Train as a recipe says; the model is saved at the end, and the settings beside it.

    Raises:
        TrainerConfigError: the settings do not fit together, or the output folder holds another run.
        GoldError: gold answers that cannot be read, all with their rows.
        DataError: the data is not what was expected.
    """
    checkpoint = find_checkpoint(recipe.training)
    settings = recipe.as_yaml()
    trainer = build(recipe)
    if trainer.accelerator.is_main_process:
        folder = Path(str(recipe.training.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / KEPT).write_text(settings, encoding="utf-8")
    trainer.train(resume_from_checkpoint=checkpoint)
    trainer.save_model(recipe.training.output_dir)
    if recipe.training.push_to_hub:
        trainer.push_to_hub(dataset_name=recipe.script.dataset_name)
    # Ranks that save nothing would be done at once. Gloo's threads need the interpreter to let go of what was gathered
    # last, and the group's end, which comes with the trainer's, waits for them and holds it; waiting here does not.
    trainer.accelerator.wait_for_everyone()
    if hasattr(trainer, "end"):  # transformers 5.18 and later: trackers and the process group end
        trainer.end()
    return trainer


def build(recipe: Recipe) -> ProcessGRPOTrainer:
    """Make the trainer that a recipe describes."""
    from trl import get_peft_config, get_quantization_config  # noqa: PLC0415 - slow

    training, model = recipe.training, recipe.model
    check_model(recipe)
    tokenizer = load_tokenizer(recipe) if named_parts.needs_tokenizer(recipe) else None
    parts = named_parts.make(recipe, tokenizer)
    with training.main_process_first(desc="the data"):  # the others find what it has cached
        train, evaluation = rows.load(recipe)
    for data in (train, evaluation):
        if hasattr(data, "__len__"):  # what is streamed is read as it comes
            named_parts.check_rows(parts, data)
    if parts.weights is not None:
        training.reward_weights = parts.weights
    loading = {"revision": model.model_revision, "attn_implementation": model.attn_implementation, "dtype": model.dtype}
    given = training.model_init_kwargs
    training.model_init_kwargs = {**loading, **(given if isinstance(given, dict) else {})}
    with colocate_engine(engine_of(recipe)):
        trainer = ProcessGRPOTrainer(
            model.model_name_or_path,
            parts.rewards or None,
            training,
            step_reward_func=parts.steps,
            train_dataset=train,
            eval_dataset=evaluation,
            processing_class=tokenizer,
            peft_config=get_peft_config(model),
            quantization_config=get_quantization_config(model),
        )
    add_first(trainer, *parts.callbacks)
    return trainer


def engine_of(recipe: Recipe) -> dict[str, Any]:
    """Return what a recipe adds to the arguments of the engine in the training processes."""
    rollouts = recipe.rollouts
    return rollouts.engine_arguments() if rollouts is not None and rollouts.mode == "colocate" else {}


def server_of(recipe: Recipe) -> Server:
    """Return how to start the server that a recipe's run asks for completions.

    Raises:
        TrainerConfigError: the recipe's rollouts need none.
    """
    if recipe.rollouts is None:
        raise TrainerConfigError("no server: the recipe has no `rollouts: {mode: server}`")
    model = recipe.model
    return server_command(recipe.rollouts, str(model.model_name_or_path), recipe.training, model.model_revision)


def check_model(recipe: Recipe) -> None:
    """Raise TrainerConfigError where a recipe's model is a path, and no folder is there."""
    try:
        check_folder(str(recipe.model.model_name_or_path))
    except DataError as error:
        raise TrainerConfigError(f"{recipe.where('model_name_or_path')}: {error}") from None


def load_tokenizer(recipe: Recipe) -> Any:
    """Load the policy's tokenizer, as TRL does."""
    from transformers import AutoTokenizer  # noqa: PLC0415

    return AutoTokenizer.from_pretrained(
        recipe.model.model_name_or_path,
        revision=recipe.model.model_revision,
        trust_remote_code=recipe.training.trust_remote_code,
        truncation_side="left",
        padding_side="left",
    )


def find_checkpoint(training: ProcessGRPOConfig) -> str | None:
    """Return the checkpoint that a run goes on from, or None to begin.

    ``resume_from_checkpoint`` is a folder, "last" (the last in ``output_dir``, which must be there) or "auto" (the
    last, if there is one; the option ``--resume``). A checkpoint that a run died in while it wrote it is passed over.
    Without ``resume_from_checkpoint`` an ``output_dir`` that holds checkpoints is refused.

    Raises:
        TrainerConfigError: there is no such checkpoint, or there are some and nothing says what to do with them.
    """
    from transformers.trainer_utils import get_last_checkpoint  # noqa: PLC0415

    folder, wanted = Path(str(training.output_dir)), training.resume_from_checkpoint
    last: str | None = get_last_checkpoint(str(folder)) if folder.is_dir() else None
    if wanted in ("auto", "last"):
        whole = _last_whole(folder)
        if whole is None and wanted == "last":
            raise TrainerConfigError(f"resume_from_checkpoint: no whole checkpoint in {folder}")
        if whole != last:
            logger.warning("%s was not written to its end: going on from %s", last, whole or "the beginning")
        return whole
    if wanted:
        if not Path(wanted).is_dir():
            raise TrainerConfigError(f"resume_from_checkpoint: no folder {wanted}")
        return str(wanted)
    if last is not None:
        raise TrainerConfigError(
            f"output_dir: {folder} holds {Path(last).name} of an earlier run, which a new one would write over: pass "
            "--resume to go on from it, or choose another output_dir"
        )
    return None


def _last_whole(folder: Path) -> str | None:
    """The last checkpoint that was written to its end: the trainer's state comes last."""
    from transformers.trainer import TRAINER_STATE_NAME  # noqa: PLC0415 - slow
    from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR  # noqa: PLC0415

    whole = [state.parent for state in folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*/{TRAINER_STATE_NAME}")]
    steps = {int(number): one for one in whole if (number := one.name.rpartition("-")[2]).isdecimal()}
    return str(steps[max(steps)]) if steps else None


def list_fields(pattern: str) -> str:
    """List the fields whose name holds ``pattern``, with default and help."""
    found = FieldParser(KINDS).describe(pattern)
    if not found:
        raise TrainerConfigError(f"no field has {pattern!r} in its name")
    return "\n".join(f"{name}{f' = {default}' if default else ''}\n    {text}" for name, default, text in found)
