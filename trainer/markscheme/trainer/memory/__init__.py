"""The memory planner. Neither torch nor transformers is needed."""

from markscheme.trainer.memory.architecture import Architecture, nearest, read_architecture
from markscheme.trainer.memory.plan import Item, Plan, alternatives, plan
from markscheme.trainer.memory.run import Run

__all__ = ["Architecture", "Item", "Plan", "Run", "alternatives", "nearest", "plan", "read_architecture"]
