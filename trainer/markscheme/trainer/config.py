"""The trainer's settings: TRL's, and where and how credit is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

from torch import Tensor
from trl import GRPOConfig

from markscheme.trainer import credit, presets
from markscheme.verifiers.errors import TrainerConfigError

Supervision = Literal["outcome", "process", "both"]
CreditForm = Literal["sum", "min", "delta", "clip", "first_error"]
Std = Literal["sample", "population", "none"]
OverlapRewards = Literal["known", "all", "none"]

SEQUENCE_LOSSES = ("luspo", "vespo")
"""Losses with one weight a sequence: an advantage a token has no meaning there."""


@dataclass
class ProcessGRPOConfig(GRPOConfig):
    """[`trl.GRPOConfig`] and the credit of steps. Every field of TRL's is kept.

    Two defaults differ from TRL's: ``use_bias_correction_kl=False``, since DeepSeekMath's k3 (arXiv 2402.03300, eq. 4)
    has no importance ratio, and ``max_grad_norm=1.0`` is stated rather than inherited.
    """

    supervision: Supervision = field(
        default="outcome",
        metadata={
            "help": "What gives the advantages: 'outcome' is TRL's own, bit for bit; 'process' gives every token the "
            "credit of the steps that end at or after it; 'both' is their weighted sum. These need `step_reward_func`."
        },
    )
    credit: CreditForm = field(
        default="sum",
        metadata={
            "help": "How step rewards become returns: 'sum' (DeepSeekMath, pays for more steps), 'min' (PURE), 'delta' "
            "or 'clip' (bounded), 'first_error' (the outcome's advantage, placed by the first wrong step)."
        },
    )
    outcome_weight: float = field(default=1.0, metadata={"help": "Weight of the outcome's advantage under 'both'."})
    process_weight: float = field(default=1.0, metadata={"help": "Weight of the steps' advantage under 'both'."})
    step_std: Std | None = field(
        default=None,
        metadata={
            "help": "What step returns are divided by: 'sample' or 'population' standard deviation over the group's "
            "steps, or 'none'. Default: as `scale_rewards` says ('group': sample, 'none': none)."
        },
    )
    min_tau: float = field(default=0.1, metadata={"help": "Temperature τ of credit 'min': weights are softmax(-r/τ)."})
    clip_eta: float = field(default=0.5, metadata={"help": "η of credit 'clip': a step adds min(r, η) - η."})
    error_threshold: float = field(default=0.5, metadata={"help": "A step with a reward below this is wrong."})
    outcome_threshold: float = field(
        default=0.5,
        metadata={"help": "Credit 'first_error': a completion whose (weighted) reward is below this is wrong."},
    )
    prefix_credit: float = field(
        default=0.0,
        metadata={
            "help": "Credit 'first_error': advantage of the tokens before a wrong completion's first wrong step."
        },
    )
    flawed_weight: float = field(
        default=0.5,
        metadata={
            "help": "Credit 'first_error': factor on a right completion's advantage when one of its steps is wrong."
        },
    )
    step_baseline: bool = field(
        default=False,
        metadata={
            "help": "Credit 'sum': subtract what the number of steps alone earns, so that a token gets the mean of the "
            "steps that end at or after it, not their sum."
        },
    )
    cull_zero_variance: bool = field(
        default=False,
        metadata={
            "help": "Leave completions whose advantages are all 0 out of the forward and backward pass: same gradient, "
            "less work. Refused where such completions still carry gradient (see `cull_inexact`)."
        },
    )
    cull_inexact: bool = field(
        default=False,
        metadata={
            "help": "Cull even where the gradient changes by it: with β, an entropy bonus, an auxiliary loss, "
            "`top_entropy_quantile` < 1, dropout or 'normalize_then_sum'."
        },
    )
    batch_by_length: bool = field(
        default=False,
        metadata={
            "help": "Sort completions by length into the micro-batches of an update, and cut each of these, and of the "
            "chunks of the log-probability passes, to its longest: same gradient, less padding."
        },
    )
    refill_rounds: int = field(
        default=0,
        metadata={
            "help": "Dynamic sampling (DAPO): in up to so many rounds, fresh prompts replace the groups whose rewards "
            "are all the same, before anything is learnt from the batch. 0 turns it off."
        },
    )
    refill_on: str | None = field(
        default=None,
        metadata={
            "help": "The reward function by which `refill_rounds` tells which groups are all the same, such as "
            "correctness beside a length penalty. Default: the weighted sum of all."
        },
    )
    overlap_rewards: OverlapRewards = field(
        default="known",
        metadata={
            "help": "Which reward functions run beside the log-probability passes, in threads, from the moment that "
            "completions exist: 'known' (those that say any_thread = True, as ours do, and async ones), 'all' (every "
            "one that does not say any_thread = False) or 'none'."
        },
    )
    use_bias_correction_kl: bool = field(
        default=False,
        metadata={"help": "Multiply the KL term by the importance ratio (TRL's default). The paper's k3 does not."},
    )
    max_grad_norm: float = field(default=1.0, metadata={"help": "The gradient's norm is clipped to this."})

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choices()
        self._check_refilling()
        if self.uses_steps:
            self._check_process()
        if self.cull_zero_variance and not self.cull_inexact:
            self._check_culling()

    @property
    def uses_steps(self) -> bool:
        """Whether the advantages depend on step rewards."""
        return self.supervision != "outcome"

    @property
    def std(self) -> Std:
        """What step returns are divided by, from ``step_std`` or else from ``scale_rewards``."""
        return self.step_std or ("none" if self.scale_rewards == "none" else "sample")

    @property
    def zeroes_dead_groups(self) -> bool:
        """Whether completions of a group with equal rewards get an outcome advantage of exact 0 (TRL: up to 6e-4)."""
        if self.multi_objective_aggregation == "normalize_then_sum" and not self.cull_inexact:
            return False
        return self.cull_zero_variance or self.supervision == "both"

    def step_advantages(
        self,
        rewards: Tensor,
        step_rewards: list[list[float | None]],
        step_ends: list[list[int]],
        group_size: int,
        length: int,
    ) -> Tensor:
        """The advantages (B, length) that these settings give to whole groups; see `markscheme.trainer.credit`."""
        steps = (step_rewards, step_ends)
        if self.credit == "first_error":
            return credit.first_error_advantages(
                rewards,
                *steps,
                group_size,
                length,
                threshold=self.error_threshold,
                outcome_threshold=self.outcome_threshold,
                prefix_credit=self.prefix_credit,
                flawed_weight=self.flawed_weight,
                std=self.std,
            )
        process = credit.process_advantages(
            *steps, group_size, length, credit=self.credit, std=self.std, tau=self.min_tau, eta=self.clip_eta
        )
        return process - credit.step_count_baseline(process, *steps) if self.step_baseline else process

    @classmethod
    def preset(cls, name: presets.Preset, **overrides: Any) -> Self:
        """The settings of a paper; ``overrides`` win.

        ``deepseekmath`` (arXiv 2402.03300, §4.2): 64 completions a prompt, 1024 completions an update and one update a
        generation, at most 1024 tokens, learning rate 1e-6, β = 0.04 with k3, a mean over each completion's tokens. Say
        ``supervision="process"`` for its process form. ``dr_grpo`` (arXiv 2503.20783): no division by length or by the
        standard deviation, β = 0. ``dapo`` (arXiv 2503.14476, §4.1): clip-higher, a mean over the batch's tokens, no
        KL, truncated completions masked, up to nine rounds of dynamic sampling, 16 completions for each of 512 prompts
        a generation, 512 completions an update, at most 20480 tokens. Its length penalty is a reward function of TRL's:
        ``get_soft_overlong_punishment(20480, 4096)``; name the other in ``refill_on``.

        Raises:
            TrainerConfigError: there is no preset of that name.
        """
        return cls(**presets.settings(name, overrides))

    def _check_choices(self) -> None:
        for name, choices in (
            ("supervision", Supervision.__args__),  # type: ignore[attr-defined]
            ("credit", CreditForm.__args__),  # type: ignore[attr-defined]
            ("step_std", (None, *Std.__args__)),  # type: ignore[attr-defined]
            ("overlap_rewards", OverlapRewards.__args__),  # type: ignore[attr-defined]
        ):
            if (value := getattr(self, name)) not in choices:
                raise TrainerConfigError(f"{name}={value!r}: expected one of {', '.join(map(repr, choices))}")
        if self.min_tau <= 0:
            raise TrainerConfigError(f"min_tau={self.min_tau}: a temperature is above 0; PURE takes 0.1")

    def _check_refilling(self) -> None:
        if self.refill_rounds < 0:
            raise TrainerConfigError(f"refill_rounds={self.refill_rounds}: expected a number of rounds, or 0 for none")
        if self.refill_on is not None and not self.refill_rounds:
            raise TrainerConfigError(f"refill_on={self.refill_on!r} does nothing without refill_rounds: set both.")
        if self.refill_rounds and self.supervision == "process" and self.credit != "first_error":
            raise TrainerConfigError(
                f"refill_rounds={self.refill_rounds} replaces groups whose outcome rewards are all the same, but under "
                f"supervision='process' with credit={self.credit!r} the outcome has no part and such groups teach as "
                "much as others. Set refill_rounds=0, supervision='both', or credit='first_error'."
            )

    def _check_process(self) -> None:
        level = f"importance_sampling_level={self.importance_sampling_level!r}"
        if self.importance_sampling_level != "token" or self.loss_type in SEQUENCE_LOSSES:
            name = level if self.importance_sampling_level != "token" else f"loss_type={self.loss_type!r}"
            raise TrainerConfigError(
                f"supervision={self.supervision!r} gives every token its own advantage, but {name} weighs whole "
                "sequences: set importance_sampling_level='token' and a loss_type that sums over tokens ('grpo', "
                "'dr_grpo', 'dapo', 'bnpo', 'cispo', 'sapo'), or supervision='outcome'."
            )
        if self.scale_rewards == "batch" and self.step_std is None:
            raise TrainerConfigError(
                "scale_rewards='batch' says nothing of step rewards, which are normalised in their group: set step_std "
                "to 'sample', 'population' or 'none'."
            )
        if self.credit == "first_error" and self.supervision == "both":
            raise TrainerConfigError(
                "credit='first_error' is the outcome's advantage already: set supervision='process' with it."
            )
        if self.credit == "first_error" and self.multi_objective_aggregation != "sum_then_normalize":
            raise TrainerConfigError(
                "credit='first_error' takes one reward a completion: set "
                "multi_objective_aggregation='sum_then_normalize'."
            )
        if self.step_baseline and self.credit != "sum":
            raise TrainerConfigError(
                f"step_baseline belongs to credit='sum'; credit={self.credit!r} is bounded without it."
            )

    def _check_culling(self) -> None:
        reasons = {
            f"beta={self.beta} (the KL term)": self.beta != 0,
            "an entropy bonus (entropy_coef or use_adaptive_entropy)": self.entropy_coef != 0
            or self.use_adaptive_entropy,
            f"top_entropy_quantile={self.top_entropy_quantile} (its threshold is taken over all rows)": (
                self.top_entropy_quantile < 1
            ),
            "multi_objective_aggregation='normalize_then_sum' (a constant group gets an advantage from the batch)": (
                self.multi_objective_aggregation == "normalize_then_sum"
            ),
        }
        if found := [reason for reason, holds in reasons.items() if holds]:
            refuse_culling(found)


def refuse_culling(reasons: list[str]) -> None:
    """Say why culling would change the gradient.

    Raises:
        TrainerConfigError: always.
    """
    raise TrainerConfigError(
        f"cull_zero_variance=True would change the gradient, because of {' and '.join(reasons)}: completions without "
        "advantage still carry gradient there. Turn one of the two off, or set cull_inexact=True to cull all the same."
    )
