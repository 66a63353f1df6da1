"""The collector itself: what it runs, what it refuses, and that untrue pages fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("markdown_it", reason="needs markdown-it-py, which rich brings")

from docpages import Block, PageError, blocks
from docrun import Runner, commands, compare


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.chdir(tmp_path)  # Python blocks run in this process
    return Runner(tmp_path, dict(os.environ))


def page(folder: Path, text: str) -> list[Block]:
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return blocks(path)


def run(runner: Runner, text: str) -> Runner:
    for block in page(runner.folder, text):
        runner.run(block)
    return runner


def test_blocks_share_names_folder_and_order(runner: Runner) -> None:
    text = """
<!-- setup: python
rows = [1, 2]
-->
```python
total = sum(rows)
total  # → 3
```

- in a list too:

    ```console
    $ echo kept > file.txt; \\
        cat file.txt
    kept
    ```

```pycon
>>> total
3
```

<!-- file: folder/data.jsonl -->
```jsonl
{"a": 1}
```

```bash
cat file.txt folder/data.jsonl
```

<!-- output -->
```text
kept
…}
```
"""
    assert run(runner, text).ran == 5
    assert (runner.folder / "folder" / "data.jsonl").read_text() == '{"a": 1}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\n1 + 1  # → 3\n```", r"page.md:2, line 2: the page says 3, it is 2"),
        ("```python\n1 + 1  # → no value\n```", r"the page says no value, which is 2"),
        ("```python\nx = 1  # → 1\n```", r"line 2: no expression ends on the line of # → 1"),
        ("\n```python\nwith open('a', 'w') as f:\n    len('ab')  # → 3\n```", r"line 4: the page says 3, it is 2"),
        ("```pycon\n>>> 1 + 1\n3\n```", r"(?s)line 2.*Expected:\n    3\nGot:\n    2"),
        ("```console\n$ false\n```", r"page.md:2: false\nended with 1, not 0"),
        ("<!-- exits with 1 -->\n```console\n$ true\n```", r"ended with 0, not 1"),
        ("```console\n$ false | true\n```", r"ended with 1, not 0"),
        ("```console\n$ echo a\nb\n```", r"the page shows\nb\nbut it prints\na"),
        ("```console\necho a\n```", r"a console block begins with '\$ ', found 'echo a'"),
        ("```bash\nfalse\ntrue\n```", r"ended with 1, not 0"),
        ("```console\n$ echo a\n```\n\n<!-- output -->\n```text\nb\n```", r"page.md:7: the page shows\nb"),
        ("<!-- not run (serve): it stays -->\n```console\n$ true\n```", r"no command begins with 'serve'"),
    ],
)
def test_what_is_untrue_fails(runner: Runner, text: str, message: str) -> None:
    with pytest.raises(PageError, match=message):
        run(runner, text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\n1 / 0\n```", ZeroDivisionError),
        ("```python\nmodel=…\n```", SyntaxError),
        ('```json\n{"a": }\n```', ValueError),
        ('```jsonl\n{"a": 1}\n{"a"\n```', ValueError),
        ("```toml\na =\n```", ValueError),
    ],
)
def test_what_does_not_run_fails(runner: Runner, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        run(runner, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```\nls\n```", "page.md:2: a block of no language: expected one of bash, console"),
        ("    indented\n", "page.md:1: a block of no language"),
        ("```rust\nfn\n```", "a block of rust"),
        ("<!-- not run -->\n```python\n1\n```", "page.md:1: a comment before a block that is no mark: 'not run'"),
        ("<!-- not run: -->\n```python\n1\n```", "a comment before a block that is no mark"),
        ("<!-- skip: slow -->\n```python\n1\n```", "a comment before a block that is no mark: 'skip: slow'"),
    ],
)
def test_what_says_nothing_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PageError, match=message):
        page(tmp_path, text)


def test_reasons_are_kept(runner: Runner) -> None:
    text = """
<!-- not run: needs
eight GPUs -->
```python
1 / 0
```

<!-- not run (false --now): it fails -->
```console
$ echo a
$ false --now
$ echo b
```
"""
    run(runner, text)
    assert runner.printed == "a\nb\n"
    assert runner.skipped == ["page.md:5: needs eight GPUs", "page.md:10: false --now: it fails"]


def test_a_comment_belongs_to_the_block_it_stands_before(tmp_path: Path) -> None:
    first, second = page(
        tmp_path, "<!-- not run: why -->\n```python\n1\n```\n\n<!-- a note -->\n\ntext\n\n```python\n2\n```"
    )
    assert first.skipped == "why"
    assert not second.skipped


def test_commands_and_their_outputs(tmp_path: Path) -> None:
    (block,) = page(tmp_path, "```console\n$ a \\\n    b\nshown\\\n\nmore\n$ c  # why\n```")
    assert commands(block) == [("a \\\n    b", "shown\\\n\nmore"), ("c  # why", "")]


def test_an_output_with_gaps() -> None:
    compare("…\nmaj@4: 1 %\n…", "  \nlong\nmaj@4: 1 %  \nend\n", "here")
    compare("a … c", "a b c\n", "here")
    with pytest.raises(PageError):
        compare("a … d", "a b c\n", "here")
    with pytest.raises(PageError):
        compare("a", "a\nb\n", "here")


@pytest.mark.train
def test_recipes_are_read_by_the_trainer_s_parser(runner: Runner) -> None:
    pytest.importorskip("trl", reason="needs torch and TRL: pip install markscheme[train]")
    from docfolder import ROOT  # noqa: PLC0415

    (runner.folder / "examples").symlink_to(ROOT / "examples")
    with pytest.raises(ValueError, match="learning_rat"):
        run(runner, "<!-- recipe -->\n```yaml\nlearning_rat: 1e-6\n```")
