"""The command that starts the server of ``mode: server``, on the machine that is to generate."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from typing import Any, NamedTuple
from urllib.parse import urlparse

from markscheme.trainer.compat import TESTED
from markscheme.trainer.rollouts.settings import Rollouts
from markscheme.verifiers.errors import TrainerConfigError, TRLMismatchError


class Server(NamedTuple):
    """How to start a server.

    Attributes:
        environment: variables that it needs.
        command: vLLM's own server, as TRL's trainer needs it.
        flags: the same for ``trl vllm-serve``, which TRL 2.0 will no longer have.
    """

    environment: dict[str, str]
    command: list[str]
    flags: list[str]

    def line(self) -> str:
        """The command as a shell takes it."""
        return " ".join([*(f"{name}={value}" for name, value in self.environment.items()), shlex.join(self.command)])


def server_command(rollouts: Rollouts, model: str, training: Any = None, revision: str | None = None) -> Server:
    """Make the command of a server from a run's settings.

    What the trainer relies on (weight transfer, log-probabilities) is what the installed TRL adds.

    Args:
        rollouts: with ``mode="server"``.
        model: a folder or a name on the Hub, as the server's machine knows it.
        training: the run's TRL settings, for the address, ``seed`` and ``vllm_model_impl``.
        revision: of the model.

    Raises:
        TrainerConfigError: not the settings of a server.
        TRLMismatchError: TRL has no such server.
    """
    if rollouts.mode != "server":
        raise TrainerConfigError(f"rollouts: mode is {rollouts.mode!r}: there is a server with mode: server alone")
    try:
        from trl.scripts.vllm_serve import ScriptArguments, build_command  # noqa: PLC0415 - slow
    except ImportError as error:
        raise TRLMismatchError(
            f"the server's command is made by TRL {TESTED}'s trl.scripts.vllm_serve, and the installed one lacks it "
            f"({error}): pip install 'trl>=1.14,<1.17'"
        ) from error
    wanted = _wanted(rollouts, model, training, revision)
    known = {one.name for one in dataclass_fields(ScriptArguments)}
    own = {name: value for name, value in wanted.items() if name in known}
    rest = [flag for name, value in wanted.items() if name not in known for flag in _flags(name, value)]
    command = build_command(ScriptArguments(**own), rest)
    command = ["vllm", *command[command.index("serve") :]]
    flags = [flag for name, value in own.items() for flag in _flags(name, value, dashes=False)]
    return Server({"VLLM_SERVER_DEV_MODE": "1"}, command, [*flags, *rest])


def _wanted(rollouts: Rollouts, model: str, training: Any, revision: str | None) -> dict[str, Any]:
    """Arguments by vLLM's names, those left out that are as vLLM has them."""
    found: dict[str, Any] = {"model": model, "revision": revision, **_address(training)}
    found["trust_remote_code"] = getattr(training, "trust_remote_code", False) or None
    found["vllm_model_impl"] = getattr(training, "vllm_model_impl", None)
    found["seed"] = getattr(training, "seed", None)  # vLLM's own is 0 in every run
    for name in ("tensor_parallel_size", "data_parallel_size", "gpu_memory_utilization", "max_model_len"):
        found[name] = getattr(rollouts, name)
    for name in ("dtype", "kv_cache_dtype"):
        found[name] = None if getattr(rollouts, name) == "auto" else getattr(rollouts, name)
    found["quantization"] = rollouts.quantization
    found["enforce_eager"] = rollouts.enforce_eager or None
    if rollouts.speculative_config is not None:
        found["speculative_config"] = json.dumps(dict(rollouts.speculative_config))
    found |= rollouts.engine
    return {name: value for name, value in found.items() if value is not None}


def _address(training: Any) -> dict[str, Any]:
    """Where the server listens: on every interface, at the port that the trainer asks."""
    url = getattr(training, "vllm_server_base_url", None)
    port = urlparse(url).port if url else getattr(training, "vllm_server_port", None)
    return {"host": "0.0.0.0", "port": port}  # noqa: S104 - the trainer is on another machine


def _flags(name: str, value: Any, *, dashes: bool = True) -> list[str]:
    flag = name.replace("_", "-") if dashes else name
    if isinstance(value, bool) and dashes:
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, Mapping):
        return [f"--{flag}", json.dumps(dict(value))]
    if isinstance(value, list | tuple):
        return [f"--{flag}", *map(str, value)]
    return [f"--{flag}", str(value).lower() if isinstance(value, bool) else str(value)]
