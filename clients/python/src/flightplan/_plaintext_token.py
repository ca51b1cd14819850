"""Whether a bearer token may go to a server that is spoken to in plain text."""

from __future__ import annotations

import os

ALLOW_VARIABLE = "FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN"


def _is_loopback(host: str) -> bool:
    parts = host.split(".")
    digits = all(part.isascii() and part.isdigit() and len(part) <= 3 and int(part) <= 255 for part in parts)
    return host.lower() in ("localhost", "::1") or (len(parts) == 4 and digits and parts[0] == "127")


def _host_of(part: str) -> str:
    """Of HOST or HOST:PORT; empty: it is neither."""
    if part.startswith("["):
        host, closed, rest = part[1:].partition("]")
        if not closed:
            return ""
    elif part.count(":") > 1:  # IPv6 without a port
        return part
    else:
        host, colon, port = part.partition(":")
        rest = colon + port
    port_fits = rest == "" or (rest[0] == ":" and rest[1:].isascii() and rest[1:].isdigit())
    return host if port_fits else ""


def is_local(address: str) -> bool:
    """A unix socket, a loopback address or localhost, in the forms that gRPC takes."""
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    rest = address
    for scheme in ("dns:", "ipv4:", "ipv6:", "passthrough:"):
        if address.startswith(scheme):
            rest = address[len(scheme) :]
    if rest.startswith("///"):
        rest = rest[3:]
    return all(_is_loopback(_host_of(part)) for part in rest.split(","))


def check(address: str) -> None:
    """Raises ValueError where a token could be read on its way to another machine, and nobody allowed that."""
    if not is_local(address) and os.environ.get(ALLOW_VARIABLE) != "1":
        raise ValueError(
            f"a token is not sent to {address} in plain text: set FLIGHTPLAN_CA_FILE, pass "
            f"credentials=grpc.ssl_channel_credentials(...), or set {ALLOW_VARIABLE}=1"
        )
