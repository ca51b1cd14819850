"""What can go wrong, as exceptions that a launcher can tell apart without reading text."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Sequence

import grpc
from google.rpc import error_details_pb2, status_pb2

if TYPE_CHECKING:
    from flightplan.findings import Finding

_DETAILS = "grpc-status-details-bin"


class FlightplanError(Exception):
    """The base of everything this package raises by itself."""


class ServerNotStarted(FlightplanError):
    """No server was named, and this process could not start its own. The message says why and what to do."""


class ConfigError(FlightplanError):
    """The configuration cannot run. `findings` has every fault of level error, each with its fixes."""

    def __init__(self, findings: Sequence[Finding]):
        super().__init__("\n".join(str(finding) for finding in findings))
        self.findings = tuple(findings)


@dataclasses.dataclass(frozen=True)
class Violation:
    """One field of the request that is wrong."""

    field: str
    """Dotted path in the request: "hardware.gpu"."""
    description: str


class RpcError(FlightplanError):
    """The call failed. What a program may turn on are fields: `code`, `reason`, `violations`, `retry_after`."""

    def __init__(self, error: grpc.RpcError):
        code, message, trailers = error.code(), error.details() or "", error.trailing_metadata()
        self.code: grpc.StatusCode = code
        self.message: str = message
        self.reason = ""
        """ErrorInfo's reason: "REQUEST_INVALID", "OVERLOADED"; empty where the answer is not the server's own."""
        self.violations: Sequence[Violation] = ()
        self.retry_after: float | None = None
        """Seconds after which it is worth trying again; None: the server did not say so."""
        self.details = _status_details(trailers)
        for detail in self.details.details:
            self._read(detail)
        super().__init__(f"{self.code.name}: {message}{self._violation_lines()}")

    def _violation_lines(self) -> str:
        return "".join(f"\n  {violation.field}: {violation.description}" for violation in self.violations)

    def _read(self, detail: Any) -> None:
        info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            self.reason = info.reason
        elif detail.Unpack(bad):
            self.violations = tuple(Violation(entry.field, entry.description) for entry in bad.field_violations)
        elif detail.Unpack(retry):
            self.retry_after = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9


class InvalidRequest(RpcError):
    """A field is missing, malformed, out of range or names something unknown; `violations` has all of them."""


class NotFound(RpcError):
    """No model, GPU, knob, rule, profile or measurement has this name."""


class Unavailable(RpcError):
    """No server answered, or it is draining or overloaded. Retries that the service config allows were made."""


class DeadlineExceeded(RpcError):
    """The answer did not come in time."""


_CLASSES = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
}


def from_grpc(error: grpc.RpcError) -> RpcError:
    """The exception for a failed call, sync or async."""
    made = _CLASSES.get(error.code(), RpcError)(error)
    if made.code == grpc.StatusCode.RESOURCE_EXHAUSTED and made.retry_after is None:
        return RpcError(error)  # a message that is too large stays too large
    return made


def _status_details(trailers: Any) -> status_pb2.Status:
    status = status_pb2.Status()
    for name, value in trailers or ():
        if name == _DETAILS:
            status.ParseFromString(value)
    return status
