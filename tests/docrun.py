"""Running the blocks of a page: Python in this process, shells in their own, data files through their parsers."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import re
import subprocess
import tokenize
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docpages import Block, PageError

SECONDS = 120
"""That one command may take."""
ARROW = "# → "
"""A comment after an expression that says its value, as an expression or as it is printed: it must be that."""


@dataclass(slots=True)
class Runner:
    """Runs the blocks of one page.

    Attributes:
        folder: where; this process must be in it.
        environment: of shells.
        names: the page's Python names.
        printed: what the block before printed.
        ran: blocks and commands that were run, counted.
        skipped: what was not run, with the reason.
    """

    folder: Path
    environment: dict[str, str]
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    printed: str = ""
    ran: int = 0
    skipped: list[str] = field(default_factory=list)

    def run(self, block: Block) -> None:
        """Run a block. Raises what its code raises, or PageError where it is not as the page says."""
        if block.skipped:
            self.skipped.append(f"{block.where}: {block.skipped}")
            return
        for language, code in block.setups:
            self._python(Block(language, code, f"{block.where} (setup)", 1)) if language == "python" else self._shell(
                code, block.where
            )
        if block.output:
            compare(block.text, self.printed, block.where)
        elif block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if not block.output and not (block.file and block.language in ("python", "bash")):
            self._by_language(block)
        self.ran += block.language != "text"

    def _by_language(self, block: Block) -> None:
        match block.language:
            case "python":
                self._python(block)
            case "pycon":
                self._pycon(block)
            case "console":
                self._console(block)
            case "bash":
                self.printed = self._shell(block.text, block.where, block.exits)
            case "json":
                json.loads(block.text)
            case "jsonl":
                for line in block.text.splitlines():
                    json.loads(line)
            case "toml":
                tomllib.loads(block.text)
            case "yaml":
                self._yaml(block)

    def _python(self, block: Block) -> None:
        tree = ast.parse("\n" * (block.line - 1) + block.text, block.where)
        values = _values(block)
        tree = ast.fix_missing_locations(_Shown(values).visit(tree))
        if values:
            line, text = min(values.items())
            raise PageError(f"{block.where}: line {line}: no expression ends on the line of {ARROW}{text}")
        self.names["__shown__"] = lambda value, text, line: self._shown(value, text, f"{block.where}, line {line}")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, block.where, "exec", dont_inherit=True), self.names)
        self.printed = printed.getvalue()

    def _shown(self, value: Any, text: str, where: str) -> None:
        if text in (repr(value), str(value)):
            return
        try:
            expected = eval(text, self.names)
        except Exception as error:
            raise PageError(f"{where}: the page says {text}, which is {value!r} ({error})") from error
        if value != expected:
            raise PageError(f"{where}: the page says {text}, it is {value!r}")

    def _pycon(self, block: Block) -> None:
        example = doctest.DocTestParser().get_doctest(block.text, self.names, block.where, block.where, block.line - 1)
        report: list[str] = []
        if doctest.DocTestRunner(verbose=False).run(example, out=report.append, clear_globs=False).failed:
            raise PageError("".join(report))
        self.names.update(example.globs)

    def _console(self, block: Block) -> None:
        given = commands(block)
        printed = []
        for place, (command, output) in enumerate(given):
            why = next((why for start, why in block.commands_skipped.items() if command.startswith(start)), "")
            if why:
                self.skipped.append(f"{block.where}: {command}: {why}")
                continue
            exits = block.exits if place == len(given) - 1 else 0
            printed.append(self._shell(command, block.where, exits))
            if output:
                compare(output, printed[-1], block.where)
        self.printed = "".join(printed)
        unused = [start for start in block.commands_skipped if not any(c.startswith(start) for c, _ in given)]
        if unused:
            raise PageError(f"{block.where}: no command begins with {unused[0]!r}, which a mark names")

    def _shell(self, code: str, where: str, exits: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=SECONDS, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode != exits:
            raise PageError(
                f"{where}: {code.strip()}\nended with {done.returncode}, not {exits}\n{done.stdout}\n{done.stderr}"
            )
        return done.stdout

    def _yaml(self, block: Block) -> None:
        import yaml  # type: ignore[import-untyped]  # noqa: PLC0415

        content = yaml.safe_load(block.text)
        if block.recipe:
            self._recipe(content)

    def _recipe(self, content: dict[str, Any]) -> None:
        """Read a recipe as `markscheme train` does; a part of one is put onto one of the examples."""
        import yaml  # noqa: PLC0415

        from markscheme.trainer import recipe  # noqa: PLC0415

        base = yaml.safe_load((self.folder / "examples" / "recipes" / "outcome.yaml").read_text(encoding="utf-8"))
        whole = content if "model_name_or_path" in content else {**base, **content}
        path = self.folder / ".recipe.yaml"
        path.write_text(yaml.safe_dump(whole, allow_unicode=True), encoding="utf-8")
        read = recipe.parse(["--config", str(path), "--use_cpu", "true", "--bf16", "false"])
        assert set(content) <= set(read.given), "a key of the recipe was not read"


def commands(block: Block) -> list[tuple[str, str]]:
    """Part a console block into commands, each with the output that is shown below it."""
    found: list[tuple[str, list[str]]] = []
    open_command = False
    for line in block.text.splitlines():
        if open_command:
            command, output = found.pop()
            found.append((f"{command}\n{line}", output))
        elif line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
        else:
            raise PageError(f"{block.where}: a console block begins with '$ ', found {line[:60]!r}")
        open_command = found[-1][0].endswith("\\") and not found[-1][1]
    return [(command, "\n".join(output)) for command, output in found]


def compare(shown: str, printed: str, where: str) -> None:
    """Compare an output with what the page shows; … stands for anything, lines too. Raises PageError."""
    pattern = ".*?".join(re.escape(piece) for piece in _lines(shown).split("…"))
    if not re.fullmatch(pattern, _lines(printed), re.DOTALL):
        raise PageError(f"{where}: the page shows\n{shown}\nbut it prints\n{printed}")


def _lines(text: str) -> str:
    """Without blanks at the ends of lines, and with one empty line where there are several."""
    stripped = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", stripped)


def _values(block: Block) -> dict[int, str]:
    """The values that comments state, by line."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(block.text).readline):
        if token.type == tokenize.COMMENT and token.string.startswith(ARROW):
            found[token.start[0] + block.line - 1] = token.string.removeprefix(ARROW).strip()
    return found


class _Shown(ast.NodeTransformer):
    """Puts expressions whose value is stated into calls that compare it; takes their lines out of ``values``."""

    def __init__(self, values: dict[int, str]) -> None:
        self.values = values

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        text = self.values.pop(node.end_lineno or 0, None)
        if text is None:
            return node
        arguments: list[ast.expr] = [node.value, ast.Constant(text), ast.Constant(node.lineno)]
        call = ast.Call(ast.Name("__shown__", ast.Load()), arguments, [])
        return ast.copy_location(ast.Expr(ast.copy_location(call, node)), node)
