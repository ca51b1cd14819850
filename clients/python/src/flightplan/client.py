"""The clients: stubs on a channel with the retries and time-outs that all Flightplan clients share."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import Any, Callable, Mapping, Sequence, TypeVar, cast

import grpc
import grpc.aio

from flightplan import _own_server, _plaintext_token, _token
from flightplan._channel import channel_options, credentials_of_environment
from flightplan._local_channel import LocalChannel
from flightplan.errors import FlightplanError, RpcError, from_grpc
from flightplan.plan import Plan, Plans, Report
from flightplan.request import Model, resolve_request, validate_request
from flightplan.v1 import (
    catalog_service_pb2,
    catalog_service_pb2_grpc,
    evidence_service_pb2_grpc,
    fleet_service_pb2_grpc,
    model_pb2,
    probe_service_pb2_grpc,
    resolver_service_pb2,
    resolver_service_pb2_grpc,
    timeline_pb2_grpc,
)
from flightplan.values import Value

SERVER_VARIABLE = "FLIGHTPLAN_SERVER"
TOKEN_VARIABLE = _token.VARIABLE

Progress = Callable[[resolver_service_pb2.PlanProgress], None]
Call = TypeVar("Call")


@contextlib.contextmanager
def _ending(call: Any) -> Iterator[Any]:
    """Ends a stream when it is left. gRPC itself waits for the garbage collector, and an exception that somebody keeps
    keeps its frames: the server would go on with a search that nobody waits for."""
    try:
        yield call
    finally:
        (call.cancel if hasattr(call, "cancel") else call.close)()


class _Common:
    def __init__(self, server: str | None, credentials: grpc.ChannelCredentials | None, token: str | None):
        named = server or os.environ.get(SERVER_VARIABLE)
        if named and credentials is None:
            credentials = credentials_of_environment()
        if credentials and not named:
            raise ValueError(f"credentials need a server: name one, or set {SERVER_VARIABLE}")
        self.server = named or _own_server.address()
        self._credentials = credentials
        self._is_own = not named
        self._process = os.getpid()
        self._token = _token.given(token)
        if self._token and credentials is None:
            _plaintext_token.check(self.server)

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise FlightplanError(
                "this client was made before os.fork(), and its connection is the parent's; make a new one here"
            )


class Client(_Common):
    """Asks a server; safe to share between threads.

    Args:
        server: HOST:PORT or unix:PATH; default: $FLIGHTPLAN_SERVER, else a server that this process runs for itself.
            The first client that needs that one waits until it listens (a tenth of a second).
        credentials: grpc.ssl_channel_credentials(...); default: TLS with the authorities in $FLIGHTPLAN_CA_FILE (a
            certificate of one's own: $FLIGHTPLAN_CERT_FILE and $FLIGHTPLAN_KEY_FILE), else plain text, for loopback
            and unix sockets.
        token: A bearer token; default: $FLIGHTPLAN_TOKEN. Without credentials it goes to this machine alone, unless
            $FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN is 1.

    Raises:
        ValueError: The token would go to another machine in plain text, or no header can carry it; or a file of
            $FLIGHTPLAN_CA_FILE and its like cannot be read.
        ServerNotStarted: This process could not start its own server.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        credentials: grpc.ChannelCredentials | None = None,
        token: str | None = None,
    ):
        super().__init__(server, credentials, token)
        # This process's own server is asked without gRPC's library, so that this process may fork.
        calls = cast(grpc.Channel, LocalChannel(_own_server.address)) if self._is_own else self.channel
        self._resolver = resolver_service_pb2_grpc.ResolverServiceStub(calls)
        self._catalog = catalog_service_pb2_grpc.CatalogServiceStub(calls)

    @functools.cached_property
    def channel(self) -> grpc.Channel:
        """gRPC's channel to the server, for calls of your own. It does not survive os.fork()."""
        server = _own_server.address() if self._is_own else self.server
        options = channel_options(server, self._credentials)
        if self._credentials:
            return _token.carried(grpc.secure_channel(server, self._credentials, options), self._token)
        return _token.carried(grpc.insecure_channel(server, options), self._token)

    @functools.cached_property
    def resolver(self) -> resolver_service_pb2_grpc.ResolverServiceStub:
        """The generated stub on `channel`."""
        return resolver_service_pb2_grpc.ResolverServiceStub(self.channel)

    @functools.cached_property
    def catalog(self) -> catalog_service_pb2_grpc.CatalogServiceStub:
        """The generated stub on `channel`."""
        return catalog_service_pb2_grpc.CatalogServiceStub(self.channel)

    @functools.cached_property
    def evidence(self) -> evidence_service_pb2_grpc.EvidenceServiceStub:
        """The generated stub on `channel`."""
        return evidence_service_pb2_grpc.EvidenceServiceStub(self.channel)

    @functools.cached_property
    def probe(self) -> probe_service_pb2_grpc.ProbeServiceStub:
        """The generated stub on `channel`."""
        return probe_service_pb2_grpc.ProbeServiceStub(self.channel)

    @functools.cached_property
    def timeline(self) -> timeline_pb2_grpc.TimelineServiceStub:
        """The generated stub on `channel`."""
        return timeline_pb2_grpc.TimelineServiceStub(self.channel)

    @functools.cached_property
    def fleet(self) -> fleet_service_pb2_grpc.FleetServiceStub:
        """The generated stub on `channel`."""
        return fleet_service_pb2_grpc.FleetServiceStub(self.channel)

    def close(self) -> None:
        """Ends the connection, where there is one: to this process's own server each call has its own."""
        if "channel" in self.__dict__:
            self.channel.close()

    def _check_process(self) -> None:
        if not self._is_own:
            super()._check_process()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def resolve(
        self,
        model: Model,
        gpu: str,
        gpus: int,
        *,
        strict: bool = False,
        timeout: float | None = None,
        **question: Any,
    ) -> Plan:
        """One complete, checked configuration for a layout. `flightplan.resolve` has the arguments."""
        request = resolve_request(model, gpu, gpus, **question)
        plan = Plan(self._call(self._resolver.ResolveConfig, request, timeout), request)
        if strict:
            plan.check()
        return plan

    def validate(
        self,
        config: str | os.PathLike[str] | Sequence[str] | Mapping[str, Value],
        *,
        strict: bool = False,
        timeout: float | None = None,
        **question: Any,
    ) -> Report:
        """The verdicts on a finished configuration. `flightplan.validate` has the arguments."""
        request = validate_request(config, **question)
        report = Report(self._call(self._resolver.ValidateConfig, request, timeout), request)
        if strict:
            report.check()
        return report

    def plan_layouts(
        self,
        model: Model,
        gpu: str,
        gpus: int,
        *,
        count: int = 10,
        progress: Progress | None = None,
        timeout: float | None = None,
        **question: Any,
    ) -> Plans:
        """The best layouts, best first. `flightplan.plan_layouts` has the arguments."""
        request = resolver_service_pb2.PlanLayoutsRequest(
            base=resolve_request(model, gpu, gpus, **question), plan_count=count
        )
        plans = Plans()
        self._check_process()
        try:
            with _ending(self._resolver.PlanLayouts(request, timeout=timeout)) as events:
                for event in events:
                    if event.HasField("result"):
                        plans = Plans(event.result)
                    elif progress is not None:
                        progress(event.progress)
        except grpc.RpcError as error:
            raise from_grpc(error) from None
        return plans

    def batch(
        self, requests: Iterable[resolver_service_pb2.BatchResolveRequest], *, timeout: float | None = None
    ) -> Iterator[resolver_service_pb2.BatchResolveResponse]:
        """Many requests on one call; answers as they are ready, each with its request's id."""
        self._check_process()
        try:
            call = self._resolver.BatchResolve(iter(requests), timeout=timeout)
            with _ending(call) as answers:
                yield from answers
        except grpc.RpcError as error:
            raise from_grpc(error) from None

    def rule(self, rule_id: str) -> catalog_service_pb2.RuleInfo:
        """One rule: what, why, source, fix, since which version."""
        return self._call(self._catalog.GetRule, catalog_service_pb2.GetRuleRequest(id=rule_id), None)

    def knob(self, name: str) -> catalog_service_pb2.KnobInfo:
        """One knob: class, type, default, spelling for each stack."""
        return self._call(self._catalog.GetKnob, catalog_service_pb2.GetKnobRequest(name=name), None)

    def models(self) -> Iterator[model_pb2.ModelSpec]:
        """All models of the catalogue, page by page."""
        token = ""
        while True:
            page = self._call(self._catalog.ListModels, catalog_service_pb2.ListModelsRequest(page_token=token), None)
            yield from page.models
            token = page.next_page_token
            if not token:
                return

    def _call(self, method: Callable[..., Call], request: object, timeout: float | None) -> Call:
        self._check_process()
        try:
            return method(request, timeout=timeout)
        except grpc.RpcError as error:
            raise from_grpc(error) from None


class AsyncClient(_Common):
    """`Client` for asyncio: the same arguments, awaited. Create it inside a running event loop."""

    def __init__(
        self,
        server: str | None = None,
        *,
        credentials: grpc.ChannelCredentials | None = None,
        token: str | None = None,
    ):
        super().__init__(server, credentials, token)
        options = channel_options(self.server, self._credentials)
        carriers = _token.carriers(self._token)
        self.channel: grpc.aio.Channel = (
            grpc.aio.secure_channel(self.server, self._credentials, options, interceptors=carriers)
            if self._credentials
            else grpc.aio.insecure_channel(self.server, options, interceptors=carriers)
        )
        # One stub class serves both kinds of channel; its type for asyncio exists only in the .pyi files.
        self.resolver = cast(
            "resolver_service_pb2_grpc.ResolverServiceAsyncStub",
            resolver_service_pb2_grpc.ResolverServiceStub(self.channel),
        )
        self.catalog = cast(
            "catalog_service_pb2_grpc.CatalogServiceAsyncStub",
            catalog_service_pb2_grpc.CatalogServiceStub(self.channel),
        )
        self.evidence = cast(
            "evidence_service_pb2_grpc.EvidenceServiceAsyncStub",
            evidence_service_pb2_grpc.EvidenceServiceStub(self.channel),
        )
        self.probe = cast(
            "probe_service_pb2_grpc.ProbeServiceAsyncStub", probe_service_pb2_grpc.ProbeServiceStub(self.channel)
        )
        self.timeline = cast(
            "timeline_pb2_grpc.TimelineServiceAsyncStub", timeline_pb2_grpc.TimelineServiceStub(self.channel)
        )
        self.fleet = cast(
            "fleet_service_pb2_grpc.FleetServiceAsyncStub", fleet_service_pb2_grpc.FleetServiceStub(self.channel)
        )

    async def close(self) -> None:
        """Ends the connection."""
        await self.channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def resolve(
        self,
        model: Model,
        gpu: str,
        gpus: int,
        *,
        strict: bool = False,
        timeout: float | None = None,
        **question: Any,
    ) -> Plan:
        """As Client.resolve."""
        request = resolve_request(model, gpu, gpus, **question)
        plan = Plan(await self._call(self.resolver.ResolveConfig, request, timeout), request)
        if strict:
            plan.check()
        return plan

    async def validate(
        self,
        config: str | os.PathLike[str] | Sequence[str] | Mapping[str, Value],
        *,
        strict: bool = False,
        timeout: float | None = None,
        **question: Any,
    ) -> Report:
        """As Client.validate."""
        request = validate_request(config, **question)
        report = Report(await self._call(self.resolver.ValidateConfig, request, timeout), request)
        if strict:
            report.check()
        return report

    async def plan_layouts(
        self,
        model: Model,
        gpu: str,
        gpus: int,
        *,
        count: int = 10,
        progress: Progress | None = None,
        timeout: float | None = None,
        **question: Any,
    ) -> Plans:
        """As Client.plan_layouts."""
        request = resolver_service_pb2.PlanLayoutsRequest(
            base=resolve_request(model, gpu, gpus, **question), plan_count=count
        )
        plans = Plans()
        self._check_process()
        try:
            with _ending(self.resolver.PlanLayouts(request, timeout=timeout)) as events:
                async for event in events:
                    if event.HasField("result"):
                        plans = Plans(event.result)
                    elif progress is not None:
                        progress(event.progress)
        except grpc.RpcError as error:
            raise from_grpc(error) from None
        return plans

    async def batch(
        self, requests: Iterable[resolver_service_pb2.BatchResolveRequest], *, timeout: float | None = None
    ) -> AsyncIterator[resolver_service_pb2.BatchResolveResponse]:
        """As Client.batch."""
        self._check_process()
        try:
            call = self.resolver.BatchResolve(iter(requests), timeout=timeout)
            with _ending(call) as answers:
                async for answer in answers:
                    yield answer
        except grpc.RpcError as error:
            raise from_grpc(error) from None

    async def _call(self, method: Callable[..., Any], request: object, timeout: float | None) -> Any:
        self._check_process()
        try:
            return await method(request, timeout=timeout)
        except grpc.RpcError as error:
            raise from_grpc(error) from None


__all__ = [
    "SERVER_VARIABLE",
    "TOKEN_VARIABLE",
    "AsyncClient",
    "Client",
    "RpcError",
    "channel_options",
]
