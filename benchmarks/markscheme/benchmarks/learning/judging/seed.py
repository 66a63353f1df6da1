"""One seed of a run: policy, solutions, labels, judges, figures; each stage is kept as it ends."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM

from markscheme.benchmarks.learning.judging import data
from markscheme.benchmarks.learning.judging.measure import measure
from markscheme.benchmarks.learning.judging.policy import PREFIX, Rollouts, check
from markscheme.benchmarks.learning.judging.settings import Settings
from markscheme.benchmarks.learning.judging.training import train_judge
from markscheme.benchmarks.learning.policy import make_model, make_tokenizer
from markscheme.benchmarks.learning.sft import demonstrations, fit
from markscheme.prm.labels import LabelFile, MonteCarloLabeler, label_many
from markscheme.prm.labels.result import read_labels
from markscheme.prm.schema import StepSample

STAGES = ("policy", "solutions", "labels", "gold", "montecarlo", "figures")


class SeedRun:
    """One seed. A stage that has ended is not run again; its CPU seconds are kept beside it.

    Args:
        work: the run's folder.
        settings: of the run.
        seed: of the writer, the policy, the draws and the judges.
        done: called with the name of each stage as it ends.
    """

    def __init__(self, work: Path, settings: Settings, seed: int, done: Callable[[str], object] | None = None) -> None:
        self.folder = work / f"{settings.digest()}-{seed}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.settings, self.seed, self._done = settings, seed, done
        self.tokenizer = make_tokenizer()

    def run(self) -> dict[str, Any]:
        """Run what is missing. Return the figures, with the CPU seconds of each stage."""
        for name in STAGES:
            if not self._cost_file(name).exists():
                begun = time.process_time()
                getattr(self, f"_{name}")()
                self._keep(self._cost_file(name), {"cpu_s": round(time.process_time() - begun, 2)})
            if self._done is not None:
                self._done(name)
        costs = {name: json.loads(self._cost_file(name).read_text())["cpu_s"] for name in STAGES}
        return {"seed": self.seed, "cpu_s": costs, **self._read("figures")}

    # Stages ---------------------------------------------------------------------------------------------------------

    def _policy(self) -> None:
        settings = self.settings
        model = make_model(self.tokenizer, self.seed)
        batches = demonstrations(
            self.tokenizer, self.seed, steps=settings.sft_steps, length=settings.length, habits=settings.habits
        )
        fit(model, batches, settings.sft_steps, settings.sft_rate)
        model.save_pretrained(self.folder / "policy")
        self.tokenizer.save_pretrained(self.folder / "policy")

    def _solutions(self) -> None:
        self._keep(self.folder / "solutions.json", data.draw(self._rollouts(), self.settings, self.seed))

    def _labels(self) -> None:
        for name in ("train", "dev"):
            tasks = data.tasks(self._samples(name))
            labeler = MonteCarloLabeler(
                self._rollouts(),
                PREFIX,
                check=check,
                n=self.settings.rollouts,
                threshold=self.settings.share,
                name=f"{self.settings.digest()} {self.seed}",
            )
            with LabelFile(self._label_file(name), tasks, labeler.identity) as file:
                for task, labels in label_many(labeler, tasks, done=set(file.done), chunk=256):
                    file.append(task, labels)

    def _gold(self) -> None:
        self._judge("gold", self._samples("train"), masked=False)

    def _montecarlo(self) -> None:
        self._judge("montecarlo", [one.sample() for one in read_labels(self._label_file("train"))], masked=True)

    def _figures(self) -> None:
        labels = {name: read_labels(self._label_file(name)) for name in ("train", "dev")}
        sets = {name: self._samples(name) for name in ("train", "dev", "test", "injected")}
        found = measure(
            self._model(),
            self.tokenizer,
            {name: self.folder / f"judge-{name}" for name in ("gold", "montecarlo")},
            sets,
            labels,
            data.sampled(self._read("solutions")["best_of"]),
        )
        self._keep(self.folder / "figures.json", {**found, "redrawn": self._read("solutions")["redrawn"]})

    # What stages share ----------------------------------------------------------------------------------------------

    def _judge(self, name: str, samples: Sequence[StepSample], *, masked: bool) -> None:
        folder = self.folder / f"judge-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        train_judge(
            self.folder / "policy", self.tokenizer, samples, self.settings, folder, seed=self.seed, masked=masked
        )

    def _model(self) -> LlamaForCausalLM:
        torch.set_num_threads(1)
        model: LlamaForCausalLM = LlamaForCausalLM.from_pretrained(self.folder / "policy")
        return model.eval()

    def _rollouts(self) -> Rollouts:
        return Rollouts(self._model(), self.tokenizer, self.settings.limit, self.seed)

    def _samples(self, name: str) -> list[StepSample]:
        return data.samples(self._read("solutions")[name])

    def _label_file(self, name: str) -> Path:
        return self.folder / f"labels-{name}.jsonl"

    def _cost_file(self, stage: str) -> Path:
        return self.folder / f"{stage}.cost.json"

    def _read(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / f"{name}.json").read_text())
        return found

    def _keep(self, path: Path, what: dict[str, Any]) -> None:
        part = path.with_name(f"{path.name}.part{os.getpid()}")
        part.write_text(json.dumps(what))
        part.replace(path)  # whole or not there
