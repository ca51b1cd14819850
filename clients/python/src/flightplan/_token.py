"""The bearer token that a client is given, and how each call of its channel carries it."""

from __future__ import annotations

import os
from typing import Any, Callable

import grpc
import grpc.aio

VARIABLE = "FLIGHTPLAN_TOKEN"


def given(token: str | None) -> str:
    """Of the caller, else of the environment, without the line break of a file; "": none.

    Raises ValueError where no header can carry it, which gRPC would end the process for. The token is not shown.
    """
    text = (token or os.environ.get(VARIABLE) or "").rstrip()
    if not all("!" <= character <= "~" for character in text):
        raise ValueError(
            f"the token (token or {VARIABLE}) holds a space, a line break or a character that is no ASCII; "
            "must be the token alone, in visible ASCII"
        )
    return text


class _Carries:
    """Adds the token to the metadata of a call that names none of its own, whichever stub makes it."""

    def __init__(self, token: str):
        self._header = ("authorization", f"Bearer {token}")

    def _continue(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        metadata = tuple(details.metadata or ())
        if all(key != self._header[0] for key, _ in metadata):
            metadata = (*metadata, self._header)
        kind = grpc.aio.Metadata if isinstance(details, grpc.aio.ClientCallDetails) else lambda *pairs: pairs
        return continuation(details._replace(metadata=kind(*metadata)), request)

    intercept_unary_unary = intercept_unary_stream = intercept_stream_unary = intercept_stream_stream = _continue


# gRPC tells by its bases what an interceptor is for; asyncio's is for one kind of call.
_KINDS = ("UnaryUnary", "UnaryStream", "StreamUnary", "StreamStream")


def _carrier(module: Any, *kinds: str) -> Any:
    bases = (getattr(module, f"{kind}ClientInterceptor") for kind in kinds)
    return type("Carrier", (_Carries, *bases), {})


def carried(channel: grpc.Channel, token: str) -> grpc.Channel:
    """The channel, whose every call has the token; without one, the channel itself."""
    return grpc.intercept_channel(channel, _carrier(grpc, *_KINDS)(token)) if token else channel


def carriers(token: str) -> list[Any]:
    """The same for a channel of asyncio, which takes its interceptors when it is made."""
    return [_carrier(grpc.aio, kind)(token) for kind in _KINDS] if token else []
