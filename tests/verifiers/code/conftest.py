"""Sandboxes at every level that this host gives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from markscheme.verifiers.code import CodeVerifier
from markscheme.verifiers.code.outcomes import Limits
from markscheme.verifiers.code.sandbox import Sandbox, SandboxError, capabilities

HOSTILE = Path(__file__).parent / "hostile"
BESIDE = Path(__file__).resolve().parents[4] / "shared" / "attacks"


@pytest.fixture(scope="session")
def highest() -> int:
    """The strongest level of this host."""
    return capabilities().level


def _sandbox(level: int, highest: int) -> Iterator[Sandbox]:
    if level > highest:
        pytest.skip(f"this host gives level {highest}: {capabilities().why_not_higher}")
    with Sandbox(workers=1, level=level, limits=Limits(cpu_seconds=3, idle_seconds=2)) as sandbox:  # type: ignore[arg-type]
        yield sandbox


@pytest.fixture(scope="session", params=[3, 2])
def sandbox(request: pytest.FixtureRequest, highest: int) -> Iterator[Sandbox]:
    """One worker at each level."""
    yield from _sandbox(request.param, highest)


def _in_bubblewrap() -> Iterator[Sandbox]:
    if why := capabilities().why_no_bubblewrap:
        pytest.skip(f"this host gives no bubblewrap: {why}")
    with Sandbox(workers=1, backend="bubblewrap", limits=Limits(cpu_seconds=3, idle_seconds=2)) as sandbox:
        yield sandbox


@pytest.fixture(scope="session", params=[3, 2, "bubblewrap"])
def any_sandbox(request: pytest.FixtureRequest, highest: int) -> Iterator[Sandbox]:
    """One worker at each level and of each back end: what the conformance suite runs on."""
    yield from _in_bubblewrap() if request.param == "bubblewrap" else _sandbox(request.param, highest)


@pytest.fixture(scope="session", params=["zygote", "bubblewrap"])
def any_namespaces(request: pytest.FixtureRequest, highest: int) -> Iterator[Sandbox]:
    """One worker of each back end at level 3, for what only that gives."""
    yield from _in_bubblewrap() if request.param == "bubblewrap" else _sandbox(3, highest)


@pytest.fixture(scope="session")
def namespaces(highest: int) -> Iterator[Sandbox]:
    """One worker at level 3, for what only that gives."""
    yield from _sandbox(3, highest)


@pytest.fixture(scope="session")
def attacks() -> Path:
    """The shared hostile programs."""
    folder = Path(os.environ.get("MARKSCHEME_ATTACKS", BESIDE))
    if not folder.is_dir():
        pytest.skip("no shared hostile programs: set MARKSCHEME_ATTACKS to their folder")
    return folder


@pytest.fixture(scope="session")
def judge_sandbox() -> Iterator[Sandbox]:
    """The sandbox of the judge's tests, at the strongest level; skipped, with the reason, where there is none."""
    try:
        made = CodeVerifier(workers=2).sandbox
    except (SandboxError, OSError) as error:
        pytest.skip(f"this host gives no sandbox: {error}")
    with made:
        yield made


@pytest.fixture(scope="session")
def verifier(judge_sandbox: Sandbox) -> CodeVerifier:
    """A verifier with short limits."""
    return CodeVerifier(judge_sandbox, limits=Limits(cpu_seconds=1, idle_seconds=1))
