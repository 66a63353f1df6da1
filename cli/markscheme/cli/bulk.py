"""``--engine ray``: rows go through a Ray cluster in shards, and the shards become the output file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from markscheme.cli.terminal import EXIT_STOPPED
from markscheme.verifiers.errors import ClusterError, DataError, WorkerError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from markscheme.verifiers.bulk import RayOptions, Shards, Work
    from markscheme.verifiers.records import Judged

    V = TypeVar("V", bound=BaseModel)
    J = TypeVar("J", bound=Judged)

Engine = Literal["local", "ray"]
EngineOption = Annotated[
    Engine, typer.Option(help="local: this machine; ray: a Ray cluster, in shards. See docs/cluster.md.")
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="The cluster's head, or auto on one of its nodes. Default: RAY_ADDRESS, or a cluster of this machine.",
    ),
]
ShardRowsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Rows that go to a worker of the cluster at once, and are kept or lost together."),
]


def ray_options(
    engine: Engine, address: str | None, out: Path | None, *, workers: int = 0, shard_rows: int | None = None
) -> RayOptions | None:
    """Read the options of an engine; None: this machine.

    Raises:
        DataError: they do not go together.
    """
    if engine == "local":
        for name, value in (("--ray-address", address), ("--shard-rows", shard_rows)):
            if value is not None:
                raise DataError(f"{name} belongs to --engine ray")
        return None
    if out is None:
        raise DataError("--engine ray needs -o: the shards are kept beside that file until all are there")
    from markscheme.verifiers.bulk.engine import SHARD_ROWS, RayOptions

    return RayOptions(address, workers, shard_rows or SHARD_ROWS)


def judge_in_shards(
    title: str,
    shards: Shards[V],
    tasks: Sequence[J],
    work: Work,
    pack: Callable[[J], Any],
    options: RayOptions,
    notes: list[str],
) -> dict[int, V]:
    """Judge what has no verdict yet on a cluster, under a progress bar, and put the output file together.

    Args:
        title: of the progress bar.
        shards: of the output file.
        tasks: all of the run's.
        work: what a worker does.
        pack: makes of a task what a worker judges.
        options: where.
        notes: taken up with what went wrong and was made good.

    Returns:
        All verdicts, by row.

    Raises:
        MarkschemeError: as `run_shards`; finished shards stay kept, and the message says so.
    """
    from markscheme.cli.progress import bar

    try:
        with bar(title, len(tasks), len(shards.done)) as advance:
            _judge(shards, tasks, work, pack, options, notes, advance)
        shards.merge(tasks)
    except KeyboardInterrupt:
        typer.echo(f"\nstopped: {_kept(shards, len(tasks))}", err=True)
        raise typer.Exit(EXIT_STOPPED) from None
    except (ClusterError, WorkerError) as error:
        raise type(error)(f"{error}\n{_kept(shards, len(tasks))}") from error
    finally:
        shards.leave()
    return shards.done


def _judge(
    shards: Shards[V],
    tasks: Sequence[J],
    work: Work,
    pack: Callable[[J], Any],
    options: RayOptions,
    notes: list[str],
    advance: Callable[[int], None],
) -> None:
    from markscheme.verifiers.bulk.engine import Account, run_shards

    todo = {shard[0].row: shard for shard in shards.missing(tasks, options.shard_rows)}
    if not todo:
        return
    account = Account()
    packed = {name: [pack(task) for task in shard] for name, shard in todo.items()}
    with closing(run_shards(packed, work, options, account)) as judged:  # a run that is stopped leaves the cluster
        for name, results in judged:
            shards.write(todo[name], results)
            advance(len(results))
    count = len(account.judged)
    notes.append(f"{len(todo):,} shard(s) were judged on {count:,} node{'' if count == 1 else 's'} of a Ray cluster.")
    if account.died or account.lost:
        notes.append(f"{account.lost:,} lost shard(s) were judged again; Ray saw {account.died:,} node(s) die.")


def _kept(shards: Shards[Any], total: int) -> str:
    if not shards.done:
        return "nothing is done yet."
    return (
        f"{len(shards.done):,} of {total:,} rows are done, kept in {shards.folder}; run the same command again to go "
        "on from there."
    )
