"""Objects by name: known names, modules, files, arguments; every fault says where it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from markscheme.trainer.named import CALLBACKS, REWARDS, Spec, build, read_spec
from markscheme.verifiers.errors import TrainerConfigError
from markscheme.verifiers.rewards import CodeReward, MathReward

MINE = """
import dataclasses

def length(completions, **columns):
    return [float(len(one)) for one in completions]

def make(scale=1.0):
    def reward(completions, **columns):
        return [scale] * len(completions)
    return reward

class Reward:
    def __init__(self, tokenizer=None, *, limit: int = 3):
        if limit < 0:
            raise ValueError("limit must not be negative")
        self.limit, self.tokenizer = limit, tokenizer

READY = object()
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of one's own, whose folder is the working one."""
    (tmp_path / "mine_for_tests.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "mine_for_tests"


def made(value: Any, known: Any = REWARDS, **extra: Any) -> Any:
    return build(read_spec(value, "r.yaml, line 3: reward_funcs[0]"), known, **extra)


def test_known_names() -> None:
    assert isinstance(made("math"), MathReward)
    reward = made({"name": "code", "cases_column": "tests", "score": "fraction"})
    assert isinstance(reward, CodeReward)
    assert made('{"name": "math", "gold_column": "gold"}').gold_column == "gold"


def test_settings_that_are_objects_are_written_as_mappings() -> None:
    reward = made({"name": "math", "policy": {"precision": "gold"}, "alarm": {"window": 64, "name": "mine"}})
    assert reward.scorer._settings["policy"].precision == "gold"
    assert reward.scorer.alarm.window == 64
    with pytest.raises(TrainerConfigError, match=r"reward_funcs\[0\]: policy: .*precison"):
        made({"name": "math", "policy": {"precison": "gold"}})


def test_trls_own_names_and_dotted_paths() -> None:
    rewards = pytest.importorskip("trl.rewards", reason="needs TRL: pip install markscheme[train]")
    assert made("accuracy_reward") is rewards.accuracy_reward
    assert made("trl.rewards.think_format_reward") is rewards.think_format_reward
    punished = made({"name": "get_soft_overlong_punishment", "max_completion_len": 10, "soft_punish_cache": 4})
    assert punished(completion_ids=[[1] * 10, [1]]) == [-1.0, 0.0]


def test_callbacks() -> None:
    pytest.importorskip("trl", reason="needs TRL: pip install markscheme[train]")
    assert made("reward_ema", CALLBACKS).metric == "reward"
    assert made({"name": "early_stopping", "warmup": 7}, CALLBACKS).rule.warmup == 7
    with pytest.raises(TrainerConfigError, match=r"early_stopping: .*unexpected keyword argument 'wamrup'"):
        made({"name": "early_stopping", "wamrup": 7}, CALLBACKS)


@pytest.mark.parametrize("form", ["{}:{}", "./{}.py:{}"])
def test_ones_own(form: str, mine: str) -> None:
    def name(attribute: str) -> str:
        return form.format(mine, attribute)

    assert made(name("length"))(completions=["a", "bcd"]) == [1.0, 3.0]
    assert made({"name": name("make"), "scale": 2.0})(completions=["a"]) == [2.0]
    assert made(name("Reward")).limit == 3
    assert made({"name": name("Reward"), "limit": 5}, tokenizer="t").tokenizer == "t"
    assert made(name("length"), tokenizer="t")(completions=["a"]) == [1.0], "it does not take one"
    assert made(name("READY")) is made(name("READY")), "a file is loaded once"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "maths",
            r"r.yaml, line 3: reward_funcs\[0\]: no 'maths' \(did you mean 'math'\?\); known are accuracy_",
        ),
        ("nothing", r"no 'nothing'; known are .*, and anything as module:attribute or file.py:attribute"),
        ("no_such_module_here:f", r"no module 'no_such_module_here': install it, start in its folder"),
        ("mine_for_tests:absent", r"mine_for_tests has no 'absent'"),
        ("absent.py:f", r"no file absent.py \(looked for from /"),
        ({"name": "math", "redaing": "boxed"}, r"math takes no argument 'redaing': did you mean 'reading'\?"),
        ({"name": "mine_for_tests:Reward", "limit": -1}, r"mine_for_tests:Reward: limit must not be negative"),
        ({"name": "mine_for_tests:READY", "limit": 1}, r"is no class or function, and takes no arguments"),
        ({"reading": "boxed"}, r"expected a name, or a mapping with a name and keyword arguments"),
        (3, r"expected a name, or a mapping with a name and keyword arguments, .*; found 3"),
        ("{name: math}", r"no JSON: "),
    ],
)
def test_faults(value: Any, message: str, mine: str) -> None:
    with pytest.raises(TrainerConfigError, match=message):
        made(value)


def test_a_module_that_needs_another_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needs_other.py").write_text("import an_absent_library\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="an_absent_library"):
        build(Spec("needs_other:f", {}, "here"), {})
