"""Programs in C, C++ and JavaScript."""

from __future__ import annotations

import shutil

import pytest

from markscheme.verifiers import DataError, Outcome, Reason
from markscheme.verifiers.code import CallCase, CodeVerifier, Limits, Sandbox, SandboxError, StdioCase, languages

TOOLS = {"c": "gcc", "cpp": "g++", "javascript": "node"}
ADD = [StdioCase(stdin="3 4\n", stdout="7"), StdioCase(stdin="1000 13\n", stdout="1013")]
RIGHT = {
    "c": '#include <stdio.h>\n#include <math.h>\nint main(){int a,b;scanf("%d %d",&a,&b);printf("%d\\n",a+b);}',
    "cpp": "#include <iostream>\nint main(){int a,b;std::cin>>a>>b;std::cout<<a+b<<std::endl;}",
    "javascript": "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\nconsole.log(a + b);",
}
C = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"


def judge(judge_sandbox: Sandbox, language: str) -> CodeVerifier:
    if judge_sandbox.level < 3:
        pytest.skip("other languages need level 3, which this host does not give")
    if shutil.which(TOOLS[language]) is None:
        pytest.skip(f"{TOOLS[language]} is not installed")
    return CodeVerifier(judge_sandbox, language=language, limits=Limits(cpu_seconds=1, idle_seconds=1))


@pytest.mark.parametrize("language", TOOLS)
def test_right(any_namespaces: Sandbox, language: str) -> None:
    verdict = judge(any_namespaces, language).verify(f"So:\n```{language}\n{RIGHT[language]}\n```", ADD)
    assert (verdict.score, verdict.detail, verdict.level) == (1.0, "2 of 2 cases pass", 3)


@pytest.mark.parametrize(
    "program",
    [
        "const [a, b] = require('fs').readFileSync('/dev/stdin', 'utf8').split(' ').map(Number);\nconsole.log(a + b);",
        "const fs = require('fs');\nfs.createReadStream('/dev/stdin', 'utf8').on('data', (text) => {\n"
        "  const [a, b] = text.split(' ').map(Number);\n  fs.writeFileSync('/dev/stdout', `${a + b}`);\n});",
        "const fs = require('fs');\nconst text = Buffer.alloc(99);\nfs.readSync(fs.openSync('/dev/stdin'), text);\n"
        "console.log(eval(text.toString('utf8').replace(/\\0/g, '').trim().replace(' ', '+')));",
    ],
)
def test_streams_by_the_names_of_their_devices(any_namespaces: Sandbox, program: str) -> None:
    assert judge(any_namespaces, "javascript").verify_program(program, ADD).score == 1.0


@pytest.mark.parametrize(
    ("language", "program", "reason"),
    [
        ("c", 'int main(){puts("7");}', Reason.WRONG_ANSWER),
        ("c", "int main({", Reason.COMPILE_ERROR),
        ("c", "int main(){for(;;);}", Reason.TIME_LIMIT),
        ("c", "int main(){sleep(60);}", Reason.IDLE_LIMIT),
        ("c", "int main(){abort();}", Reason.RUNTIME_ERROR),
        ("c", "int main(){int *p=0;*p=1;}", Reason.RUNTIME_ERROR),
        ("c", 'int main(){puts("7");return 3;}', Reason.RUNTIME_ERROR),
        ("c", 'int main(){for(;;)puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");}', Reason.OUTPUT_LIMIT),
        ("c", 'int main(){puts(getenv("HOME"));for(;;)fork();}', Reason.RUNTIME_ERROR),
        ("c", '#include "/etc/passwd"\nint main(){}', Reason.COMPILE_ERROR),
        ("c", 'int main(){execl("/bin/echo","echo","8",(char*)0);}', Reason.WRONG_ANSWER),
        ("cpp", "int main(){ return undeclared; }", Reason.COMPILE_ERROR),
        ("javascript", "while (true) {}", Reason.TIME_LIMIT),
        ("javascript", "throw new Error('x')", Reason.RUNTIME_ERROR),
        ("javascript", "console.log(8)", Reason.WRONG_ANSWER),
    ],
)
def test_wrong(any_namespaces: Sandbox, language: str, program: str, reason: Reason) -> None:
    source = C + program if language == "c" else program
    verdict = judge(any_namespaces, language).verify_program(source, ADD)
    assert (verdict.outcome, verdict.score, verdict.reason) == (Outcome.INCORRECT, 0.0, reason)


def test_what_is_refused(judge_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = judge(judge_sandbox, "c")
    with pytest.raises(DataError, match="calls are for programs in Python"):
        verifier.verify_program(RIGHT["c"], [CallCase(function="f", expected=1)])
    with pytest.raises(DataError, match="tests in Python judge programs in Python"):
        verifier.verify_program(RIGHT["c"], {"tests": "assert f(1) == 1"})
    monkeypatch.setattr(languages.shutil, "which", lambda *_, **__: None)
    with pytest.raises(SandboxError, match="programs in c need gcc, which is not installed"):
        CodeVerifier(judge_sandbox, language="c")


def test_level_3_is_needed(judge_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = judge(judge_sandbox, "c")
    monkeypatch.setattr(judge_sandbox, "level", 2)
    with pytest.raises(SandboxError, match="need level 3; this sandbox is at level 2"):
        verifier.verify_program(RIGHT["c"], ADD)
