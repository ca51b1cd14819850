"""An answer as the page of `flightplan serve` in one file: report.html of clients/web, with the answer in it."""

from __future__ import annotations

import re
import subprocess
from base64 import b64encode
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, Sequence

from google.protobuf.message import Message

from flightplan._own_server import find_binary

Call = tuple[str, Message, Message]
"""The rpc ("ResolverService/ResolveConfig"), what was asked, what was answered."""


_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SET_IN_TEXT = re.compile(
    r"""([\w-]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)=)("[^"]*"|'[^']*'|[^\s"'$;&|)]+)""", re.IGNORECASE
)
_MASKED = "***"


def _template() -> str:
    """report.html, which stands beside a package of sources and is built into the program that a wheel brings."""
    file = Path(__file__).parent / "report.html"
    if file.exists():
        return file.read_text(encoding="utf-8")
    program = find_binary()
    told = subprocess.run(  # noqa: S603
        [program, "schema", "report-page"], capture_output=True, text=True, encoding="utf-8", timeout=60, check=False
    )
    if told.returncode != 0:
        raise RuntimeError(f"{program} has no report-page; take the program of this package's own release")
    return told.stdout


@lru_cache(maxsize=1)
def _empty() -> tuple[str, str, str, str]:
    """The page around title, text and answer."""
    text = _template()
    before, text = text.split("%%title%%", 1)
    between, text = text.split("%%text%%", 1)
    then, rest = text.split("%%report%%", 1)
    return before, between, then, rest


def _line(word: str, *parts: bytes) -> str:
    return " ".join([word, *(b64encode(part).decode() for part in parts)]) + "\n"


def _mask_text(text: str) -> str:
    return _SET_IN_TEXT.sub(rf"\g<1>{_MASKED}", text)


def _mask(message: Any) -> None:
    """Takes out values of variables and settings that are named like a secret: a page is shown to others."""
    for field, value in message.ListFields():
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            for name in list(value):  # which is written to
                if entry.fields_by_name["value"].type != field.TYPE_STRING:
                    break
                value[name] = _MASKED if _SECRET.search(str(name)) else _mask_text(value[name])
        elif entry is not None:
            for one in value if isinstance(value, Sequence) else [value]:
                _mask(one)
        elif field.type == field.TYPE_STRING and isinstance(value, str):
            setattr(message, field.name, _mask_text(value))
        elif field.type == field.TYPE_STRING:
            value[:] = [_mask_text(one) for one in value]


def _bytes_of(message: Message) -> bytes:
    """In the order of the keys of its maps, so that one answer is one page."""
    shown = type(message)()
    shown.CopyFrom(message)
    _mask(shown)
    return shown.SerializeToString(deterministic=True)


def page(command: str, line: str, text: str, calls: Sequence[Call], names: Sequence[str] = ()) -> str:
    """A whole document. `text` is for whoever reads it without scripts."""
    held = _line("command", command.encode()) + _line("line", line.encode())
    held += "".join(_line("name", name.encode()) for name in names)
    for rpc, request, answer in calls:
        held += _line(f"call flightplan.v1.{rpc}", _bytes_of(request), _bytes_of(answer))
    before, between, then, rest = _empty()
    return before + escape(f"{line}, Flightplan") + between + escape(text) + then + held + rest


def frame(document: str, title: str) -> str:
    """The document in a frame that may run its own script and nothing else: no origin, no network, no notebook."""
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts allow-downloads" loading="lazy" '
        f'style="width:100%;height:42rem;border:1px solid #8888" srcdoc="{escape(document)}"></iframe>'
    )
