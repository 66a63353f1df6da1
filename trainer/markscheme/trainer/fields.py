"""The fields that a recipe and its command line set: their names, their types, and values that are given as text."""

from __future__ import annotations

import argparse
import difflib
import enum
import json
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from trl import TrlParser

from markscheme.verifiers.errors import TrainerConfigError

_WORDS = {False: ("no", "off", "none", "false"), True: ("yes", "on", "true")}  # what YAML 1.1 reads as booleans
_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a mapping",
}


class FieldParser(TrlParser):
    """TRL's parser of dataclasses, which says what was set rather than filling in defaults.

    Args:
        kinds: the dataclasses.
    """

    def __init__(self, kinds: Iterable[type]) -> None:
        self.kinds = tuple(kinds)
        super().__init__([*self.kinds], prog="markscheme train", add_help=False, allow_abbrev=False)
        self.options: dict[str, argparse.Action] = {}
        for action in self._actions:
            self.options.setdefault(action.dest, action)
        self.defaults = {name: action.default for name, action in self.options.items()}
        for action in self._actions:
            action.default, action.required = argparse.SUPPRESS, False
        self.types = {name: hint for kind in self.kinds for name, hint in get_type_hints(kind).items()}
        for name, action in self.options.items():
            if {get_origin(one) or one for one in _options(self.types.get(name))} <= {dict, types.NoneType}:
                action.type = mapping  # TRL's parser would call dict() with the text

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print before it exits."""
        raise TrainerConfigError(f"command line: {message}")

    def from_command_line(self, arguments: list[str]) -> dict[str, Any]:
        """Return the fields that ``--field value`` arguments set.

        Raises:
            TrainerConfigError: an unknown field (the nearest is named), or a value of the wrong kind.
        """
        known, rest = self.parse_known_args(arguments)
        for argument in rest:
            if argument.startswith("--"):
                name = argument[2:].split("=")[0].replace("-", "_")
                raise TrainerConfigError(f"command line: {self.no_such_field(name, '--')}")
        if rest:
            raise TrainerConfigError(f"command line: {rest[0]!r} belongs to no field; write --field value")
        return dict(vars(known))

    def no_such_field(self, name: str, dashes: str = "") -> str:
        """Say that there is no such field, and which is nearest."""
        near = difflib.get_close_matches(name, self.options, n=3, cutoff=0.6)
        near = near or [option for option in self.options if name in option][:3]
        hint = f"did you mean {' or '.join(dashes + one for one in near)}?" if near else "see markscheme train --fields"
        return f"no field {dashes}{name}: {hint}"

    def read(self, name: str, value: Any, where: str) -> Any:
        """Return a field's value as a file gives it, checked, text turned into what the field holds.

        Raises:
            TrainerConfigError: an unknown field, or a value of the wrong kind.
        """
        if name not in self.options:
            raise TrainerConfigError(f"{where.rpartition(': ')[0]}: {self.no_such_field(name)}")
        hint, action = self.types[name], self.options[name]
        if isinstance(value, str):
            return self._read_text(hint, action, value, where)
        if isinstance(value, list) and action.nargs == "+":
            item = next((get_args(one)[0] for one in _options(hint) if get_origin(one) is list), Any)
            convert = isinstance(item, type) and issubclass(item, int | float | str)
            return [self._text(action, one, where) if convert and isinstance(one, str) else one for one in value]
        return _accept(hint, value, where)

    def _read_text(self, hint: Any, action: argparse.Action, value: str, where: str) -> Any:
        options = _options(hint)
        if str in options and action.choices is None and (action.type is not str or value == ""):
            return (
                value  # TRL's parser takes one kind of a union alone: no "all" beside a boolean, no text beside a list
            )
        read = self._text(action, value, where)
        return [read] if action.nargs == "+" and str not in options else read

    def _text(self, action: argparse.Action, value: str, where: str) -> Any:
        try:
            read = self._get_value(action, value)
            self._check_value(action, read)
        except argparse.ArgumentError as error:
            raise TrainerConfigError(f"{where}: {error.message}") from None
        return read

    def describe(self, pattern: str = "") -> list[tuple[str, str, str]]:
        """Return name, default and help of the fields whose name holds ``pattern``."""
        found = []
        for name, action in self.options.items():
            if pattern in name:
                default = self.defaults[name]
                shown = (
                    "" if default is None or default is argparse.SUPPRESS else str(getattr(default, "value", default))
                )
                found.append((name, shown, " ".join((action.help or "").replace("%%", "%").split())))
        return found


def mapping(text: str) -> dict[str, Any] | None:
    """Read a JSON object, or "none". What argparse says of a wrong one holds this function's name.

    Raises:
        ValueError: the text is none.
    """
    value = None if text.lower() in ("none", "null") else json.loads(text)
    if not isinstance(value, dict | None):
        raise ValueError(text)
    return value


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _accept(hint: Any, value: Any, where: str) -> Any:
    """Return a value that is no text, as the type wants it."""
    options = _options(hint)
    origins = {get_origin(one) or one for one in options}
    if Any in origins or type(value) in origins or (value is None and type(None) in origins):
        return value
    if isinstance(value, bool):
        return _word(options, value, where)
    if isinstance(value, int) and float in origins:
        return float(value)
    if isinstance(value, float) and int in origins and value.is_integer():
        return int(value)
    if isinstance(value, int | float) and str in origins:
        return str(value)
    wanted = " or ".join(dict.fromkeys(_NAMES[one] for one in origins if one in _NAMES)) or "one of its choices"
    raise TrainerConfigError(f"{where}: expected {wanted}, found {value!r:.80}")


def _word(options: tuple[Any, ...], value: bool, where: str) -> str:  # noqa: FBT001 - the value itself
    """Return the word that YAML took for a boolean (``save_strategy: no``), where the field has such a word."""
    choices = [str(choice) for one in options for choice in _choices(one)]
    for word in _WORDS[value]:
        if word in choices:
            return word
    raise TrainerConfigError(
        f"{where}: YAML reads the words yes, no, on, off as {str(value).lower()}; write text in quotes"
    )


def _choices(option: Any) -> Iterable[Any]:
    if get_origin(option) is Literal:
        return get_args(option)
    members: list[enum.Enum] = list(option) if isinstance(option, enum.EnumMeta) else []
    return [one.value for one in members]


def changed(kind: type, instance: Any) -> dict[str, Any]:
    """Return the fields of a dataclass's instance whose values are not the defaults, as YAML values."""
    found: dict[str, Any] = {}
    for one in fields(kind):
        value = getattr(instance, one.name, None)
        default = one.default if one.default_factory is MISSING else one.default_factory()
        if one.init and value != default and not is_dataclass(value):
            found[one.name] = plain(value)
    return found


def plain(value: Any) -> Any:
    """Return a value as YAML can hold it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
