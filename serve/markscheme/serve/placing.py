"""Files into a job's own /tmp before its program runs, and out of it after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markscheme.verifiers.code import codec
from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome

if TYPE_CHECKING:
    from markscheme.serve.engine import Engine

Fetched = dict[str, bytes]

_STEP = '''
def place_and_run(given):
    """Runs in the jail: writes the files, runs the program as __main__, returns its status and what was asked for."""
    import linecache, os, sys, traceback, types
    code, files, wanted, most = given
    given.clear()
    for path, data in files:
        if "/" in path:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    sys.path.insert(0, os.getcwd())
    linecache.cache["solution.py"] = (len(code), None, code.splitlines(keepends=True), "solution.py")
    status = 0
    try:
        exec(compile(code, "solution.py", "exec", dont_inherit=True), main.__dict__)
    except SystemExit as stop:
        status = 0 if stop.code is None else stop.code & 255 if isinstance(stop.code, int) else 1
        if status and not isinstance(stop.code, int):
            print(stop.code, file=sys.stderr)
    except BaseException as error:
        trace = error.__traceback__
        traceback.print_exception(type(error), error, trace and trace.tb_next)
        status = 1
    found = []
    for path in wanted:
        if os.path.isfile(path) and os.path.getsize(path) <= most:
            with open(path, "rb") as file:
                found.append([path, file.read(most)])
            most -= len(found[-1][1])
    return [status, found]
'''


async def place_and_run(
    engine: Engine, code: str, stdin: str, files: Mapping[str, bytes], wanted: Sequence[str], limits: Limits
) -> tuple[Execution, Fetched]:
    """Run a program with files beside it; how it ended, and the files asked for that are there and not too large."""
    if not files and not wanted:
        return await engine.sandbox.arun(code, stdin, limits=limits), {}
    placed = [[path, data] for path, data in files.items()]
    run = await engine.sandbox.acall(
        _STEP,
        "place_and_run",
        [[code, placed, list(wanted), limits.files]],
        stdin=stdin.encode("utf-8", "surrogatepass"),
        limits=limits,
        result_bytes=limits.files + (1 << 20),
    )
    if run.outcome is not RunOutcome.FINISHED or not run.result:
        return run, {}
    status, found = _read(run.result, set(wanted))
    if status:
        run = run.model_copy(update={"outcome": RunOutcome.RUNTIME_ERROR, "exit_code": status})
    return run, found


def _read(result: bytes, wanted: set[str]) -> tuple[int, Fetched]:
    """What the jail says of the program; it may say anything."""
    try:
        value: Any = codec.decode(result, 4 * len(wanted) + 64)
    except codec.Damaged:
        return 1, {}
    match value:
        case [[int(status), list(pairs)], *_]:
            found: Fetched = {}
            for pair in pairs:
                match pair:
                    case [str(path), bytes(data)] if path in wanted:
                        found[path] = data
            return status, found
    return 1, {}
