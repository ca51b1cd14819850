"""The launchers' plugins, with the launchers' real packages."""

from __future__ import annotations

import logging
from typing import Any, Iterator

import pytest

import flightplan

REFUSED = ["model.recompute_granularity=full", "model.num_layers=24"]
FINE = ["model.num_layers=24", "model.hidden_size=1024", "model.num_attention_heads=16"]


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """What the plugins log; launchers set up handlers of their own, which pytest's caplog does not survive."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    handler = Keep()
    logging.getLogger("flightplan").addHandler(handler)
    yield lines
    logging.getLogger("flightplan").removeHandler(handler)


@pytest.fixture
def nemo() -> Any:
    return pytest.importorskip("nemo_run", reason="nemo-run is not installed (deploy/setup_clients.sh integrations)")


def plugin(**settings: Any) -> Any:
    from flightplan.integrations.nemo_run import FlightplanPlugin

    return FlightplanPlugin(**settings)


def experiment(nemo: Any, directory: Any, arguments: list[str], **settings: Any) -> Any:
    """An experiment of one script, with the plugin, as a user writes it."""
    script = nemo.Script(path="pretrain.py", args=arguments, entrypoint="python")
    gate = plugin(**settings)
    with nemo.Experiment("judged", base_dir=str(directory)) as made:
        made.add(script, executor=nemo.LocalExecutor(ntasks_per_node=8), plugins=[gate])
        made.dryrun(log=False)
    return gate


def test_nemo_run_refuses_before_the_experiment_is_submitted(nemo: Any, tmp_path: Any) -> None:
    with pytest.raises(flightplan.ConfigError, match="recompute.full-needs-method"):
        experiment(nemo, tmp_path, REFUSED)


def test_nemo_run_lets_pass_what_is_fine_or_only_warned_of(nemo: Any, tmp_path: Any, logged: list[str]) -> None:
    gate = experiment(nemo, tmp_path, FINE)
    assert gate.report.ok
    assert gate.report.config["num_layers"] == 24
    gate = experiment(nemo, tmp_path, REFUSED, mode="warn")
    assert not gate.report.ok
    assert any("recompute.full-needs-method" in line for line in logged)


def test_nemo_run_fails_open_or_closed(nemo: Any, tmp_path: Any, logged: list[str]) -> None:
    assert experiment(nemo, tmp_path, REFUSED, server="127.0.0.1:1").report is None
    assert any(line.startswith("not judged: UNAVAILABLE") for line in logged)
    with pytest.raises(flightplan.Unavailable):
        experiment(nemo, tmp_path, REFUSED, server="127.0.0.1:1", fail_closed=True)


@pytest.fixture
def sky(monkeypatch: Any, tmp_path: Any) -> Any:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SKYPILOT_DISABLE_USAGE_COLLECTION", "1")
    return pytest.importorskip("sky", reason="skypilot is not installed (deploy/setup_clients.sh integrations)")


def request(sky: Any, arguments: str) -> Any:
    from sky.server.requests.request_names import AdminPolicyRequestName

    task = sky.Task.from_yaml_config(
        {"num_nodes": 2, "resources": {"accelerators": "H100:8"}, "run": f"torchrun pretrain_gpt.py {arguments}\n"}
    )
    return sky.UserRequest(task, sky.Config(), AdminPolicyRequestName.CLUSTER_LAUNCH)


def apply(user_request: Any) -> Any:
    from flightplan.integrations.skypilot import FlightplanPolicy

    return FlightplanPolicy.validate_and_mutate(user_request)


def test_skypilot_refuses_before_anything_is_provisioned(sky: Any, monkeypatch: Any, logged: list[str]) -> None:
    refused = request(sky, "--num-layers 24 --recompute-granularity full")
    with pytest.raises(flightplan.ConfigError, match="recompute.full-needs-method"):
        apply(refused)
    monkeypatch.setenv("FLIGHTPLAN_MODE", "warn")
    assert apply(refused).task is refused.task
    assert any("recompute.full-needs-method" in line for line in logged)


def test_skypilot_counts_the_gpus_of_all_nodes(sky: Any) -> None:
    from flightplan.integrations import skypilot

    assert skypilot._accelerator(request(sky, "").task) == ("H100", 8)
    too_few = (
        "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 4096 "
        "--max-position-embeddings 4096 --micro-batch-size 1 --pipeline-model-parallel-size 24"
    )
    with pytest.raises(flightplan.ConfigError, match="16"):
        apply(request(sky, too_few))


def test_skypilot_lets_pass_what_is_no_training(sky: Any) -> None:
    task = sky.Task.from_yaml_config({"run": "echo hello\n"})
    from sky.server.requests.request_names import AdminPolicyRequestName

    user_request = sky.UserRequest(task, sky.Config(), AdminPolicyRequestName.CLUSTER_LAUNCH)
    assert apply(user_request).task is task


def iterations(ms: float) -> str:
    return "".join(
        f" iteration {i:8d}/     100 | elapsed time per iteration (ms): {ms:.1f} | "
        "global batch size:   128 | lm loss: 2.0E+00 |\n"
        for i in range(1, 12)
    )


LAUNCH = (
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 "
    "--micro-batch-size 1 --global-batch-size 128 --bf16 --train-iters 10 --lr 1e-4 --mock-data "
    "--tokenizer-type NullTokenizer --vocab-size 32000"
)


def test_nemo_run_observes_the_run_of_its_script(nemo: Any, tmp_path: Any, logged: list[str]) -> None:
    training = tmp_path / "pretrain_gpt.py"
    training.write_text(f"print({iterations(4000)!r}, flush=True)\n")
    script = nemo.Script(path=str(training), args=LAUNCH.split(), entrypoint="python")
    gate = plugin(gpu="h100-sxm", target="megatron-lm")
    assert gate.observe() is None  # nothing ran yet
    with nemo.Experiment("observed", base_dir=str(tmp_path)) as made:
        made.add(script, executor=nemo.LocalExecutor(ntasks_per_node=1), plugins=[gate])
        made.run(detach=False, tail_logs=False)
    seen = gate.observe()
    assert seen is not None
    assert seen.matches_launch, seen.answer["mismatches"]
    assert seen.step_time_seconds == pytest.approx(4.0)
    assert any(line.startswith("step_time_us: measured 4e+06, forecast") for line in logged), logged


def test_what_ran_is_reported_where_a_server_is_named(nemo: Any, tmp_path: Any, logged: list[str]) -> None:
    log = tmp_path / "run.log"
    log.write_text(iterations(4000))
    gate = plugin(gpu="h100-sxm", target="megatron-lm", model="qwen3-1.7b", server="127.0.0.1:1")
    script = nemo.Script(path="pretrain.py", args=LAUNCH.split(), entrypoint="python")
    gate.setup(script, nemo.LocalExecutor(ntasks_per_node=8))
    assert gate.observe(log) is not None
    assert any(line.startswith("not reported: ") for line in logged), logged
    assert gate.observe(tmp_path / "none.log") is None
    assert any(line.startswith("not observed: ") for line in logged)


def test_a_report_arrives(nemo: Any, server: str, tmp_path: Any, logged: list[str]) -> None:
    log = tmp_path / "run.log"
    log.write_text(iterations(4000))
    gate = plugin(gpu="h100-sxm", target="megatron-lm", model="qwen3-1.7b", cluster="test", server=server)
    gate.setup(nemo.Script(path="pretrain_gpt.py", args=LAUNCH.split(), entrypoint="python"), nemo.LocalExecutor())
    assert gate.observe(log) is not None
    assert f"reported to {server}: step_time_us" in logged


def test_skypilot_observes_the_last_job(sky: Any, tmp_path: Any, monkeypatch: Any, logged: list[str]) -> None:
    from flightplan.integrations import skypilot

    task = request(sky, LAUNCH).task
    for job, ms in (("9", 9000), ("10", 4000)):
        (tmp_path / job).mkdir()
        (tmp_path / job / "run.log").write_text(iterations(ms))
    asked: list[Any] = []

    def download_logs(cluster: str, jobs: Any) -> dict[str, str]:
        asked.append((cluster, jobs))
        return {job: str(tmp_path / job) for job in ("9", "10")}

    monkeypatch.setattr(sky, "download_logs", download_logs)
    seen = skypilot.observe(task, "mine")
    assert seen is not None
    assert asked == [("mine", None)]
    assert seen.step_time_seconds == pytest.approx(4.0)
    assert seen.matches_launch
    assert seen.figures["step_time_us"].forecast is not None
    monkeypatch.setattr(sky, "download_logs", lambda cluster, jobs: {})
    assert skypilot.observe(task, "mine", 3) is None
