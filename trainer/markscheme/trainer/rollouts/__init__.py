"""Rollouts of a training run by vLLM: settings, and how they reach TRL, vLLM's engine and its server."""

from __future__ import annotations

from markscheme.trainer.rollouts.colocate import colocate_engine
from markscheme.trainer.rollouts.server import Server, server_command
from markscheme.trainer.rollouts.settings import SAMPLING, Rollouts

__all__ = ["SAMPLING", "Rollouts", "Server", "colocate_engine", "server_command"]
