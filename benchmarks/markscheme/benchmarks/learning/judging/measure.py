"""The figures of a seed: finding first errors, choosing among samples, and the noise of the labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from markscheme.benchmarks.learning.judging.policy import DigitVerifier
from markscheme.benchmarks.learning.judging.training import judge_scorer, likelihood_scorer
from markscheme.prm.labels import StepLabels, audit
from markscheme.prm.metrics.baselines import BASELINES
from markscheme.prm.metrics.bestofn import Sampled, best_of_n
from markscheme.prm.metrics.processbench import DEFAULT_THRESHOLD, process_bench
from markscheme.prm.metrics.steps import step_metrics
from markscheme.prm.protocol import StepScorer
from markscheme.prm.schema import StepSample
from markscheme.prm.threshold import choose_threshold
from markscheme.verifiers.errors import DataError

TESTS = ("test", "injected")
TRAINED = ("gold", "montecarlo")


def measure(
    policy: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    judges: Mapping[str, Path],
    sets: Mapping[str, Sequence[StepSample]],
    labels: Mapping[str, Sequence[StepLabels]],
    problems: Sequence[Sampled],
) -> dict[str, Any]:
    """Measure everything, ready for JSON.

    Thresholds are chosen on the development solutions: by gold labels for the judge that was trained on them and for
    the likelihood baseline, by Monte-Carlo labels for the judge that was trained on those, which never meets gold.
    """
    scorers: dict[str, StepScorer] = {name: judge_scorer(folder) for name, folder in judges.items()}
    scorers["likelihood"] = likelihood_scorer(policy, tokenizer)
    means = likelihood_scorer(policy, tokenizer, mean=True)
    thresholds = {
        name: _threshold(*_dev(name, sets["dev"], labels["dev"], scorer), f"dev ({_labels_of(name)} labels)")
        for name, scorer in scorers.items()
    }
    found: dict[str, Any] = {
        "policy": _policy(sets["test"]),
        "thresholds": {name: list(one) for name, one in thresholds.items()},
        "labels": audit([one.labels for one in labels["train"]], sets["train"]).summary(),
        "rollouts": {name: sum(one.rollouts for one in rows) for name, rows in labels.items()},
        "known": {name: sum(one.first_error is not None for one in rows) for name, rows in labels.items()},
        "sets": {
            name: {"n": len(sets[name]), "error": sum(one.first_error != -1 for one in sets[name])} for name in TESTS
        },
    }
    found["first_errors"] = {
        name: _first_errors(sets[name], scorers, {judge: value for judge, (value, _) in thresholds.items()})
        for name in TESTS
    }
    found["best_of"] = _best_of(problems, {**scorers, "likelihood": means})
    return found


def scores_of(scorer: StepScorer, samples: Sequence[StepSample]) -> list[list[float]]:
    """Score solutions, many at once where the scorer can."""
    many: Any = getattr(scorer, "score_many", None)
    items = [(one.problem, one.completions) for one in samples]
    return list(many(items)) if many is not None else [scorer.score(*item) for item in items]


def _threshold(samples: Sequence[StepSample], scores: Sequence[Sequence[float]], name: str) -> tuple[float, str]:
    """The threshold and what chose it; one half where the development solutions cannot choose one."""
    try:
        return choose_threshold(samples, scores, name).value, name
    except DataError:
        return DEFAULT_THRESHOLD, "default"


def _labels_of(name: str) -> str:
    return "Monte-Carlo" if name == "montecarlo" else "gold"


def _dev(
    name: str, gold: Sequence[StepSample], labels: Sequence[StepLabels], scorer: StepScorer
) -> tuple[list[StepSample], list[list[float]]]:
    """The development solutions that choose a judge's threshold, and its scores of them."""
    samples = list(gold) if name != "montecarlo" else [one.sample() for one in labels if one.first_error is not None]
    return samples, scores_of(scorer, samples)


def _policy(samples: Sequence[StepSample]) -> dict[str, float]:
    right = sum(bool(one.final_answer_correct) for one in samples)
    flawed = sum(bool(one.final_answer_correct) and one.first_error != -1 for one in samples)
    steps = [target for one in samples for target in one.targets]
    return {
        "accuracy": 100 * right / len(samples),
        "flawed": 100 * flawed / max(1, right),
        "step_accuracy": 100 * sum(target == 1 for target in steps) / len(steps),
    }


def _first_errors(
    samples: Sequence[StepSample], scorers: Mapping[str, StepScorer], thresholds: Mapping[str, float]
) -> dict[str, Any]:
    found = {}
    for name, scorer in scorers.items():
        scores = scores_of(scorer, samples)
        result = process_bench(samples, scores, threshold=thresholds[name])
        plain = process_bench(samples, scores)
        found[name] = {
            "f1": result.f1,
            "acc_error": result.acc_error,
            "acc_correct": result.acc_correct,
            "f1_at_half": plain.f1,
            "auc": step_metrics(samples, scores).auc,
            "flawed": result.flawed.acc_error,
            "flawed_n": result.flawed.n,
        }
    for name, give in BASELINES.items():
        result = process_bench(samples, [give(one) for one in samples])
        found[name] = {"f1": result.f1, "acc_error": result.acc_error, "acc_correct": result.acc_correct}
    return found


def _best_of(problems: Sequence[Sampled], scorers: Mapping[str, StepScorer]) -> dict[str, float]:
    """The share of problems whose best-scored solution is right, in percent, beside what needs no judge."""
    verifier, found = DigitVerifier(), {}
    for name, scorer in scorers.items():
        whole = [(one.problem, candidate.steps) for one in problems for candidate in one.candidates if candidate.steps]
        many: Any = scorer
        rest = iter(many.score_many(whole))
        scores = [[next(rest) if candidate.steps else [] for candidate in one.candidates] for one in problems]
        how = "mean" if name == "likelihood" else "min"
        result = best_of_n(problems, scores, aggregation=how, verifier=verifier)  # type: ignore[arg-type]
        found[name] = result.accuracy
    found |= {"majority": result.majority, "pass": result.pass_at_n, "random": result.mean}
    return found
