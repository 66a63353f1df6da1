"""Ordinary programs do what they do everywhere else."""

# ruff: noqa: E501 - programs in one line each

from __future__ import annotations

import pytest

from markscheme.verifiers.code.outcomes import Limits, RunOutcome
from markscheme.verifiers.code.sandbox import Sandbox

# name: (program, standard input, standard output)
IDIOMS = {
    "input": ("print(int(input()) + int(input()))", "3\n4\n", "7\n"),
    "prompt": ("print(input('? '))", "x", "? x\n"),
    "end of input": ("try:\n    input()\nexcept EOFError:\n    print('end')", "", "end\n"),
    "stdin lines": ("import sys\nfor line in sys.stdin: print(line.strip()[::-1])", "ab\r\ncd", "ba\ndc\n"),
    "stdin buffer": ("import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))", "1 2\n3", "6\n"),
    "readline": ("import sys\ninput = sys.stdin.readline\nprint(repr(input()), repr(input()))", "a\n", "'a\\n' ''\n"),
    "readlines": ("import sys\nprint(len(sys.stdin.readlines()))", "a\nb\nc", "3\n"),
    "open(0)": ("print(sum(map(int, open(0).read().split())))", "1 2 3", "6\n"),
    "open stdin": ("print(sum(map(int, open('/dev/stdin').read().split())))", "1 2 3", "6\n"),
    "open streams": (
        "import io, pathlib\nwith io.open('/dev/stdin', 'rb', buffering=0) as f: print(f.read(2), flush=True)\n"
        "print(pathlib.Path('/dev/fd/0').read_text(), file=open('/proc/self/fd/1', 'w'))", "a\nb", "b'a\\n'\nb\n"),
    "open as an attribute": ("class A: f = open\nprint(A().f('/dev/null').read() == '', open.__name__)", "", "True open\n"),
    "os.read": ("import os\nprint(os.read(0, 100))", "ab", "b'ab'\n"),
    "stdout write": ("import sys\nsys.stdout.write('a'); sys.stdout.buffer.write(b'b\\n')", "", "b\na"),
    "flush": ("import os\nprint('a', flush=True)\nos.write(1, b'b')", "", "a\nb"),
    "os._exit": ("import os\nprint('a', flush=True)\nos._exit(0)", "", "a\n"),
    "exit()": ("print(1)\nexit()\nprint(2)", "", "1\n"),
    "quit()": ("print(1)\nquit(0)", "", "1\n"),
    "main block": ("def main():\n    print('m')\nif __name__ == '__main__':\n    main()", "", "m\n"),
    "StringIO redirect": (
        "import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()) as f: print('x')\nprint(f.getvalue() * 2)",
        "", "x\nx\n\n"),
    "recursion": (
        "import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(10**5))",
        "", "100000\n"),
    "recursion through C": (
        "import sys, functools\nsys.setrecursionlimit(10**6)\n@functools.cache\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
        "print(f(40000))", "", "40000\n"),
    "recursion in a thread": (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(1 << 27)\n"
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
        "t = threading.Thread(target=lambda: print(f(10**5)))\nt.start()\nt.join()", "", "100000\n"),
    "dataclass": (
        "from dataclasses import dataclass, field, asdict\n@dataclass(order=True)\nclass P:\n    x: int\n"
        "    y: list[int] = field(default_factory=list)\nprint(P(1), P(1) < P(2), asdict(P(3)))", "",
        "P(x=1, y=[]) True {'x': 3, 'y': []}\n"),
    "typing": (
        "from typing import *\nclass N(NamedTuple):\n    a: int = 1\ndef f(x: 'N') -> Optional[List[int]]: ...\n"
        "print(get_type_hints(f)['x'] is N, N())", "", "True N(a=1)\n"),
    "pickle": (
        "import pickle\nclass A:\n    def __init__(self): self.v = 4\nprint(pickle.loads(pickle.dumps(A())).v)", "", "4\n"),
    "copy": ("import copy\na = [[1]]\nb = copy.deepcopy(a)\nb[0][0] = 2\nprint(a, b)", "", "[[1]] [[2]]\n"),
    "numpy": ("import numpy as np\nprint(int(np.linalg.det(np.eye(3) * 2).round()), np.arange(3))", "", "8 [0 1 2]\n"),
    "sympy": ("import sympy\nprint(sympy.factor(sympy.sympify('x**2 - 1')))", "", "(x - 1)*(x + 1)\n"),
    "asyncio": (
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.001)\n    return n\n"
        "async def main(): print(await asyncio.gather(*map(f, range(3))))\nasyncio.run(main())", "", "[0, 1, 2]\n"),
    "threads": (
        "import threading, queue\nq = queue.Queue()\nts = [threading.Thread(target=q.put, args=(n,)) for n in range(20)]\n"
        "[t.start() for t in ts]\n[t.join() for t in ts]\nprint(sum(q.get() for _ in ts))", "", "190\n"),
    "executor": (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as e: print(list(e.map(abs, [-1, 2])))",
        "", "[1, 2]\n"),
    "sleep": ("import time\nt = time.time()\ntime.sleep(0.05)\nprint(time.time() - t >= 0.05)", "", "True\n"),
    "alarm": (
        "import signal, time\ndef h(*a): raise TimeoutError\nsignal.signal(signal.SIGALRM, h)\nsignal.setitimer(signal.ITIMER_REAL, .02)\n"
        "try:\n    while True: time.sleep(1)\nexcept TimeoutError: print('rang')", "", "rang\n"),
    "raise_signal": (
        "import signal\nsignal.signal(signal.SIGUSR1, lambda *a: print('got'))\nsignal.raise_signal(signal.SIGUSR1)", "", "got\n"),
    "keyboard interrupt": (
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt: print('stopped')",
        "", "stopped\n"),
    "utf-8": ("print(input() + 'é ≤ 😀')", "ü", "üé ≤ 😀\n"),
    "codecs": ("print('é'.encode('latin-1'), b'\\xff'.decode('cp1252'), 'a'.encode('utf-16-le'))", "",
               "b'\\xe9' ÿ b'a\\x00'\n"),
    "locale": ("import locale\nlocale.setlocale(locale.LC_ALL, '')\nprint(f'{1234567:,}')", "", "1,234,567\n"),
    "decimal": ("from decimal import *\ngetcontext().prec = 30\nprint(Decimal(1) / 7)", "", "0.142857142857142857142857142857\n"),
    "fractions": ("from fractions import Fraction as F\nprint(F(1, 3) + F(1, 6))", "", "1/2\n"),
    "regex": ("import re\nprint(re.findall(r'(\\w)(\\d+)', 'a1 b22'))", "", "[('a', '1'), ('b', '22')]\n"),
    "sqlite3": (
        "import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('create table t(x)')\n"
        "c.executemany('insert into t values (?)', [(1,), (2,)])\nprint(c.execute('select sum(x) from t').fetchone())",
        "", "(3,)\n"),
    "csv": ("import csv, io\nprint(list(csv.reader(io.StringIO('a,\"b,c\"\\n'))))", "", "[['a', 'b,c']]\n"),
    "json": ("import json, json.tool\nprint(json.dumps({'b': 1, 'a': [None, True]}))", "", '{"b": 1, "a": [null, true]}\n'),
    "heapq": ("import heapq\nh = [3, 1, 2]\nheapq.heapify(h)\nprint([heapq.heappop(h) for _ in range(3)])", "", "[1, 2, 3]\n"),
    "collections": ("from collections import *\nprint(Counter('aab').most_common(1), deque([1, 2], 1))", "",
                    "[('a', 2)] deque([2], maxlen=1)\n"),
    "match": ("match [1, 2]:\n    case [x, y] if x < y: print('up')\n    case _: print('no')", "", "up\n"),
    "f-strings": ("x = 3.14159\nprint(f'{x:.2f} {x=!r:>10} {\"a\":*^5}')", "", "3.14 x=   3.14159 **a**\n"),
    "classes": (
        "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...\nclass B(A):\n"
        "    def f(self): return super().__repr__()[:4]\ntry:\n    A()\nexcept TypeError: print('abstract')\nprint(B().f())",
        "", "abstract\n<__m\n"),
    "generators": ("def g():\n    x = yield 1\n    yield x\ni = g()\nprint(next(i), i.send(5), list(i))", "", "1 5 []\n"),
    "enum": ("from enum import Enum, auto\nclass C(Enum):\n    R = auto()\nprint(C.R, C(1).name)", "", "C.R R\n"),
    "datetime": ("from datetime import *\nprint(date(2024, 2, 28) + timedelta(2))", "", "2024-03-01\n"),
    "zoneinfo": ("from zoneinfo import ZoneInfo\nimport datetime as d\n"
                 "print(d.datetime(2024, 7, 1, tzinfo=ZoneInfo('UTC')).utcoffset())", "", "0:00:00\n"),
    "bisect": ("from bisect import *\nprint(bisect_left([1, 3, 5], 4))", "", "2\n"),
    "big integers": ("print(len(str(2**10000)), pow(3, 10**18, 10**9 + 7))", "", "3011 246336683\n"),
    "devnull": ("import os, sys\nprint('x', file=open(os.devnull, 'w'))\nprint(open(os.devnull).read() == '')", "", "True\n"),
    "urandom": ("import os, uuid, secrets\nprint(len(os.urandom(8)), len(str(uuid.uuid4())))", "", "8 36\n"),
    "atexit": ("import atexit\natexit.register(print, 'bye')\nprint('hi')", "", "hi\nbye\n"),
    "warnings": ("import warnings\nwarnings.warn('w')\nprint(1)", "", "1\n"),
    "logging": ("import logging\nlogging.basicConfig()\nlogging.error('no')\nprint(1)", "", "1\n"),
    "argparse": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', default=2)\nprint(p.parse_args().n)", "", "2\n"),
    "hashlib": ("import hashlib\nprint(hashlib.sha256(b'').hexdigest()[:8], hash('a') == hash('a'))", "", "e3b0c442 True\n"),
    "ctypes": ("import ctypes\nprint(ctypes.CDLL(None).abs(-3))", "", "3\n"),
    "byte order mark": ("\ufeffprint('ok')", "", "ok\n"),
    "coding line": ("# -*- coding: latin-1 -*-\nprint('é')", "", "é\n"),
    "future": ("from __future__ import annotations\ndef f(x: Nope): return 1\nprint(f(0))", "", "1\n"),
    "globals": ("x = 1\ndef f():\n    global x\n    x += 1\nf()\nprint(x, globals()['x'], __name__)", "", "2 2 __main__\n"),
    "exec": ("n = {}\nexec('y = 5', n)\nprint(n['y'], eval('1 + 1'))", "", "5 2\n"),
    "unittest": (
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\n"
        "unittest.main(exit=False)\nprint('done')", "", "done\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", IDIOMS)
def test_idiom(sandbox: Sandbox, name: str) -> None:
    program, given, expected = IDIOMS[name]
    ran = sandbox.run(program, given)
    assert (ran.outcome, ran.stdout.decode()) == (RunOutcome.FINISHED, expected), ran.stderr.decode()


def test_large_output_arrives_whole(sandbox: Sandbox) -> None:
    ran = sandbox.run("for n in range(400000): print(n)")
    assert ran.stdout.split() == [b"%d" % n for n in range(400000)]


def test_output_of_exactly_the_limit_is_no_fault(sandbox: Sandbox) -> None:
    limits = Limits(output_bytes=100)
    assert sandbox.run("print('x' * 99)", limits=limits).outcome is RunOutcome.FINISHED
    assert sandbox.run("print('x' * 100)", limits=limits).outcome is RunOutcome.OUTPUT


@pytest.mark.parametrize(
    ("code", "status"),
    [("exit(3)", 3), ("raise SystemExit('why')", 1), ("import sys; sys.exit(256)", 0), ("1/0", 1), ("def", 1)],
)
def test_exit_status(sandbox: Sandbox, code: str, status: int) -> None:
    ran = sandbox.run(code)
    assert ran.exit_code == status
    assert ran.outcome is (RunOutcome.RUNTIME_ERROR if status else RunOutcome.FINISHED)


def test_tracebacks_name_only_the_program(sandbox: Sandbox) -> None:
    ran = sandbox.run("import json\ndef f():\n    json.loads('{')\nf()")
    text = ran.stderr.decode()
    assert text.startswith('Traceback (most recent call last):\n  File "solution.py", line 4, in <module>\n    f()\n')
    assert "markscheme" not in text
    assert "json.decoder.JSONDecodeError" in ran.detail


def test_tracebacks_leave_out_what_stands_between(sandbox: Sandbox) -> None:
    code = "try:\n    open('/nowhere')\nexcept OSError as error:\n    raise ExceptionGroup('both', [error]) from error"
    text = sandbox.run(code).stderr.decode()
    assert text.count("FileNotFoundError: [Errno 2]") == 2
    assert text.count('File "solution.py", line 2') == 2
    assert "program.py" not in text


def test_random_is_the_same_each_time(sandbox: Sandbox) -> None:
    code = "import random\nprint(random.random(), hash('text'))"
    assert sandbox.run(code).stdout == sandbox.run(code).stdout


def test_random_is_the_same_each_time_where_it_is_imported_late(sandbox: Sandbox) -> None:
    with Sandbox(workers=1, level=sandbox.level, preload=()) as bare:  # type: ignore[arg-type]
        code = "import numpy as np, random\nprint(random.random(), np.random.rand(), np.random.randint(10**9))"
        first = bare.run(code)
        assert first.outcome is RunOutcome.FINISHED, first.stderr
        assert {bare.run(code).stdout, sandbox.run(code).stdout} == {first.stdout}
        again = (
            "import random, importlib\nrandom.seed(5)\nx = random.random()\nrandom.seed(5)\nprint(x == random.random())"
        )
        assert bare.run(again).stdout == b"True\n"


def test_arguments(sandbox: Sandbox) -> None:
    assert (
        sandbox.run("import sys; print(sys.argv)", argv=["a b", "é"]).stdout.decode() == "['solution.py', 'a b', 'é']\n"
    )


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd')",
        "open('x', 'w')",
        "import subprocess; subprocess.run(['/bin/true'])",
        "import multiprocessing; multiprocessing.Process(target=print).start()",
        "import socket; socket.socket()",
        "import os; os.fork()",
    ],
)
def test_what_is_refused_raises_an_error_of_the_system(sandbox: Sandbox, code: str) -> None:
    ran = sandbox.run(code)
    assert ran.outcome is RunOutcome.RUNTIME_ERROR
    assert ran.detail.startswith(("PermissionError", "FileNotFoundError", "OSError: [Errno 30]")), ran.stderr


MANY = Limits(processes=8, files=1 << 20)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import subprocess\nprint(subprocess.run(['echo', 'x'], capture_output=True).stdout)", b"b'x\\n'\n"),
        ("import os\nprint(os.popen('echo $HOME').read())", b"/tmp\n\n"),
        ("import multiprocessing as m\nwith m.Pool(2) as p: print(p.map(abs, [-1, -2]))", b"[1, 2]\n"),
        ("from concurrent.futures import ProcessPoolExecutor as P\nwith P(2) as p: print(list(p.map(abs, [-3])))", b"[3]\n"),
        ("import multiprocessing as m\nq = m.Queue()\nm.Process(target=q.put, args=(5,)).start()\nprint(q.get())", b"5\n"),
        ("import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print(4)']))", b"b'4\\n'\n"),
        ("import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f:\n    f.write('x')\n    f.seek(0)\n    print(f.read())", b"x\n"),
        ("import os, pathlib\npathlib.Path('a').write_text('1')\nos.chmod('a', 0o600)\nos.rename('a', 'b')\nprint({'a', 'b'} & {*os.listdir()})",
         b"{'b'}\n"),
        ("import shutil, tempfile, os\nd = tempfile.mkdtemp()\nopen(d + '/x', 'w').close()\nshutil.rmtree(d)\nprint(os.path.exists(d))",
         b"False\n"),
    ],
)  # fmt: skip
def test_processes_and_files_where_they_are_allowed(namespaces: Sandbox, code: str, expected: bytes) -> None:
    ran = namespaces.run(code, limits=MANY)
    assert (ran.outcome, ran.stdout) == (RunOutcome.FINISHED, expected), ran.stderr.decode()


def test_files_do_not_outlive_the_run(namespaces: Sandbox) -> None:
    namespaces.run("open('x', 'w').write('1')", limits=MANY)
    assert namespaces.run("import os; print('x' in os.listdir())", limits=MANY).stdout == b"False\n"
