"""A recipe's file: YAML, read strictly."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped]

from markscheme.verifiers.errors import DataError


class RecipeFile(NamedTuple):
    """What a file holds.

    Attributes:
        path: the file.
        values: its top-level keys.
        lines: the line of each, from 1.
    """

    path: Path
    values: dict[str, Any]
    lines: dict[str, int]

    def where(self, key: str) -> str:
        """The file, the line and the key, as errors name them."""
        return f"{self.path}, line {self.lines[key]}: {key}"


class _Loader(yaml.SafeLoader):
    """YAML 1.1 as PyYAML reads it, but 1e-6 is a number, and a key that comes twice is an error."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyYAML's
        seen: set[Any] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} comes twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def read_recipe(path: Path) -> RecipeFile:
    """Read a recipe.

    Raises:
        DataError: it is no YAML mapping, or a key comes twice; the message names the line.
        OSError: the file cannot be read.
    """
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        values = None if node is None else loader.construct_document(node)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: {error}") from None
    except yaml.YAMLError as error:
        raise DataError(f"{path}{_place(error)}: {getattr(error, 'problem', None) or error}") from None
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise DataError(f"{path}: expected fields and their values, such as: learning_rate: 1e-6")
    return RecipeFile(path, values, {key.value: key.start_mark.line + 1 for key, _ in node.value})


def _place(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f", line {mark.line + 1}, column {mark.column + 1}"
