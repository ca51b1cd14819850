"""The little HTML that notebooks show. All text is escaped."""

from __future__ import annotations

from html import escape
from typing import Iterable, Sequence

from flightplan.findings import Finding

_COLOURS = {"error": "#b00020", "warning": "#8a6d00", "info": "#555"}


def heading(text: str, ok: bool) -> str:
    """The first line."""
    return f'<p style="color:{"#1b5e20" if ok else _COLOURS["error"]}"><b>{escape(text)}</b></p>'


def findings(found: Sequence[Finding]) -> str:
    """A list, the worst first, each with its fixes."""
    items = [f'<li style="color:{_COLOURS[finding.level]}"><pre>{escape(str(finding))}</pre></li>' for finding in found]
    return f"<ul>{''.join(items)}</ul>" if items else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f'<{tag} style="text-align:left">{escape(cell)}</{tag}>' for cell in cells) + "</tr>"

    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"


def code(text: str) -> str:
    """Text to copy."""
    return f"<details><summary>launch</summary><pre>{escape(text)}</pre></details>"
