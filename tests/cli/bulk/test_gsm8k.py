"""20,000 GSM8K rows on three nodes, one of which is killed half-way."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import markscheme.verifiers.bulk.engine as engine_module
from fakes import Run, read_jsonl, write_jsonl
from markscheme.verifiers.bulk import Account, Shards
from raynodes import NEEDED, Nodes

pytest.importorskip("ray", reason=NEEDED)
pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.*"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray.*"),
]
COUNT = 20_000


def gsm8k(data: Path) -> list[dict[str, Any]]:
    """Solutions that models wrote; every problem's own rationale; and the rationale of the problem before it."""
    written = [
        {"id": row["id"], "gold": row["gold"], "completion": row["prediction"]}
        for row in read_jsonl(data / "math" / "gsm8k_model_solutions.jsonl")
    ]
    problems = [
        row["answer"] for name in ("train", "test") for row in read_jsonl(data / "suites" / f"gsm8k_{name}.jsonl")
    ]
    own = [{"id": f"own-{n}", "gold": one, "completion": one} for n, one in enumerate(problems)]
    other = [{"id": f"other-{n}", "gold": problems[n], "completion": problems[n - 1]} for n in range(len(problems))]
    return [*written, *own, *other][:COUNT]


def test_a_node_is_killed_half_way(
    run: Run, nodes: Nodes, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = gsm8k(data)
    assert len(rows) == COUNT
    source, out, plain = write_jsonl(tmp_path / "rows.jsonl", rows), tmp_path / "ray.jsonl", tmp_path / "plain.jsonl"
    began = time.perf_counter()
    run("grade", source, "-o", plain)
    alone = time.perf_counter() - began

    account, write = Account(), Shards.write
    written: list[int] = []
    killed: list[str] = []

    def writing(self: Shards[Any], tasks: Any, verdicts: Any) -> None:
        write(self, tasks, verdicts)
        written.extend(task.row for task in tasks)
        if len(written) >= COUNT // 2 and not killed and len(account.judged) == 2:
            killed.append(nodes.kill_one())

    monkeypatch.setattr(Shards, "write", writing)
    monkeypatch.setattr(engine_module, "Account", lambda: account)
    began = time.perf_counter()
    said = run("grade", source, "-o", out, "--engine", "ray", "--ray-address", nodes.address, "--shard-rows", 64)
    print(f"{COUNT} rows: {alone:.1f} s in one process, {time.perf_counter() - began:.1f} s on Ray; {account}")  # noqa: T201
    print(said.stdout)  # noqa: T201
    assert killed
    assert killed[0] in account.judged
    assert account.died == 1
    assert sorted(written) == list(range(COUNT)), "each once"
    ours, theirs = (
        [{key: value for key, value in json.loads(line).items() if key != "seconds"} for line in path.open()]
        for path in (out, plain)
    )
    assert [row["row"] for row in ours] == list(range(COUNT))
    assert ours == theirs
