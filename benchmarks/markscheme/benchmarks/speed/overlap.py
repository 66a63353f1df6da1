"""How much of the time of verification is hidden behind the log-probability passes.

Run ``python -m markscheme.benchmarks.speed.overlap [--rounds N] [--json OUT]``. One trainer scores the same 64
completions over and over, once with reward functions that wait (as TRL's do) and once with functions that start as soon
as completions exist; the ways take turns. A verdict is 50 ms of sleep (a sandbox, a server), in 16 slots; or 50 ms of
CPU work, in as many processes as there are processors; or the same work in this process, where it shares one
interpreter with the passes. The passes are those of the old policy and of the reference (β = 0.04) at several lengths,
or none (β = 0), where there is nothing to hide behind but generation: then completions are finished one after the other
over some time, in which the processors are free, as where a GPU generates. "Hidden" is the share of verification that
training did not wait for; "won" is what the whole became shorter by, as a share of verification: where the verdicts
take processor time from the passes, less is won than is hidden. Last, whether TRL's asynchronous trainer can be run
here.
"""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from markscheme.benchmarks.speed.policies import small_trainer
from markscheme.benchmarks.speed.rounds import command
from markscheme.verifiers.errors import MissingExtraError
from markscheme.verifiers.rewards.ahead import Ahead

ROWS, GROUP, SLOTS, SECONDS = 64, 8, 16, 0.05
LENGTHS = (16, 64, 160)
GENERATIONS = (0.25, 0.5, 1.0)
ASYNC = """
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer
from datasets import Dataset
import sys
args = AsyncGRPOConfig(output_dir=sys.argv[1], use_cpu=True, bf16=False, report_to=[], max_steps=1)
data = Dataset.from_dict({"prompt": [[{"role": "user", "content": "w3"}]] * 8})
AsyncGRPOTrainer(sys.argv[1], reward_funcs=lambda completions, **_: [0.0] * len(completions), args=args,
                 train_dataset=data)
"""


def sleep(seconds: float, number: int) -> float:
    """A verdict that waits for something else."""
    time.sleep(seconds)
    return float(number % 2)


def work(seconds: float, number: int) -> float:
    """A verdict of so much CPU time of this thread."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(2000))
    return float(number % 2)


class Rewarded:
    """A reward function whose verdicts are given in a pool or in one thread, all at once or begun one by one."""

    __name__ = "verdicts"
    any_thread = True

    def __init__(self, pool: Executor | None, slots: int, verdict: Callable[[int], float]) -> None:
        self.pool, self.verdict = pool, verdict
        self.ahead: Ahead[float] = Ahead(slots)

    def __call__(self, completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float]:
        """One reward a completion: its number's verdict."""
        keys = [tuple(ids) for ids in completion_ids]
        return self.ahead.complete(keys, self._all)

    def begin(self, completion_ids: Sequence[Sequence[int]], **_: Any) -> list[Future[float] | None]:
        """Start some of the next batch."""
        return [self.ahead.begin(tuple(ids), functools.partial(self._one, ids[0])) for ids in completion_ids]

    def _all(self, rows: list[int]) -> list[float]:
        return list(map(self.verdict, rows) if self.pool is None else self.pool.map(self.verdict, rows))

    def _one(self, number: int) -> float:
        return self.verdict(number) if self.pool is None else self.pool.submit(self.verdict, number).result()


def scripted(length: int, generation: float, prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
    """Completions without a model, finished one after the other over so many seconds, or all at once."""
    completions = [[3 + (row + place) % 500 for place in range(length)] for row in range(len(prompts))]
    begun = time.perf_counter()
    for row, ids in enumerate(completions if generation else ()):
        time.sleep(max(0.0, begun + generation * (row + 1) / len(prompts) - time.perf_counter()))
        trainer.begin_rewards(row, ids)
    return {
        "prompt_ids": [[3] * 16 for _ in prompts],
        "completion_ids": completions,
        "logprobs": [[-1.0] * length for _ in prompts],
    }


def score(trainer: Any, which: str, function: Callable[..., Any]) -> dict[str, float]:
    """Score one batch; return the seconds of the whole, of the passes and of verification, and the hidden share."""
    spent: list[float] = []
    passes = type(trainer)._get_per_token_logps_and_entropies

    @functools.wraps(passes)
    def timed(*arguments: Any, **named: Any) -> Any:
        begun = time.perf_counter()
        try:
            return passes(trainer, *arguments, **named)
        finally:
            spent.append(time.perf_counter() - begun)

    trainer._get_per_token_logps_and_entropies = timed
    trainer.credit_args.overlap_rewards = which
    trainer.reward_funcs = [function]
    trainer._metrics["train"].clear()
    begun = time.perf_counter()
    trainer._generate_and_score_completions([{"prompt": "w3"} for _ in range(ROWS)])
    whole = time.perf_counter() - begun
    log = trainer._metrics["train"]
    hidden, seconds = log["verification/hidden_frac"][-1], log["verification/seconds"][-1]
    return {"seconds": whole, "passes": sum(spent), "verification": seconds, "hidden": hidden}


def measure(
    trainer: Any, length: int, beta: float, generation: float, kind: str, function: Any, rounds: int
) -> dict[str, Any]:
    """Let the two ways take turns on one batch; medians."""
    trainer.beta = beta
    trainer.num_iterations = 2 if beta else 1  # reused generations want the old policy's log-probabilities
    trainer.rollout_func = functools.partial(scripted, length, generation)
    score(trainer, "none", function)  # warms up, off the clock
    found: dict[str, list[dict[str, float]]] = {"none": [], "known": []}
    for number in range(rounds):
        for which in sorted(found, reverse=number % 2 == 0):
            found[which].append(score(trainer, which, function))
    middle = {which: {key: round(median(one[key] for one in of), 4) for key in of[0]} for which, of in found.items()}
    return {
        "kind": kind,
        "tokens": length,
        "beta": beta,
        "generation": generation,
        "passes": middle["none"]["passes"],
        "verification": middle["none"]["verification"],
        "waiting": middle["none"]["seconds"],
        "overlapped": middle["known"]["seconds"],
        "hidden": middle["known"]["hidden"],
        "won": round((middle["none"]["seconds"] - middle["known"]["seconds"]) / middle["none"]["verification"], 4),
        "least_hidden": round(min(one["hidden"] for one in found["known"]), 4),
        "passes_beside": middle["known"]["passes"],
    }


def asynchronous(folder: Path) -> str:
    """What TRL's asynchronous trainer says to being made here: it generates on a vLLM server, and scores beside it."""
    environment = {**os.environ, "TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", ASYNC, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603
    return "can be made" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[-1]


def run(
    rounds: int,
    lengths: Sequence[int] = LENGTHS,
    generations: Sequence[float] = GENERATIONS,
    *,
    beside: bool = True,
) -> dict[str, Any]:
    """Measure each kind of verdict behind passes of each length, behind none, and behind generation alone.

    Raises:
        MissingExtraError: torch or TRL is not installed.
    """
    try:
        import torch  # noqa: PLC0415 - an extra
        import trl  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("this benchmark trains: install markscheme[train]") from error
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    processors = len(os.sched_getaffinity(0))
    processes = ProcessPoolExecutor(processors, get_context("spawn"))
    try:
        with tempfile.TemporaryDirectory() as folder, processes, ThreadPoolExecutor(SLOTS) as slots:
            waiting, working = functools.partial(sleep, SECONDS), functools.partial(work, SECONDS)
            list(processes.map(waiting, range(2 * processors)))  # every process has started
            kinds = {
                "sleep, 16 slots": Rewarded(slots, SLOTS, waiting),
                f"CPU work, {processors} processes": Rewarded(processes, processors, working),
                "CPU work in this process": Rewarded(None, 1, working),
            }
            trainer = small_trainer(
                Path(folder),
                ROWS,
                GROUP,
                max(lengths),
                hidden=64,
                beta=0.04,
                rollout_func=functools.partial(scripted, 1, 0.0),
            )
            ways = [(0.04, length, 0.0) for length in lengths]
            ways += [(0.0, lengths[0], generation) for generation in (0.0, *generations)]
            rows = [
                measure(trainer, length, beta, generation, kind, function, rounds)
                for kind, function in kinds.items()
                for beta, length, generation in ways
            ]
            trainer.save_model(folder)
            stated = asynchronous(Path(folder)) if beside else "not tried"
    finally:
        torch.set_num_threads(threads)
    return {
        "verdicts": ROWS,
        "seconds_each": SECONDS,
        "processors": processors,
        "rounds": rounds,
        "torch": torch.__version__,
        "trl": trl.__version__,
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
        "trl_async": stated,
        "rows": rows,
    }


def print_table(figures: dict[str, Any], console: Console | None = None) -> None:
    """Print one row for each kind of verdict and length of the passes."""
    title = f"{figures['verdicts']} verdicts of 50 ms beside the passes, seconds ({figures['processors']} processors)"
    table = Table(title=title, box=SIMPLE_HEAD)
    columns = "verdicts", "β", "tokens", "generation", "passes", "verification", "waiting", "ours", "hidden", "won"
    for name in columns:
        table.add_column(name, justify="left" if name == "verdicts" else "right")
    for row in figures["rows"]:
        times = (f"{row[key]:.2f}" for key in ("generation", "passes", "verification", "waiting", "overlapped"))
        shares = (f"{row[key]:.0%}" for key in ("hidden", "won"))
        table.add_row(str(row["kind"]), f"{row['beta']:g}", str(row["tokens"]), *times, *shares)
    console = console or Console()
    console.print(table)
    console.print(f"TRL's AsyncGRPOTrainer on this machine: {figures['trl_async']}", highlight=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0, or 2 where nothing can be measured."""
    return command("overlap", __doc__, run, print_table, arguments, default=5, round_is="batches of each way")


if __name__ == "__main__":
    sys.exit(main())
