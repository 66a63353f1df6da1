"""One cluster of three nodes for all tests of this folder: starting one takes longer than they do."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from raynodes import NEEDED, Nodes


@pytest.fixture(scope="session")
def cluster() -> Iterator[Nodes]:
    pytest.importorskip("ray", reason=NEEDED)
    nodes = Nodes()
    yield nodes
    import ray  # noqa: PLC0415

    ray.shutdown()
    nodes.close()


@pytest.fixture
def nodes(cluster: Nodes) -> Nodes:
    """The cluster, with both its nodes."""
    cluster.ensure(2)
    return cluster


@pytest.fixture
def connected(nodes: Nodes) -> Nodes:
    """The cluster, with a connection that stays open: the engine uses it, and workers need not start for each run."""
    import ray  # noqa: PLC0415

    if not ray.is_initialized():
        ray.init(nodes.address, log_to_driver=False, logging_level=logging.ERROR)
    return nodes
