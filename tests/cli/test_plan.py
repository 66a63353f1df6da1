"""``markscheme plan``: its table, its JSON, its exit code, its errors; it loads no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import Run

QWEN = {
    "model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
    "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936, "tie_word_embeddings": True,
}  # fmt: skip


def test_the_table_of_the_write_up(run: Run) -> None:
    """7B parameters: PPO keeps 112 GB of Adam's moments, for policy and critic, GRPO 56 GB."""
    options = ("--params", "7e9", "--group", 64, "--context", 16384, "--gpus", 8, "--zero", 3)
    ppo, grpo = (run("plan", "--algorithm", name, *options).output for name in ("ppo", "grpo"))
    assert "Adam's moments of all that is trained: 112.0 GB." in ppo
    assert "Adam's moments of all that is trained: 56.0 GB." in grpo
    assert "critic: Adam's moments" in ppo
    assert "critic" not in grpo
    assert "GRPO, 7e9 parameters in the shape of Qwen2.5-7B; bfloat16, mixed precision; 8 GPU(s), ZeRO stage 3" in grpo
    assert "KV cache (generation)" in grpo
    assert "56.00     7.00  exact     2 x 4 B a trained parameter, 1/8 on each" in grpo
    assert "it fits" in grpo


def test_what_does_not_fit_exits_with_1_and_says_what_would(run: Run) -> None:
    output = run("plan", "--params", "7e9", "--gpus", 8, "--group", 64, code=1).output
    assert "it does NOT fit" in output
    assert "It fits with: --zero 2 (" in output
    output = run("plan", "--params", "700e9", code=1).output
    assert "The largest part is policy: Adam's moments" in output


def test_json(run: Run) -> None:
    found = json.loads(run("plan", "--params", "1e9", "--lora", "--lora-rank", 8, "--dtype", "fp32", "--json").output)
    assert found["model"]["name"] == "Qwen2.5-1.5B"
    assert found["run"]["lora_rank"] == 8
    assert found["run"]["dtype"] == "float32"
    assert found["fits"] is True
    assert {item["name"] for item in found["items"]} >= {"policy: frozen weights", "policy: adapters", "KV cache"}
    assert found["generate"] == sum(i["gpu"] for i in found["items"] if i["phase"] in ("always", "generate"))


def test_a_models_own_shape(run: Run, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(QWEN))
    for given in (tmp_path, tmp_path / "config.json"):
        found = json.loads(run("plan", "--model", given, "--json").output)
        assert found["model"]["parameters"] == 494_032_768
    found = json.loads(run("plan", "--model", tmp_path, "--params", "5e8", "--json").output)
    assert found["model"]["parameters"] == 500_000_000


def test_all_linear(run: Run) -> None:
    few, all_of_them = (
        json.loads(run("plan", "--params", "7e9", "--lora", "--lora-targets", targets, "--json").output)
        for targets in ("q_proj,v_proj", "all-linear")
    )
    assert few["adam"] * 7 < all_of_them["adam"]


@pytest.mark.parametrize(("short", "long"), [("7B", "7e9"), ("350m", "3.5e8"), ("0.5 T", "500000000000")])
def test_units_of_numbers(run: Run, short: str, long: str) -> None:
    one, other = (
        run("plan", "--params", text, "--gpus", "512", "--zero", "3", "--json", code=None) for text in (short, long)
    )
    assert one.output == other.output
    assert "of its 85.9 GB" in run("plan", "--params", short, "--gpu-memory", "80GiB", code=None).output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--params", "7X"), "expected a number such as 7e9, 7B or 80GiB, found '7X'"),
        (("--params", "1.2.3"), "found '1.2.3'"),
        ((), "expected --params, such as --params 7e9, or --model FOLDER"),
        (("--params", "0"), "expected a number of parameters"),
        (("--params", "inf"), "--params inf: expected a number of parameters, such as 7e9"),
        (("--params", "7e9", "--gpu-memory", "nan"), "--gpu-memory nan: expected a number of bytes, such as 80e9"),
        (("--params", "7e9", "--algorithm", "ppo", "--critic-params", "-5"), "--critic-params -5: expected a number"),
        (("--params", "7e9", "--offload"), "offload needs a ZeRO stage from 1 on"),
        (("--params", "7e9", "--lora", "--lora-targets", "query"), "no linear map 'query'"),
        (("--model", "absent"), "absent"),
    ],
)
def test_errors(run: Run, options: tuple[str, ...], message: str) -> None:
    assert message in run("plan", *options, code=2).stderr


def test_no_torch_is_loaded() -> None:
    script = (
        "import sys; from markscheme.cli.main import app\n"
        "try: app(['plan', '--params', '7e9', '--gpus', '8', '--zero', '3'])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "assert not {'torch', 'transformers', 'trl', 'numpy', 'sympy'} & set(sys.modules), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "it fits" in done.stdout
