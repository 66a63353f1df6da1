"""A run of training: data read and compared, the trainer made, stopped and gone on, the figures shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from markscheme.cli.terminal import EXIT_STOPPED, console, safe, table
from markscheme.verifiers.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from markscheme.prm.schema import StepSample
    from markscheme.prm.training import PRMConfig, PRMTrainer


@dataclass(slots=True)
class Training:
    """What the command line asked for.

    Attributes:
        model: the backbone.
        data: files to train on.
        test: evaluation sets, ``NAME=FILE`` or a file that names itself.
        settings: a file of more settings.
        chosen: fields of ``PRMConfig``.
        lora: the rank of an adapter; 0: none.
        recompute: recompute activations.
        dtype: of the backbone.
        decontaminate: leave training problems of the evaluation sets out.
        fresh: start over.
        as_json: print JSON alone.
        notes: sentences that belong under the figures.
    """

    model: str
    data: Sequence[Path]
    test: Sequence[str]
    settings: Path | None
    chosen: dict[str, Any]
    lora: int
    recompute: bool
    dtype: str
    decontaminate: bool
    fresh: bool
    as_json: bool
    notes: list[str] = field(default_factory=list)


def run(asked: Training) -> None:
    """Train, and show what was measured.

    Raises:
        DataError: data or settings that cannot be used.
        MissingExtraError: torch, transformers or peft are not installed.
    """
    from markscheme.cli.prm.judges import counted

    with counted():  # what is lost and left out stands under the figures
        trainer, args = _prepared(asked)
    checkpoint = _checkpoint(asked, args)
    try:
        trainer.train(resume_from_checkpoint=checkpoint)
    except KeyboardInterrupt:
        last = _checkpoint(asked, args, fresh=False)
        kept = f"{last} is kept; run the same command again to go on" if last else "no checkpoint was saved yet"
        typer.echo(f"\nstopped at step {trainer.state.global_step}: {kept}.", err=True)
        raise typer.Exit(EXIT_STOPPED) from None
    if asked.test:
        trainer.evaluate()
    trainer.save_model()
    if trainer.is_world_process_zero():
        _show(asked, args, trainer)


def _prepared(asked: Training) -> tuple[PRMTrainer, PRMConfig]:
    on_bad: Literal["error", "skip"] = asked.chosen["on_bad"]
    train = [sample for path in asked.data for sample in _read(asked, path, on_bad)]
    sets = {name: _read(asked, path, on_bad) for name, path in map(_named, asked.test)}
    chooser = asked.chosen["threshold_set"]
    if chooser is not None and chooser not in sets:
        known = f"its sets are {', '.join(sets)}" if sets else "there is none"
        raise DataError(f"--threshold-set {chooser}: expected the name of an --eval set; {known}")
    train = _compared(asked, train, sets)
    args = _config(asked)
    _claim(asked, args)
    return _trainer(asked, args, train, sets), args


def _claim(asked: Training, args: PRMConfig) -> None:
    """See that the folder's checkpoints, if it has any, are of this very run."""
    out = Path(str(args.output_dir))
    path = out / "run.json"
    free = {"output_dir", "num_train_epochs", "max_steps", "processes", "disable_tqdm", "threshold_set"}
    own = {
        "model": asked.model,
        "data": [f"{path.name}, {path.stat().st_size} bytes" for path in asked.data],
        "lora": asked.lora,
        "dtype": asked.dtype,
        "decontaminate": asked.decontaminate,
        **{name: value for name, value in asked.chosen.items() if name not in free},
    }
    if _checkpoint(asked, args) is not None and path.exists():
        held = json.loads(path.read_text(encoding="utf-8"))
        changed = sorted(name for name in {*own, *held} if own.get(name) != held.get(name))
        if changed:
            was = ", ".join(f"{name} was {held.get(name)!r} and is {own.get(name)!r}" for name in changed[:3])
            raise DataError(f"{out} holds checkpoints of another run ({was}): name another folder, or pass --fresh")
    if args.process_index == 0:
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(own, indent=1) + "\n", encoding="utf-8")


def _read(asked: Training, path: Path, on_bad: Literal["error", "skip"]) -> list[StepSample]:
    import warnings

    from markscheme.prm.load import SkippedRowsWarning, load_samples

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedRowsWarning)
        loaded = load_samples(path, on_bad=on_bad)
    if loaded.skipped:
        row, _, why = loaded.skipped[0]
        asked.notes.append(
            f"{loaded.name}: left out {len(loaded.skipped)} of {loaded.rows} rows, such as row {row}: {why}"
        )
    return loaded.samples


def _named(given: str) -> tuple[str, Path]:
    name, equals, rest = given.partition("=")
    return (name, Path(rest)) if equals else (Path(given).stem, Path(given))


def _compared(asked: Training, train: list[StepSample], sets: dict[str, list[StepSample]]) -> list[StepSample]:
    """Look for problems of the evaluation sets in the training data; leave them out where that is asked."""
    from markscheme.prm.metrics import decontaminate

    for name, samples in sets.items():
        kept, found = decontaminate(train, (sample.problem for sample in samples))
        if not found.shared:
            continue
        if asked.decontaminate:
            train = kept
            asked.notes.append(f"{name}: {found.sentence()} They are left out of training.")
        else:
            asked.notes.append(f"{name}: {found.sentence()} Its figures are too good: pass --decontaminate.")
            typer.echo(f"warning: {asked.notes[-1]}", err=True)  # before hours are spent on it
    return train


def _config(asked: Training) -> PRMConfig:
    try:
        from markscheme.prm.training import PRMConfig
    except ImportError as error:
        raise MissingExtraError(f'training needs {error.name}: pip install "markscheme[train]"') from None
    fields: dict[str, Any] = {}
    if asked.settings is not None:
        try:
            fields = json.loads(asked.settings.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise DataError(f"{asked.settings}: {error}; expected one JSON object of PRMConfig's fields") from error
    unknown = sorted(set(fields) - set(PRMConfig.__dataclass_fields__))
    if unknown:
        raise DataError(f"{asked.settings}: PRMConfig has no {', '.join(unknown)}")
    chosen = dict(asked.chosen)
    if asked.recompute:
        named = "activation_checkpointing"
        chosen[named if named in PRMConfig.__dataclass_fields__ else "gradient_checkpointing"] = True
    chosen["disable_tqdm"] = asked.as_json or not sys.stderr.isatty()
    return PRMConfig(**{**fields, **chosen})


def _trainer(
    asked: Training, args: PRMConfig, train: list[StepSample], sets: dict[str, list[StepSample]]
) -> PRMTrainer:
    from transformers.trainer_callback import PrinterCallback
    from transformers.utils import logging

    from markscheme.prm.training import PRMTrainer

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    trainer = PRMTrainer(
        asked.model,
        args,
        train_dataset=train,
        eval_dataset=sets or None,
        peft_config=_adapter(asked.lora) if asked.lora else None,
        model_options={"dtype": asked.dtype},
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _adapter(rank: int) -> Any:
    try:
        from peft import LoraConfig
    except ImportError:
        raise MissingExtraError('--lora needs peft: pip install "markscheme[train]"') from None
    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")


def _checkpoint(asked: Training, args: PRMConfig, *, fresh: bool | None = None) -> str | None:
    """The last checkpoint of a stopped run."""
    from transformers.trainer_utils import get_last_checkpoint

    folder = Path(str(args.output_dir))
    if (asked.fresh if fresh is None else fresh) or not folder.is_dir():
        return None
    found: str | None = get_last_checkpoint(str(folder))
    return found


def _show(asked: Training, args: PRMConfig, trainer: PRMTrainer) -> None:
    from markscheme.prm.training.card import COLUMNS

    report = trainer.train_report
    if report is not None:
        asked.notes += report.sentences()
    if asked.as_json:
        found = {
            "out": str(args.output_dir),
            "steps": trainer.state.global_step,
            "threshold": trainer.threshold,
            "threshold_from": trainer.threshold_source or "default",
            "metrics": trainer.measured,
            "notes": asked.notes,
        }
        typer.echo(json.dumps(found))
        return
    out = console()
    rows = [
        [name, *("none" if (value := found.get(key)) is None else f"{value:.3f}" for key in COLUMNS)]
        for name, found in trainer.measured.items()
    ]
    if rows:
        out.print(table(["set", *COLUMNS.values()], rows, right=range(1, len(COLUMNS) + 1)))
    out.print(f"{trainer.state.global_step} steps; the judge is in {safe(str(args.output_dir))}", soft_wrap=True)
    for line in asked.notes:
        out.print(safe(line), soft_wrap=True)
