"""MATH-500: 500 test problems of MATH (Hendrycks et al. 2021) as Lightman et al. 2023 (arXiv 2305.20050) chose them."""

from __future__ import annotations

from pathlib import Path

from markscheme.benchmarks.suites.suite import Problem, suite_rows


class Math500:
    """Rows hold ``problem``, ``answer`` (LaTeX) and ``unique_id`` (``test/algebra/2584.json``)."""

    name = "math500"

    def load(self, path: Path | None = None) -> list[Problem]:
        """Load the problems; see `Suite.load`."""
        return [
            Problem(
                index=row.number,
                id=row.text(("unique_id",), "unique_id"),
                question=row.text(("problem",), "problem"),
                gold=row.text(("answer",), "gold answer"),
            )
            for row in suite_rows(path, "HuggingFaceH4/MATH-500", None)
        ]
