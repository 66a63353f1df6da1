"""The two graders under the benchmark, behind one call: does the prediction equal the gold answer?"""

from __future__ import annotations

import logging
import re
from collections import Counter
from typing import Protocol

from markscheme.benchmarks.speed.rows import Row
from markscheme.verifiers import MathVerifier, MissingExtraError, Outcome, read_gold
from markscheme.verifiers.math.cas import worker_cpu_seconds

_DELIMITED = re.compile(r"(?<!\\)\$|\\\(|\\\[|\\boxed|\\begin\{(?:equation|align)")


class Grader(Protocol):
    """A grader: its name, how it is set up, and its judgement of one pair."""

    name: str
    setup: str

    def accepts(self, row: Row) -> bool:
        """Say whether the prediction is right."""
        ...

    def worker_cpu_seconds(self) -> float:
        """Return the CPU seconds spent so far by processes that the grader started, live and ended."""
        ...


class Ours:
    """``MathVerifier`` as it comes: ``auto`` reading, default policy and deadline. Counts its outcomes."""

    name = "markscheme"
    setup = "MathVerifier()"

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self._verifier = MathVerifier()

    def accepts(self, row: Row) -> bool:
        """Say whether the prediction is right."""
        judge = self._verifier.verify_answer if row.form == "answer" else self._verifier.verify
        outcome = judge(row.prediction, row.gold).outcome
        self.outcomes[outcome] += 1
        return outcome is Outcome.CORRECT

    def worker_cpu_seconds(self) -> float:
        """Return the algebra workers' CPU seconds so far, their loading included."""
        return worker_cpu_seconds()


class MathVerify:
    """math-verify as its README sets it up for evaluation (its ``evaluate_model_outputs.py``), with its time limits.

    That is ``math_metric`` with LaTeX golds, LaTeX and plain expressions in predictions, and precision 6. It sees LaTeX
    only between delimiters, so bare answers (form "answer") and golds are put between dollar signs; a completion is
    given as it is. A gold in GSM8K's form is given as its final answer.

    Raises:
        MissingExtraError: math-verify is not installed.
    """

    name = "math-verify"
    setup = (
        "math_metric((LatexExtractionConfig(),), (ExprExtractionConfig(), LatexExtractionConfig()), max, precision=6)"
    )

    def __init__(self) -> None:
        try:
            from math_verify import ExprExtractionConfig, LatexExtractionConfig  # noqa: PLC0415 - an extra
            from math_verify.metric import math_metric  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("the benchmark needs math-verify: install markscheme[bench]") from error
        logging.getLogger("math_verify").setLevel(logging.CRITICAL)
        self._metric = math_metric(
            gold_extraction_target=(LatexExtractionConfig(),),
            pred_extraction_target=(ExprExtractionConfig(), LatexExtractionConfig()),
            aggregation_function=max,
            precision=6,
        )

    def accepts(self, row: Row) -> bool:
        """Say whether the prediction is right. A pair that it ends with an error on counts as refused."""
        gold = delimited(read_gold(row.gold) if "####" in row.gold else row.gold)
        prediction = delimited(row.prediction) if row.form == "answer" else row.prediction
        try:
            grade, _ = self._metric([gold], [prediction])
        except Exception:  # noqa: BLE001 - its own script catches every error of its metric, and scores 0
            return False
        return bool(grade == 1)

    def worker_cpu_seconds(self) -> float:
        """Return 0: where there is ``signal.alarm``, math-verify starts no processes."""
        return 0.0


def delimited(answer: str) -> str:
    """Return an answer between dollar signs, or as it is when it holds delimiters already."""
    return answer if _DELIMITED.search(answer) else f"${answer}$"
