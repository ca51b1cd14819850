"""The conformance runner of the Python client, and with --async of its asyncio half."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any, Awaitable, Callable

import grpc

sys.path.insert(0, str(Path(__file__).parent / "generated"))

from answers import add_answer, add_status
from checks import violations
from conformance_pb2 import Case, CaseSet
from facts import Facts

import flightplan
from flightplan.errors import from_grpc

_REQUEST_ID = "x-request-id"
_DECISION_ID = "x-flightplan-decision-id"

# The call of a case: the client's stub and its method.
_METHODS = {
    "resolve_config": ("resolver", "ResolveConfig"),
    "validate_config": ("resolver", "ValidateConfig"),
    "plan_layouts": ("resolver", "PlanLayouts"),
    "batch_resolve": ("resolver", "BatchResolve"),
    "convert_config": ("resolver", "ConvertConfig"),
    "get_model": ("catalog", "GetModel"),
    "list_models": ("catalog", "ListModels"),
    "get_gpu": ("catalog", "GetGpu"),
    "list_gpus": ("catalog", "ListGpus"),
    "get_knob": ("catalog", "GetKnob"),
    "list_knobs": ("catalog", "ListKnobs"),
    "get_rule": ("catalog", "GetRule"),
    "list_rules": ("catalog", "ListRules"),
    "import_model": ("catalog", "ImportModel"),
    "report_measurement": ("evidence", "ReportMeasurement"),
    "get_measurement": ("evidence", "GetMeasurement"),
    "list_measurements": ("evidence", "ListMeasurements"),
    "get_profile": ("probe", "GetProfile"),
    "list_profiles": ("probe", "ListProfiles"),
    "import_profile": ("probe", "ImportProfile"),
}


def _request(case: Case) -> Any:
    kind = case.WhichOneof("call") or ""
    if kind == "batch_resolve":
        return iter(case.batch_resolve.requests)
    request = getattr(case, kind)
    if case.options.padding_bytes:
        request.env["PADDING"] = "x" * case.options.padding_bytes
    return request


def _options(case: Case) -> dict[str, Any]:
    options = case.options
    return {
        "timeout": options.deadline_ms / 1000 if options.HasField("deadline_ms") else None,
        "metadata": tuple(options.metadata.items()),
    }


class _Seen:
    """The messages of a stream, as they come."""

    def __init__(self, facts: Facts):
        self.facts, self.progress, self.answered, self.batch = facts, 0, 0, False

    def take(self, message: Any) -> None:
        if hasattr(message, "request_id"):
            self.answered += 1
            add_answer(message, self.facts)
        elif message.HasField("result"):
            add_answer(message.result, self.facts)
        else:
            self.progress += 1

    def end(self, batch: bool) -> None:
        self.facts.add("answered" if batch else "~progress", self.answered if batch else self.progress)


def _add_metadata(case: Case, initial: Any, trailing: Any, facts: Facts) -> None:
    sent = dict(case.options.metadata)
    for name, value in initial or ():
        if name == _REQUEST_ID and _REQUEST_ID in sent:
            facts.add("~header.x-request-id", value)
    for name, value in trailing or ():
        if name == _DECISION_ID:
            facts.add("~trailer.x-flightplan-decision-id", value)


def _add_error(error: grpc.RpcError, facts: Facts) -> None:
    failed = from_grpc(error)
    add_status("", failed.code.value[0], failed.details.details, facts)


def _call(client: flightplan.Client, case: Case) -> Facts:
    facts = Facts()
    kind = case.WhichOneof("call") or ""
    service, name = _METHODS[kind]
    method = getattr(getattr(client, service), name)
    streams = kind in ("plan_layouts", "batch_resolve")
    seen = _Seen(facts)
    try:
        if streams:
            stream = method(_request(case), **_options(case))
            for message in stream:
                seen.take(message)
                if case.options.cancel_after_first:
                    stream.cancel()
            _add_metadata(case, stream.initial_metadata(), stream.trailing_metadata(), facts)
        else:
            answer, call = method.with_call(_request(case), **_options(case))
            add_answer(answer, facts)
            _add_metadata(case, call.initial_metadata(), call.trailing_metadata(), facts)
        facts.add("code", "OK")
    except grpc.RpcError as error:
        _add_error(error, facts)
    if streams:
        seen.end(kind == "batch_resolve")
    return facts


async def _call_async(client: flightplan.AsyncClient, case: Case) -> Facts:
    facts = Facts()
    kind = case.WhichOneof("call") or ""
    service, name = _METHODS[kind]
    method = getattr(getattr(client, service), name)
    streams = kind in ("plan_layouts", "batch_resolve")
    seen = _Seen(facts)
    call = method(_request(case), **_options(case))
    try:
        if streams:
            async for message in call:
                seen.take(message)
                if case.options.cancel_after_first:
                    call.cancel()
        else:
            add_answer(await call, facts)
        _add_metadata(case, await call.initial_metadata(), await call.trailing_metadata(), facts)
        facts.add("code", "OK")
    except grpc.RpcError as error:
        _add_error(error, facts)
    except asyncio.CancelledError:  # what asyncio says of a call that was cancelled here
        facts.add("code", "CANCELLED")
    if streams:
        seen.end(kind == "batch_resolve")
    return facts


async def _run(cases: CaseSet, call: Callable[[Case], Awaitable[Facts]]) -> int:
    passed = failed = 0
    for case in cases.cases:
        facts = await call(case)
        faults = violations(case.want, facts)
        if faults:
            failed += 1
            print(f"FAILED {case.name}: {'; '.join(faults)}")
        else:
            passed += 1
            print(f"ok {case.name} {facts.fingerprint()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


async def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", required=True, type=Path)
    parser.add_argument("--server", required=True)
    parser.add_argument("--async", action="store_true", dest="use_asyncio")
    arguments = parser.parse_args()
    cases = CaseSet.FromString(arguments.cases.read_bytes())
    if arguments.use_asyncio:
        async with flightplan.AsyncClient(arguments.server) as client:
            return await _run(cases, lambda case: _call_async(client, case))
    with flightplan.Client(arguments.server) as blocking:

        async def call(case: Case) -> Facts:
            return _call(blocking, case)

        return await _run(cases, call)


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
