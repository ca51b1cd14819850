"""An answer as the page of `flightplan serve` in one file: report.html of clients/web, with the answer in it."""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Sequence

from google.protobuf.message import Message

Call = tuple[str, Message, Message]
"""The rpc ("ResolverService/ResolveConfig"), what was asked, what was answered."""


@lru_cache(maxsize=1)
def _empty() -> tuple[str, str, str, str]:
    """The page around title, text and answer."""
    text = (Path(__file__).parent / "report.html").read_text(encoding="utf-8")
    before, text = text.split("%%title%%", 1)
    between, text = text.split("%%text%%", 1)
    then, rest = text.split("%%report%%", 1)
    return before, between, then, rest


def _line(word: str, *parts: bytes) -> str:
    return " ".join([word, *(b64encode(part).decode() for part in parts)]) + "\n"


def page(command: str, line: str, text: str, calls: Sequence[Call], names: Sequence[str] = ()) -> str:
    """A whole document. `text` is for whoever reads it without scripts."""
    held = _line("command", command.encode()) + _line("line", line.encode())
    held += "".join(_line("name", name.encode()) for name in names)
    for rpc, request, answer in calls:
        held += _line(f"call flightplan.v1.{rpc}", request.SerializeToString(), answer.SerializeToString())
    before, between, then, rest = _empty()
    return before + escape(f"{line}, Flightplan") + between + escape(text) + then + held + rest


def frame(document: str, title: str) -> str:
    """The document in a frame that may run its own script and nothing else: no origin, no network, no notebook."""
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts allow-downloads" loading="lazy" '
        f'style="width:100%;height:42rem;border:1px solid #8888" srcdoc="{escape(document)}"></iframe>'
    )
