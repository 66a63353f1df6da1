"""The route that speaks SandboxFusion's protocol."""

from __future__ import annotations

import base64
import shutil
from typing import TYPE_CHECKING

import pytest

from .conftest import ScriptedSandbox, Serve, require_level

if TYPE_CHECKING:
    import httpx

# What verl sends.
ASKED = {
    "compile_timeout": 10, "run_timeout": 5, "code": "print(input())", "stdin": "hi\n", "memory_limit_MB": 1024,
    "language": "python", "files": {}, "fetch_files": [],
}  # fmt: skip


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def ask(client: httpx.Client, **changed: object) -> dict[str, object]:
    answer = client.post("/run_code", json={**ASKED, **changed})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_response_has_the_protocol_s_fields(real: httpx.Client) -> None:
    done = ask(real)
    assert list(done) == ["status", "message", "compile_result", "run_result", "executor_pod_name", "files"]
    took = done["run_result"].pop("execution_time")
    assert 0 < took < 5
    assert done == {
        "status": "Success", "message": "", "compile_result": None, "executor_pod_name": None, "files": {},
        "run_result": {"status": "Finished", "return_code": 0, "stdout": "hi\n", "stderr": ""},
    }  # fmt: skip


def test_defaults_and_unknown_fields(real: httpx.Client) -> None:
    done = real.post("/run_code", json={"code": "print(1)", "language": "python", "args": [], "dataset": "x"}).json()
    assert done["run_result"]["stdout"] == "1\n"


@pytest.mark.parametrize(
    ("code", "status", "run_status", "return_code"),
    [
        ("import sys; sys.exit(3)", "Failed", "Finished", 3),
        ("1 / 0", "Failed", "Finished", 1),
        ("def (", "Failed", "Finished", 1),
        ("while True: pass", "Failed", "TimeLimitExceeded", None),
        ("import time; time.sleep(60)", "Failed", "TimeLimitExceeded", None),
    ],
)
def test_failures(real: httpx.Client, code: str, status: str, run_status: str, return_code: int | None) -> None:
    done = ask(real, code=code, run_timeout=0.5)
    assert (done["status"], done["message"]) == (status, "")
    assert (done["run_result"]["status"], done["run_result"]["return_code"]) == (run_status, return_code)


def test_memory(real: httpx.Client) -> None:
    done = ask(real, code="x = bytearray(300 << 20)", memory_limit_MB=128)
    assert (done["status"], done["run_result"]["return_code"]) == ("Failed", 1)
    assert ask(real, code="x = bytearray(300 << 20)", memory_limit_MB=-1)["status"] == "Success"


def test_broken_is_a_sandbox_error(scripted: httpx.Client) -> None:
    client = scripted
    for files in ({}, {"a": encoded("x")}):
        done = ask(client, code="broken", files=files)
        assert (done["status"], done["message"]) == ("SandboxError", "the zygote is gone")
        assert done["run_result"]["status"] == "Error"


def test_what_is_not_offered_is_a_sandbox_error(serve: Serve) -> None:
    done = ask(serve(ScriptedSandbox()), language="verilog")
    assert (done["status"], done["message"]) == (
        "SandboxError", "language 'verilog' is not offered here: python, cpp, nodejs",
    )  # fmt: skip
    client = serve(ScriptedSandbox(level=2))
    assert "level 3" in ask(client, fetch_files=["x"])["message"]
    assert ask(client)["status"] == "Success"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", "a//b", ".", "./x", "a/", "", "a\\b", "a\0b", "x" * 201, "a\nb"]
)
@pytest.mark.parametrize("field", ["files", "fetch_files"])
def test_paths_lead_down_from_the_working_folder(scripted: httpx.Client, path: str, field: str) -> None:
    client = scripted
    value = {path: encoded("x")} if field == "files" else [path]
    answer = client.post("/run_code", json={**ASKED, field: value})
    assert answer.status_code == 422
    assert "files: a path must" in answer.json()["detail"]
    assert client.sandbox.started == 0


def test_number_and_size_of_files(serve: Serve) -> None:
    client = serve(ScriptedSandbox(), files=2, body_bytes=64 * 2**20)
    many = {str(n): encoded("x") for n in range(3)}
    assert client.post("/run_code", json={**ASKED, "files": many}).status_code == 422
    assert client.post("/run_code", json={**ASKED, "fetch_files": list(many)}).status_code == 422
    assert client.post("/run_code", json={**ASKED, "files": {"a": "!"}}).status_code == 422
    assert client.post("/run_code", json={**ASKED, "files": {"a": encoded("x" * (17 * 2**20))}}).status_code == 413
    assert client.sandbox.started == 0


def test_files_are_placed_and_fetched(real: httpx.Client) -> None:
    require_level(3)
    code = (
        "import helper, pathlib\nprint(helper.VALUE, open('data/in.txt').read(), input(), __name__)\n"
        "pathlib.Path('out.txt').write_text('done')\nraise SystemExit(4)"
    )
    files = {"helper.py": encoded("VALUE = 7"), "data/in.txt": encoded("text"), "skipped": None}
    done = ask(real, code=code, files=files, fetch_files=["out.txt", "missing", "data/in.txt"])
    assert done["run_result"]["stdout"] == "7 text hi __main__\n"
    assert (done["status"], done["run_result"]["return_code"]) == ("Failed", 4)
    assert done["files"] == {"out.txt": encoded("done"), "data/in.txt": encoded("text")}


def test_files_of_one_job_are_not_there_for_the_next(real: httpx.Client) -> None:
    require_level(3)
    ask(real, code="open('left', 'w').write('x')", files={"given": encoded("x")})
    assert ask(real, code="import os; print('left' in os.listdir('.'))")["run_result"]["stdout"] == "False\n"


def test_a_traceback_names_the_program_s_own_lines(real: httpx.Client) -> None:
    require_level(3)
    done = ask(real, code="x = 1\nraise ValueError('mine')", files={"a": encoded("x")})
    assert "line 2" in done["run_result"]["stderr"]
    assert done["run_result"]["stderr"].strip().endswith("ValueError: mine")
    assert "place_and_run" not in done["run_result"]["stderr"]


@pytest.mark.parametrize("forged", ["[0]", "0", "[[0, [['other', b'x']]], 1]", "[['x', []], []]", "None"])
def test_a_forged_result_gives_no_foreign_files(forged: str) -> None:
    from markscheme.serve.placing import _read
    from markscheme.verifiers.code import codec

    _, found = _read(codec.encode(eval(forged)), {"out"})
    assert found == {}
    assert _read(b"\xff", {"out"}) == (1, {})


def test_cpp(real: httpx.Client) -> None:
    require_level(3)
    if shutil.which("g++", path="/usr/bin:/bin") is None:
        pytest.skip("g++ is not installed")
    code = "#include <iostream>\nint main() { std::string s; std::cin >> s; std::cout << s; return 2; }"
    done = ask(real, code=code, language="cpp")
    assert (done["status"], done["compile_result"]["return_code"]) == ("Failed", 0)
    assert (done["run_result"]["stdout"], done["run_result"]["return_code"]) == ("hi", 2)
    done = ask(real, code="int main() { return x; }", language="cpp")
    assert (done["status"], done["run_result"]) == ("Failed", None)
    assert "error" in done["compile_result"]["stderr"]
