"""From a plan to a running torchrun: the command of one node, with the node count and addresses of the scheduler."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from typing import Mapping, Sequence

from flightplan.plan import Plan

_DEFAULT_PORT = 29500
_NUMA_BINDING = "launcher.numa-binding"  # the decision's name


def torchrun(
    plan: Plan,
    script: str,
    *,
    gpus_per_node: int,
    nodes: int = 1,
    node_rank: int | None = None,
    master_addr: str | None = None,
    master_port: int = _DEFAULT_PORT,
    extra: Sequence[str] = (),
) -> list[str]:
    """The torchrun command of one node for a plan.

    Raises:
        ConfigError: The plan has findings of level error: it is never launched.
        ValueError: The plan's stack is not started by torchrun (verl, slime ...), or `nodes` times `gpus_per_node` is
            not the world size of the plan; or there is more than one node, and `node_rank` or `master_addr` is missing.
    """
    plan.check()
    # What the stack itself is started by stands in its launch.
    if not re.search(r"^(?!#).*\btorchrun\s", plan.launch().text, re.MULTILINE):
        raise ValueError(f"{plan.target} is not started by torchrun; its launch is the script plan.launch().text")
    world = plan.layout["dp"] * plan.layout["tp"] * plan.layout["pp"] * plan.layout["cp"]
    if nodes * gpus_per_node != world:
        raise ValueError(f"{nodes} nodes x {gpus_per_node} GPUs are {nodes * gpus_per_node}; the plan is for {world}")
    if nodes > 1 and (node_rank is None or master_addr is None):
        raise ValueError(f"{nodes} nodes need node_rank, another on each of them, and master_addr, the host of rank 0")
    binding = [plan.explain(one.name).value for one in plan.response.decisions if one.name == _NUMA_BINDING]
    return [
        *("torchrun", "--nnodes", str(nodes), "--node-rank", str(node_rank or 0)),
        *("--nproc-per-node", str(gpus_per_node)),
        *("--master-addr", master_addr or "127.0.0.1", "--master-port", str(master_port)),
        *(word for value in binding for word in ("--numa-binding", str(value))),
        *(script, *plan.argv, *extra),
    ]


def torchrun_under_slurm(plan: Plan, script: str, *, gpus_per_node: int, extra: Sequence[str] = ()) -> list[str]:
    """`torchrun` with nodes, rank and address from the variables that Slurm sets for each task.

    Raises:
        KeyError: It does not run under srun.
    """
    return torchrun(
        plan,
        script,
        gpus_per_node=gpus_per_node,
        nodes=int(os.environ["SLURM_NNODES"]),
        node_rank=int(os.environ["SLURM_NODEID"]),
        master_addr=os.environ.get("MASTER_ADDR") or _first_host(os.environ["SLURM_JOB_NODELIST"]),
        extra=extra,
    )


def environment(plan: Plan, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The plan's variables over `base` (default: this process's)."""
    return {**(os.environ if base is None else base), **plan.env}


def run(plan: Plan, command: Sequence[str]) -> int:
    """Runs a command with the plan's environment; its exit code."""
    print(shlex.join(command), file=sys.stderr)
    return subprocess.run(command, env=environment(plan), check=False).returncode  # noqa: S603


def _first_host(nodelist: str) -> str:
    """The first host of Slurm's list: "gpu[007-010,12],login1" is gpu007."""
    head, bracket, rest = nodelist.partition("[")
    if not bracket or "," in head:
        return nodelist.split(",")[0]
    return head + rest.split("]")[0].replace(",", "-").split("-")[0]
