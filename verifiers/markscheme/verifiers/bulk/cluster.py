"""Reaching a Ray cluster, and seeing that its nodes have what the work needs."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from markscheme.verifiers.errors import ClusterError, MissingExtraError
from markscheme.verifiers.release import release

REACH_SECONDS = 10.0
"""How long an address may take to answer before it is called unreachable."""
PROBE_SECONDS = 60.0
"""How long nodes may take to say what they have installed; one that is slower is asked by its first shard."""
THREADS_SECONDS = 10.0
"""How long Ray Data's threads may take to end before a connection is closed all the same."""


@contextmanager
def connected(address: str | None, workers: int) -> Iterator[Any]:
    """Connect to a cluster, or start one on this machine; entering gives the module ``ray``.

    Args:
        address: ``HOST:PORT`` of its head, or ``auto`` on one of its nodes. None: what ``RAY_ADDRESS`` says; without
            that, a cluster of this machine, which ends with the run. A connection that is open already is used.
        workers: the processors that a cluster of this machine has; 0: all.

    Raises:
        MissingExtraError: ray is not installed.
        ClusterError: the address does not answer, or something else does; or the cluster has no processor.
    """
    ray = _import_ray()
    if address:
        _require_answer(address)
    if ray.is_initialized():
        yield ray
        return
    target = address or os.environ.get("RAY_ADDRESS") or "local"
    if not address:
        _require_answer(target)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if target == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster of ours reports to nobody
        options |= {"include_dashboard": False, "num_cpus": workers or None}
    try:
        ray.init(target, **options)
    except Exception as error:  # Ray raises that very class where a node is slow to start
        if target == "local":
            raise ClusterError(f"Ray could not be started on this machine: {error}") from error
        raise ClusterError(_unreachable(target, str(error))) from error
    before = set(threading.enumerate())
    try:
        yield ray
    finally:
        _wait_for_others(before)
        ray.shutdown()


def _wait_for_others(before: set[threading.Thread]) -> None:
    """Wait for the threads that Ray Data started meanwhile: one that meets a closed connection ends the process."""
    until = time.monotonic() + THREADS_SECONDS
    for thread in set(threading.enumerate()) - before:
        thread.join(max(0.0, until - time.monotonic()))


def _import_ray() -> Any:
    try:
        import ray  # noqa: PLC0415 - an extra, and slow
        import ray.data  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(f"--engine ray needs Ray Data ({error}): pip install 'markscheme[ray]'") from error
    return ray


def _require_answer(target: str) -> None:
    """Knock first: Ray waits for minutes, and may end the process, where nothing answers."""
    if target in ("local", "auto"):
        return
    if "://" in target:
        raise ClusterError(
            f"--ray-address {target}: Ray's client protocol does not carry Ray Data; run this command on a node of the "
            "cluster, or by `ray job submit`, with HOST:PORT or auto"
        )
    host, _, port = target.rpartition(":")
    if not host or not port.isdigit():
        raise ClusterError(f"--ray-address {target}: expected HOST:PORT, such as 10.0.0.1:6379, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(_unreachable(target, str(error))) from error


def _unreachable(target: str, why: str) -> str:
    return (
        f"--ray-address {target}: no Ray cluster answers there ({(why.strip() or 'no reason').splitlines()[0]}). "
        "Start one with `ray start --head --port 6379` and join it with `ray start --address HOST:6379`"
    )


def nodes_with_processors(ray: Any) -> list[dict[str, Any]]:
    """The live nodes that take work. Raises ClusterError where there is none."""
    found = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    if not found:
        raise ClusterError("the Ray cluster has no live node with a processor: start one with `ray start --address`")
    return found


def require_packages(ray: Any) -> None:
    """Ask every node that takes work whether it has this release of markscheme.

    Raises:
        ClusterError: nodes that lack it, all of them named.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

    asked = {}
    look = ray.remote(num_cpus=0, max_retries=0)(_looker())
    for node in nodes_with_processors(ray):
        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        asked[look.options(scheduling_strategy=there).remote()] = node["NodeManagerAddress"]
    ready, _ = ray.wait(list(asked), num_returns=len(asked), timeout=PROBE_SECONDS)
    ours = release()
    bad = []
    for answer in ready:
        try:
            found = ray.get(answer)
        except ray.exceptions.RayError:  # the node has died meanwhile: its work goes to others
            continue
        if found != ours:
            bad.append(f"  {asked[answer]}: {found}")
    if bad:
        raise ClusterError(
            "\n".join(
                [
                    f"nodes of the Ray cluster lack markscheme {ours}, which this command has:",
                    *bad,
                    f"Install markscheme=={ours} there, into the Python that `ray start` runs in.",
                ]
            )
        )


def _looker() -> Callable[[], str]:
    # Made here, and without a global of this module: Ray then sends its code, not its name, which a node without the
    # package could not look up.
    def look() -> str:
        try:
            import markscheme.verifiers.release  # noqa: PLC0415

            return markscheme.verifiers.release.release()
        except ImportError as error:
            return f"{type(error).__name__}: {error}"

    return look
