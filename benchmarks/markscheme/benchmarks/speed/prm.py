"""What scoring the steps of solutions costs: one forward pass a solution beside one a prefix, in the same run.

Run ``python -m markscheme.benchmarks.speed.prm [--solutions N] [--steps 10] [--model FOLDER] [--json OUT]``. Without
``--model`` a judge of random weights is made (a Llama of 6 layers and 256 units, 5 million weights, over bytes): what a
pass costs does not depend on the weights' values. The ways take turns, block by block, so that a host's load falls on
all; CPU time is what to trust. All ways must give the same scores to 1e-5, or the run fails.

- ``a pass a solution``: `PRMScorer.score_many`.
- ``a pass a prefix, batched``: every prefix a solution of its own, through the same batches.
- ``a pass a prefix, one by one``: what RLHFlow's evaluation does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.verifiers.errors import MarkschemeError

if TYPE_CHECKING:
    from markscheme.prm.scoring import PRMScorer

Item = tuple[str, list[str]]
Way = Callable[["PRMScorer", Sequence[Item]], list[list[float]]]

TOLERANCE = 1e-5
_BLOCK = 4  # solutions that one way scores before it is the next one's turn


@dataclass
class Tally:
    """What one way cost."""

    way: Way
    cpu: float = 0.0
    wall: float = 0.0
    tokens: int = 0
    scores: list[list[float]] = field(default_factory=list)

    def run(self, scorer: PRMScorer, items: Sequence[Item]) -> None:
        """Score a block, on the clock."""
        tokens, cpu, wall = scorer.report.tokens, time.process_time(), time.perf_counter()
        self.scores += self.way(scorer, items)
        self.cpu += time.process_time() - cpu
        self.wall += time.perf_counter() - wall
        self.tokens += scorer.report.tokens - tokens


def a_pass_a_solution(scorer: PRMScorer, items: Sequence[Item]) -> list[list[float]]:
    """Score solutions whole."""
    return scorer.score_many(items)


def a_pass_a_prefix(scorer: PRMScorer, items: Sequence[Item]) -> list[list[float]]:
    """Score every prefix by itself, all of a block in batches, and keep its last step's score."""
    prefixes = [(problem, steps[:count]) for problem, steps in items for count in range(1, len(steps) + 1)]
    found = iter(scorer.score_many(prefixes))
    return [[next(found)[-1] for _ in steps] for _, steps in items]


def one_by_one(scorer: PRMScorer, items: Sequence[Item]) -> list[list[float]]:
    """Score every prefix by itself, one after another."""
    return [
        [scorer.score(problem, steps[:count])[-1] for count in range(1, len(steps) + 1)] for problem, steps in items
    ]


WAYS: dict[str, Way] = {
    "a pass a solution": a_pass_a_solution,
    "a pass a prefix, batched": a_pass_a_prefix,
    "a pass a prefix, one by one": one_by_one,
}


def compare(scorer: PRMScorer, items: Sequence[Item]) -> dict[str, dict[str, Any]]:
    """Let the ways take turns over the solutions.

    Returns:
        The figures of each, by name.

    Raises:
        RuntimeError: the ways' scores differ.
    """
    tallies = {name: Tally(way) for name, way in WAYS.items()}
    a_pass_a_solution(scorer, items[:1])  # what is loaded at first is off the clock
    for number, start in enumerate(range(0, len(items), _BLOCK)):
        order = list(tallies.values())
        for tally in [*order[number % 3 :], *order[: number % 3]]:
            tally.run(scorer, items[start : start + _BLOCK])
    ours = tallies["a pass a solution"]
    figures = {}
    for name, tally in tallies.items():
        difference = max(
            abs(one - two)
            for first, second in zip(tally.scores, ours.scores, strict=True)
            for one, two in zip(first, second, strict=True)
        )
        if difference > TOLERANCE:
            raise RuntimeError(f"{name}: scores differ from those of a pass a solution by {difference:.2g}")
        figures[name] = {
            "cpu_ms": round(1000 * tally.cpu / len(items), 2),
            "wall_ms": round(1000 * tally.wall / len(items), 2),
            "tokens": round(tally.tokens / len(items), 1),
            "difference": difference,
            "times_ours": round(tally.cpu / ours.cpu, 2),
        }
    return figures


def make_items(solutions: int, steps: int, seed: int = 0) -> list[Item]:
    """Make solutions of so many steps, each of 20 to 60 characters."""
    rng = random.Random(seed)  # noqa: S311 - text to score, not a secret
    problem = "A shop sells pens at {} coins and books at {} coins. What do {} pens and {} books cost together?"
    made = []
    for _ in range(solutions):
        lines = [
            f"We have {rng.randint(2, 99)} * {rng.randint(2, 99)} = {rng.randint(4, 9801)}"
            + " coins" * rng.randint(0, 5)
            for _ in range(steps)
        ]
        made.append((problem.format(*(rng.randint(2, 99) for _ in range(4))), lines))
    return made


def make_judge(folder: Path) -> None:
    """Write a judge of random weights: a Llama over bytes with a token-classification head."""
    import torch  # noqa: PLC0415 - the extra is known to be needed here
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: PLC0415
    from transformers import LlamaConfig, LlamaForTokenClassification, PreTrainedTokenizerFast  # noqa: PLC0415

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({character: place for place, character in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    wrapper: Any = PreTrainedTokenizerFast
    wrapper(tokenizer_object=made, eos_token="<end>", pad_token="<end>").save_pretrained(folder)  # noqa: S106
    torch.manual_seed(0)
    settings: dict[str, Any] = {"num_labels": 2}
    config = LlamaConfig(
        vocab_size=len(alphabet) + 1,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=6,
        num_attention_heads=8,
        max_position_embeddings=4096,
        initializer_range=0.1,  # so that scores differ from step to step
        **settings,
    )
    classifier: Any = LlamaForTokenClassification
    classifier(config).save_pretrained(folder)


def run(solutions: int, steps: int, model: str | None, batch_size: int) -> dict[str, Any]:
    """Measure.

    Raises:
        RuntimeError: the ways' scores differ.
    """
    import torch  # noqa: PLC0415

    from markscheme.prm.scoring import PRMScorer  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        if model is None:
            make_judge(Path(folder))
            scorer = PRMScorer.from_pretrained(folder, format="trl", batch_size=batch_size)
        else:
            scorer = PRMScorer.from_pretrained(model, dtype="float32", batch_size=batch_size)
        figures = compare(scorer, make_items(solutions, steps))
    return {
        "solutions": solutions,
        "steps": steps,
        "model": model or "random Llama, 6 layers of 256",
        "device": str(scorer.checkpoint.model.device),
        "threads": torch.get_num_threads(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "ways": figures,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0, or 2 where nothing can be measured."""
    parser = argparse.ArgumentParser(prog="python -m markscheme.benchmarks.speed.prm", description=__doc__)
    parser.add_argument("--solutions", type=int, default=24, metavar="N", help="how many (default 24)")
    parser.add_argument("--steps", type=int, default=10, metavar="N", help="of each (default 10)")
    parser.add_argument("--model", metavar="FOLDER", help="a checkpoint; default: one of random weights")
    parser.add_argument("--batch-size", type=int, default=16, metavar="N", help="of one forward pass (default 16)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here")
    chosen = parser.parse_args(arguments)
    if min(chosen.solutions, chosen.steps, chosen.batch_size) < 1:
        parser.error("--solutions, --steps and --batch-size must be at least 1")
    try:
        figures = run(chosen.solutions, chosen.steps, chosen.model, chosen.batch_size)
    except (MarkschemeError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if chosen.json is not None:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print_table(figures)
    return 0


def print_table(figures: dict[str, Any]) -> None:
    """Print a row a way."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    title = f"Scoring {figures['solutions']} solutions of {figures['steps']} steps: {figures['model']}"
    table = Table(title=title, box=SIMPLE_HEAD)
    for name in ("way", "CPU ms", "wall ms", "tokens", "times ours", "largest difference"):
        table.add_column(name, justify="left" if name == "way" else "right")
    for way, found in figures["ways"].items():
        cells = [
            f"{found['cpu_ms']:.1f}",
            f"{found['wall_ms']:.1f}",
            f"{found['tokens']:.0f}",
            f"{found['times_ours']:.2f}",
        ]
        table.add_row(way, *cells, f"{found['difference']:.1e}")
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
