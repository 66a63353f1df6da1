"""The server's command, as TRL makes it; that vLLM takes it is shown in tests/vllm_cpu."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tinyrecipes import MARKS, NEEDED

pytestmark = MARKS
pytest.importorskip("trl", reason=NEEDED)

from markscheme.trainer import launch, recipe  # noqa: E402
from markscheme.trainer.rollouts import Rollouts, server_command  # noqa: E402
from markscheme.verifiers.errors import TrainerConfigError  # noqa: E402

FULL = {
    "mode": "server",
    "sampling": "focused",
    "tensor_parallel_size": 4,
    "data_parallel_size": 8,
    "quantization": "fp8",
    "kv_cache_dtype": "fp8",
    "speculative_config": {"method": "mtp", "num_speculative_tokens": 1},
    "max_model_len": 4096,
    "engine": {"max_num_seqs": 512, "enable_prefix_caching": False, "enable_expert_parallel": True},
}


def value(command: list[str], flag: str) -> str:
    return command[command.index(flag) + 1]


def test_every_setting_is_a_flag() -> None:
    server = server_command(Rollouts.read(FULL), "policy", SimpleNamespace(vllm_server_port=8123))
    command = server.command
    assert command[:3] == ["vllm", "serve", "policy"]
    assert value(command, "--tensor-parallel-size") == "4"
    assert value(command, "--data-parallel-size") == "8"
    assert value(command, "--quantization") == value(command, "--kv-cache-dtype") == "fp8"
    assert value(command, "--speculative-config") == '{"method": "mtp", "num_speculative_tokens": 1}'
    assert value(command, "--max-model-len") == "4096"
    assert value(command, "--max-num-seqs") == "512"
    assert value(command, "--port") == "8123"
    assert "--no-enable-prefix-caching" in command
    assert "--enable-expert-parallel" in command
    assert server.environment == {"VLLM_SERVER_DEV_MODE": "1"}
    assert server.line().startswith("VLLM_SERVER_DEV_MODE=1 vllm serve policy --host 0.0.0.0 --port 8123")


def test_what_the_trainer_relies_on_is_there() -> None:
    command = server_command(Rollouts(mode="server"), "policy").command
    assert value(command, "--logprobs-mode") == "processed_logprobs"
    assert value(command, "--weight-transfer-config") == '{"backend": "nccl"}'


def test_trls_own_command_line_makes_the_same_server() -> None:
    from trl.scripts.vllm_serve import build_command, make_parser  # noqa: PLC0415

    server = server_command(Rollouts.read(FULL), "policy", SimpleNamespace(trust_remote_code=True))
    arguments, rest = make_parser().parse_args_and_config(server.flags, return_remaining_strings=True)
    command = build_command(arguments, rest)
    assert command[command.index("serve") :] == server.command[1:]


def test_the_port_of_an_address() -> None:
    training = SimpleNamespace(vllm_server_base_url="http://gpu7:9001", vllm_server_port=8000)
    assert value(server_command(Rollouts(mode="server"), "policy", training).command, "--port") == "9001"


def test_the_server_draws_by_the_seed_of_the_run() -> None:
    assert value(server_command(Rollouts(mode="server"), "policy", SimpleNamespace(seed=7)).command, "--seed") == "7"


def test_colocate_has_no_server() -> None:
    with pytest.raises(TrainerConfigError, match="mode is 'colocate': there is a server with mode: server alone"):
        server_command(Rollouts(), "policy")


@pytest.fixture
def parse(tmp_path: Path) -> Any:
    def parsed(text: str) -> recipe.Recipe:
        base = f"model_name_or_path: policy\nuse_cpu: true\nbf16: false\noutput_dir: {tmp_path}\nreport_to: none\n"
        (tmp_path / "r.yaml").write_text(base + text)
        return recipe.parse(["--config", str(tmp_path / "r.yaml")])

    return parsed


def test_a_recipe_sets_it(parse: Any) -> None:
    found = parse("vllm_server_port: 8055\nrollouts: {mode: server, sampling: focused, data_parallel_size: 8}")
    training = found.training
    assert (training.use_vllm, training.vllm_mode) == (True, "server")
    assert (training.temperature, training.top_k) == (0.7, 4)
    assert training.vllm_importance_sampling_correction is False
    command = launch.server_of(found).command
    assert (value(command, "--data-parallel-size"), value(command, "--port")) == ("8", "8055")
    assert launch.engine_of(found) == {}
    assert "rollouts:" in found.as_yaml()
    assert "# follows: vllm_mode: server" in found.as_yaml()


def test_a_recipes_own_fields_win_over_sampling(parse: Any) -> None:
    found = parse("temperature: 0.9\nrollouts: {sampling: focused, enforce_eager: true}")
    assert (found.training.temperature, found.training.top_k) == (0.9, 4)
    assert launch.engine_of(found) == {"enforce_eager": True}


def test_the_command_is_printed(tmp_path: Path, parse: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parse("rollouts: server")
    launch.main(["--config", str(tmp_path / "r.yaml"), "--server-command"])
    assert capsys.readouterr().out.startswith("VLLM_SERVER_DEV_MODE=1 vllm serve policy ")


def test_no_rollouts_no_server(parse: Any) -> None:
    with pytest.raises(TrainerConfigError, match="no server: the recipe has no"):
        launch.server_of(parse(""))


def test_a_mistake_names_the_line(parse: Any) -> None:
    with pytest.raises(TrainerConfigError, match=r"r\.yaml, line 6: rollouts: no setting 'modus'"):
        parse("rollouts: {modus: server}")
