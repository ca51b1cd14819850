"""Findings and fixes as values."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Sequence

from flightplan.v1 import finding_pb2
from flightplan.values import Value, from_message, to_text

_LEVELS = {
    finding_pb2.SEVERITY_ERROR: "error",
    finding_pb2.SEVERITY_WARNING: "warning",
    finding_pb2.SEVERITY_INFO: "info",
}


@dataclasses.dataclass(frozen=True)
class Fix:
    """Knobs and variables to set together; None unsets."""

    knobs: Mapping[str, Value]
    env: Mapping[str, str]
    changes_convergence: bool
    """It changes what the training computes, not only how fast."""

    @classmethod
    def of(cls, message: finding_pb2.Fix) -> Fix:
        """The fix of a message."""
        knobs = {knob.name: from_message(knob.value) for knob in message.knobs}
        return cls(knobs, dict(message.env), message.changes_convergence)

    def __str__(self) -> str:
        knobs = [f"{name}={to_text(value)}" for name, value in self.knobs.items()]
        return " ".join(knobs + [f"{name}={value}" for name, value in sorted(self.env.items())])


@dataclasses.dataclass(frozen=True)
class Finding:
    """What was seen, what is needed, what to do."""

    rule_id: str
    level: str
    """"error", "warning" or "info"."""
    seen: str
    needs: str
    fixes: Sequence[Fix]
    """Best first; each stands alone."""
    source: str
    observed: Mapping[str, Value]
    """The values the rule looked at."""

    @classmethod
    def of(cls, message: finding_pb2.Finding) -> Finding:
        """The finding of a message."""
        return cls(
            rule_id=message.rule_id,
            level=_LEVELS.get(message.severity, "info"),
            seen=message.seen,
            needs=message.needs,
            fixes=tuple(Fix.of(fix) for fix in message.fixes),
            source=message.source.text,
            observed={knob.name: from_message(knob.value) for knob in message.observed},
        )

    def __str__(self) -> str:
        fixes = " or ".join(str(fix) for fix in self.fixes)
        lines = [f"{self.level} [{self.rule_id}] {self.seen}", f"  needs: {self.needs}" if self.needs else ""]
        return "\n".join([line for line in lines if line] + ([f"  fix: {fixes}"] if fixes else []))


def errors(findings: Sequence[Finding]) -> list[Finding]:
    """Those of level error."""
    return [finding for finding in findings if finding.level == "error"]
