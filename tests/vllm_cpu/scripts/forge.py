"""Runs scripts of this folder, each in a process of its own that has vLLM and TRL imported already.

A line of JSON in (``script``, ``folder``, ``variables``), a process is forked, a line with its exit code out. What it
prints goes to ``output.txt`` in the folder. Importing both takes some 20 s, which each engine would pay again.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType

NAMES = ("command", "judge", "reload", "train")


def load(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def child(module: ModuleType, folder: Path, variables: dict[str, str]) -> int:
    """Become the script; return its exit code."""
    file = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.environ.update(variables)
    os.chdir(folder)
    try:
        module.main(folder)
    except BaseException:  # noqa: BLE001 - the process ends here
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def main() -> None:
    modules = {name: load(name) for name in NAMES}
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os._exit(child(modules[order["script"]], Path(order["folder"]), order["variables"]))
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
