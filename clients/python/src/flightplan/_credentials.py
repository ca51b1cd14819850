"""TLS as the environment says, by the variables that the command line reads too."""

from __future__ import annotations

import os

import grpc

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


def of_environment() -> grpc.ChannelCredentials | None:
    """None: plain text. Raises ValueError where a file cannot be read, or has no effect."""
    authorities = _content(CA_VARIABLE)
    if authorities is not None:
        return grpc.ssl_channel_credentials(authorities, *map(_content, OWN_VARIABLES))
    for variable in OWN_VARIABLES:
        if os.environ.get(variable):
            raise ValueError(f"{variable} needs {CA_VARIABLE}: without it the server is asked in plain text")
    return None
