"""One sandbox for all tests of the judge; where the host gives none they are skipped, with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from markscheme.verifiers.code import CodeVerifier, Limits, Sandbox, SandboxError


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    try:
        made = CodeVerifier(workers=2).sandbox
    except (SandboxError, OSError) as error:
        pytest.skip(f"this host gives no sandbox: {error}")
    with made:
        yield made


@pytest.fixture(scope="session")
def verifier(sandbox: Sandbox) -> CodeVerifier:
    return CodeVerifier(sandbox, limits=Limits(cpu_seconds=1, idle_seconds=1))
