"""Calls that stream: batches, and searches with their progress; what is left unread ends."""

from __future__ import annotations

import queue
from typing import Any, Iterator

import grpc
import pytest
from conftest import SMALL

import flightplan
from flightplan.v1 import resolver_service_pb2

pytestmark = pytest.mark.usefixtures("_servers")


def question(name: str) -> resolver_service_pb2.BatchResolveRequest:
    asked = resolver_service_pb2.BatchResolveRequest(request_id=name)
    asked.resolve.CopyFrom(flightplan.request.resolve_request("qwen3-30b-a3b", **SMALL))
    return asked


def test_a_batch_of_megabytes_asked_and_answered() -> None:
    requests = [question(str(i)) for i in range(400)]
    for asked in requests:
        asked.resolve.env["NOTE"] = "x" * 10_000
    with flightplan.Client() as client:
        answers = list(client.batch(iter(requests)))
    assert {answer.request_id for answer in answers} == {str(i) for i in range(400)}
    assert sum(answer.ByteSize() for answer in answers) > 4_000_000
    assert all(answer.resolve.digest for answer in answers)


def test_a_batch_may_wait_for_its_answers() -> None:
    answered: queue.Queue[str] = queue.Queue()

    def requests() -> Iterator[resolver_service_pb2.BatchResolveRequest]:
        for i in range(5):
            yield question(str(i))
            assert answered.get(timeout=60) == str(i)

    with flightplan.Client() as client:
        for answer in client.batch(requests()):
            answered.put(answer.request_id)


def test_a_batch_that_is_left_and_one_whose_requests_fail() -> None:
    def requests(last: int) -> Iterator[resolver_service_pb2.BatchResolveRequest]:
        for i in range(last):
            yield question(str(i))
        raise ValueError("no more")

    with flightplan.Client() as client:
        for _ in client.batch(requests(10_000)):
            break
        with pytest.raises(flightplan.RpcError) as caught:
            list(client.batch(requests(2)))
    assert caught.value.code == grpc.StatusCode.UNKNOWN


def test_a_search_that_is_left() -> None:
    class Enough(Exception):
        pass

    def leave(_: Any) -> None:
        raise Enough

    with flightplan.Client() as client:
        for _ in range(20):
            with pytest.raises(Enough):
                client.plan_layouts("deepseek-v3", "h100-sxm", 1024, progress=leave)
        assert client.resolve("qwen3-30b-a3b", **SMALL).ok


def test_a_stream_ends_when_it_is_left_though_its_exception_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # The exception holds the frame of `plan_layouts`, and that the call: no garbage collector ends it here.
    ended: list[str] = []

    class Watched:
        def __init__(self, call: Any):
            self._call = call

        def __iter__(self) -> Iterator[Any]:
            return iter(self._call)

        def cancel(self) -> None:
            ended.append("PlanLayouts")
            (self._call.cancel if hasattr(self._call, "cancel") else self._call.close)()

    def leave(_: Any) -> None:
        raise KeyboardInterrupt

    with flightplan.Client() as client:
        ask = client._resolver.PlanLayouts
        monkeypatch.setattr(client._resolver, "PlanLayouts", lambda *args, **more: Watched(ask(*args, **more)))
        with pytest.raises(KeyboardInterrupt) as kept:
            client.plan_layouts("deepseek-v3", "h100-sxm", 1024, progress=leave)
        assert ended == ["PlanLayouts"]
        assert kept.tb is not None
