"""From rewards to advantages: outcome, process and first-error credit as pure torch functions.

Torch is all that is needed; nothing here knows a trainer. Shapes: B = prompts × G completions, the G completions of a
prompt side by side, grouped by position; T completion tokens. ``docs/credit.md`` holds every formula with its source.
"""

from markscheme.trainer.credit.first_error import first_error_advantages
from markscheme.trainer.credit.mix import mix_advantages
from markscheme.trainer.credit.outcome import outcome_advantages, zero_variance_groups
from markscheme.trainer.credit.process import process_advantages, step_count_baseline

__all__ = [
    "first_error_advantages",
    "mix_advantages",
    "outcome_advantages",
    "process_advantages",
    "step_count_baseline",
    "zero_variance_groups",
]
