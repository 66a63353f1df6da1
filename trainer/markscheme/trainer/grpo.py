"""GRPO with outcome and per-step process supervision, as a thin layer on TRL's trainer.

Only wrappers with ``super()``: TRL generates, scores, shuffles and computes the loss; this module puts the credit of
steps in the place of the advantages (TRL's loss takes one for every token) and leaves rows without gradient out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor, nn
from trl import GRPOConfig, GRPOTrainer

from markscheme.trainer import compat, credit, culling, generations, lengths, refill, reporting, streaming
from markscheme.trainer.collect import Steps, check_groups, check_model_rewards, collect_step_rewards, named
from markscheme.trainer.config import ProcessGRPOConfig
from markscheme.trainer.overlap import Overlap
from markscheme.verifiers.errors import TrainerConfigError


class ProcessGRPOTrainer(GRPOTrainer):
    """[`trl.GRPOTrainer`] with the credit of steps (DeepSeekMath, arXiv 2402.03300, §4.1.3).

    Args:
        model: As TRL takes it.
        reward_funcs: As TRL takes them.
        args: A ``ProcessGRPOConfig``. With a plain ``GRPOConfig`` nothing of TRL's is changed.
        *more: The rest of TRL's arguments.
        step_reward_func: Gives each completion's steps as ``[(index of the step's last token, reward or None), …]`` or
            None, called as TRL calls reward functions; or the name of a field that the rollout function returns. With
            ``supervision="outcome"`` the step rewards are logged and change nothing.
        **kwargs: The rest of TRL's arguments by name.

    Raises:
        TrainerConfigError: settings contradict each other.
        TRLMismatchError: the installed TRL lacks what is wrapped.
    """

    reward_funcs: list[Any]
    _buffered_inputs: list[dict[str, Any]] | None
    # Of the class, so that one made without __init__, as TRL's tests make some, does as TRL's.
    credit_args: ProcessGRPOConfig | None = None
    step_reward_func: Callable[..., Any] | str | None = None
    _overlap: Overlap | None = None
    _batch: refill.Batch | None = None
    _prompts: refill.Prompts | None = None
    _by_length = False

    def __init__(
        self,
        model: Any,
        reward_funcs: Any = None,
        args: GRPOConfig | None = None,
        *more: Any,
        step_reward_func: Callable[..., Any] | str | None = None,
        **kwargs: Any,
    ) -> None:
        compat.check_methods(GRPOTrainer)
        self.credit_args = args if isinstance(args, ProcessGRPOConfig) else None
        self.step_reward_func = step_reward_func
        self._by_length = self.credit_args is not None and self.credit_args.batch_by_length
        if self.credit_args is None and step_reward_func is not None:
            raise TrainerConfigError("step_reward_func needs a ProcessGRPOConfig: a GRPOConfig leaves TRL as it is.")
        if self.credit_args is not None and self.credit_args.uses_steps and step_reward_func is None:
            raise TrainerConfigError(
                f"supervision={self.credit_args.supervision!r} needs step rewards: pass step_reward_func=…, a function "
                "or the name of a field that the rollout function returns."
            )
        super().__init__(model, reward_funcs, args, *more, **kwargs)
        compat.check_attributes(self)
        if self.credit_args is not None and self.credit_args.cull_zero_variance:
            culling.check_model(self, inexact=self.credit_args.cull_inexact)
        if self.credit_args is not None and self.credit_args.refill_rounds:
            self._prompts = refill.check(self)
        if self._by_length:
            lengths.check(self)

    # -- generation ---------------------------------------------------------------------------------------------------

    def _generate(self, prompts: list[Any]) -> Any:
        """What TRL generates; the functions that need no more than that start now."""
        if self._batch is not None:
            return self._batch.made
        if self._overlap is None:
            return super()._generate(prompts)
        with streaming.finished(self, len(prompts), self.begin_rewards):
            made = super()._generate(prompts)
        self._overlap.start([*self.reward_funcs, self.step_reward_func], prompts, made)
        return made

    def begin_rewards(self, row: int, completion_ids: list[int], **fields: Any) -> None:
        """Have verdicts begun on a completion while others are generated: for rollout functions that can.

        With vLLM in the training process the trainer calls this itself.

        Args:
            row: of the prompts that the rollout function got.
            completion_ids: the ids that it will return for that row, all of them.
            **fields: what it will return for that row beside them.

        Raises:
            IndexError: there is no such row.
        """
        if self._overlap is not None:
            self._overlap.begin([*self.reward_funcs, self.step_reward_func], row, completion_ids, fields)

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        """TRL's micro-batch; those of a new generation with rows of like length together, if asked for."""
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        if self._by_length and self._buffered_inputs is not before:
            self._buffered_inputs = lengths.arranged(self)
            inputs = self._buffered_inputs[self._step % self.args.steps_per_generation]
        return inputs

    def _get_per_token_logps_and_entropies(self, model: Any, *batch: Any, **more: Any) -> Any:
        """TRL's log-probabilities; those without gradient of chunks that are cut to their length, if asked for."""
        passes = super()._get_per_token_logps_and_entropies
        if not self._by_length or torch.is_grad_enabled() or more.get("batch_size") is None:
            return passes(model, *batch, **more)
        return lengths.cut_passes(passes, self.pad_to_multiple_of, model, *batch, **more)

    def _collector(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function if self._overlap is None else self._overlap.collector(function)

    # -- rewards ------------------------------------------------------------------------------------------------------

    def _calculate_rewards(
        self,
        inputs: list[dict[str, Any]],
        prompts: list[Any],
        completions: list[Any],
        completion_ids_list: list[list[int]],
    ) -> Tensor:
        """TRL's rewards (B, functions) of all ranks; the steps of all ranks are kept beside them."""
        if self.credit_args is None:
            return super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        if self._batch is not None:
            self._scored = self._batch.rewards, self._batch.steps
            return self._batch.rewards
        check_groups(len(prompts), len(completions), self._group_size, self.accelerator.num_processes)
        functions = self.reward_funcs
        self.reward_funcs = [
            f if isinstance(f, nn.Module) else named(self._collector(f), name, finite=True)
            for f, name in zip(functions, self.reward_func_names, strict=True)
        ]
        try:
            rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        finally:
            self.reward_funcs = functions
        check_model_rewards(rewards, functions, self.reward_func_names)
        self._scored = rewards, self._collect_steps(inputs, prompts, completions, completion_ids_list)
        return rewards

    def _collect_steps(
        self, inputs: list[dict[str, Any]], prompts: list[Any], completions: list[Any], completion_ids: list[list[int]]
    ) -> list[Steps] | None:
        """The steps of all ranks' completions; this rank's are put into the table of completions."""
        if self.step_reward_func is None:
            return None
        batch = {"prompts": prompts, "completions": completions, "completion_ids": completion_ids}
        batch |= {"environments": self.environments} if self.environments is not None else {}
        extra = {"trainer_state": self.state, "log_extra": self._log_completion_extra, "log_metric": self._log_metric}
        source = self.step_reward_func
        source = source if isinstance(source, str) else self._collector(source)
        steps = collect_step_rewards(source, inputs, **batch, **extra)
        # As JSON: loggers' tables want one type a column, and these lists are ragged.
        self._log_completion_extra("step_count", [len(s.ends) for s in steps])
        self._log_completion_extra("step_ends", [json.dumps(s.ends) for s in steps])
        self._log_completion_extra("step_rewards", [json.dumps(s.rewards) for s in steps])
        gathered: list[Steps] = gather_object(steps)
        return gathered

    # -- advantages ---------------------------------------------------------------------------------------------------

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """TRL's batch, its advantages replaced: (B, T) where steps count, exact 0 for groups without a difference."""
        if (args := self.credit_args) is None:
            return super()._generate_and_score_completions(inputs)
        with Overlap(self, args.overlap_rewards, inputs) as overlap:
            with refill.settled(self, overlap, inputs) as chosen:
                output: dict[str, Any] = super()._generate_and_score_completions(chosen)
            overlap.log()
        rewards_per_func, steps = self._scored
        rewards = self._weighted(rewards_per_func)
        dead = self._dead_groups(rewards_per_func)
        reporting.log_groups(self, rewards, dead, steps)
        advantages: Tensor = output["advantages"]  # (B,)
        if args.zeroes_dead_groups:
            local = dead.repeat_interleave(self._group_size)[self._rank_slice(len(advantages))]
            advantages = advantages.masked_fill(local, 0.0)
        if args.uses_steps:
            advantages = self._with_steps(args, advantages, rewards, steps or [], culling.loss_mask(output))
        if advantages is not output["advantages"]:
            output["advantages"] = advantages
            reporting.relog_advantages(self, advantages, culling.loss_mask(output), steps)
        return output

    def _with_steps(
        self, args: ProcessGRPOConfig, outcome: Tensor, rewards: Tensor, steps: list[Steps], mask: Tensor
    ) -> Tensor:
        """This rank's advantages (B, T), from all groups that it has a part of: groups can span ranks."""
        size = self._group_size
        mine = self._rank_slice(len(outcome))
        whole = slice(mine.start // size * size, -(-mine.stop // size) * size)
        ends, scores = [s.ends for s in steps[whole]], [s.rewards for s in steps[whole]]
        length = max([mask.size(1), *(e[-1] + 1 for e in ends if e)])  # other ranks' completions may be longer
        process = args.step_advantages(rewards[whole].cpu(), scores, ends, size, length)
        process = process[mine.start - whole.start : mine.stop - whole.start, : mask.size(1)].to(outcome)
        if args.supervision == "both":
            weights = {"outcome_weight": args.outcome_weight, "process_weight": args.process_weight}
            process = credit.mix_advantages(outcome, process, mask, **weights)
        return process

    @property
    def _group_size(self) -> int:
        return int(self.num_generations if self.model.training else self.num_generations_eval)

    def _rank_slice(self, rows: int) -> slice:
        """This rank's rows among all ranks'."""
        start = self.accelerator.process_index * rows
        return slice(start, start + rows)

    def _weighted(self, rewards_per_func: Tensor) -> Tensor:
        """One reward a completion as TRL sums them, NaN where no function gave one."""
        rewards = (rewards_per_func * self.reward_weights.to(rewards_per_func)).nansum(dim=1)
        return rewards.masked_fill(rewards_per_func.isnan().all(dim=1), torch.nan)

    def _dead_groups(self, rewards_per_func: Tensor) -> Tensor:
        """The groups (groups,) of all ranks whose rewards teach nothing."""
        # Normalised one by one before they are summed, unequal rewards of one sum do teach.
        apart = self.multi_objective_aggregation == "normalize_then_sum"
        columns = [*rewards_per_func.T] if apart else [self._weighted(rewards_per_func)]
        return torch.stack([credit.zero_variance_groups(one, self._group_size) for one in columns]).all(0)

    # -- loss ---------------------------------------------------------------------------------------------------------

    def _compute_loss(self, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """TRL's loss, of the rows that have a gradient."""
        if self.credit_args is None or not self.credit_args.cull_zero_variance or not self.model.training:
            return super()._compute_loss(model, inputs)
        rows = culling.rows_to_keep(inputs, self)
        share = 1.0 if rows is None else len(rows) / len(inputs["completion_ids"])
        self._metrics["train"]["groups/culled_frac"].append(1.0 - share)
        if rows is None:
            return super()._compute_loss(model, inputs)
        kept = culling.keep(inputs, rows, self.pad_to_multiple_of)
        return super()._compute_loss(model, kept) * culling.rescaling(self.loss_type, inputs, kept)

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)
        if self.credit_args is not None:
            generations.save(self, output_dir)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if self.credit_args is not None and checkpoint is not None:
            generations.load(self, checkpoint)
