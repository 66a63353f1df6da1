"""What the settings accept, refuse and set."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, build, every_third, questions, settings, trl, varied

from markscheme.trainer import ProcessGRPOConfig, ProcessGRPOTrainer, compat, culling, grpo, presets  # isort: skip
from markscheme.verifiers.errors import TrainerConfigError, TRLMismatchError  # isort: skip

pytestmark = MARKS


NOT_OF_CULLING = {"supervision", "credit", "step_std", "min_tau", "refill_rounds", "refill_on"}


def config(tmp_path: Path, **given: Any) -> ProcessGRPOConfig:
    return ProcessGRPOConfig(**settings(tmp_path, **given))


def test_defaults_are_trls_but_for_the_papers_kl(tmp_path: Path) -> None:
    ours, theirs = config(tmp_path), trl.GRPOConfig(**settings(tmp_path))
    differing = {key for key, value in theirs.to_dict().items() if ours.to_dict()[key] != value}
    assert differing <= {"use_bias_correction_kl", "logging_dir"}
    assert (ours.use_bias_correction_kl, ours.max_grad_norm, ours.supervision) == (False, 1.0, "outcome")


def test_presets_are_the_papers(tmp_path: Path) -> None:
    base = {"output_dir": str(tmp_path), "use_cpu": True, "bf16": False}
    deepseek = ProcessGRPOConfig.preset("deepseekmath", supervision="process", **base)
    assert (deepseek.beta, deepseek.num_generations, deepseek.learning_rate) == (0.04, 64, 1e-6)
    assert (deepseek.generation_batch_size, deepseek.loss_type, deepseek.max_completion_length) == (1024, "grpo", 1024)
    assert deepseek.steps_per_generation == deepseek.gradient_accumulation_steps  # one update a generation
    assert not deepseek.use_bias_correction_kl
    smaller = ProcessGRPOConfig.preset("deepseekmath", per_device_train_batch_size=64, beta=0.0, **base)
    assert (smaller.gradient_accumulation_steps, smaller.beta) == (16, 0.0)
    dr = ProcessGRPOConfig.preset("dr_grpo", **base)
    assert (dr.loss_type, dr.scale_rewards, dr.beta, dr.std) == ("dr_grpo", "none", 0.0, "none")
    with pytest.raises(TrainerConfigError, match="no preset 'ppo'; there are 'dapo', 'deepseekmath', 'dr_grpo'"):
        ProcessGRPOConfig.preset("ppo", **base)  # type: ignore[arg-type]


def test_the_preset_of_dapo_counts_its_steps_from_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = {"output_dir": str(tmp_path), "use_cpu": True, "bf16": False}
    dapo = ProcessGRPOConfig.preset("dapo", **base)
    assert (dapo.loss_type, dapo.epsilon, dapo.epsilon_high, dapo.beta) == ("dapo", 0.2, 0.28, 0.0)
    assert (dapo.num_generations, dapo.max_completion_length, dapo.mask_truncated_completions) == (16, 20480, True)
    assert (dapo.generation_batch_size, dapo.refill_rounds, dapo.refill_on) == (8192, 9, None)
    assert (dapo.steps_per_generation, dapo.gradient_accumulation_steps, dapo.warmup_steps) == (512, 32, 320)
    small = ProcessGRPOConfig.preset("dapo", per_device_train_batch_size=64, steps_per_generation=8, **base)
    assert (small.gradient_accumulation_steps, small.steps_per_generation, small.warmup_steps) == (8, 8, 20)
    sized = ProcessGRPOConfig.preset("dapo", generation_batch_size=2048, **base)
    assert (sized.generation_batch_size, sized.steps_per_generation, sized.warmup_steps) == (2048, 128, 80)
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert presets.settings("dapo", {})["gradient_accumulation_steps"] == 8


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"refill_rounds": -1}, "refill_rounds=-1: expected a number of rounds, or 0 for none"),
        ({"refill_on": "varied"}, "refill_on='varied' does nothing without refill_rounds"),
        ({"refill_rounds": 1, "supervision": "process"}, "the outcome has no part and such groups teach as much"),
        ({"supervision": "steps"}, "supervision='steps': expected one of 'outcome', 'process', 'both'"),
        ({"credit": "mean"}, "credit='mean': expected one of 'sum'"),
        ({"step_std": "batch"}, "step_std='batch': expected one of None, 'sample'"),
        ({"min_tau": 0.0}, "min_tau=0.0: a temperature is above 0"),
        (
            {"supervision": "process", "importance_sampling_level": "sequence"},
            "every token its own advantage, but importance_sampling_level='sequence' weighs whole sequences",
        ),
        ({"supervision": "both", "loss_type": "luspo"}, "but loss_type='luspo' weighs whole sequences"),
        ({"supervision": "process", "loss_type": "vespo"}, "but loss_type='vespo' weighs whole sequences"),
        ({"supervision": "process", "scale_rewards": "batch"}, "set step_std"),
        ({"supervision": "both", "credit": "first_error"}, "set supervision='process' with it"),
        (
            {
                "supervision": "process",
                "credit": "first_error",
                "multi_objective_aggregation": "normalize_then_sum",
            },
            "takes one reward a completion",
        ),
        ({"supervision": "process", "credit": "min", "step_baseline": True}, "step_baseline belongs to credit='sum'"),
        ({"beta": 0.04}, r"because of beta=0.04 (the KL term)"),
        ({"entropy_coef": 0.01}, "because of an entropy bonus"),
        ({"use_adaptive_entropy": True}, "because of an entropy bonus"),
        ({"top_entropy_quantile": 0.2}, "because of top_entropy_quantile=0.2"),
        ({"multi_objective_aggregation": "normalize_then_sum"}, "a constant group gets an advantage from the batch"),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_contradictions_are_refused_with_the_fix(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    culling = {} if given.keys() & NOT_OF_CULLING else {"cull_zero_variance": True}
    with pytest.raises(TrainerConfigError, match=re.escape(message)):
        config(tmp_path, **given, **culling)
    if culling:
        assert config(tmp_path, **given, **culling, cull_inexact=True).cull_zero_variance


def test_every_field_of_ours_is_documented_once() -> None:
    own = ProcessGRPOConfig.__dataclass_fields__.keys() - trl.GRPOConfig.__dataclass_fields__.keys()
    assert own and all(ProcessGRPOConfig.__dataclass_fields__[name].metadata["help"] for name in own)


def test_the_command_line_can_set_every_field(tmp_path: Path) -> None:
    arguments = ["--output_dir", str(tmp_path), "--supervision", "process", "--credit", "min", "--step_std", "none"]
    (parsed,) = trl.TrlParser(ProcessGRPOConfig).parse_args_and_config(
        [*arguments, "--cull_zero_variance", "true", "--min_tau", "0.2", "--use_cpu", "--bf16", "false"]
    )
    assert (parsed.supervision, parsed.credit, parsed.step_std, parsed.min_tau) == ("process", "min", "none", 0.2)
    assert parsed.cull_zero_variance


def test_step_rewards_must_be_given_where_they_count(policy: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainerConfigError, match="supervision='process' needs step rewards: pass step_reward_func"):
        build(policy, tmp_path, supervision="process")
    with pytest.raises(TrainerConfigError, match="step_reward_func needs a ProcessGRPOConfig"):
        ProcessGRPOTrainer(str(policy), varied, trl.GRPOConfig(**settings(tmp_path)), step_reward_func=every_third)


def culled_model(policy: Path, tmp_path: Path, model: Any, **given: Any) -> ProcessGRPOTrainer:
    import transformers  # noqa: PLC0415

    args = ProcessGRPOConfig(**settings(tmp_path, cull_zero_variance=True, **given))
    tokenizer = transformers.AutoTokenizer.from_pretrained(policy)
    return ProcessGRPOTrainer(model, varied, args, train_dataset=questions(8), processing_class=tokenizer)


def test_culling_refuses_dropout_and_says_what_turns_it_off(policy: Path, tmp_path: Path) -> None:
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    load = transformers.AutoModelForCausalLM.from_pretrained
    number = re.escape("attention_dropout=0.1; set attention_dropout=0.0 in the model's configuration")
    for given in ({}, {"disable_dropout": True}):  # which reaches modules alone
        with pytest.raises(TrainerConfigError, match=number):
            culled_model(policy, tmp_path, load(policy, attention_dropout=0.1), **given)
    model = load(policy)
    model.model.layers[0].self_attn.extra = torch.nn.Dropout(0.1)
    with pytest.raises(TrainerConfigError, match=r"extra\.p=0\.1; disable_dropout=True turns it off"):
        culled_model(policy, tmp_path, model)
    culled_model(policy, tmp_path, model, disable_dropout=True)


def test_culling_refuses_what_the_model_brings(policy: Path, tmp_path: Path) -> None:
    trainer = build(policy, tmp_path, cull_zero_variance=True)
    trainer.aux_loss_enabled = True
    with pytest.raises(TrainerConfigError, match="router's auxiliary loss"):
        culling.check_model(trainer, inexact=False)
    culling.check_model(trainer, inexact=True)
    trainer.loss_type = "new"
    with pytest.raises(TrainerConfigError, match="does not know loss_type='new'"):
        culling.check_model(trainer, inexact=True)


class Renamed(trl.GRPOTrainer):  # type: ignore[misc]
    _calculate_rewards = None

    def _compute_loss(self, model: Any, inputs: Any, extra: Any) -> Any:
        raise NotImplementedError


def test_a_trl_that_lacks_what_is_wrapped_is_named() -> None:
    compat.check_methods(trl.GRPOTrainer)
    with pytest.raises(TRLMismatchError) as caught:
        compat.check_methods(Renamed)
    said = str(caught.value)
    assert "tested with TRL 1.14–1.16" in said and f"the installed {trl.__version__}" in said
    assert "_calculate_rewards is missing" in said
    assert "_compute_loss takes (model, inputs, extra), not (model, inputs)" in said
    assert "pip install 'trl>=1.14,<1.17'" in said
    with pytest.raises(TRLMismatchError, match="the attribute _logs is missing"):
        compat.check_attributes(object())


def test_only_what_trl_exports_is_imported() -> None:
    """An import of what another release lacks would fail before the check can name the tested range."""
    source = Path(grpo.__file__).parent
    inner = [path.name for path in source.glob("*.py") if re.search(r"(from|import) trl\.", path.read_text())]
    assert source.name == "trainer" and not inner
    for path in (source / "rollouts").glob("*.py"):  # what is patched is read when it is used
        assert not re.search(r"^(from|import) trl\.", path.read_text(), flags=re.MULTILINE), path


def test_the_wrapper_copies_no_body_of_trls() -> None:
    """Each overridden method calls its namesake in TRL."""
    for name in ("_calculate_rewards", "_generate_and_score_completions", "_compute_loss", "__init__"):
        assert f"super().{name}(" in inspect.getsource(getattr(ProcessGRPOTrainer, name))


def code_lines(module: Any) -> int:
    """Lines that hold code: no blanks, comments or docstrings."""
    source = inspect.getsource(module)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
    prose = {n for e in nodes if isinstance(e.value, ast.Constant) for n in range(e.lineno, (e.end_lineno or 0) + 1)}
    lines = enumerate(source.splitlines(), 1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and n not in prose for n, line in lines)


def test_the_wrapper_stays_thin() -> None:
    assert sum(map(code_lines, (grpo, culling, compat))) < 300


def test_made_without_its_constructor_it_generates_as_trls(monkeypatch: pytest.MonkeyPatch) -> None:
    """TRL's own tests of rollout functions make trainers so."""
    monkeypatch.setattr(trl.GRPOTrainer, "_generate", lambda self, prompts: [*prompts, "generated"])
    assert object.__new__(ProcessGRPOTrainer)._generate(["prompt"]) == ["prompt", "generated"]
