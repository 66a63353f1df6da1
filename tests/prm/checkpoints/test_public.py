"""Each reader against a read-out written here from the checkpoint's model card or its authors' repository.

The read-outs share no code with the package: they build texts and ids as the cards do, find positions as they do, and
put the weights into the architectures by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)

from torch import Tensor, nn  # noqa: E402
from transformers import (  # noqa: E402
    AutoModelForCausalLM,
    AutoModelForTokenClassification,
    AutoTokenizer,
    Qwen2Model,
)

import tiny_judges as tiny  # noqa: E402
from markscheme.prm.scoring import PRMScorer  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402

SOLUTIONS = [(tiny.PROBLEM, tiny.STEPS), tiny.SHORT]


def backbone(folder: Path) -> Qwen2Model:
    model = Qwen2Model(tiny.qwen_config()).eval()
    held = {name[6:]: weight for name, weight in tiny.weights_of(folder).items() if name.startswith("model.")}
    model.load_state_dict(held)
    return model


def qwen_card(folder: Path, problem: str, steps: list[str]) -> list[float]:
    """Qwen2.5-Math-PRM-7B's card; positions by the token's mask, since dropping zeros drops saturated steps."""
    tokenizer, weights = AutoTokenizer.from_pretrained(folder), tiny.weights_of(folder)
    messages = [
        {"role": "system", "content": "Please reason step by step, and put your final answer within \\boxed{}."},
        {"role": "user", "content": problem},
        {"role": "assistant", "content": "<extra_0>".join(steps) + "<extra_0>"},
    ]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=False)
    ids = torch.tensor([tokenizer.encode(text)])
    assert tokenizer.encode("<extra_0>") == [151651]
    hidden = backbone(folder)(ids).last_hidden_state
    inner = torch.relu(nn.functional.linear(hidden, weights["score.0.weight"], weights["score.0.bias"]))
    logits = nn.functional.linear(inner, weights["score.2.weight"], weights["score.2.bias"])
    return logits[ids == 151651].softmax(-1)[:, 1].tolist()


def skywork_repository(folder: Path, problem: str, steps: list[str]) -> list[float]:
    """skywork-o1-prm-inference: every line of the response and the id of its end."""
    tokenizer, weights = AutoTokenizer.from_pretrained(folder), tiny.weights_of(folder)
    ids = tokenizer.encode(tokenizer.bos_token + problem + "\n")
    line_end = tokenizer.encode("\n")[-1]
    ends = []
    for line in "\n".join(steps).split("\n"):
        ids = [*ids, *tokenizer.encode(line), line_end]
        ends.append(len(ids) - 1)
    hidden = backbone(folder)(torch.tensor([ids])).last_hidden_state[0]
    values = (hidden @ weights["v_head.summary.weight"].T + weights["v_head.summary.bias"])[:, 0].sigmoid()
    lines = [step.count("\n") + 1 for step in steps]
    return [float(values[ends[sum(lines[: place + 1]) - 1]]) for place in range(len(steps))]


def pure_card(folder: Path, problem: str, steps: list[str]) -> list[float]:
    """PURE-PRM-7B's card: ids of the question, of each step and of the line's end; p₊ - p₋."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForTokenClassification.from_pretrained(folder)
    ids = tokenizer(problem, add_special_tokens=False).input_ids
    places = []
    for step in steps:
        ids = ids + tokenizer(step, add_special_tokens=False).input_ids + tokenizer("\n").input_ids
        places.append(len(ids) - 1)
    probabilities = model.eval()(torch.tensor([ids])).logits[0, places].softmax(-1)
    return (probabilities[:, 1] - probabilities[:, 0]).tolist()


def shepherd_card(folder: Path, problem: str, steps: list[str]) -> list[float]:
    """math-shepherd-mistral-7b-prm's card."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    candidates = tokenizer.encode("+ -")[1:]
    tag = tokenizer.encode("ки")[-1]
    assert (candidates, tag) == ([648, 387], 12902)
    output = "\n".join(f"Step {number}: {step} ки" for number, step in enumerate(steps, start=1))
    ids = torch.tensor([tokenizer.encode(f"{problem} {output}")])
    scores = model(ids).logits[:, :, candidates].softmax(-1)[:, :, 0]
    return scores[ids == tag].tolist()


def rlhflow_repository(folder: Path, problem: str, steps: list[str]) -> list[float]:
    """RLHFlow's math-rm/prm_evaluate.py: a forward pass for each prefix, read at the third token from the end."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    candidates = [tokenizer.encode("+")[-1], tokenizer.encode("-")[-1]]
    turns: list[dict[str, str]] = []
    scores = []
    for place, step in enumerate(steps):
        turns.append({"role": "user", "content": problem + " " + step if place == 0 else step})
        turns.append({"role": "assistant", "content": "+"})
        ids = tokenizer.apply_chat_template(turns, return_tensors="pt", return_dict=True)["input_ids"]
        scores.append(float(model(ids).logits[:, -3, candidates].softmax(-1)[0, 0]))
    return scores


def log_probabilities(folder: Path, ids: Tensor) -> Tensor:
    logits = AutoModelForCausalLM.from_pretrained(folder).eval()(ids).logits[:, :-1]
    return logits.log_softmax(-1).gather(2, ids[:, 1:, None])[0, :, 0].double()


def eurus_card(folder: Path, reference: Path, problem: str, steps: list[str]) -> list[float]:
    """EurusPRM-Stage2's card: sums up to places counted on prefixes that are tokenised anew."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    answer = [f"Step {number}: {step}" for number, step in enumerate(steps, start=1)]

    def conversation(count: int) -> str:
        turns = [{"role": "user", "content": problem}, {"role": "assistant", "content": "\n\n".join(answer[:count])}]
        return tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=False)

    ids = torch.tensor([tokenizer.encode(conversation(len(answer)), add_special_tokens=False)])
    last = []
    for count in range(len(answer) + 1):
        text = conversation(count).strip() + ("\n\n" if 0 < count < len(answer) else "")
        last.append(len(tokenizer.encode(text, add_special_tokens=False)) - 2)
    mask = torch.zeros_like(ids)
    mask[0, last[0] :] = 1
    ratio = (log_probabilities(folder, ids) - log_probabilities(reference, ids)) * mask[0, 1:]
    return (0.001 * ratio).cumsum(-1)[last[1:]].tolist()


def eurus_definition(folder: Path, reference: Path, problem: str, steps: list[str]) -> list[float]:
    """2412.01981: the sum over the answer's tokens up to the end of a step, blank line included."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    answer = [f"Step {number}: {step}" for number, step in enumerate(steps, start=1)]
    begun = tokenizer.apply_chat_template(
        [{"role": "user", "content": problem}], tokenize=False, add_generation_prompt=True
    )
    prefixes = [begun + "".join(step + "\n\n" for step in answer[:count]) for count in range(len(answer))]
    prefixes.append(begun + "\n\n".join(answer))
    ids = torch.tensor([tokenizer.encode(prefixes[-1], add_special_tokens=False)])
    lengths = [len(tokenizer.encode(prefix, add_special_tokens=False)) for prefix in prefixes]
    ratio = log_probabilities(folder, ids) - log_probabilities(reference, ids)
    return [float(0.001 * ratio[lengths[0] - 1 : length - 1].sum()) for length in lengths[1:]]


CARDS: list[tuple[str, str, Callable[[Path, str, list[str]], list[float]]]] = [
    ("qwen2.5-math-prm", "qwen2.5-math-prm", qwen_card),
    ("skywork-o1", "skywork-o1", skywork_repository),
    ("PURE-PRM-7B", "pure", pure_card),
    ("math-shepherd-mistral-7b-prm", "math-shepherd", shepherd_card),
    ("RLHFlow-Llama3.1-8B-PRM", "rlhflow", rlhflow_repository),
    ("RLHFlow-Mistral-PRM", "rlhflow", rlhflow_repository),
]


@pytest.mark.parametrize(("name", "format_", "card"), CARDS, ids=[name for name, _, _ in CARDS])
@torch.no_grad()
def test_reader_gives_the_cards_rewards(checkpoints, name, format_, card):
    folder = checkpoints(name)
    scorer = PRMScorer.from_pretrained(folder)
    assert scorer.checkpoint.name == format_
    rewards = scorer.rewards_many(SOLUTIONS)
    for (problem, steps), found in zip(SOLUTIONS, rewards, strict=True):
        expected = card(folder, problem, list(steps))
        assert len(expected) == len(steps)
        assert found == pytest.approx(expected, abs=1e-5)
        assert max(expected) - min(expected) > 1e-4, "a read-out that gives every step the same shows nothing"


@pytest.mark.parametrize(("ends", "card"), [("card", eurus_card), ("step", eurus_definition)])
@torch.no_grad()
def test_implicit_reader_gives_the_cards_sums(checkpoints, ends, card):
    folder, reference = checkpoints("EurusPRM-Stage2"), checkpoints("reference")
    scorer = PRMScorer.from_pretrained(folder, reference=reference, ends=ends)
    found = scorer.rewards_many(SOLUTIONS)
    for (problem, steps), row in zip(SOLUTIONS, found, strict=True):
        assert row == pytest.approx(card(folder, reference, problem, list(steps)), abs=1e-6)
    probabilities = scorer.score(*SOLUTIONS[0])
    assert probabilities == pytest.approx(torch.tensor(found[0]).sigmoid().tolist(), abs=1e-6)


def test_implicit_rewards_of_steps_add_up_to_the_whole(checkpoints):
    folder, reference = checkpoints("EurusPRM-Stage2"), checkpoints("reference")
    whole = PRMScorer.from_pretrained(folder, reference=reference).rewards_many([tiny.SHORT])[0]
    each = PRMScorer.from_pretrained(folder, reference=reference, accumulate=False).rewards_many([tiny.SHORT])[0]
    assert each[0] == pytest.approx(whole[0])
    assert sum(each) == pytest.approx(whole[-1])


def test_an_implicit_judge_says_that_it_needs_its_reference(checkpoints):
    with pytest.raises(DataError, match=r"needs its reference model; pass reference=, for EurusPRM Qwen/Qwen2\.5-Math"):
        PRMScorer.from_pretrained(checkpoints("EurusPRM-Stage2"))


def test_a_saturated_step_is_not_dropped(checkpoints, tmp_path):
    """The card's own code takes the non-zero entries of the masked probabilities: a p of exactly 0 shifts the rest."""
    folder = tiny.save_qwen_prm(tmp_path / "prm")
    weights = tiny.weights_of(folder)
    weights["score.2.weight"] *= 1000
    tiny.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    scores = PRMScorer.from_pretrained(folder).score(tiny.PROBLEM, tiny.STEPS)
    assert len(scores) == len(tiny.STEPS)
    assert {0.0, 1.0} & {round(score, 7) for score in scores}
