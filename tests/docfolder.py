"""The folder in which the blocks of the pages are run: small files and tiny models by the names that pages use.

Names of the Hub that pages use are folders here, which transformers and datasets take before they look for the Hub.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

QUESTIONS = [
    ("A tray holds 6 rolls. How many rolls are on 4 trays?", ["4 * 6 = 24 rolls.", "The answer is 24."], 24),
    ("Mia has 12 pens and gives away 5. How many has she left?", ["12 - 5 = 7 pens are left.", "The answer is 7."], 7),
    ("Tickets cost 8 dollars. How much are 9 tickets?", ["9 * 8 = 72 dollars.", "The answer is 72."], 72),
    ("A rope of 30 m is cut into 5 equal parts. How long is one?", ["30 / 5 = 6 metres.", "The answer is 6."], 6),
    ("Ada reads 15 pages a day. How many in 6 days?", ["15 * 6 = 90 pages.", "The answer is 90."], 90),
    ("Of 50 seats 18 are taken. How many are free?", ["50 - 18 = 32 are free.", "The answer is 32."], 32),
]
POLICIES = ("POLICY", "MODEL", "BACKBONE", "Qwen/Qwen2.5-0.5B-Instruct", "HuggingFaceTB/SmolLM2-135M-Instruct")
"""A language model with random weights."""
JUDGES = ("CHECKPOINT",)
"""A judge of steps with random weights, as `PRMTrainer` saves them."""
ENCODERS = ("sentence-transformers/all-MiniLM-L6-v2", "encoders/minilm")


def make(folder: Path) -> Path:
    """Make the folder: files, models, and the repository's examples."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "examples", folder / "examples")
    _files(folder)
    first = _policy(folder / POLICIES[0])
    for name in POLICIES[1:]:
        shutil.copytree(first, folder / name)
    first = _judge(folder / JUDGES[0], first)
    for name in JUDGES[1:]:
        shutil.copytree(first, folder / name)
    for name in ENCODERS:
        _encoder(folder / name)
    return folder


def _files(folder: Path) -> None:
    shutil.copy(ROOT / "examples" / "completions.jsonl", folder / "answers.jsonl")
    gsm8k = [{"question": q, "answer": "\n".join([*steps[:-1], f"#### {n}"])} for q, steps, n in QUESTIONS]
    _write(folder / "gsm8k_test.jsonl", gsm8k)
    dataset = folder / "openai" / "gsm8k"
    _write(dataset / "train.jsonl", gsm8k)
    _write(dataset / "test.jsonl", gsm8k)
    (dataset / "README.md").write_text(
        "---\nconfigs:\n- config_name: main\n  data_files:\n  - {split: train, path: train.jsonl}\n"
        "  - {split: test, path: test.jsonl}\n---\n"
    )
    pairs = [("1/2", r"so \boxed{0.5}", True), ("7", r"\boxed{8}", False), ("12 cm", "12 m", False)]
    forms = ["completion", "completion", "answer"]
    labelled = [
        {"gold": gold, "prediction": text, "expected": right, "form": form}
        for (gold, text, right), form in zip(pairs, forms, strict=True)
    ]
    _write(folder / "labelled.jsonl", labelled)
    samples = [
        {"index": i, "completion": ["\n\n".join(steps), f"I think it is {n + i % 2}.\n#### {n + i % 2}"]}
        for i, (_, steps, n) in enumerate(QUESTIONS)
    ]
    _write(folder / "samples.jsonl", samples)
    _programs(folder)
    _steps(folder)


def _programs(folder: Path) -> None:
    cases = [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "20 22\n", "stdout": "42\n"}]
    _write(folder / "problems.jsonl", [{"id": "sum", "cases": cases}])
    good, bad = "print(sum(map(int, input().split())))", "print(3)"
    _write(folder / "programs.jsonl", [{"id": "sum", "solution": good}, {"id": "sum", "solution": bad}])


def _steps(folder: Path) -> None:
    right = [{"problem": q, "steps": steps, "gold": str(n)} for q, steps, n in QUESTIONS]
    wrong = [
        {"problem": q, "steps": [steps[0].replace("=", "= 1 +"), f"The answer is {n + 1}."], "gold": str(n)}
        for q, steps, n in QUESTIONS
    ]
    _write(folder / "solutions.jsonl", right[:2] + wrong[:2])
    labelled = [{**row, "labels": [True, True]} for row in right] + [{**row, "labels": [False, False]} for row in wrong]
    _write(folder / "gold.jsonl", labelled[:2] + labelled[6:8])
    for place, name in enumerate(("train", "dev", "test", "steps_train", "steps_dev")):
        rows = [{**row, "problem": f"{row['problem']} ({name})"} for row in labelled[place:] + labelled[:place]]
        _write(folder / f"{name}.jsonl", rows)
    first_errors = [{**row, "label": -1, "final_answer_correct": True} for row in right]
    first_errors += [{**row, "label": 0, "final_answer_correct": False} for row in wrong]
    for row in first_errors:
        row.pop("gold")
    for name in ("steps", "processbench_gsm8k", "gsm8k", "math"):
        rows = [{"id": f"{name}-{i}", **row} for i, row in enumerate(first_errors)]
        _write(folder / f"{name}.jsonl", rows)
    ratings = [{"completions": [{"text": text, "rating": rating}], "chosen_completion": 0} for text, rating in
               (("12 - 5 = 7 pens are left.", 1), ("The answer is 7.", 0), ("So 8.", -1))]  # fmt: skip
    prm800k = {
        "question": {"problem": QUESTIONS[1][0], "ground_truth_answer": "7"},
        "label": {"steps": ratings, "finish_reason": "found_error"},
    }
    _write(folder / "prm800k.jsonl", [prm800k])


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _sizes() -> dict[str, Any]:
    return {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 4096,
        "initializer_range": 0.3,
    }


def _policy(folder: Path) -> Path:
    import torch  # noqa: PLC0415
    from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415

    from tiny_judges import small_tokenizer  # noqa: PLC0415

    torch.manual_seed(0)
    tokenizer = small_tokenizer()
    config = Qwen2Config(
        vocab_size=len(tokenizer) + 4,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        tie_word_embeddings=False,
        **_sizes(),
    )
    model = Qwen2ForCausalLM(config)
    _ends_soon(model, tokenizer.eos_token_id)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _ends_soon(model: Any, end: int) -> None:
    """Give the end of a sequence some chance at every token: one feature is constant, and speaks for it alone."""
    import torch  # noqa: PLC0415

    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = 2.0
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight[0] = 0.0
            layer.mlp.down_proj.weight[0] = 0.0
        model.lm_head.weight[:, 0] = 0.0
        model.lm_head.weight[end] = 0.0
        model.lm_head.weight[end, 0] = 1.3


def _judge(folder: Path, backbone: Path) -> Path:
    from markscheme.prm import PRMConfig, PRMTrainer  # noqa: PLC0415

    args = PRMConfig(output_dir=str(folder), max_steps=1, use_cpu=True, report_to=[], save_strategy="no")
    args.disable_tqdm = True
    trainer = PRMTrainer(str(backbone), args, train_dataset=str(folder.parent / "train.jsonl"))
    trainer.train()
    trainer.save_model()
    return folder


def _encoder(folder: Path) -> None:
    import torch  # noqa: PLC0415
    from transformers import BertConfig, BertModel  # noqa: PLC0415

    from tiny_judges import small_tokenizer  # noqa: PLC0415

    torch.manual_seed(0)
    tokenizer = small_tokenizer()
    sizes = {name: value for name, value in _sizes().items() if name != "num_key_value_heads"}
    BertModel(BertConfig(vocab_size=len(tokenizer), **{**sizes, "max_position_embeddings": 512})).save_pretrained(
        folder
    )
    tokenizer.save_pretrained(folder)
