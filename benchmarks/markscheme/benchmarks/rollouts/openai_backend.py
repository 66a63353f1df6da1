"""Completions from a server that speaks OpenAI's protocol: vLLM's, SGLang's, llama.cpp's, a vendor's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from markscheme.benchmarks.rollouts.backend import Generated
from markscheme.benchmarks.rollouts.prompts import Prompt
from markscheme.benchmarks.rollouts.sampling import Sampling
from markscheme.verifiers.errors import DataError, MarkschemeError, MissingExtraError

if TYPE_CHECKING:
    import httpx

KEY_VARIABLE = "OPENAI_API_KEY"
_TRIES = 6
_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504}
_MOST_WAIT = 60.0


class ServerError(MarkschemeError, ConnectionError):
    """The server cannot be reached, or goes on failing; what was generated before is kept."""


class OpenAIBackend:
    """A client of ``/chat/completions`` and ``/completions``.

    The key comes from ``$OPENAI_API_KEY``. A request that fails for now (429, 5xx, no connection) is tried again, six
    times, each wait twice the last.

    Args:
        url: up to and with ``/v1``.
        model: what the server calls the model.
        concurrency: requests under way at once.
        seconds: that one request may take.

    Raises:
        MissingExtraError: httpx is not installed.
    """

    chats = True

    def __init__(self, url: str, model: str, *, concurrency: int = 16, seconds: float = 600.0) -> None:
        try:
            import httpx  # noqa: F401, PLC0415 - of an extra
        except ImportError as error:
            raise MissingExtraError(
                f"a server's backend needs httpx: pip install markscheme[bench] ({error})"
            ) from error
        self.url, self.model = url.rstrip("/"), model
        self.concurrency, self.seconds = concurrency, seconds
        self.first_wait = 1.0
        self.identity = f"openai {self.url} {model}"

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling, seed: int) -> list[list[Generated]]:
        """See `Backend.generate`. Raises ServerError too."""
        asked = self._all(prompts, sampling, seed)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(asked)
        with ThreadPoolExecutor(1) as thread:  # a notebook's cell runs in a loop, in which no other can
            return thread.submit(asyncio.run, asked).result()

    async def _all(self, prompts: Sequence[Prompt], sampling: Sampling, seed: int) -> list[list[Generated]]:
        import httpx  # noqa: PLC0415

        key = os.environ.get(KEY_VARIABLE)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        gate = asyncio.Semaphore(self.concurrency)
        async with httpx.AsyncClient(headers=headers, timeout=self.seconds) as client:

            async def one(prompt: Prompt, own: int) -> list[Generated]:
                async with gate:
                    return await self._one(client, prompt, sampling, own)

            seeds = sampling.seeds(seed, len(prompts))
            tasks = [asyncio.ensure_future(one(*asked)) for asked in zip(prompts, seeds, strict=True)]
            try:
                return list(await asyncio.gather(*tasks))
            finally:  # where one fails the others' answers are of no use
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, client: httpx.AsyncClient, prompt: Prompt, sampling: Sampling, seed: int) -> list[Generated]:
        asked: dict[str, Any] = {
            "model": self.model,
            "n": sampling.n,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": seed,
        }
        if sampling.top_k:
            asked["top_k"] = sampling.top_k  # not OpenAI's own: vLLM, SGLang and llama.cpp take it
        if sampling.stop:
            asked["stop"] = list(sampling.stop)
        if prompt.messages:
            answer = await self._post(client, "chat/completions", asked | {"messages": list(prompt.messages)})
        else:
            answer = await self._post(client, "completions", asked | {"prompt": prompt.text})
        return self._read(answer, sampling.n)

    async def _post(self, client: httpx.AsyncClient, route: str, body: dict[str, Any]) -> Any:
        import httpx  # noqa: PLC0415

        wait, why = self.first_wait, ""
        for tried in range(_TRIES):
            if tried:
                await asyncio.sleep(wait)
                wait = min(2 * wait, _MOST_WAIT)
            try:
                response = await client.post(f"{self.url}/{route}", json=body)
            except httpx.TransportError as error:
                why = f"{type(error).__name__}: {error}"
                continue
            if response.status_code in _AGAIN:
                why = f"status {response.status_code}: {response.text[:300]}"
                continue
            if response.is_error:
                raise DataError(f"{self.url}/{route} refuses: status {response.status_code}: {response.text[:500]}")
            try:
                return response.json()
            except ValueError as error:  # a page, where no such server is
                raise DataError(
                    f"{self.url}/{route}: expected JSON, found {response.text[:300]!r}: is this the URL up to and with "
                    "/v1?"
                ) from error
        raise ServerError(f"{self.url}/{route} failed {_TRIES} times; the last time: {why}")

    def _read(self, answer: Any, n: int) -> list[Generated]:
        try:
            choices = sorted(answer["choices"], key=lambda choice: choice.get("index", 0))
            texts = [choice["message"]["content"] if "message" in choice else choice["text"] for choice in choices]
            ends = [choice.get("finish_reason") for choice in choices]
            used = int((answer.get("usage") or {}).get("completion_tokens") or 0)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{self.url}: expected an answer with choices, found {str(answer)[:300]} ({error})"
            ) from error
        if len(texts) != n:
            raise DataError(f"{self.url}: asked for {n} completions, got {len(texts)}")
        share = used // n  # the protocol counts the tokens of all choices together
        return [
            Generated(text or "", share, "length" if end == "length" else "stop")
            for text, end in zip(texts, ends, strict=True)
        ]
