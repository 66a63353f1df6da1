"""Hidden states of a frozen backbone, kept on disk.

A folder holds ``states.bin`` (rows of T × H numbers, one after another), ``index.jsonl`` (which tokens stand where) and
``meta.json`` (whose states they are). An entry of the index is written after its states, so a run that was stopped goes
on where it was: what the index does not name is computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from markscheme.prm.model.batching import batches_by_length, pad_ids
from markscheme.prm.model.pair import state_size
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

    from markscheme.prm.model.pair import PairClassifier

StateType = Literal["float16", "float32"]


class StateCache:
    """States of many token sequences.

    Args:
        folder: where they are kept.
        model: whose states. A folder of another backbone's is refused.
        kept: how numbers are kept. ``float16`` halves the space and rounds at one part in 2000.

    Raises:
        DataError: the folder holds another backbone's states, or was kept otherwise.
    """

    def __init__(self, folder: str | Path, model: PairClassifier, kept: StateType = "float16") -> None:
        self.folder = Path(folder)
        self.model = model
        self.size = state_size(model.config)
        self.kept = np.dtype(kept)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._data = self.folder / "states.bin"
        self._index = self.folder / "index.jsonl"
        self._places: dict[str, tuple[int, int]] = {}
        self._claim({"backbone": fingerprint(model), "hidden_size": self.size, "kept": kept})
        self._read_index()

    def _claim(self, meta: dict[str, str | int]) -> None:
        path = self.folder / "meta.json"
        if not path.exists():
            _write_whole(path, json.dumps(meta, indent=1) + "\n")
            return
        found = json.loads(path.read_text())
        for name, value in meta.items():
            if found.get(name) != value:
                raise DataError(
                    f"{path}: {name} is {found.get(name)!r}, this run's is {value!r}; name another folder, or "
                    "delete this one"
                )

    def _read_index(self) -> None:
        end = 0
        if self._index.exists():
            for line in self._index.read_text().splitlines():
                try:
                    entry = json.loads(line)
                except json.JSONDecodeError:  # the last line of a run that was stopped while writing it
                    break
                self._places[entry["key"]] = (entry["start"], entry["tokens"])
                end = entry["start"] + entry["tokens"]
        whole = end * self.size * self.kept.itemsize
        if self._data.exists() and self._data.stat().st_size < whole:
            raise DataError(f"{self._data}: shorter than its index says; delete {self.folder} and compute it again")
        with self._data.open("ab") as data:
            data.truncate(whole)
        _write_whole(self._index, "".join(_entry(key, *place) for key, place in self._places.items()))
        self._end = end

    def __contains__(self, ids: Sequence[int]) -> bool:
        return _key(ids) in self._places

    def __len__(self) -> int:
        return len(self._places)

    def get(self, ids: Sequence[int]) -> Tensor:
        """The states of a sequence. (T, H), float32.

        Raises:
            DataError: it is not in the cache.
        """
        place = self._places.get(_key(ids))
        if place is None:
            raise DataError(
                f"the states of a sequence of {len(ids)} tokens are not in {self.folder}: fill the cache with the same "
                "encoder and data first"
            )
        start, tokens = place
        rows = np.memmap(
            self._data, self.kept, mode="r", offset=start * self.size * self.kept.itemsize, shape=(tokens, self.size)
        )
        return torch.from_numpy(np.array(rows, dtype=np.float32))

    def fill(
        self,
        sequences: Iterable[Sequence[int]],
        *,
        batch_size: int = 16,
        batch_tokens: int = 8192,
        done: Callable[[int], object] | None = None,
    ) -> int:
        """Compute what is missing.

        Args:
            sequences: token ids, each of one encoded solution.
            batch_size: the most sequences at once.
            batch_tokens: the most tokens at once, padding included.
            done: called with the number of tokens computed, after each batch.

        Returns:
            How many sequences were computed.

        Raises:
            DataError: a state does not fit into float16.
        """
        wanted = {_key(ids): list(ids) for ids in sequences if _key(ids) not in self._places}
        keys = list(wanted)
        device = next(self.model.parameters()).device
        for batch in batches_by_length([len(wanted[key]) for key in keys], batch_size, batch_tokens):
            rows = [wanted[keys[place]] for place in batch]
            ids, mask = pad_ids(rows)
            states = self.model.states(ids.to(device), mask.to(device)).float().cpu().numpy()
            with np.errstate(over="ignore"):
                states = states.astype(self.kept)
            if not np.isfinite(states).all():
                raise DataError(f'states do not fit into {self.kept}: pass kept="float32"')
            with self._data.open("ab") as data, self._index.open("a") as index:
                for place, row, found in zip(batch, rows, states, strict=True):
                    data.write(found[: len(row)].tobytes())
                    data.flush()
                    index.write(_entry(keys[place], self._end, len(row)))
                    self._places[keys[place]] = (self._end, len(row))
                    self._end += len(row)
            if done is not None:
                done(sum(len(row) for row in rows))
        return len(keys)


def fingerprint(model: PairClassifier) -> str:
    """What tells one backbone from another: its sizes, and the ends of every weight."""
    digest = hashlib.sha256(model.config.model_type.encode())
    for name, weight in model.model.named_parameters():
        flat = weight.detach().flatten()
        ends = torch.cat([flat[:32], flat[-32:]]).float().cpu().numpy()
        digest.update(f"{name}{tuple(weight.shape)}".encode() + ends.tobytes())
    return digest.hexdigest()[:32]


def _write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all: hours of states hang on it."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text)
    part.replace(path)


def _key(ids: Sequence[int]) -> str:
    return hashlib.sha256(np.asarray(ids, dtype=np.int64).tobytes()).hexdigest()[:32]


def _entry(key: str, start: int, tokens: int) -> str:
    return json.dumps({"key": key, "start": start, "tokens": tokens}) + "\n"
