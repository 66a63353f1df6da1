"""Each read-out against plain indexing, and heads on any causal backbone."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)

from transformers import (  # noqa: E402
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    BertConfig,
    BertModel,
    OPTConfig,
    OPTForCausalLM,
)

import tiny_judges as tiny  # noqa: E402
from markscheme.prm import Encoded  # noqa: E402
from markscheme.prm.model.batching import padded, targets_of  # noqa: E402
from markscheme.prm.model.causal import last_token  # noqa: E402
from markscheme.prm.model.pair import load_pair_model, pair_model  # noqa: E402
from markscheme.prm.model.readout import LMReadout, SpanReadout, TokenReadout, readout_from  # noqa: E402
from markscheme.prm.model.token import StepClassifier, load_token_model, token_model  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402

# Two solutions with separators of two tokens: three steps and one.
ROWS = [
    Encoded(tuple(range(5, 19)), (6, 9, 13), (2, 7, 10), 2),
    Encoded(tuple(range(30, 37)), (6,), (3,), 3),
]
BACKBONES = {
    "llama": {},
    "qwen2": {},
    "gpt2": {"n_embd": 16, "n_head": 2, "n_layer": 2},
    "olmo": {},
    "opt": {"ffn_dim": 32, "word_embed_proj_dim": 16},
    "gemma2": {"head_dim": 8},
    "mamba": {},
}


def folder(tmp_path, kind):
    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64}
    settings = {"vocab_size": 64} if kind == "gpt2" else sizes
    config = AutoConfig.for_model(kind, **settings, **BACKBONES[kind])
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / kind)
    return tmp_path / kind


@pytest.mark.parametrize("kind", BACKBONES)
@pytest.mark.parametrize("head", ["linear", "mlp"])
@torch.no_grad()
def test_a_head_of_classes_goes_on_any_causal_backbone(tmp_path, kind, head):
    model = token_model(folder(tmp_path, kind), head=head, seed=3).eval()
    z = TokenReadout()(model, padded(ROWS, 2))
    for row, found in zip(ROWS, z, strict=True):
        logits = model(input_ids=torch.tensor([row.ids]), use_cache=False).logits[0, list(row.positions)]
        assert found[: len(row.positions)] == pytest.approx(logits[:, 1] - logits[:, 0], abs=1e-5)
        assert found[len(row.positions) :].tolist() == [0.0] * (3 - len(row.positions))
    model.save_pretrained(tmp_path / "trained")
    again = load_token_model(tmp_path / "trained").eval()
    assert torch.equal(TokenReadout()(again, padded(ROWS, 2)), z)
    other = token_model(folder(tmp_path, kind), head=head, seed=4).eval()
    assert not torch.allclose(TokenReadout()(other, padded(ROWS, 2)), z), "the head's seed"


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2", "opt"])
@pytest.mark.parametrize("shift", [0, -1])
@torch.no_grad()
def test_two_tokens_are_read_from_any_language_model(tmp_path, kind, shift):
    model = AutoModelForCausalLM.from_pretrained(folder(tmp_path, kind)).eval()
    z = LMReadout(7, 9, shift)(model, padded(ROWS, 2))
    for row, found in zip(ROWS, z, strict=True):
        logits = model(input_ids=torch.tensor([row.ids]), use_cache=False).logits[0]
        expected = [float(logits[place + shift, 7] - logits[place + shift, 9]) for place in row.positions]
        assert found[: len(expected)].tolist() == pytest.approx(expected, abs=1e-5)


def test_scoring_takes_two_columns_of_the_vocabulary_and_training_what_it_must(tmp_path, monkeypatch):
    model = AutoModelForCausalLM.from_pretrained(folder(tmp_path, "llama")).eval()
    widths = []
    forward = model.lm_head.forward
    monkeypatch.setattr(model.lm_head, "forward", lambda hidden: (widths.append(hidden.shape[1]), forward(hidden))[1])
    batch = padded(ROWS, 2)
    trained = LMReadout(7, 9)(model, batch)
    assert widths == [3], "the columns 6, 9 and 13 of 14"
    with torch.no_grad():
        scored = LMReadout(7, 9)(model, batch)
    assert widths == [3], "the head as a whole is not run"
    assert torch.allclose(scored, trained, atol=1e-6)


@pytest.mark.parametrize("product", [True, False])
@torch.no_grad()
def test_a_pair_head_sees_the_state_before_each_token_and_the_token(tmp_path, product):
    """Against a loop over tokens that builds [h of the token before; embedding of the token; product] by hand."""
    backbone = folder(tmp_path, "llama")
    model = pair_model(backbone, width=8, product=product, seed=1).eval()
    assert model.pair[0].in_features == (48 if product else 32)
    z = SpanReadout(0.5)(model, padded(ROWS, 2))
    plain = AutoModel.from_pretrained(backbone).eval()
    for row, found in zip(ROWS, z, strict=True):
        ids = torch.tensor([row.ids])
        states, words = plain(input_ids=ids).last_hidden_state[0], plain.get_input_embeddings()(ids)[0]
        tokens = []
        for place in range(len(row.ids)):
            before = states[place - 1] if place else torch.zeros(16)
            parts = [model.state_norm(before), model.token_norm(words[place])]
            tokens.append(float(model.pair(torch.cat([*parts, parts[0] * parts[1]] if product else parts))))
        expected = []
        for start, position in zip(row.starts, row.positions, strict=True):
            own = torch.tensor(tokens[start : position - 1])  # the separator's two tokens are no part of the step
            expected.append(float((torch.softmax(-own / 0.5, 0) * own).sum()))
        assert found[: len(expected)].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("product", [True, False])
@torch.no_grad()
def test_a_pair_head_comes_back_with_or_without_the_product(tmp_path, product):
    model = pair_model(folder(tmp_path, "llama"), width=8, product=product).eval()
    model.save_pretrained(tmp_path / "judge")
    again = load_pair_model(tmp_path / "judge").eval()
    ids = torch.tensor([ROWS[0].ids])
    assert torch.equal(model(ids).logits, again(ids).logits)


@torch.no_grad()
def test_states_that_are_projected_to_the_embeddings_size(tmp_path):
    sizes = {"hidden_size": 16, "word_embed_proj_dim": 8, "ffn_dim": 32, "num_hidden_layers": 1}
    config = OPTConfig(vocab_size=64, num_attention_heads=2, max_position_embeddings=64, **sizes)
    OPTForCausalLM(config).save_pretrained(tmp_path / "backbone")
    model = pair_model(tmp_path / "backbone", width=8)
    assert model.pair[0].in_features == 3 * 8
    assert model(torch.tensor([[5, 6, 7]])).logits.shape == (1, 3, 1)


def test_a_pair_heads_backbone_stays_as_it_is(tmp_path):
    model = pair_model(folder(tmp_path, "llama"))
    before = {name: weight.clone() for name, weight in model.model.named_parameters()}
    model.train()
    assert not model.model.training
    z = SpanReadout()(model, padded(ROWS, 2))
    z.sum().backward()
    optimiser = torch.optim.SGD([weight for weight in model.parameters() if weight.requires_grad], 1.0)
    optimiser.step()
    assert all(torch.equal(before[name], weight) for name, weight in model.model.named_parameters())
    assert model.pair[0].weight.grad.abs().max() > 0


def test_readouts_come_back_from_their_settings():
    for readout in (TokenReadout(), LMReadout(3, 4, -1), SpanReadout(0.3)):
        assert readout_from(readout.settings()) == readout


def test_an_encoder_that_sees_later_steps_is_refused(tmp_path):
    config = BertConfig(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    BertModel(config).save_pretrained(tmp_path)
    with pytest.raises(DataError, match="bert reads both ways, so a step's score would depend on later steps"):
        token_model(tmp_path)


def test_a_text_of_several_tokens_is_no_tag():
    tokenizer = tiny.mistral_tokenizer()
    assert [last_token(tokenizer, text) for text in ("+", "-", "ки")] == [648, 387, 12902]
    with pytest.raises(DataError, match="'qqqq' is not one token of this tokenizer but"):
        last_token(tokenizer, "qqqq")


def test_a_head_of_another_shape_is_refused(tmp_path):
    sizes = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 16}
    sizes |= {"num_hidden_layers": 1, "num_attention_heads": 2, "num_labels": 2}
    model = StepClassifier(AutoConfig.for_model("llama", prm_head="mlp", **sizes))
    model.save_pretrained(tmp_path)
    with pytest.raises(DataError, match=r"weights are missing and .* have another shape|2 weights are missing"):
        load_token_model(tmp_path, changes={"prm_head": "linear"})


def test_targets_fill_up_with_what_is_ignored():
    assert targets_of([[1.0, None], [0.0]], -100.0).tolist() == [[1.0, -100.0], [0.0, -100.0]]
