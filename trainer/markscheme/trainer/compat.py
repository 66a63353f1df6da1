"""Whether the installed TRL has what the trainer wraps."""

from __future__ import annotations

import inspect

from markscheme.verifiers.errors import TRLMismatchError

TESTED = "1.14–1.16"
"""The releases of TRL that the trainer's tests pass on (`make test-matrix`)."""

WRAPPED = {
    "_generate": ("prompts",),
    "_calculate_rewards": ("inputs", "prompts", "completions", "completion_ids_list"),
    "_generate_and_score_completions": ("inputs",),
    "_compute_loss": ("model", "inputs"),
    "_load_optimizer_and_scheduler": ("checkpoint",),
    "_prepare_inputs": ("generation_batch",),
    "_log_completion_extra": ("column", "values"),
    "_log_metric": ("name", "value"),
    "_save_rng_state": ("output_dir",),
}
"""The methods that are wrapped or called, with their arguments."""

READ = (
    "_buffered_inputs _get_per_token_logps_and_entropies _is_vlm _logs _metrics _pending_extra_logs _pending_metrics "
    "_step accelerator aux_loss_enabled environments loss_type multi_objective_aggregation num_generations "
    "num_generations_eval num_iterations pad_to_multiple_of reward_func_names reward_funcs reward_weights rollout_func "
    "tools top_entropy_quantile use_vllm vllm_mode"
).split()
"""The attributes of a constructed trainer that are read or set."""


def check_methods(trainer: type) -> None:
    """Compare the signatures of TRL's trainer with what is wrapped.

    Raises:
        TRLMismatchError: a method is missing or takes other arguments.
    """
    faults = []
    for name, expected in WRAPPED.items():
        method = getattr(trainer, name, None)
        taken = tuple(inspect.signature(method).parameters)[1:] if method else None
        if taken is None:
            faults.append(f"{name} is missing")
        elif taken != expected:
            faults.append(f"{name} takes ({', '.join(taken)}), not ({', '.join(expected)})")
    _report(faults)


def check_attributes(trainer: object) -> None:
    """See that a constructed trainer has the attributes that are read.

    Raises:
        TRLMismatchError: one is missing.
    """
    _report([f"the attribute {name} is missing" for name in READ if not hasattr(trainer, name)])


def _report(faults: list[str]) -> None:
    if faults:
        import trl  # noqa: PLC0415

        raise TRLMismatchError(
            f"ProcessGRPOTrainer is tested with TRL {TESTED}; in the installed {trl.__version__} {'; '.join(faults)}. "
            "Install a tested release: pip install 'trl>=1.14,<1.17'. markscheme.trainer.credit works with any."
        )
