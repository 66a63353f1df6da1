"""The code blocks of a Markdown page, and the marks that say what is to be done with them.

Every block of README.md, CONTRIBUTING.md and docs/ is run, or says why it cannot be: `docrun` says how each language is
run. A mark is an HTML comment directly before its block, invisible on the page:

    <!-- not run: needs eight GPUs -->            the block is not run; the reason is required
    <!-- not run (markscheme serve): it serves until it is stopped -->    of its commands, those that begin so
    <!-- exits with 1 -->                         its last command does, rather than with 0
    <!-- output -->                               it is what the block before it prints; … stands for anything
    <!-- file: mine.py -->                        it is the content of this file, for the blocks after it
    <!-- recipe -->                               YAML: a training recipe, or a part of one
    <!-- setup: python
    rows = [{"answer": "1"}]
    -->                                           run before the block, not shown; `bash` likewise

Blocks of one page are run in their order, in one folder, and share their Python names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

LANGUAGES = {"bash", "console", "json", "jsonl", "pycon", "python", "text", "toml", "yaml"}
"""What a block may be. ``text`` is no code, and nothing is done with it but where it is an output or a file."""
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_NOT_RUN = re.compile(r"not run(?: \((?P<start>[^)]+)\))?: (?P<why>\S.*)", re.DOTALL)
_EXITS = re.compile(r"exits with (\d+)")
_FILE = re.compile(r"file: (\S+)")
_SETUP = re.compile(r"setup: (python|bash)\n(.*)", re.DOTALL)


class PageError(AssertionError):
    """A block that cannot be run and does not say why, or a mark that says nothing."""


@dataclass(slots=True)
class Block:
    """A code block.

    Attributes:
        language: of `LANGUAGES`; "" where a block that is not run has none.
        text: its content.
        where: page and line, of the first line of the content.
        line: that line, from 1.
        skipped: why it is not run; "" where it is.
        commands_skipped: the beginnings of commands that are not run, with the reason.
        exits: the code that its last command ends with.
        output: it is the output of the block before it.
        file: it is the content of this file.
        recipe: it is a training recipe.
        setups: (language, code) that are run before it.
    """

    language: str
    text: str
    where: str
    line: int
    skipped: str = ""
    commands_skipped: dict[str, str] = field(default_factory=dict)
    exits: int = 0
    output: bool = False
    file: str = ""
    recipe: bool = False
    setups: list[tuple[str, str]] = field(default_factory=list)

    @property
    def verbatim(self) -> bool:
        """Whether the content is taken as it is, whatever its language."""
        return bool(self.skipped or self.output or self.file)


def blocks(path: Path, name: str | None = None) -> list[Block]:
    """Read the blocks of a page.

    Raises:
        PageError: a block has no language, or an unknown one, and no mark; or a mark is none of those above.
    """
    name = name or path.name
    found = list(_blocks(path.read_text(encoding="utf-8"), name))
    for block in found:
        if block.language not in LANGUAGES and not block.verbatim:
            raise PageError(
                f"{block.where}: a block of {block.language or 'no language'}: expected one of "
                f"{', '.join(sorted(LANGUAGES))}, or a mark before it, such as <!-- not run: why -->"
            )
    return found


def _blocks(text: str, name: str) -> Iterator[Block]:
    comments: list[tuple[str, int]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "html_block":
            line = (token.map or [0])[0] + 1
            comments += [(comment.strip(), line) for comment in _COMMENT.findall(token.content)]
        elif token.type in ("fence", "code_block"):
            line = (token.map or [0])[0] + (2 if token.type == "fence" else 1)
            language = token.info.split()[0] if token.info.split() else ""
            block = Block(language, token.content, f"{name}:{line}", line)
            for comment, place in comments:
                _mark(block, comment, f"{name}:{place}")
            comments = []
            yield block
        else:
            comments = []


def _mark(block: Block, comment: str, where: str) -> None:
    if match := _NOT_RUN.fullmatch(comment):
        why = " ".join(match["why"].split())
        if match["start"]:
            block.commands_skipped[match["start"]] = why
        else:
            block.skipped = why
    elif match := _EXITS.fullmatch(comment):
        block.exits = int(match[1])
    elif match := _FILE.fullmatch(comment):
        block.file = match[1]
    elif match := _SETUP.fullmatch(comment):
        block.setups.append((match[1], match[2]))
    elif comment == "output":
        block.output = True
    elif comment == "recipe":
        block.recipe = True
    else:
        raise PageError(f"{where}: a comment before a block that is no mark: {comment[:80]!r}; see tests/docpages.py")
