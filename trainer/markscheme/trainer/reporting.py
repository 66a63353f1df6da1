"""What the trainer logs of groups and steps, and the advantages in the table of completions."""

from __future__ import annotations

import json
import math
from statistics import fmean
from typing import TYPE_CHECKING

from accelerate.logging import get_logger
from accelerate.utils import gather_object
from torch import Tensor

from markscheme.trainer.collect import Steps

if TYPE_CHECKING:
    from markscheme.trainer.grpo import ProcessGRPOTrainer

logger = get_logger(__name__)


def log_groups(trainer: ProcessGRPOTrainer, rewards: Tensor, dead: Tensor, steps: list[Steps] | None) -> None:
    """Log rates of all ranks' groups (groups,), rewards (B,) and steps."""
    log = trainer._metrics["train" if trainer.model.training else "eval"]
    log["groups/zero_variance_frac"].append(dead.float().mean().item())
    log["rewards/outcome/mean"].append(rewards.nanmean().item())
    if steps is None:
        return
    scored = [r for s in steps for r in s.rewards if r is not None]
    spans = [end - before for s in steps for before, end in zip([-1, *s.ends], s.ends, strict=False)]
    if not scored:
        logger.warning_once("No step of a whole batch has a reward: process supervision teaches nothing there.")
    log["rewards/process/mean"].append(fmean(scored) if scored else math.nan)
    log["steps/count"].append(fmean(len(s.ends) for s in steps))
    log["steps/length"].append(fmean(spans) if spans else math.nan)
    log["steps/unscored_frac"].append(fmean(all(r is None for r in s.rewards) for s in steps))


def relog_advantages(trainer: ProcessGRPOTrainer, advantages: Tensor, mask: Tensor, steps: list[Steps] | None) -> None:
    """Put this rank's advantages, a token-wise one as its mean, where TRL logged its own."""
    by_token = advantages.view(len(mask), -1).expand(mask.shape)
    means = (by_token * mask).sum(1) / mask.sum(1).clamp(min=1) if advantages.dim() > 1 else advantages
    log, new = trainer._logs["advantages"], trainer.accelerator.gather(means).tolist()
    for _ in range(min(len(new), len(log))):
        log.pop()
    log.extend(new)
    if steps is not None:
        own = steps[trainer._rank_slice(len(mask))]
        rows = [json.dumps([round(a, 4) for a in row[s.ends].tolist()]) for row, s in zip(by_token, own, strict=True)]
        trainer._logs["extra"]["step_advantages"].extend(gather_object(rows))
