"""``markscheme sandbox check``: the level, and a self-test that can fail."""

from __future__ import annotations

import json

import pytest

from fakes import Run
from markscheme.cli import selftest
from markscheme.verifiers.code.outcomes import Execution, RunOutcome
from markscheme.verifiers.code.sandbox import hosts
from markscheme.verifiers.code.sandbox.hosts import capabilities
from markscheme.verifiers.code.sandbox.levels import Capabilities
from markscheme.verifiers.code.sandbox.pool import Sandbox


class Leaky:
    """A sandbox that lets everything through, and says so."""

    def __init__(self, workers: int, level: int, limits: object) -> None:
        self.level = level

    def __enter__(self) -> Leaky:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, code: str, stdin: str) -> Execution:
        return Execution(outcome=RunOutcome.FINISHED, exit_code=0, stdout=b"ESCAPED\n", level=self.level)


def test_all_holds_at_each_level_that_this_host_gives(run: Run) -> None:
    level = capabilities().level
    if not level:
        pytest.skip("this host gives no safe level")
    found = json.loads(run("sandbox", "check", "--json").stdout)
    assert (found["level"], found["held"]) == (level, True)
    assert {one["level"] for one in found["checks"]} == set(range(2, level + 1))
    for kind, least in (("attack", 12), ("good", 3)):
        assert sum(one["kind"] == kind and one["level"] == level for one in found["checks"]) >= least
    assert all(one["held"] for one in found["checks"])


def test_a_leaky_sandbox_is_found_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "Sandbox", Leaky)
    monkeypatch.setattr(hosts, "capabilities", lambda: Capabilities(2, "no \x1bnamespaces", 5, root=False))
    result = run("sandbox", "check", code=1)
    assert "level 2: Landlock and seccomp" in result.stdout
    assert "why not higher: no ␛namespaces" in result.stdout
    assert "FAILS" in result.stdout
    assert "1 of 20 hold" in result.stdout  # nothing was left on the host
    assert json.loads(run("sandbox", "check", "--json", code=1).stdout)["held"] is False


def test_what_is_left_on_the_host_is_found() -> None:
    with selftest._bait() as bait:
        assert [one.held for one in selftest._left_behind(3, bait)] == [True]
        (bait.open_folder / "written").touch()
        (found,) = selftest._left_behind(3, bait)
        assert (found.held, found.detail) == (False, "left on the host: written")


def test_no_safe_level_is_no_success(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "capabilities", lambda: Capabilities(0, "no Landlock", 0, root=False))
    result = run("sandbox", "check", code=1)
    assert "level 0: none that is safe" in result.stdout
    assert "0 of 0 hold" in result.stdout


@pytest.mark.parametrize("attempt", ["pass", "x = 1"])
def test_an_attack_that_gets_through_says_so(attempt: str) -> None:
    level = capabilities().level
    if not level:
        pytest.skip("this host gives no safe level")
    with Sandbox(workers=1, limits=selftest._LIMITS) as sandbox:
        assert not selftest._checked(sandbox, selftest._tries("nothing", attempt)).held
