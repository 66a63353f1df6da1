"""The likelihood baseline against a loop over tokens, and on a policy that knows its text by heart."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs torch and transformers: pip install markscheme[train]")
transformers = pytest.importorskip("transformers", reason="needs torch and transformers: pip install markscheme[train]")

from markscheme.prm.encode import LostStepsWarning, StepEncoder  # noqa: E402
from markscheme.prm.likelihood import LikelihoodScorer  # noqa: E402
from markscheme.verifiers.errors import DataError, StepDataError  # noqa: E402
from tokenizer_families import FAMILIES  # noqa: E402

TOKENIZER = FAMILIES[0].tokenizer
PROBLEM, STEPS = "What is 2 + 3?", ["Add them.", "2 + 3 = 5 apples", "So 5."]


def tiny(**more: Any) -> Any:
    torch.manual_seed(0)
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.LlamaConfig(
        vocab_size=len(TOKENIZER), num_key_value_heads=2, max_position_embeddings=128, **{**size, **more}
    )
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny()


@pytest.mark.parametrize("reduce", ["min", "mean"])
@pytest.mark.parametrize("separator", ["\n\n", "<step>"])
def test_scores_are_the_policys_own_probabilities(model: Any, reduce: Any, separator: str) -> None:
    encoder = StepEncoder(TOKENIZER, separator=separator)
    scorer = LikelihoodScorer(model, TOKENIZER, encoder=encoder, reduce=reduce)
    found = scorer.score(PROBLEM, STEPS)
    encoded = encoder.encode(PROBLEM, STEPS)
    wanted = []
    for start, position in zip(encoded.starts, encoded.positions, strict=True):
        own = []
        for at in range(start, position - len(encoder.separator_ids) + 1):
            logits = model(torch.tensor([encoded.ids[:at]])).logits[0, -1].detach().double()
            own.append(float(torch.log_softmax(logits, -1)[encoded.ids[at]]))
        wanted.append(math.exp(min(own) if reduce == "min" else sum(own) / len(own)))
    assert found == pytest.approx(wanted, rel=1e-4)
    assert all(0 < score < 1 for score in found)


def test_batches_change_nothing(model: Any) -> None:
    items = [(PROBLEM, STEPS), ("p", ["a"]), (PROBLEM, STEPS[:2]), ("q", ["b", "c d e"])]
    moved: list[int] = []
    found = LikelihoodScorer(model, TOKENIZER, batch_size=2).score_many(items, done=moved.append)
    alone = [LikelihoodScorer(model, TOKENIZER).score(*item) for item in items]
    for one, two in zip(found, alone, strict=True):
        assert one == pytest.approx(two, rel=1e-4)
    assert sum(moved) == 4


def test_steps_beyond_the_models_length_have_no_score(model: Any) -> None:
    with pytest.warns(LostStepsWarning):
        found = LikelihoodScorer(model, TOKENIZER).score("p", ["a", "word " * 200, "b"])
    assert found[0] > 0
    assert [math.isnan(score) for score in found] == [False, True, True]


def test_an_architecture_that_bends_its_logits_is_asked_for_them(model: Any) -> None:
    config = transformers.Gemma2Config(
        vocab_size=len(TOKENIZER), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, head_dim=16, final_logit_softcapping=0.5, attn_implementation="eager",
    )  # fmt: skip
    torch.manual_seed(0)
    capped = transformers.Gemma2ForCausalLM(config).eval()
    torch.nn.init.normal_(capped.lm_head.weight, std=5.0)
    scorer = LikelihoodScorer(capped, TOKENIZER, reduce="min")
    encoded = scorer.encoder.encode("p", ["abc"])
    logits = capped(torch.tensor([encoded.ids])).logits[0].detach().double().log_softmax(-1)
    own = [float(logits[at - 1, encoded.ids[at]]) for at in range(encoded.starts[0], encoded.positions[0] - 1)]
    assert scorer.score("p", ["abc"]) == pytest.approx([math.exp(min(own))], rel=1e-4)
    assert abs(float(logits[-1].max() - logits[-1].min())) <= 1.01  # the cap is felt


def test_bad_solutions_and_settings_are_named(model: Any) -> None:
    scorer = LikelihoodScorer(model, TOKENIZER)
    with pytest.raises(StepDataError, match="row 1: step 0 is empty"):
        scorer.score_many([("p", ["a"]), ("p", [" "])])
    with pytest.raises(DataError, match="reduce: expected min or mean, got 'max'"):
        LikelihoodScorer(model, TOKENIZER, reduce="max")  # type: ignore[arg-type]
