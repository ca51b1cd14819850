"""The bearer token that a client is given."""

from __future__ import annotations

import os

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
