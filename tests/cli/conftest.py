from __future__ import annotations

import pytest
from typer.testing import CliRunner, Result

from fakes import Run
from markscheme.cli.main import app


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process; ``code`` is the exit code that must come, None for any."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*args: object, code: int | None = 0) -> Result:
        result = CliRunner().invoke(app, [str(arg) for arg in args])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert code is None or result.exit_code == code, result.output
        return result

    return call
