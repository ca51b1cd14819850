"""How a channel is made: its options, and TLS as the environment says, by the command line's own variables."""

from __future__ import annotations

import os
from importlib import resources
from typing import Any

import grpc

from flightplan import _plaintext_token

CA_VARIABLE = "FLIGHTPLAN_CA_FILE"
OWN_VARIABLES = ("FLIGHTPLAN_KEY_FILE", "FLIGHTPLAN_CERT_FILE")


def _content(variable: str) -> bytes | None:
    """A variable that names no file counts as empty."""
    path = os.environ.get(variable)
    if not path:
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ValueError(f"{variable}: {error}") from None


def credentials_of_environment() -> grpc.ChannelCredentials | None:
    """None: plain text. Raises ValueError where a file cannot be read, or has no effect."""
    authorities = _content(CA_VARIABLE)
    if authorities is not None:
        return grpc.ssl_channel_credentials(authorities, *map(_content, OWN_VARIABLES))
    for variable in OWN_VARIABLES:
        if os.environ.get(variable):
            raise ValueError(f"{variable} needs {CA_VARIABLE}: without it the server is asked in plain text")
    return None


def channel_options(server: str = "", credentials: grpc.ChannelCredentials | None = None) -> list[tuple[str, Any]]:
    """Options of a channel to that server. An HTTP proxy of the environment is used by TLS to other machines alone."""
    config = resources.files("flightplan").joinpath("service_config.json").read_text(encoding="utf-8")
    options: list[tuple[str, Any]] = [("grpc.service_config", config)]
    if credentials is None or _plaintext_token.is_local(server):
        options.append(("grpc.enable_http_proxy", 0))
    return options
