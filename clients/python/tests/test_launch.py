"""From a plan to a command."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import flightplan
from flightplan import launch

TWO_NODES: dict[str, Any] = {"gpus_per_node": 8, "nodes": 2, "node_rank": 1, "master_addr": "gpu007"}


def small() -> flightplan.Plan:
    return flightplan.resolve("qwen3-30b-a3b", gpu="h100-sxm", gpus=16, tp=1, pp=1, ep=8)


def test_torchrun_of_one_node() -> None:
    plan = small()
    command = launch.torchrun(plan, "pretrain_gpt.py", **TWO_NODES)
    head = "torchrun --nnodes 2 --node-rank 1 --nproc-per-node 8 --master-addr gpu007 --master-port 29500".split()
    assert command == [*head, "--numa-binding", "node", "pretrain_gpt.py", *plan.argv]


def test_torchrun_before_numa_binding_is_not_given_the_flag() -> None:
    plan = flightplan.resolve("qwen3-30b-a3b", gpu="h100-sxm", gpus=16, tp=1, pp=1, ep=8, software={"torch": "2.8.0"})
    assert "--numa-binding" not in launch.torchrun(plan, "pretrain_gpt.py", **TWO_NODES)


@pytest.mark.parametrize("target", ["verl", "slime", "ms-swift"])
def test_what_torchrun_does_not_start_is_refused(target: str) -> None:
    plan = flightplan.resolve("qwen3-30b-a3b", gpu="h100-sxm", gpus=16, tp=1, pp=1, ep=8, target=target)
    with pytest.raises(ValueError, match=rf"{target} main is not started by torchrun; .*plan\.launch\(\)\.text"):
        launch.torchrun(plan, "train.py", **TWO_NODES)


@pytest.mark.parametrize("target", ["megatron-bridge", "loongforge"])
def test_other_stacks_of_torchrun(target: str) -> None:
    plan = flightplan.resolve("qwen3-30b-a3b", gpu="h100-sxm", gpus=16, tp=1, pp=1, ep=8, target=target)
    assert launch.torchrun(plan, "train.py", **TWO_NODES)[0] == "torchrun"


def test_the_package_has_the_module() -> None:
    assert flightplan.launch is launch


def test_a_wrong_number_of_gpus_is_not_launched() -> None:
    with pytest.raises(ValueError, match="1 nodes x 8 GPUs are 8; the plan is for 16"):
        launch.torchrun(small(), "pretrain_gpt.py", gpus_per_node=8)


@pytest.mark.parametrize("missing", ["node_rank", "master_addr"])
def test_more_nodes_than_one_need_a_rank_and_an_address(missing: str) -> None:
    said = {name: value for name, value in TWO_NODES.items() if name != missing}
    with pytest.raises(ValueError, match="2 nodes need node_rank, .* and master_addr"):
        launch.torchrun(small(), "pretrain_gpt.py", **said)


def test_a_plan_with_errors_is_not_launched() -> None:
    plan = flightplan.resolve("qwen3-30b-a3b", gpu="h100-sxm", gpus=12, tp=1, pp=1, ep=8)
    with pytest.raises(flightplan.ConfigError):
        launch.torchrun(plan, "pretrain_gpt.py", gpus_per_node=12)


@pytest.mark.parametrize(
    ("nodelist", "first"),
    [
        ("gpu[007-010,12],login1", "gpu007"),
        ("gpu3,gpu4", "gpu3"),
        ("a[1,3]", "a1"),
        ("one", "one"),
        ("a1,b[2-3]", "a1"),
    ],
)
def test_slurm(monkeypatch: pytest.MonkeyPatch, nodelist: str, first: str) -> None:
    monkeypatch.setenv("SLURM_NNODES", "2")
    monkeypatch.setenv("SLURM_NODEID", "1")
    monkeypatch.setenv("SLURM_JOB_NODELIST", nodelist)
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    command = launch.torchrun_under_slurm(small(), "pretrain_gpt.py", gpus_per_node=8)
    assert command[command.index("--master-addr") + 1] == first
    assert command[command.index("--node-rank") + 1] == "1"


def test_run_carries_the_environment() -> None:
    plan = small()
    name, value = next(iter(plan.env.items()))
    check = f"import os, sys; sys.exit(os.environ[{name!r}] != {value!r})"
    assert launch.run(plan, [sys.executable, "-c", check]) == 0
