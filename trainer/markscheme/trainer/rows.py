"""The rows to train on: from a file, a folder or the hub, with a prompt made of their columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markscheme.trainer.recipe import Recipe, RecipeArguments
from markscheme.verifiers.errors import DataError, TrainerConfigError
from markscheme.verifiers.jsonl import read_rows

READERS = {".jsonl": "json", ".json": "json", ".parquet": "parquet", ".csv": "csv"}
"""File name endings, and the reader of ``datasets`` for each."""

_FIELD = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def load(recipe: Recipe) -> tuple[Any, Any]:
    """Return the training set, and the evaluation set or None, with a column ``prompt``.

    Raises:
        TrainerConfigError: no data set is named, or the columns are not those that the recipe speaks of.
        DataError: a file cannot be read as what its name says.
    """
    script, mixture = recipe.script, recipe.mixture
    if mixture.datasets and script.dataset_name:
        raise TrainerConfigError("dataset_name and datasets are both set: name the data once")
    if mixture.datasets:
        from trl import get_dataset  # noqa: PLC0415 - loads `datasets`

        splits: Mapping[str, Any] = get_dataset(mixture)
    elif script.dataset_name:
        splits = read(script.dataset_name, script, recipe.where("dataset_name"))
    else:
        raise TrainerConfigError("no data: set dataset_name to a file, a folder or a hub name, or give datasets")
    train = _split(splits, script.dataset_train_split, recipe.where("dataset_train_split"))
    wanted = recipe.training.eval_strategy != "no"
    evaluation = None
    if wanted and script.eval_dataset_name:
        splits = read(script.eval_dataset_name, script, recipe.where("eval_dataset_name"))
        name = script.dataset_test_split if script.dataset_test_split in splits else script.dataset_train_split
        evaluation = _split(splits, name, recipe.where("eval_dataset_name"))
    elif wanted:
        evaluation = _split(splits, script.dataset_test_split, recipe.where("dataset_test_split"))
    return with_prompts(train, recipe), None if evaluation is None else with_prompts(evaluation, recipe)


def read(name: str, script: RecipeArguments, where: str) -> Mapping[str, Any]:
    """Read a data set: its splits by name. A file has one, the training split.

    Raises:
        TrainerConfigError: it looks like a file, and there is none.
        DataError: the file is not what its name says.
    """
    from datasets import DatasetDict, load_dataset, load_from_disk  # noqa: PLC0415 - slow to import

    path = Path(name)
    if path.suffix in READERS:
        if not path.is_file():
            raise TrainerConfigError(f"{where}: no file {name} (looked for from {Path.cwd()})")
        try:
            rows = load_dataset(
                READERS[path.suffix], data_files=str(path), split="train", streaming=script.dataset_streaming
            )
        except Exception as error:
            _name_the_line(path)
            raise DataError(f"{path}: cannot be read as {READERS[path.suffix]}: {error.__cause__ or error}") from error
        return {script.dataset_train_split: rows}
    if any((path / file).is_file() for file in ("dataset_info.json", "dataset_dict.json")):
        saved = load_from_disk(name)
        return saved if isinstance(saved, DatasetDict) else {script.dataset_train_split: saved}
    loaded: Mapping[str, Any] = load_dataset(name, name=script.dataset_config, streaming=script.dataset_streaming)
    return loaded


def with_prompts(rows: Any, recipe: Recipe) -> Any:
    """Return the rows with a column ``prompt``, made as the recipe says.

    Raises:
        TrainerConfigError: a column that the recipe speaks of is not there.
    """
    script = recipe.script
    columns = rows.column_names or list(next(iter(rows)))
    template = script.prompt_template
    needed = set(_FIELD.findall(template)) if template is not None else {script.prompt_column}
    if missing := sorted(needed - set(columns)):
        where = recipe.where("prompt_column" if template is None else "prompt_template")
        raise TrainerConfigError(
            f"{where}: no column {', '.join(map(repr, missing))} in the data, which has {', '.join(columns)}: set "
            "prompt_column, or prompt_template with {{column}} where a value is to stand"
        )
    if template is None and script.prompt_column == "prompt" and not (script.system_prompt or script.conversational):
        return rows
    return rows.map(_prompt, fn_kwargs={"script": script})


def _prompt(row: dict[str, Any], script: RecipeArguments) -> dict[str, Any]:
    if script.prompt_template is not None:
        prompt: Any = _FIELD.sub(lambda found: str(row[found[1]]), script.prompt_template)
    else:
        prompt = row[script.prompt_column]
    if script.system_prompt is None and not script.conversational:
        return {"prompt": prompt}
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    system = [] if script.system_prompt is None else [{"role": "system", "content": script.system_prompt}]
    return {"prompt": [*system, *messages]}


def _split(splits: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in splits:
        raise TrainerConfigError(f"{where}: no split {name!r}; the data has {', '.join(map(str, splits))}")
    return splits[name]


def _name_the_line(path: Path) -> None:
    """Raise the DataError that names the line, where a JSON Lines file has a bad one."""
    if path.suffix == ".jsonl":
        for _ in read_rows(path):
            pass
