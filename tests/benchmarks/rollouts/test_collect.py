"""The file of samples: resumable, bound to what its samples follow from, and read by ``eval``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from markscheme.benchmarks.rollouts import Generated, Prompt, Prompter, SampleFile, Sampling, collect
from markscheme.benchmarks.rollouts.backend import checkpoint
from markscheme.benchmarks.rollouts.collect import CHUNK, digests
from markscheme.benchmarks.suites import Problem
from markscheme.verifiers.errors import DataError

PROBLEMS = [Problem(n, str(n), f"What is {n} + {n}?", str(2 * n)) for n in range(2 * CHUNK + 5)]


class Echo:
    """Answers with the seed and the prompt, and fails at a call if told to."""

    chats = True

    def __init__(self, identity: str = "echo", fail_at: int | None = None) -> None:
        self.identity = identity
        self.fail_at = fail_at
        self.calls = 0

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling, seed: int) -> list[list[Generated]]:
        self.calls += 1
        if self.calls == self.fail_at:
            raise ConnectionError("gone")
        texts = [prompt.messages[-1]["content"][-20:] for prompt in prompts]
        return [[Generated(f"{seed} {n} {text}", 7, "stop") for n in range(sampling.n)] for text in texts]


def run(path: Path, backend: Echo, sampling: Sampling, *, fresh: bool = False) -> list[str]:
    prompter = Prompter()
    with SampleFile(path, digests(PROBLEMS, backend, prompter, sampling), fresh=fresh) as file:
        collect(PROBLEMS, backend, prompter, sampling, file)
    return path.read_text(encoding="utf-8").splitlines()


def test_a_stopped_run_goes_on_and_draws_the_same(tmp_path: Path) -> None:
    sampling = Sampling(n=2, temperature=1.0)
    whole = run(tmp_path / "whole.jsonl", Echo(), sampling)
    path = tmp_path / "stopped.jsonl"
    with pytest.raises(ConnectionError):
        run(path, Echo(fail_at=3), sampling)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2 * CHUNK
    with path.open("a", encoding="utf-8") as file:
        file.write('{"index": 64, "id": "6')  # as a killed run leaves it
    backend = Echo()
    assert run(path, backend, sampling) == whole
    assert backend.calls == 1
    rows = [json.loads(line) for line in whole]
    assert [row["index"] for row in rows] == list(range(len(PROBLEMS)))
    assert all(len(row["completion"]) == len(row["tokens"]) == len(row["finish"]) == 2 for row in rows)
    assert len({row["completion"][0].split()[0] for row in rows}) == 3  # a seed a chunk


def test_other_settings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run(path, Echo(), Sampling(n=1))
    with pytest.raises(DataError, match=r"line 1: the samples of problem 0 are of another model or other settings"):
        run(path, Echo("another"), Sampling(n=1))
    with pytest.raises(DataError, match="start over: sample --fresh, eval --resample"):
        run(path, Echo(), Sampling(n=2))
    assert len(run(path, Echo(), Sampling(n=2), fresh=True)) == len(PROBLEMS)


def test_a_foreign_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes", encoding="utf-8")
    with pytest.raises(DataError, match="not a file of samples; it is left as it is"):
        run(path, Echo(), Sampling())
    assert path.read_text(encoding="utf-8") == "my notes"


def test_fresh_starts_over_samples_and_nothing_else(tmp_path: Path) -> None:
    """Completions of the user's own begin like samples, and are told apart by their lines."""
    for name, text in (("notes.txt", "my notes"), ("own.jsonl", '{"index": 0, "completion": "42"}\n')):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="left as it is"):
            run(path, Echo(), Sampling(), fresh=True)
        assert path.read_text(encoding="utf-8") == text


def test_no_two_completions_of_a_call_share_a_seed() -> None:
    """VLLM draws a prompt's completions by its seed plus 0, 1, … n - 1."""
    for n in (1, 4):
        seeds = Sampling(n=n, temperature=1.0).seeds(2**31 - 6, 5)
        drawn = [(seed + one) % 2**31 for seed in seeds for one in range(n)]
        assert len(set(drawn)) == 5 * n and max(seeds) < 2**31


def test_a_folder_is_another_model_once_its_weights_are(tmp_path: Path) -> None:
    assert checkpoint("org/name") == "org/name"
    (tmp_path / "model.safetensors").write_bytes(b"first")
    (tmp_path / "checkpoint-8").mkdir()
    first = checkpoint(str(tmp_path))
    assert first == checkpoint(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"second")
    assert checkpoint(str(tmp_path)) != first
