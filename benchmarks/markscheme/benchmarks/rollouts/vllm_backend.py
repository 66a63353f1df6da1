"""Completions by vLLM's offline engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markscheme.benchmarks.rollouts.backend import Generated, checkpoint
from markscheme.benchmarks.rollouts.prompts import Prompt
from markscheme.benchmarks.rollouts.sampling import Sampling
from markscheme.verifiers.errors import DataError, MissingExtraError


class VllmBackend:
    """vLLM in this process (its workers are processes of its own).

    Args:
        model: a folder or a name on the Hub.
        dtype: of the weights; vLLM's own choice with "auto".
        engine: further arguments of ``vllm.LLM``, such as ``tensor_parallel_size``, ``quantization="fp8"``,
            ``speculative_config`` or ``enforce_eager``.

    Raises:
        DataError: vLLM refuses the model or an argument.
        MissingExtraError: vLLM is not installed.
    """

    def __init__(self, model: str, *, dtype: str = "auto", engine: dict[str, object] | None = None) -> None:
        try:
            import vllm  # noqa: PLC0415 - an extra of its own
            from vllm.platforms import current_platform  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError(f"the vllm backend needs vLLM: pip install markscheme[vllm] ({error})") from error
        try:
            arguments: dict[str, Any] = {"dtype": dtype, "disable_log_stats": True}
            if current_platform.is_cpu():
                # A seeded request whose prompt is taken in parts ends the engine: "CPU Generator does not use offset".
                arguments["enable_chunked_prefill"] = False
            arguments |= engine or {}
            self.engine = vllm.LLM(model=model, **arguments)
        except (OSError, TypeError, ValueError) as error:
            raise DataError(f"vLLM cannot open {model!r} with {engine or 'its defaults'}: {error}") from error
        self._params = vllm.SamplingParams
        self.identity = f"vllm {checkpoint(model)} {dtype} {sorted((engine or {}).items())}"

    @property
    def chats(self) -> bool:
        """Whether the tokenizer has a chat template."""
        return getattr(self.engine.get_tokenizer(), "chat_template", None) is not None

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling, seed: int) -> list[list[Generated]]:
        """See `Backend.generate`."""
        params = [
            self._params(
                n=sampling.n,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                top_k=sampling.top_k,
                max_tokens=sampling.max_tokens,
                stop=list(sampling.stop),
                seed=None if sampling.greedy else own,
            )
            for own in sampling.seeds(seed, len(prompts))
        ]
        try:
            if prompts and prompts[0].messages:
                outputs = self.engine.chat([list(p.messages) for p in prompts], params, use_tqdm=False)
            else:
                outputs = self.engine.generate([prompt.text for prompt in prompts], params, use_tqdm=False)
        except ValueError as error:  # a prompt longer than the model takes
            raise DataError(f"vLLM refuses a prompt: {error}") from error
        return [[_generated(one) for one in output.outputs] for output in outputs]


def _generated(output: Any) -> Generated:
    return Generated(output.text, len(output.token_ids), "length" if output.finish_reason == "length" else "stop")
