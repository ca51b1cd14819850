"""Requests from plain Python arguments. What is left out stays unset in the message."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Mapping, Sequence, Union

from flightplan.v1 import hardware_pb2, model_pb2, parallelism_pb2, resolver_service_pb2
from flightplan.values import Value, to_message

Model = Union[str, "os.PathLike[str]", Mapping[str, Any], model_pb2.ModelSpec]
Software = Union[hardware_pb2.SoftwareStack, Mapping[str, str]]

DEFAULT_SEQ_LENGTH = 4096
DEFAULT_TARGET = "megatron-lm"  # of what shows no stack of its own: a question, arguments, knobs
MAX_FILE_BYTES = 1 << 20  # of a launch script or dump, as the command line takes it
DEFAULT_SAMPLES_PER_GPU = 8  # of the global batch, as the command line takes it

_STAGES = {
    "": parallelism_pb2.STAGE_UNSPECIFIED,
    "bring-up": parallelism_pb2.STAGE_BRING_UP,
    "tune": parallelism_pb2.STAGE_TUNE,
    "production": parallelism_pb2.STAGE_PRODUCTION,
}
_OBJECTIVES = {
    "": parallelism_pb2.OBJECTIVE_UNSPECIFIED,
    "training": parallelism_pb2.OBJECTIVE_TRAINING,
    "benchmark": parallelism_pb2.OBJECTIVE_BENCHMARK,
}
# One word that is neither a flag, nor an override (a.b=1), nor YAML.
_FILE_NAME = re.compile(r"[\w./~@+][\w./~@+-]*")
_VERSIONS = ("te", "torch", "cuda", "nccl", "driver", "cudnn")


def resolve_request(
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
    target: str = DEFAULT_TARGET,
    software: Software | None = None,
    dispatchers: Sequence[str] | None = None,
    knobs: Mapping[str, Value] | None = None,
    env: Mapping[str, str] | None = None,
    dialects: Sequence[str] = (),
) -> resolver_service_pb2.ResolveConfigRequest:
    """The question behind `resolve` and `plan_layouts`, whose documentation has the arguments."""
    for name, said in (("seq_length", seq_length), ("global_batch_size", global_batch_size)):
        if said is not None and (knobs or {}).get(name, said) != said:
            raise ValueError(f"knobs say {name}={(knobs or {})[name]}, {name} says {said}; keep one of them")
    if seq_length is None:
        seq_length = DEFAULT_SEQ_LENGTH
    if global_batch_size is None:
        global_batch_size = DEFAULT_SAMPLES_PER_GPU * max(1, gpus)
    request = resolver_service_pb2.ResolveConfigRequest(
        model=_model(model),
        hardware=hardware_pb2.Hardware(gpu=gpu, gpu_count=gpus),
        workload=parallelism_pb2.Workload(
            seq_length=seq_length,
            global_batch_size=global_batch_size,
            precision=precision,
            objective=_word("objective", objective, _OBJECTIVES),
        ),
        target=target_stack(target),
        software=software_stack(software, dispatchers),
        stage=_word("stage", stage, _STAGES),
        layout=parallelism_pb2.Layout(
            tensor_model_parallel_size=tp,
            pipeline_model_parallel_size=pp,
            virtual_pipeline_model_parallel_size=vpp,
            context_parallel_size=cp,
            expert_model_parallel_size=ep,
            expert_tensor_parallel_size=etp,
            micro_batch_size=micro_batch_size,
            pipeline_model_parallel_layout=pipeline_layout,
        ),
        env=env,
        dialects=dialects,
    )
    for name, value in (knobs or {}).items():
        request.pinned_knobs.add(name=name).value.CopyFrom(to_message(value))
    return request


def validate_request(
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
) -> resolver_service_pb2.ValidateConfigRequest:
    """The question behind `validate`, whose documentation has the arguments."""
    shows_stack = isinstance(config, (str, os.PathLike))
    request = resolver_service_pb2.ValidateConfigRequest(
        target=target_stack(("" if shows_stack else DEFAULT_TARGET) if target is None else target),
        software=software_stack(software, dispatchers),
        env=env,
        input_format=input_format,
        repair=repair,
    )
    if isinstance(config, os.PathLike):
        request.file.name, request.file.text = os.fspath(config), _text_of(config)
    elif isinstance(config, str):
        request.file.text = _launch_text(config)
    elif isinstance(config, Mapping):
        for name, value in config.items():
            request.knobs.settings.add(name=name).value.CopyFrom(to_message(value))
    else:
        request.arguments.values.extend(config)
    if gpu is not None:
        request.hardware.gpu = gpu
        request.hardware.gpu_count = gpus or 0
    elif gpus is not None:
        request.world_size = gpus
    return request


def target_stack(target: str) -> parallelism_pb2.TargetStack:
    """ "megatron-lm", "megatron-bridge@0.5": a framework, and a release after the @."""
    framework, _, version = target.partition("@")
    return parallelism_pb2.TargetStack(framework=framework, version=version)


def software_stack(software: Software | None, dispatchers: Sequence[str] | None) -> hardware_pb2.SoftwareStack:
    """What is installed: versions by package, {"torch": "2.9.0", "triton": "3.4.0"}, and dispatcher backends."""
    if isinstance(software, hardware_pb2.SoftwareStack):
        stack = hardware_pb2.SoftwareStack()
        stack.CopyFrom(software)
    else:
        versions = dict(software or {})
        stack = hardware_pb2.SoftwareStack()
        for name in _VERSIONS:
            if name in versions:
                setattr(stack, f"{name}_version", versions.pop(name))
        stack.packages.update(versions)
    if dispatchers is not None:
        stack.dispatchers.SetInParent()  # an empty list says that none is installed
        stack.dispatchers.backends.extend(dispatchers)
    return stack


def _launch_text(text: str) -> str:
    """The text, unless it is the name of a file: read as a launch, that would start nothing and have no fault."""
    if _FILE_NAME.fullmatch(text) or ("\n" not in text and os.path.isfile(text)):
        raise ValueError(f"{text!r} is no text of a launch; the file of that name is pathlib.Path({text!r})")
    return text


def _text_of(path: os.PathLike[str]) -> str:
    with open(path, "rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)  # whatever it is: it may have no end
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"{os.fspath(path)} is larger than 1 MiB")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{os.fspath(path)} is no text: byte {error.start} is no UTF-8") from None


def _model(model: Model) -> model_pb2.ModelRef:
    if not isinstance(model, (str, os.PathLike, Mapping, model_pb2.ModelSpec)):
        raise TypeError(
            f"model is a name of the catalogue, the path or content of a config.json, or a ModelSpec; not {model!r}"
        )
    if isinstance(model, model_pb2.ModelSpec):
        return model_pb2.ModelRef(spec=model)
    if isinstance(model, Mapping):
        return model_pb2.ModelRef(hf_config_json=json.dumps(model))
    if isinstance(model, os.PathLike) or model.endswith(".json"):
        with open(model, encoding="utf-8") as file:
            return model_pb2.ModelRef(hf_config_json=file.read())
    return model_pb2.ModelRef(name=model)


def _word(name: str, word: str, words: Mapping[str, Any]) -> Any:
    if word not in words:
        raise ValueError(f"{name} is one of {', '.join(known for known in words if known)}; not {word!r}")
    return words[word]
