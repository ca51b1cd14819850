"""gRPC calls to this process's own server, spoken with h2 over its unix socket.

gRPC's own library keeps threads and locks for the whole process from the first channel on, and a process that forks
afterwards may hang or crash, in the child and in the parent (https://github.com/grpc/grpc/pull/41752): a trainer whose
data loaders fork must not pay for a question. Here a call is one connection, and nothing is left when it is over.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import socket
import struct
import threading
import time
from importlib import resources
from typing import Any, Callable, Iterable, Iterator, Mapping, Tuple, Union, cast
from urllib.parse import unquote

import grpc
import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

Metadata = Tuple[Tuple[str, Union[str, bytes]], ...]

Call = Callable[..., Any]

_STREAM = 1  # a connection has one call
_WINDOW = 1 << 24  # bytes of an answer on their way; HTTP/2's own 64 KiB costs a turn for each
_READ_BYTES = 1 << 16
_SETTINGS = {h2.settings.SettingCodes.ENABLE_PUSH: 0, h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW}
_PREFIX = struct.Struct(">BI")  # compressed or not, bytes of the message
_CODES: Mapping[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class CallFailed(grpc.RpcError):
    """As gRPC's own errors are: a status, its text, and the trailers."""

    def __init__(self, code: grpc.StatusCode, details: str, trailers: Metadata = ()):
        super().__init__(f"{code.name}: {details}")
        self._code, self._details, self._trailers = code, details, trailers

    def code(self) -> grpc.StatusCode:
        """The status."""
        return self._code

    def details(self) -> str:
        """Its text."""
        return self._details

    def trailing_metadata(self) -> Any:
        """What the server sent with it; values of names that end in -bin are bytes."""
        return self._trailers


class LocalChannel:
    """What the generated stubs need of a channel, for calls that block. Safe to share between threads.

    Args:
        address: Asked for each call: "unix:PATH".
    """

    def __init__(self, address: Callable[[], str]):
        self._address = address

    def unary_unary(self, method: str, request_serializer: Any, response_deserializer: Any, **_: Any) -> Call:
        """One message, one answer."""

        def call(request: Any, timeout: float | None = None, metadata: Metadata = ()) -> Any:
            with self._start(method, timeout, metadata) as exchange:
                exchange.send(request_serializer(request), last=True)
                answers = [response_deserializer(message) for message in exchange.messages()]
            if len(answers) != 1:
                raise CallFailed(grpc.StatusCode.INTERNAL, f"{method} answered {len(answers)} messages for one")
            return answers[0]

        return call

    def unary_stream(self, method: str, request_serializer: Any, response_deserializer: Any, **_: Any) -> Call:
        """One message, many answers. Closing the iterator ends the call."""

        def call(request: Any, timeout: float | None = None, metadata: Metadata = ()) -> Iterator[Any]:
            with self._start(method, timeout, metadata) as exchange:
                exchange.send(request_serializer(request), last=True)
                yield from map(response_deserializer, exchange.messages())

        return call

    def stream_stream(self, method: str, request_serializer: Any, response_deserializer: Any, **_: Any) -> Call:
        """Many messages, many answers. As in gRPC a thread takes the messages, so they may wait for answers."""

        def call(requests: Iterable[Any], timeout: float | None = None, metadata: Metadata = ()) -> Iterator[Any]:
            with self._start(method, timeout, metadata) as exchange:
                feeding = threading.Thread(target=exchange.feed, args=(requests, request_serializer), daemon=True)
                feeding.start()
                yield from map(response_deserializer, exchange.messages())

        return call

    def _start(self, method: str, timeout: float | None, metadata: Metadata) -> _Exchange:
        seconds = _default_seconds(method) if timeout is None else timeout
        return _Exchange(self._address()[len("unix:") :], method, seconds, metadata)


class _Exchange:
    """One call on a connection of its own. One thread reads; another may send meanwhile."""

    def __init__(self, path: str, method: str, seconds: float, metadata: Metadata):
        self._end = time.monotonic() + seconds
        self._changed = threading.Condition()  # guards what both threads use: all but the socket's reading side
        self._unsent = bytearray()  # what the server's window had no room for
        self._last_sent = False
        self._received = bytearray()
        self._trailers: Metadata = ()
        self._ended = False
        self._failure: CallFailed | None = None
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self._http.local_settings = h2.settings.Settings(client=True, initial_values=_SETTINGS)
        left = self._left()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(left)
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise _lost(error) from error
        self._http.initiate_connection()
        self._http.increment_flow_control_window(_WINDOW)
        self._http.send_headers(_STREAM, _headers(method, seconds, metadata))

    def __enter__(self) -> _Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
            self._shut()
            self._socket.close()

    def send(self, message: bytes, last: bool = False) -> None:
        """Sends a message as far as the server has room for it; `messages` sends the rest."""
        with self._changed:
            self._unsent += _PREFIX.pack(0, len(message)) + message
            self._last_sent = last
            self._send_on()

    def feed(self, requests: Iterable[Any], serialize: Callable[[Any], bytes]) -> None:
        """Sends what an iterator yields, no faster than the server takes it. What it raises ends the call."""
        try:
            for request in requests:
                self.send(serialize(request))
                with self._changed:
                    self._changed.wait_for(lambda: self._ended or not self._unsent)
                    if self._ended:
                        return
            with self._changed:
                if not self._ended:
                    self._last_sent = True
                    self._send_on()
        except Exception as error:
            with self._changed:
                if not self._ended:
                    self._failure = CallFailed(grpc.StatusCode.UNKNOWN, f"iterating the requests raised {error!r}")
                    self._shut()  # wakes the reader

    def messages(self) -> Iterator[bytes]:
        """The answers, as they come.

        Raises:
            CallFailed: The call does not end well.
        """
        while True:
            message = self._next_message()
            if message is not None:
                yield message
            elif self._ended:
                break
            else:
                self._read()
        self._check_status()

    def _next_message(self) -> bytes | None:
        if len(self._received) < _PREFIX.size:
            return None
        compressed, size = _PREFIX.unpack_from(self._received)
        if compressed:
            raise CallFailed(grpc.StatusCode.INTERNAL, "the answer is compressed, which was not asked for")
        end = _PREFIX.size + size
        if len(self._received) < end:
            return None
        message = bytes(self._received[_PREFIX.size : end])
        del self._received[:end]
        return message

    def _read(self) -> None:
        """Waits for something from the server, and does what it says."""
        try:
            self._socket.settimeout(self._left())
            data = self._socket.recv(_READ_BYTES)
        except OSError as error:
            raise self._failure or _lost(error) from error
        if not data:
            raise self._failure or CallFailed(grpc.StatusCode.UNAVAILABLE, "flightplan's own server ended meanwhile")
        with self._changed:
            try:
                for event in self._http.receive_data(data):
                    self._handle(event)
            except h2.exceptions.ProtocolError as error:
                raise CallFailed(grpc.StatusCode.INTERNAL, f"no HTTP/2 came back: {error}") from error
            self._send_on()
            self._changed.notify_all()

    def _handle(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.DataReceived):
            self._received += event.data
            self._http.acknowledge_received_data(event.flow_controlled_length, _STREAM)
        elif isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
            self._trailers = _decoded(event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            self._ended = True
        elif isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)):
            self._ended = True
            if self._status() is None:  # after the status this only says that no more messages are wanted
                why = f"flightplan's own server broke the call off (HTTP/2: {event.error_code})"
                self._failure = CallFailed(grpc.StatusCode.UNAVAILABLE, why)

    def _send_on(self) -> None:
        """Sends what there is room for. Called with the lock."""
        while not self._ended and (self._unsent or self._last_sent):
            room = min(self._http.local_flow_control_window(_STREAM), self._http.max_outbound_frame_size)
            if self._unsent and room <= 0:
                break
            data = bytes(self._unsent[:room])
            del self._unsent[:room]
            last = self._last_sent and not self._unsent
            self._http.send_data(_STREAM, data, end_stream=last)
            if last:
                self._last_sent = False
        with contextlib.suppress(OSError):  # reading says what became of the server, and may have its last words
            self._socket.sendall(self._http.data_to_send())

    def _shut(self) -> None:
        """Ends the connection for this process and for those forked meanwhile, and with it the call on the server."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _left(self) -> float:
        """Seconds until the deadline, more than 0. Raises CallFailed after it."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise _late()
        return left

    def _status(self) -> str | None:
        return cast(Union[str, None], dict(self._trailers).get("grpc-status"))

    def _check_status(self) -> None:
        if self._failure is not None:
            raise self._failure
        status = self._status() or ""
        if status == "0":
            return
        code = _CODES.get(int(status), grpc.StatusCode.UNKNOWN) if status.isdigit() else grpc.StatusCode.UNKNOWN
        text = unquote(str(dict(self._trailers).get("grpc-message", ""))) if status else "the answer has no status"
        raise CallFailed(code, text, self._trailers)


def _headers(method: str, seconds: float, metadata: Metadata) -> list[tuple[str, str]]:
    # At most eight digits.
    milliseconds = min(max(1, int(seconds * 1000)), 99_999_999)
    return [
        (":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "localhost"), ("te", "trailers"),
        ("content-type", "application/grpc"), ("user-agent", "flightplan-python"),
        ("grpc-timeout", f"{milliseconds}m"), *((name, str(value)) for name, value in metadata),
    ]  # fmt: skip


def _decoded(headers: Iterable[tuple[Any, Any]] | None) -> Metadata:
    """Headers as gRPC gives them to its callers: those that end in -bin as bytes."""
    return tuple(
        (name, base64.b64decode(value + "=" * (-len(value) % 4)) if name.endswith("-bin") else value)
        for name, value in headers or ()
    )


def _lost(error: OSError) -> CallFailed:
    if isinstance(error, socket.timeout):
        return _late()
    return CallFailed(grpc.StatusCode.UNAVAILABLE, f"flightplan's own server cannot be reached ({error.strerror})")


def _late() -> CallFailed:
    return CallFailed(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")


@functools.cache
def _default_seconds(method: str) -> float:
    """The service config's time-out of a method: "/flightplan.v1.ResolverService/PlanLayouts"."""
    _, service, name = method.split("/")
    config = json.loads(resources.files("flightplan").joinpath("service_config.json").read_text(encoding="utf-8"))
    timeouts = {
        (entry["service"], entry.get("method")): float(part["timeout"].rstrip("s"))
        for part in config["methodConfig"]
        for entry in part["name"]
    }
    return timeouts.get((service, name), timeouts[(service, None)])
