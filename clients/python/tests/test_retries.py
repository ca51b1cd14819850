"""Retries by the shared service config, against a server that fails on purpose."""

from __future__ import annotations

from concurrent import futures
from typing import Any, Iterator

import grpc
import pytest

import flightplan
from flightplan.v1 import resolver_service_pb2, resolver_service_pb2_grpc


class _Failing(resolver_service_pb2_grpc.ResolverServiceServicer):
    """Fails a number of times, then answers."""

    def __init__(self) -> None:
        self.code, self.failures, self.calls = grpc.StatusCode.UNAVAILABLE, 0, 0

    def ResolveConfig(self, request: Any, context: Any) -> resolver_service_pb2.ResolveConfigResponse:
        self.calls += 1
        if self.calls <= self.failures:
            context.abort(self.code, "not now")
        return resolver_service_pb2.ResolveConfigResponse(digest="fp1-here")


@pytest.fixture
def failing() -> Iterator[tuple[_Failing, str]]:
    service = _Failing()  # type: ignore[abstract]
    server = grpc.server(futures.ThreadPoolExecutor(2))
    resolver_service_pb2_grpc.add_ResolverServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield service, f"127.0.0.1:{port}"
    server.stop(None)


def test_unavailable_is_tried_once_more(failing: tuple[_Failing, str]) -> None:
    service, address = failing
    service.failures = 1
    assert flightplan.resolve("m", gpu="g", gpus=8, server=address).digest == "fp1-here"
    assert service.calls == 2
    service.calls, service.failures = 0, 99
    with pytest.raises(flightplan.Unavailable, match="not now"):
        flightplan.resolve("m", gpu="g", gpus=8, server=address)
    assert service.calls == 2


def test_other_codes_are_not_tried_again(failing: tuple[_Failing, str]) -> None:
    service, address = failing
    service.failures, service.code = 99, grpc.StatusCode.RESOURCE_EXHAUSTED
    with pytest.raises(flightplan.RpcError) as caught:
        flightplan.resolve("m", gpu="g", gpus=8, server=address)
    assert service.calls == 1
    assert not isinstance(caught.value, flightplan.Unavailable)  # that says when to come back
