"""``--engine ray`` on real clusters of several nodes: the verdicts of one process, whatever dies on the way."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import markscheme.verifiers.bulk.cluster as cluster_module
import markscheme.verifiers.bulk.engine as engine_module
import markscheme.verifiers.grading as grading_module
from fakes import Run, read_jsonl, write_jsonl
from markscheme.verifiers.bulk import Account, RayOptions, Shards, run_shards
from markscheme.verifiers.code.sandbox.hosts import capabilities
from markscheme.verifiers.errors import ClusterError, WorkerError
from raynodes import NEEDED, Doubling, Failing, Nodes, SlowSetup

ray = pytest.importorskip("ray", reason=NEEDED)
pytestmark = [
    # Ray's own, which say nothing of us: sockets that it leaves to the collector, names that it is about to change.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.*"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray.*"),
]
RAYS_OWN = {"ray_listen_error_messages", "PythonGCThread"}
TIMES = {"seconds": 0, "cpu_seconds": 0, "peak_memory_bytes": 0}


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: TIMES[key] if key in TIMES else without_times(one) for key, one in value.items()}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def completions(path: Path, count: int) -> Path:
    wrong = (r"\boxed{18}", r"so \boxed{19}", "no idea", r"\boxed{2\cdot 9}", "#### 17")
    rows = [{"id": f"q{i}", "gold": "18", "completion": f"{i}: {wrong[i % 5]}"} for i in range(count)]
    return write_jsonl(path, rows)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    """What the next run counts."""
    made = Account()
    monkeypatch.setattr(engine_module, "Account", lambda: made)
    return made


def on_write(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], None]) -> list[list[int]]:
    """Act after each shard that is written, by its number; return the rows of each."""
    write, seen = Shards.write, []

    def writing(self: Shards[Any], tasks: Any, verdicts: Any) -> None:
        write(self, tasks, verdicts)
        seen.append([task.row for task in tasks])
        act(len(seen))

    monkeypatch.setattr(Shards, "write", writing)
    return seen


def test_a_node_dies_half_way_and_nothing_is_lost_or_twice(
    run: Run, nodes: Nodes, account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grading_module, "Setup", SlowSetup)
    rows, out = completions(tmp_path / "rows.jsonl", 600), tmp_path / "ray.jsonl"
    killed: list[str] = []

    def kill(count: int) -> None:
        if count >= 30 and not killed and len(account.judged) == 2:
            killed.append(nodes.kill_one())

    seen = on_write(monkeypatch, kill)
    said = run("grade", rows, "-o", out, "--engine", "ray", "--ray-address", nodes.address, "--shard-rows", 10)
    assert killed
    assert killed[0] in account.judged, "it had done work, and had two shards when it was killed"
    assert len(account.judged) == 2
    assert account.lost >= 1
    assert account.died in (0, 1), "Ray may see it after the run"
    assert "60 shard(s) were judged on 2 nodes of a Ray cluster." in said.stdout
    assert f"{account.lost} lost shard(s) were judged again; Ray saw {account.died} node(s) die." in said.stdout
    assert sorted(row for shard in seen for row in shard) == list(range(600)), "each once"
    monkeypatch.undo()
    plain = tmp_path / "plain.jsonl"
    run("grade", rows, "-o", plain)
    assert without_times(read_jsonl(out)) == without_times(read_jsonl(plain))
    assert not (tmp_path / "ray.jsonl.shards").exists()


def threads_at_close(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """What runs beside Ray's own two threads when a connection is closed; filled as that happens."""
    before, found = set(threading.enumerate()), []
    close = ray.shutdown

    def closing() -> None:
        found.append({one.name for one in set(threading.enumerate()) - before} - RAYS_OWN)
        close()

    monkeypatch.setattr(ray, "shutdown", closing)
    return found


def test_a_stopped_run_goes_on_from_its_shards(
    run: Run, nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, out = completions(tmp_path / "rows.jsonl", 200), tmp_path / "v.jsonl"
    command = ("grade", rows, "-o", out, "--engine", "ray", "--ray-address", nodes.address, "--shard-rows", 20)

    def stop(count: int) -> None:
        if count == 4:
            raise KeyboardInterrupt

    first = on_write(monkeypatch, stop)
    left = threads_at_close(monkeypatch)
    said = run(*command, code=130)
    assert left == [set()], "one that meets a closed connection would end this process"
    assert f"stopped: 80 of 200 rows are done, kept in {out}.shards; run the same command again" in said.stderr
    assert not out.exists()
    monkeypatch.undo()
    refused = run("grade", rows, "-o", out, code=2)
    assert "pass --engine ray to go on from it, or --fresh" in refused.stderr
    changed = run(*command, "--reading", "boxed", code=2)
    assert "of another input, or was reached with other settings" in changed.stderr
    second = on_write(monkeypatch, lambda _: None)
    assert "80 rows taken from an earlier run of this command." in run(*command).stdout
    assert sorted(row for shard in [*first, *second] for row in shard) == list(range(200))
    assert [row["row"] for row in read_jsonl(out)] == list(range(200))


PROBLEMS = [
    {"id": "add", "cases": [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "2 2\n", "stdout": "4\n"}]},
    {"id": 2, "cases": [{"function": "f", "arguments": [1, [2]], "expected": {"a": 1.5}}]},
    {"id": "t", "tests": "assert g(2) == 4\nassert g(3) == 9"},
]
SOLUTIONS = [
    {"id": "add", "solution": "print(sum(map(int, input().split())))"},
    {"id": 2, "completion": "Here:\n```python\ndef f(a, b): return {'a': 1.5}\n```"},
    {"id": "add", "response": "```python\nprint(3)\n```"},
    {"id": "2", "code": "def f(a, b): return 1 / 0"},
    {"id": "t", "solution": "def g(x): return x * x"},
    {"id": "t", "solution": "```python\ndef g(x): return"},
]


def test_programs(run: Run, connected: Nodes, tmp_path: Path) -> None:
    if not capabilities().level:
        pytest.skip(f"this host gives no safe level: {capabilities().why_not_higher}")
    problems = write_jsonl(tmp_path / "p.jsonl", PROBLEMS)
    solutions = write_jsonl(tmp_path / "s.jsonl", SOLUTIONS * 2)
    out, plain = tmp_path / "ray.jsonl", tmp_path / "plain.jsonl"
    here = run("judge", problems, solutions, "-o", plain)
    there = run("judge", problems, solutions, "-o", out, "--engine", "ray", "--shard-rows", 3)
    assert without_times(read_jsonl(out)) == without_times(read_jsonl(plain))
    assert [row["outcome"] for row in read_jsonl(out)[:4]] == ["correct", "correct", "incorrect", "incorrect"]
    shown = there.stdout.replace("4 shard(s) were judged on 2 nodes of a Ray cluster.\n", "")
    assert shown.replace("4 shard(s) were judged on 1 node of a Ray cluster.\n", "") == here.stdout


@pytest.mark.train
def test_a_judge_of_steps(run: Run, connected: Nodes, tmp_path: Path) -> None:
    needed = "needs torch and transformers: pip install markscheme[train]"
    pytest.importorskip("torch", reason=needed)
    pytest.importorskip("transformers", reason=needed)
    import tiny_judges as tiny  # noqa: PLC0415

    folder = tiny.save_qwen_prm(tmp_path / "Qwen2.5-Math-PRM-tiny")
    rows = [
        {"id": i, "question": f"What is {i}?", "steps": [f"{i} + {i} = {2 * i}.", *(["So."] * (i % 3))]}
        for i in range(200)
    ]
    rows[150]["steps"] = ["It has <extra_0>, the separator."]
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    out, plain = tmp_path / "ray.jsonl", tmp_path / "plain.jsonl"
    given = ("prm", "score", data, "--judge", folder)
    local = run(*given, "-o", plain, code=2).stderr
    assert "row 150" in local
    assert run(*given, "-o", out, "--engine", "ray", code=2).stderr == local
    kept = sorted(path.name for path in (tmp_path / "ray.jsonl.shards").iterdir())
    assert [name[5:14] for name in kept] == ["000000000", "000000064", "000000192"], "all but the shard of row 150"

    here = json.loads(run(*given, "-o", plain, "--on-bad", "skip", "--json").stdout)
    there = json.loads(run(*given, "-o", out, "--on-bad", "skip", "--json", "--engine", "ray").stdout)
    assert out.read_bytes() == plain.read_bytes()
    assert {**here, "notes": []} == {**there, "notes": []}
    assert there["notes"] == [
        "136 scored by an earlier run of this command.",
        "1 shard(s) were judged on 1 node of a Ray cluster.",
    ]


def test_a_dead_worker_is_retried(connected: Nodes, tmp_path: Path) -> None:
    shards = {n: range(10 * n, 10 * n + 10) for n in range(8)}
    account, options = Account(), RayOptions()
    found = list(run_shards(shards, Doubling(37, tmp_path / "killed"), options, account))
    assert (tmp_path / "killed").exists()
    assert sorted(found) == [(n, [2 * item for item in items]) for n, items in shards.items()]
    assert (account.died, account.lost >= 1) == (0, True)


@pytest.mark.soak
def test_a_shard_that_ends_every_worker_is_given_up_when_all_others_are_done(connected: Nodes) -> None:
    shards = {n: range(10 * n, 10 * n + 10) for n in range(8)}
    found = []
    with pytest.raises(
        ClusterError, match=r"came back from no worker in 3 rounds: those that begin at row 3"
    ) as caught:
        found.extend(run_shards(shards, Doubling(37), RayOptions()))
    assert "1 shard(s)" in str(caught.value)
    assert sorted(name for name, _ in found) == [0, 1, 2, 4, 5, 6, 7]


def test_a_bug_in_a_worker_is_shown_and_not_retried(connected: Nodes) -> None:
    account = Account()
    with pytest.raises(WorkerError, match=r"on node \S+: judging failed:\n(?s:.*)RuntimeError: a bug"):
        list(run_shards({0: [1]}, Failing(RuntimeError("a bug")), RayOptions(), account))
    assert sum(account.judged.values()) == 1


def test_nodes_with_another_release_are_named(
    run: Run, connected: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = completions(tmp_path / "rows.jsonl", 2)
    monkeypatch.setattr(cluster_module, "release", lambda: "9.9.9")
    command = ("grade", rows, "-o", tmp_path / "v.jsonl", "--engine", "ray")
    said = run(*command, code=2).stderr
    assert "nodes of the Ray cluster lack markscheme 9.9.9, which this command has:" in said
    assert said.count(f": {version('markscheme')}\n") == 2
    assert "Install markscheme==9.9.9 there, into the Python that `ray start` runs in." in said
    assert "nothing is done yet." in said


WITHOUT = """
import sys
import threading
sys.modules["markscheme"] = None  # imports of it fail, as where it is not installed
from ray import cloudpickle
print(cloudpickle.loads(sys.stdin.buffer.read())())
"""


def test_a_node_without_the_package_can_say_so() -> None:
    """What asks a node is sent as code, not as the name of a function that the node would have to import."""
    from ray import cloudpickle  # noqa: PLC0415

    sent = cloudpickle.dumps(cluster_module._looker())
    done = subprocess.run([sys.executable, "-c", WITHOUT], input=sent, capture_output=True, timeout=120, check=False)
    assert done.stdout.startswith(b"ModuleNotFoundError: "), done.stderr.decode()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:9", "no Ray cluster answers there"),
        ("ray://127.0.0.1:10001", "Ray's client protocol does not carry Ray Data"),
        ("somewhere", "expected HOST:PORT, such as 10.0.0.1:6379, or auto"),
    ],
)
def test_an_address_that_is_none(run: Run, tmp_path: Path, address: str, said: str) -> None:
    rows = completions(tmp_path / "rows.jsonl", 2)
    result = run("grade", rows, "-o", tmp_path / "v.jsonl", "--engine", "ray", "--ray-address", address, code=2)
    assert f"--ray-address {address}: " in result.stderr
    assert said in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"], "nothing is left behind"


def test_without_ray_the_extra_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    rows = completions(tmp_path / "rows.jsonl", 2)
    said = run("grade", rows, "-o", tmp_path / "v.jsonl", "--engine", "ray", code=2).stderr
    assert "--engine ray needs Ray Data" in said
    assert "pip install 'markscheme[ray]'" in said


def test_options_that_do_not_go_together(run: Run, tmp_path: Path) -> None:
    rows = completions(tmp_path / "rows.jsonl", 2)
    assert "--engine ray needs -o" in run("grade", rows, "--engine", "ray", code=2).stderr
    assert "--ray-address belongs to --engine ray" in run("grade", rows, "--ray-address", "auto", code=2).stderr
    assert "--shard-rows belongs to --engine ray" in run("grade", rows, "--shard-rows", 2, code=2).stderr


def test_a_cluster_of_this_machine_that_does_not_start(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object, **__: object) -> None:
        raise Exception("The current node timed out during startup.")  # as Ray does

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", slow)
    rows = completions(tmp_path / "rows.jsonl", 2)
    said = run("grade", rows, "-o", tmp_path / "v.jsonl", "--engine", "ray", code=2).stderr
    assert "Ray could not be started on this machine: The current node timed out during startup." in said
