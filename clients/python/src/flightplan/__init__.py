"""Flightplan: what will this training launch do, before it waits hours in a queue?

    import flightplan
    plan = flightplan.resolve("deepseek-v3", gpu="h100-sxm", gpus=1024, tp=2, pp=8, vpp=4, ep=64)
    print(plan.argv, plan.env, plan.explain("moe_token_dispatcher_type"))

The functions here ask the server of $FLIGHTPLAN_SERVER. Where none is named, this process starts one for itself, on a
private unix socket, which ends with it. `Client` and `AsyncClient` keep a connection, take credentials, and have the
generated stubs as `resolver`, `catalog`, `evidence` and `probe`.
"""

from __future__ import annotations

import os
from typing import Mapping, Sequence

from flightplan import launch
from flightplan.client import AsyncClient, Client, Progress
from flightplan.errors import (
    ConfigError,
    DeadlineExceeded,
    FlightplanError,
    InvalidRequest,
    NotFound,
    RpcError,
    ServerNotStarted,
    Unavailable,
    Violation,
)
from flightplan.findings import Finding, Fix
from flightplan.observation import Figure, Observation, observe
from flightplan.plan import Explanation, Memory, Plan, Plans, Report
from flightplan.request import Model, Software
from flightplan.values import Value

__version__ = "0.1.0"


def resolve(
    model: Model,
    gpu: str,
    gpus: int,
    *,
    tp: int | None = None,
    pp: int | None = None,
    vpp: int | None = None,
    cp: int | None = None,
    ep: int | None = None,
    etp: int | None = None,
    micro_batch_size: int | None = None,
    pipeline_layout: str | None = None,
    seq_length: int | None = None,
    global_batch_size: int | None = None,
    precision: str = "",
    objective: str = "",
    stage: str = "",
    target: str = "megatron-lm",
    software: Software | None = None,
    dispatchers: Sequence[str] | None = None,
    knobs: Mapping[str, Value] | None = None,
    env: Mapping[str, str] | None = None,
    dialects: Sequence[str] = ("megatron-bridge",),
    strict: bool = False,
    server: str | None = None,
    timeout: float | None = None,
) -> Plan:
    """One complete, checked configuration for a layout, every knob with its reason.

    Args:
        model: A catalogue name, the path or content of a Hugging Face config.json, or a ModelSpec.
        gpu: The GPU system: "h100-sxm", "gb200-nvl72".
        gpus: GPUs of the job.
        tp: Tensor parallel size. It and the other sizes: None leaves it open.
        pp: Pipeline parallel size.
        vpp: Virtual pipeline size.
        cp: Context parallel size.
        ep: Expert parallel size.
        etp: Expert tensor parallel size.
        micro_batch_size: Samples per data-parallel rank and microbatch.
        pipeline_layout: "Et|(tt|)*30mL".
        seq_length: Tokens per sample; None: as `knobs` says, else 4,096.
        global_batch_size: Samples per step; None: 8 a GPU.
        precision: "bf16" (default), "fp16", "fp8_cs", "fp8_block", "fp8_ds", "mxfp8" or "nvfp4".
        objective: "training" (default) or "benchmark".
        stage: "bring-up", "tune" or "production" (default).
        target: "megatron-lm", "megatron-bridge", "loongforge", "slime", "verl" ...; "@0.19" behind it for a release.
            InvalidRequest names them all.
        software: Versions installed: {"torch": "2.9.0", "te": "2.12.0", "triton": "3.4.0"}.
        dispatchers: Dispatcher backends installed: ["deepep"]; [] says none, None says that it is not known.
        knobs: Knobs you insist on, by Megatron's names; never changed.
        env: Variables your launch already sets.
        dialects: Spellings beside the target's own.
        strict: Raise ConfigError where the configuration cannot run, instead of answering with findings.
        server: HOST:PORT or unix:PATH; default: $FLIGHTPLAN_SERVER, else this process's own.
        timeout: Seconds; None: the service config's.

    Raises:
        InvalidRequest: A field makes no sense; all of them are named.
        ConfigError: With `strict`, and something cannot run.
        Unavailable: The server did not answer.
        ServerNotStarted: No server is named, and this process could not start its own.
    """
    with Client(server) as client:
        return client.resolve(
            model,
            gpu,
            gpus,
            tp=tp,
            pp=pp,
            vpp=vpp,
            cp=cp,
            ep=ep,
            etp=etp,
            micro_batch_size=micro_batch_size,
            pipeline_layout=pipeline_layout,
            seq_length=seq_length,
            global_batch_size=global_batch_size,
            precision=precision,
            objective=objective,
            stage=stage,
            target=target,
            software=software,
            dispatchers=dispatchers,
            knobs=knobs,
            env=env,
            dialects=dialects,
            strict=strict,
            timeout=timeout,
        )


def validate(
    config: str | os.PathLike[str] | Sequence[str] | Mapping[str, Value],
    *,
    target: str | None = None,
    gpu: str | None = None,
    gpus: int | None = None,
    software: Software | None = None,
    dispatchers: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    input_format: str = "",
    repair: bool = False,
    strict: bool = False,
    server: str | None = None,
    timeout: float | None = None,
) -> Report:
    """The verdicts on a finished configuration. Nothing is decided and nothing is executed.

    Args:
        config: A list of arguments, a pathlib.Path, the text of a file, or knobs by name.
        target: As in `resolve`; None: of a file or text the stack that it shows (`Report.target` says which),
            of arguments and knobs "megatron-lm".
        gpu: The GPU system; None: hardware rules are not judged, and the report says so.
        gpus: GPUs of the job.
        software: As in `resolve`.
        dispatchers: As in `resolve`.
        env: Variables of the launch.
        input_format: "shell", "argv", "bridge-overrides" ...; default: recognised.
        repair: Ask for a repaired text or argument list too.
        strict: Raise ConfigError where the configuration cannot run.
        server: As in `resolve`.
        timeout: As in `resolve`.

    Raises:
        ValueError: `config` is a str that names a file; or the file is no text, or larger than 1 MiB.
        InvalidRequest, ConfigError, Unavailable, ServerNotStarted: As in `resolve`.
    """
    with Client(server) as client:
        return client.validate(
            config,
            target=target,
            gpu=gpu,
            gpus=gpus,
            software=software,
            dispatchers=dispatchers,
            env=env,
            input_format=input_format,
            repair=repair,
            strict=strict,
            timeout=timeout,
        )


def plan_layouts(
    model: Model,
    gpu: str,
    gpus: int,
    *,
    count: int = 10,
    progress: Progress | None = None,
    server: str | None = None,
    timeout: float | None = None,
    **question: object,
) -> Plans:
    """The best layouts for a model on a number of GPUs, best first; its `findings` say why there are none.

    Args:
        model: As in `resolve`.
        gpu: As in `resolve`.
        gpus: As in `resolve`.
        count: Plans to return, at most 100.
        progress: Called now and then while the search runs.
        server: As in `resolve`.
        timeout: As in `resolve`.
        question: The further arguments of `resolve`; sizes that are given are kept, open ones are searched.
    """
    with Client(server) as client:
        return client.plan_layouts(model, gpu, gpus, count=count, progress=progress, timeout=timeout, **question)


__all__ = [
    "AsyncClient",
    "Client",
    "ConfigError",
    "DeadlineExceeded",
    "Explanation",
    "Figure",
    "Finding",
    "Fix",
    "FlightplanError",
    "InvalidRequest",
    "Memory",
    "NotFound",
    "Observation",
    "Plan",
    "Plans",
    "Report",
    "RpcError",
    "ServerNotStarted",
    "Unavailable",
    "Value",
    "Violation",
    "launch",
    "observe",
    "plan_layouts",
    "resolve",
    "validate",
]
