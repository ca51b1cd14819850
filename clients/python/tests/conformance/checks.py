"""What a case wants of the facts of an answer."""

from __future__ import annotations

from typing import Iterable

from conformance_pb2 import Check
from facts import Facts


def _holds(check: Check, values: list[str]) -> bool:
    kind = check.WhichOneof("condition")
    if kind == "is":
        return values == [getattr(check, "is")]
    if kind == "has":
        return check.has in values
    if kind == "lacks":
        return check.lacks not in values
    if kind == "contains":
        return any(check.contains in value for value in values)
    if kind == "run":
        run = list(check.run.values)
        return bool(run) and any(values[i : i + len(run)] == run for i in range(len(values)))
    if kind == "count":
        return len(values) == check.count
    try:
        number = int(values[0]) if len(values) == 1 else None
    except ValueError:
        number = None
    if number is None:
        return False
    return number >= check.at_least if kind == "at_least" else kind == "at_most" and number <= check.at_most


def violations(checks: Iterable[Check], facts: Facts) -> list[str]:
    """One text for each condition that does not hold."""
    found = []
    for check in checks:
        values = facts.of(check.fact)
        if not _holds(check, values):
            found.append(f"{str(check).replace(chr(10), ' ')}: got {values}")
    return found
