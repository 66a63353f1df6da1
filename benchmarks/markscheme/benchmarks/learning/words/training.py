"""The supervised training, and one arm's GRPO run, which goes on from its last checkpoint."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PrinterCallback, TrainerCallback

from markscheme.benchmarks.learning.arms import Steps
from markscheme.benchmarks.learning.measure import summary
from markscheme.benchmarks.learning.sft import Example, fit
from markscheme.benchmarks.learning.task import Judged
from markscheme.benchmarks.learning.words import draw
from markscheme.benchmarks.learning.words.model import example, judge_ids, load, load_tokenizer, messages
from markscheme.benchmarks.learning.words.problems import Problem
from markscheme.benchmarks.learning.words.settings import Settings
from markscheme.trainer import ProcessGRPOConfig, ProcessGRPOTrainer


def pool(settings: Settings, rng: random.Random, count: int) -> list[tuple[Problem, str]]:
    """Draw problems to train on with demonstrations: of the templates, half of GSM8K where a file of it was given."""
    rows = None if settings.gsm8k is None else draw.gsm8k(Path(settings.gsm8k))[0]
    # One after the other, so that a larger pool begins with a smaller one.
    return [rng.choice(rows) if rows and place % 2 else draw.training(rng, 1)[0] for place in range(count)]


def demonstrate(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, settings: Settings) -> None:
    """Train on demonstrations: for the format, and no longer than it takes."""
    rng = random.Random("words demonstrations")  # noqa: S311 - no secret
    shown = pool(settings, rng, settings.sft_updates * settings.sft_batch)

    def batch(step: int) -> Sequence[Example]:
        part = shown[step * settings.sft_batch : (step + 1) * settings.sft_batch]
        return [example(problem, text, tokenizer) for problem, text in part]

    fit(model, batch, settings.sft_updates, settings.sft_rate, warmup=max(1, settings.sft_updates // 8))


class Marker:
    """Judges each batch, gives its rewards, and keeps a row of figures an update in a file of lines."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, problems: Sequence[Problem], file: Path, *, updates: int
    ) -> None:
        self.tokenizer, self.problems, self.file = tokenizer, problems, file
        rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        self.rows: list[dict[str, Any]] = rows[:updates]
        file.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        self.pending: dict[str, Any] = {}
        self.begun, self.cpu = time.perf_counter(), time.process_time()

    @property
    def tokens(self) -> int:
        """Tokens generated so far."""
        return int(self.rows[-1]["tokens"]) if self.rows else 0

    def _judge(self, place: int, ids: Sequence[int]) -> tuple[Judged, list[int]]:
        judged, spans = judge_ids(self.problems[place], ids, self.tokenizer)
        return judged, [span.last_token for span in spans]

    def outcome(self, completion_ids: Sequence[Sequence[int]], place: Sequence[int], **_: Any) -> list[float]:
        """1 for a right answer, 0 for a wrong one or none."""
        judged = [self._judge(one, ids)[0] for one, ids in zip(place, completion_ids, strict=True)]
        self.pending = {"tokens": self.tokens + sum(map(len, completion_ids)), **summary(judged)}
        return [float(one.correct) for one in judged]

    def steps(self, completion_ids: Sequence[Sequence[int]], place: Sequence[int], **_: Any) -> list[Steps]:
        """Each line's last token and its reward; None for one that claims nothing, says nothing new or was cut off."""
        out: list[Steps] = []
        for one, ids in zip(place, completion_ids, strict=True):
            judged, ends = self._judge(one, ids)
            out.append(list(zip(ends, judged.rewards(), strict=True)))
        return out

    def close(self) -> None:
        """Write the row of the update that has ended, with its cost, generation included."""
        now, cpu = time.perf_counter(), time.process_time()
        row = {**self.pending, "wall_s": round(now - self.begun, 2), "cpu_s": round(cpu - self.cpu, 2)}
        self.begun, self.cpu = now, cpu
        self.rows.append(row)
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")


class Ending(TrainerCallback):
    """Closes each update, and ends training with the one that reaches the budget, with a checkpoint of it."""

    def __init__(self, marker: Marker, settings: Settings) -> None:
        self.marker, self.settings = marker, settings

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002 - as called
        """Stop where the budget is spent or the cut is reached."""
        self.marker.close()
        cut = self.settings.steps is not None and state.global_step >= self.settings.steps
        if cut or self.marker.tokens >= self.settings.tokens:
            control.should_training_stop = control.should_save = True


def checkpoint(folder: Path, settings: Settings) -> tuple[Path | None, int]:
    """Return the last checkpoint that is not beyond the run's end, and its updates; none: None and 0."""
    found = [(int(path.name.rpartition("-")[2]), path) for path in folder.glob("checkpoint-*")]
    rows = folder / "updates.jsonl"
    tokens = [json.loads(line)["tokens"] for line in rows.read_text().splitlines()] if rows.exists() else []

    def usable(updates: int, path: Path) -> bool:
        whole = (path / "trainer_state.json").exists() and len(tokens) >= updates
        within = settings.steps is None or updates <= settings.steps
        return whole and within and (updates < 2 or tokens[updates - 2] < settings.tokens)

    updates, path = max(((n, p) for n, p in found if usable(n, p)), default=(0, None))
    return path, updates


def config_of(arm: str, seed: int, settings: Settings, folder: Path, updates: int) -> ProcessGRPOConfig:
    """Return an arm's settings for the trainer."""
    batch = settings.prompts * settings.group
    micro = min(settings.micro, batch)
    return ProcessGRPOConfig(
        output_dir=str(folder),
        supervision=arm,  # type: ignore[arg-type]
        credit=settings.credit if arm != "outcome" else "sum",
        cull_zero_variance=True,
        learning_rate=settings.rate,
        lr_scheduler_type="constant",
        max_steps=updates,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=batch // micro,
        num_generations=settings.group,
        max_completion_length=settings.limit,
        loss_type="dapo",
        beta=0.0,
        shuffle_dataset=False,
        bf16=False,
        use_cpu=True,
        gradient_checkpointing=False,
        save_strategy="steps",
        save_steps=settings.save_every,
        save_total_limit=1,
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=seed,
    )


def reinforce(
    base: Path, arm: str, seed: int, settings: Settings, folder: Path
) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Train with GRPO until the budget is spent, from the last checkpoint on where there is one.

    Args:
        base: the folder of the policy that it starts from.
        arm: outcome, process or both.
        seed: of the problems and the samples.
        settings: of the run.
        folder: of the checkpoints and of the figures of each update.

    Returns:
        The trained model and the figures.
    """
    tokenizer = load_tokenizer(base)
    folder.mkdir(parents=True, exist_ok=True)
    batch = settings.prompts * settings.group
    # Enough problems for completions of ten tokens; `steps` does not change them, so that a longer run can go on.
    updates = -(-settings.tokens // (batch * 10))
    rng = random.Random(f"words training {seed}")  # noqa: S311 - no secret
    problems = [problem for problem, _ in pool(settings, rng, updates * settings.prompts)]
    start, done = checkpoint(folder, settings)
    marker = Marker(tokenizer, problems, folder / "updates.jsonl", updates=done)
    ended = bool(done) and (done == settings.steps or marker.tokens >= settings.tokens)
    model = load(start if ended and start else base)
    if not ended:
        rows = [{"prompt": messages(problem), "place": place} for place, problem in enumerate(problems)]
        trainer = ProcessGRPOTrainer(
            model,
            marker.outcome,
            config_of(arm, seed, settings, folder, updates),
            step_reward_func=None if arm == "outcome" else marker.steps,
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            callbacks=[Ending(marker, settings)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=str(start) if start else None)
    return model, {
        "tokens": marker.tokens,
        "updates": len(marker.rows),
        "cut": marker.tokens < settings.tokens,
        "train_cpu_s": round(sum(row["cpu_s"] for row in marker.rows), 1),
        "train_wall_s": round(sum(row["wall_s"] for row in marker.rows), 1),
        "curve": marker.rows,
    }
