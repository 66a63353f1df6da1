"""Programs in other languages: compiled in a jail, run in a jail, from standard input to standard output.

Both steps are small Python programs in the sandbox, with processes and a /tmp allowed, which needs level 3 (of either
back end). A binary comes out of the compiler's jail as bytes and is executed from memory: a jail's /tmp holds nothing
that can be executed.
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.code.sandbox.pool import Sandbox
from markscheme.verifiers.code.sandbox.supervisor import SandboxError

Runner = Callable[[bytes], Execution]
LANGUAGES = ("python", "c", "cpp", "javascript")
_FILES = 128 << 20
_MOST_BINARY = 32 << 20
_COMPILE = Limits(
    cpu_seconds=30, wall_seconds=120, idle_seconds=20, memory_bytes=4 << 30, output_bytes=_MOST_BINARY, processes=16,
    files=_FILES,
)  # fmt: skip
_NODE_ADDRESSES = 64 << 30
"""Node reserves address space by the gigabyte; its heap is limited by its own option."""


@dataclass(frozen=True, slots=True)
class _Compiler:
    tool: str
    suffix: str
    options: tuple[str, ...]


_COMPILERS = {
    "c": _Compiler("gcc", "c", ("-O2", "-std=gnu17")),
    "cpp": _Compiler("g++", "cpp", ("-O2", "-std=gnu++17")),
}

_COMPILE_STEP = """
import subprocess, sys
with open("/tmp/program.{suffix}", "wb") as file:
    file.write(sys.stdin.buffer.read())
command = [{tool!r}, *{options!r}, "-pipe", "-o", "/tmp/program", "/tmp/program.{suffix}", "-lm"]
names = {{"PATH": "/usr/bin:/bin", "TMPDIR": "/tmp"}}
done = subprocess.run(command, input=b"", capture_output=True, env=names)
if done.returncode:
    sys.stderr.buffer.write(done.stderr[:4000])
    sys.exit(3)
with open("/tmp/program", "rb") as file:
    sys.stdout.buffer.write(file.read())
"""

_RUN_STEP = """
import base64, os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
binary = memoryview(base64.b85decode({binary!r}))
fd = os.memfd_create("program", os.MFD_CLOEXEC)
while binary:
    binary = binary[os.write(fd, binary):]
os.execve(fd, ["program"], {{"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}})
"""

_NODE_STEP = """
import base64, os
with open("/tmp/program.js", "wb") as file:
    file.write(base64.b85decode({source!r}))
with open("/tmp/.streams.js", "w") as file:
    file.write({streams!r})
names = {{"PATH": "/usr/bin:/bin", "HOME": "/tmp"}}
options = ["--max-old-space-size={megabytes}", "--require=/tmp/.streams.js"]
os.execve({tool!r}, ["node", *options, "/tmp/program.js"], names)
"""


_NODE_STREAMS = """
const fs = require("fs");
const streams = new Map([["/dev/stdin", 0], ["/dev/stdout", 1], ["/dev/stderr", 2]]);
for (const name of ["readFileSync", "readFile", "writeFileSync", "writeFile"]) {
  const plain = fs[name];
  fs[name] = (path, ...rest) => plain(streams.get(path) ?? path, ...rest);
}
const openSync = fs.openSync;
fs.openSync = (path, ...rest) => streams.get(path) ?? openSync(path, ...rest);
for (const name of ["createReadStream", "createWriteStream"]) {
  const plain = fs[name];
  fs[name] = (path, options) =>
    plain(path, streams.has(path)
      ? { ...(typeof options === "string" ? { encoding: options } : options), fd: streams.get(path) }
      : options);
}
"""
"""The standard streams by the names of their devices, which a jail without /proc lacks."""


def tool_for(language: str) -> str:
    """The path of the tool that a language needs.

    Raises:
        ValueError: no such language.
        SandboxError: the tool is not installed.
    """
    if language not in LANGUAGES:
        raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
    name = _COMPILERS[language].tool if language in _COMPILERS else "node"
    found = shutil.which(name, path="/usr/bin:/bin:/usr/local/bin")
    if found is None:
        raise SandboxError(f"programs in {language} need {name}, which is not installed in /usr or /bin")
    return found


def runner(sandbox: Sandbox, program: str, language: str, limits: Limits) -> Runner | Execution:
    """Make ready to run a program: what runs it on an input, or how its compilation failed.

    Raises:
        ValueError: no such language.
        SandboxError: its tool is not installed, or the sandbox is not at level 3.
    """
    if language == "python":
        return lambda stdin: sandbox.run(program, stdin, limits=limits)
    tool = tool_for(language)
    if sandbox.level < 3:
        raise SandboxError(f"programs in {language} need level 3; this sandbox is at level {sandbox.level}")
    source = program.encode("utf-8", "surrogatepass")
    if language == "javascript":
        return _node(sandbox, tool, source, limits)
    compiler = _COMPILERS[language]
    step = _COMPILE_STEP.format(tool=tool, suffix=compiler.suffix, options=list(compiler.options))
    built = sandbox.run(step, source, limits=_COMPILE)
    if built.outcome is not RunOutcome.FINISHED:
        if built.exit_code == 3:
            said = built.stderr.decode("utf-8", "replace").strip()
            return built.model_copy(update={"detail": f"it does not compile: {said[:600]}"})
        outcome = RunOutcome.BROKEN if built.outcome is RunOutcome.RUNTIME_ERROR else built.outcome
        return built.model_copy(update={"exit_code": None, "outcome": outcome, "detail": f"compiling: {built.detail}"})
    code = _RUN_STEP.format(binary=base64.b85encode(built.stdout))
    room = limits.model_copy(
        update={
            "processes": max(2, limits.processes),
            "files": max(limits.files, len(built.stdout) + (1 << 20)),
        }
    )
    return lambda stdin: _full(sandbox.run(code, stdin, limits=room), limits)


def _full(run: Execution, limits: Limits) -> Execution:
    """A program that goes on though it can write no more has met the limit of output, whatever ended it."""
    if run.outcome is RunOutcome.BROKEN or not limits.output_bytes or len(run.stdout) < limits.output_bytes:
        return run
    detail = f"wrote more than {limits.output_bytes} bytes"
    return run.model_copy(update={"outcome": RunOutcome.OUTPUT, "detail": detail})


def _node(sandbox: Sandbox, tool: str, source: bytes, limits: Limits) -> Runner:
    code = _NODE_STEP.format(
        tool=tool,
        source=base64.b85encode(source),
        streams=_NODE_STREAMS,
        megabytes=max(16, limits.memory_bytes >> 20),
    )
    room = limits.model_copy(
        update={
            "processes": max(16, limits.processes),
            "files": max(limits.files, len(source) + (1 << 20)),
            "memory_bytes": max(limits.memory_bytes, _NODE_ADDRESSES),
        }
    )
    return lambda stdin: _full(sandbox.run(code, stdin, limits=room), limits)
