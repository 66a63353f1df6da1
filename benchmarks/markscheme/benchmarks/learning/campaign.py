"""Many units on a few processes, each written down as it ends, so that a run that was stopped goes on."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from markscheme.benchmarks.learning.units import Unit, run_unit
from markscheme.verifiers.errors import DataError

Runner = Callable[[Unit, Any, Path], dict[str, Any]]
"""Runs a unit of a run's settings in a folder."""


class Digested(Protocol):
    """The settings of a run."""

    def digest(self, arm: str) -> str:
        """A short name of what an arm's units depend on."""
        ...


class Log:
    """The JSON lines of a run: one a unit, under its key and the digest of its settings."""

    def __init__(self, path: Path, settings: Digested) -> None:
        self.path, self.settings = path, settings
        self.done: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._read()

    def _read(self) -> None:
        whole = 0
        for number, line in enumerate(self.path.read_bytes().splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):  # a run was stopped while it wrote this
                with self.path.open("r+b") as file:
                    file.truncate(whole)
                return
            whole += len(line)
            try:
                entry = json.loads(line)
                key, made_with, wanted = entry["unit"], entry["settings"], self.settings.digest(entry["arm"])
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    f"{self.path}, line {number}: expected an object with 'unit', 'arm' and 'settings', got "
                    f"{line[:80]!r}; delete the line, and its unit runs again"
                ) from error
            if made_with == wanted:
                self.done[key] = entry

    def add(self, unit: Unit, result: dict[str, Any]) -> None:
        """Write a unit's result down."""
        entry = {
            "unit": unit.key,
            "arm": unit.arm,
            "seed": unit.seed,
            "rate": unit.rate,
            "settings": self.settings.digest(unit.arm),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            **result,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.done[unit.key] = entry


def run_units(
    units: Sequence[Unit],
    settings: Digested,
    log: Log,
    *,
    title: str,
    workers: int = 2,
    console: Console | None = None,
    run: Runner = run_unit,
) -> None:
    """Run the units that the log does not hold, in their order, and add each as it ends.

    With one worker they run in this process. Where a unit fails, those that run are finished and written first.
    """
    folder = log.path.parent
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        bar = progress.add_task(title, total=len(units), completed=sum(unit.key in log.done for unit in units))
        left = [unit for unit in units if unit.key not in log.done]
        for unit, result in _results(left, settings, folder, workers, run):
            log.add(unit, result)
            accuracy = result["evaluation"]["sampled"]["accuracy"]
            progress.console.print(f"{unit.key}: accuracy {accuracy:.3f}, {result['cpu_s']:.0f} CPU-s", markup=False)
            progress.advance(bar)


def processes(workers: int) -> Executor:
    """The processes of a run: spawned, since a fork of one that has used torch's threads can hang."""
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def _results(
    units: Sequence[Unit], settings: Digested, folder: Path, workers: int, run: Runner
) -> Iterator[tuple[Unit, dict[str, Any]]]:
    if workers == 1 or len(units) < 2:
        for unit in units:
            yield unit, run(unit, settings, folder)
        return
    with processes(workers) as pool:
        waiting, running, failure = list(units), dict[Future[dict[str, Any]], Unit](), None
        while running or (waiting and failure is None):
            while waiting and len(running) < workers and failure is None:
                unit = waiting.pop(0)
                running[pool.submit(run, unit, settings, folder)] = unit
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                unit = running.pop(future)
                error = future.exception()
                if error is None:
                    yield unit, future.result()
                else:
                    error.add_note(f"in unit {unit.key}; the units before it are kept: run again to go on")
                    failure = failure or error
        if failure is not None:
            raise failure
