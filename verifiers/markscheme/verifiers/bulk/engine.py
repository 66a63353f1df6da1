"""Ray Data as the engine: shards go through an actor pool over all nodes; what a dead one held goes round again."""

from __future__ import annotations

import logging
import pickle
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from markscheme.verifiers.bulk.cluster import connected, nodes_with_processors, require_packages
from markscheme.verifiers.bulk.work import Failure, ShardWorker, Work
from markscheme.verifiers.errors import ClusterError, StepDataError, WorkerError

SHARD_ROWS = 128
"""Rows of a shard: enough to hide what Ray needs for one (some 10 ms), few enough that a death loses little."""
FRUITLESS = 3
"""Rounds without one finished shard after which what is left is given up: it kills whoever takes it."""
IN_FLIGHT = 2
"""Shards at a worker: the one that it judges and the next."""


@dataclass(frozen=True, slots=True)
class RayOptions:
    """How a run uses a cluster.

    Attributes:
        address: of the cluster; see `markscheme.verifiers.bulk.cluster.connected`.
        workers: actors; 0: as many as the cluster has processors, or, for a model, GPUs, or without any, nodes.
        shard_rows: rows of a shard.
    """

    address: str | None = None
    workers: int = 0
    shard_rows: int = SHARD_ROWS


@dataclass(slots=True)
class Account:
    """What a run did where, what it lost and made good.

    Attributes:
        judged: shards, by the node that judged them.
        died: nodes that Ray saw die while it ran; it may take Ray 15 s to see one.
        lost: shards that had to go to a worker again, each time counted.
    """

    judged: Counter[str] = field(default_factory=Counter)
    died: int = 0
    lost: int = 0


def run_shards(
    shards: Mapping[int, Sequence[Any]], work: Work, options: RayOptions, account: Account | None = None
) -> Generator[tuple[int, list[Any]]]:
    """Judge shards on a cluster; yield each one's name and results as soon as they are there, in any order.

    Every shard is yielded exactly once. A shard whose worker or node dies is judged again by another: workers start
    anew where there is room, and what was lost meanwhile goes round again with the next pool.

    Args:
        shards: items by the shard's name, a number.
        work: what a worker does.
        options: where, and by how many.
        account: filled as the run goes on.

    Raises:
        MissingExtraError: ray is not installed.
        ClusterError: the cluster cannot be reached, lacks packages, or shards end every worker that takes them.
        StepDataError: a judge of steps cannot lay out rows; raised when all other shards are done, with all of them.
        WorkerError: judging failed on a worker: says where and why.
    """
    account = account if account is not None else Account()
    with connected(options.address, options.workers) as ray:
        require_packages(ray)
        before = {node["NodeID"] for node in nodes_with_processors(ray)}
        left = dict(shards)
        bad: list[tuple[int, str, str]] = []
        fruitless = 0
        last: BaseException | None = None
        while left:
            count = len(left)
            try:
                for name, answer in _round(ray, left, work, options, account):
                    if left.pop(name, None) is None:
                        continue  # it came a second time, after an error on the way here
                    if isinstance(answer, Failure):
                        bad.extend(_rows_of(answer))
                    else:
                        yield name, answer
            except ray.exceptions.RayError as error:  # such as a block that died with its node
                if getattr(error, "actor_init_failed", False):
                    raise ClusterError(f"a worker of the Ray cluster cannot start: {_last_line(error)}") from error
                last = error
            account.lost += len(left)
            account.died = len(before - {node["NodeID"] for node in ray.nodes() if node["Alive"]})
            fruitless = fruitless + 1 if len(left) == count else 0
            if left and fruitless >= FRUITLESS:
                raise ClusterError(_given_up(left, last)) from last
        if bad:
            raise StepDataError(sorted(bad))


def _round(
    ray: Any, shards: Mapping[int, Sequence[Any]], work: Work, options: RayOptions, account: Account
) -> Iterator[tuple[int, list[Any] | Failure]]:
    """Send shards through one actor pool; those that a death took do not come out."""
    workers, resources = _places(ray, work, options.workers, len(shards))
    rows = [{"shard": name, "items": pickle.dumps(list(items))} for name, items in shards.items()]
    with _settings(ray):
        data = _pipeline(ray, rows, work, workers, resources)
        # Not by iter_batches: it reads in a thread of its own, which goes on where the consumer stops.
        for bundle in data.iter_internal_ref_bundles():
            for block in bundle.block_refs:
                for row in ray.get(block).to_pylist():
                    account.judged[row["node"]] += 1
                    yield row["shard"], pickle.loads(row["results"])  # noqa: S301 - our own workers'


def _pipeline(ray: Any, rows: list[dict[str, Any]], work: Work, workers: int, resources: dict[str, float]) -> Any:
    with warnings.catch_warnings():
        # The two options of restarting have no other way in; Ray 2.64 is to take it away, so the extra ends before it.
        warnings.filterwarnings("ignore", message="`ray_remote_args` is deprecated")
        return ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _Actor,
            fn_constructor_args=(work,),
            batch_size=1,
            batch_format="pyarrow",  # NumPy's bytes would lose zeros at the end
            compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=IN_FLIGHT),
            max_restarts=-1,  # an actor comes back, where there is room;
            max_task_retries=0,  # what it held does not wait for that
            **resources,
        )


class _Actor:
    """A `ShardWorker` on Arrow tables, as Ray Data hands them over."""

    def __init__(self, work: Work) -> None:
        import ray  # noqa: PLC0415 - this runs in a worker

        self._worker = ShardWorker(work)
        self._node = ray.get_runtime_context().get_node_id()

    def __call__(self, batch: Any) -> Any:
        rows = batch.to_pylist()
        kept = {
            "shard": [row["shard"] for row in rows],
            "results": [self._worker.judge(row["items"]) for row in rows],
            "node": [self._node] * len(rows),
        }
        return type(batch).from_pydict(kept)


def _places(ray: Any, work: Work, wanted: int, shards: int) -> tuple[int, dict[str, float]]:
    """How many workers, and what each takes."""
    nodes = nodes_with_processors(ray)
    smallest = int(min(node["Resources"]["CPU"] for node in nodes))
    if not work.heavy:
        total = sum(int(node["Resources"]["CPU"]) for node in nodes)
        return min(wanted or total, shards), {"num_cpus": 1}
    cards = int(sum(node["Resources"].get("GPU", 0) for node in nodes))
    if cards:
        return min(wanted or cards, shards), {"num_gpus": 1}
    workers = wanted or len(nodes)
    each = -(-workers // len(nodes))
    return min(workers, shards), {"num_cpus": max(1, smallest // each)}


@contextmanager
def _settings(ray: Any) -> Iterator[None]:
    """Ray Data's settings while a round runs: no bars of its own, blocks may fail, and its console keeps quiet."""
    context = ray.data.DataContext.get_current()
    wanted = {"enable_progress_bars": False, "max_errored_blocks": -1}
    before = {name: getattr(context, name) for name in wanted}
    consoles = [one for one in logging.getLogger("ray.data").handlers if not hasattr(one, "baseFilename")]
    levels = [one.level for one in consoles]
    for name, value in wanted.items():
        setattr(context, name, value)
    for console in consoles:
        console.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
        for console, level in zip(consoles, levels, strict=True):
            console.setLevel(level)


def _rows_of(failure: Failure) -> Sequence[tuple[int, str, str]]:
    """The rows that cannot be laid out. Raises WorkerError for any other failure."""
    if failure.bad:
        return failure.bad
    message = failure.message if failure.expected else f"judging failed:\n{failure.message}"
    raise WorkerError(f"on node {failure.host}: {message}")


def _given_up(left: Mapping[int, Sequence[Any]], last: BaseException | None) -> str:
    named = ", ".join(str(name) for name in list(left)[:8])
    more = f" and {len(left) - 8} more" if len(left) > 8 else ""
    why = f"; the last error: {_last_line(last)}" if last else ""
    return (
        f"{len(left)} shard(s) came back from no worker in {FRUITLESS} rounds: "
        f"those that begin at row {named}{more}{why}. "
        "A row that ends whatever judges it, for want of memory as a rule, does this: give workers more memory "
        "(fewer --workers), or look at these rows in one process"
    )


def _last_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[-1]
