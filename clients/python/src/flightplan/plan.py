"""Answers as Python values: a plan, a report on a finished configuration, why a knob has its value."""

from __future__ import annotations

import dataclasses
import os
import shlex
import tempfile
from functools import cached_property
from typing import List, Mapping, Sequence

from flightplan import _html, _page
from flightplan.errors import ConfigError
from flightplan.findings import Finding, errors
from flightplan.observation import Observation, observe
from flightplan.v1 import estimate_pb2, finding_pb2, resolver_service_pb2
from flightplan.values import Value, from_message, to_text

_GIB = 2**30
_FIT = {
    estimate_pb2.FIT_VERDICT_FITS: "fits",
    estimate_pb2.FIT_VERDICT_MARGINAL: "marginal",
    estimate_pb2.FIT_VERDICT_DOES_NOT_FIT: "does not fit",
}
_COMPLETENESS = {
    resolver_service_pb2.COMPLETENESS_PARTIAL: "partial",
    resolver_service_pb2.COMPLETENESS_NONE: "none",
}


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why one knob has its value."""

    name: str
    value: Value
    origin: str
    """"default", "model", "caller", "decided" or "upstream"."""
    spelling: str
    """The target's: "--recompute-modules"; empty where it has none."""
    reason: str
    basis: str
    """What a decision rests on: "rule", "measured", "recipes", "guidance", "estimate"; empty where none was made."""
    alternatives: Sequence[tuple[Value, str]]
    """What was not chosen, and why not."""
    citations: Sequence[str]

    def __str__(self) -> str:
        lines = [f"{self.name} = {to_text(self.value)}  ({self.basis or self.origin})"]
        lines += [f"  {self.reason}"] if self.reason else []
        lines += [f"  not {to_text(value)}: {reason}" for value, reason in self.alternatives]
        lines += [f"  source: {citation}" for citation in self.citations]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Memory:
    """The memory forecast of the fullest pipeline stage, in GiB, with its band."""

    verdict: str
    """"fits", "marginal" or "does not fit"."""
    gib: float
    low_gib: float
    high_gib: float
    usable_gib: float


class _Judged:
    """What a plan and a report have in common."""

    def __init__(
        self, response: resolver_service_pb2.ResolveConfigResponse | resolver_service_pb2.ValidateConfigResponse
    ):
        self._judged = response

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found, the worst first."""
        return tuple(Finding.of(finding) for finding in self._judged.findings)

    @cached_property
    def config(self) -> Mapping[str, Value]:
        """The final value of every knob that is written or that the stack sets."""
        return {entry.name: from_message(entry.value) for entry in self._judged.config}

    @property
    def accepted_by_stack(self) -> bool:
        """The stack's own configuration code accepts it."""
        return self._judged.accepted_by_stack

    @property
    def will_run(self) -> bool:
        """Nothing known makes it fail later."""
        return self._judged.will_run

    @property
    def ok(self) -> bool:
        """No finding is of level error."""
        return not errors(self.findings)

    @property
    def digest(self) -> str:
        """Same digest, same answer. It is the decision's id in the server's log."""
        return self._judged.digest

    @property
    def target(self) -> str:
        """The framework and version judged."""
        return self._judged.target

    def check(self) -> None:
        """Raises ConfigError where it cannot run."""
        if not self.ok:
            raise ConfigError(errors(self.findings))

    @property
    def memory(self) -> Memory | None:
        """None where it was not weighed."""
        stages = self._judged.estimate.stages
        if not stages:
            return None
        fullest = max(stages, key=lambda stage: stage.total_bytes.value).total_bytes
        return Memory(
            verdict=_FIT.get(self._judged.estimate.fit, "not judged"),
            gib=fullest.value / _GIB,
            low_gib=fullest.low / _GIB,
            high_gib=fullest.high / _GIB,
            usable_gib=self._judged.estimate.usable_bytes / _GIB,
        )

    def explain(self, knob: str) -> Explanation:
        """Why `knob` has its value.

        Raises:
            KeyError: The configuration has no such knob.
        """
        entry = next((entry for entry in self._judged.config if entry.name == knob), None)
        decision = next((one for one in getattr(self._judged, "decisions", ()) if one.name == knob), None)
        if entry is None and decision is None:
            raise KeyError(f"{knob} is no knob of this configuration")
        made = decision or finding_pb2.Decision()
        origin = entry.origin if entry else resolver_service_pb2.CONFIG_ORIGIN_DECIDED
        return Explanation(
            name=knob,
            value=from_message(entry.value if entry else made.value),
            origin=resolver_service_pb2.ConfigOrigin.Name(origin).removeprefix("CONFIG_ORIGIN_").lower(),
            spelling=entry.spelling if entry else "",
            reason=made.reason or (entry.reason if entry else ""),
            basis=finding_pb2.Basis.Name(made.basis).removeprefix("BASIS_").lower() if decision else "",
            alternatives=tuple((from_message(other.value), other.reason) for other in made.alternatives),
            citations=tuple(citation.text for citation in made.citations),
        )


class Plan(_Judged):
    """One complete configuration. `response` is the message it was made of, `request` what was asked, if known."""

    def __init__(
        self,
        response: resolver_service_pb2.ResolveConfigResponse,
        request: resolver_service_pb2.ResolveConfigRequest | None = None,
    ):
        super().__init__(response)
        self.response = response
        self.request = request

    @property
    def resolved(self) -> bool:
        """The configuration is complete and has no finding of level error."""
        return self.response.outcome == resolver_service_pb2.OUTCOME_RESOLVED

    def launch(self, dialect: str = "") -> resolver_service_pb2.Launch:
        """The launch in a dialect; empty: the target's own.

        Raises:
            LookupError: The plan was not asked for with `dialects=[dialect]`.
        """
        for launch in self.response.launches:
            if dialect in ("", launch.dialect):
                return launch
        raise LookupError(f"no launch for {dialect}: ask for it, resolve(..., dialects=[{dialect!r}])")

    @property
    def argv(self) -> list[str]:
        """Arguments of the training script, in the target's own dialect."""
        return list(self.launch().argv)

    @property
    def env(self) -> dict[str, str]:
        """Environment variables of the launch."""
        return dict(self.launch().env)

    def observe(self, log: str | os.PathLike[str], *, gpu: str) -> Observation:
        """What a run of this plan printed (a file or a folder), beside its forecast: see flightplan.observe."""
        sizes = self.response.layout
        gpus = sizes.data_parallel_size * max(1, sizes.sizes.tensor_model_parallel_size)
        gpus *= max(1, sizes.sizes.pipeline_model_parallel_size) * max(1, sizes.sizes.context_parallel_size)
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "launch.sh")
            with open(script, "w", encoding="utf-8") as file:
                file.write(self.launch().text)
            return observe(log, launch=script, gpu=gpu, gpus=gpus, target=self.target.replace(" ", "@"))

    @property
    def bridge_overrides(self) -> list[str]:
        """ "model.expert_model_parallel_size=8" ...: Megatron-Bridge's spelling of the same configuration."""
        return list(self.launch("megatron-bridge").argv)

    @property
    def shell(self) -> str:
        """The launch's arguments, quoted for a shell."""
        return shlex.join(self.argv)

    @property
    def step_time_seconds(self) -> float | None:
        """Forecast; None where no time model covers the case."""
        estimate = self.response.estimate
        return estimate.step_time_us.value / 1e6 if estimate.HasField("step_time_us") else None

    @property
    def layout(self) -> dict[str, int]:
        """Sizes by their short names: tp, pp, vpp, cp, ep, etp, dp, edp."""
        sizes = self.response.layout.sizes
        return {
            "tp": sizes.tensor_model_parallel_size,
            "pp": sizes.pipeline_model_parallel_size,
            "vpp": sizes.virtual_pipeline_model_parallel_size,
            "cp": sizes.context_parallel_size,
            "ep": sizes.expert_model_parallel_size,
            "etp": sizes.expert_tensor_parallel_size,
            "dp": self.response.layout.data_parallel_size,
            "edp": self.response.layout.expert_data_parallel_size,
        }

    def __repr__(self) -> str:
        sizes = " ".join(f"{name}{size}" for name, size in self.layout.items())
        outcome = "resolved" if self.resolved else "infeasible"
        return f"<Plan {self.response.model.name} for {self.target}: {outcome}, {sizes}, {self.digest}>"

    def page(self) -> str:
        """The answer as a document of its own, without outside references, as `flightplan resolve --format html`."""
        asked = self.request or resolver_service_pb2.ResolveConfigRequest()
        text = "\n\n".join([repr(self)[1:-1], *map(str, self.findings)])
        calls = [("ResolverService/ResolveConfig", asked, self.response)]
        return _page.page("resolve", repr(self)[1:-1], text, calls)

    def _repr_html_(self) -> str:
        if self.request is not None:
            title = repr(self)[1:-1]
            return _html.heading(title, self.ok) + _html.findings(self.findings) + _page.frame(self.page(), title)
        decided = [self.explain(decision.name) for decision in self.response.decisions if decision.name in self.config]
        rows = [(why.name, to_text(why.value), why.reason, why.basis) for why in decided]
        return (
            _html.heading(repr(self)[1:-1], self.ok)
            + _html.findings(self.findings)
            + _html.table(("decided", "", "because", "rests on"), rows)
            + (_html.code(self.launch().text) if self.resolved else "")
        )


class Plans(List[Plan]):
    """The plans of a search, best first, with what the search itself says: where there are none, why."""

    def __init__(self, result: resolver_service_pb2.PlanResult | None = None):
        self.result = resolver_service_pb2.PlanResult() if result is None else result
        super().__init__(Plan(response) for response in self.result.plans)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Those of the search: "plan.nothing-fits", "plan.search-stopped"; what is found of a plan stands with it."""
        return tuple(Finding.of(finding) for finding in self.result.findings)

    @property
    def space_count(self) -> int:
        """The candidates that there are."""
        return self.result.space_count

    @property
    def judged_count(self) -> int:
        """Those of them that were judged one by one."""
        return self.result.judged_count

    @property
    def pruned_counts(self) -> Mapping[str, int]:
        """How many were left out, by the reason."""
        return dict(self.result.pruned_counts)


class Report(_Judged):
    """The verdicts on a finished configuration. `response` is the message it was made of, `request` what was asked."""

    def __init__(
        self,
        response: resolver_service_pb2.ValidateConfigResponse,
        request: resolver_service_pb2.ValidateConfigRequest | None = None,
    ):
        super().__init__(response)
        self.response = response
        self.request = request

    @property
    def completeness(self) -> str:
        """How much was judged: "full", "partial" (nothing that it shows is refused), "none". `not_judged` says why."""
        return _COMPLETENESS.get(self.response.completeness, "full")

    @property
    def accepted_by_stack(self) -> bool:
        """The stack's own configuration code accepts it, as far as it was judged; False where nothing was."""
        return self.completeness != "none" and super().accepted_by_stack

    @property
    def will_run(self) -> bool:
        """Nothing known makes it fail later, as far as it was judged; False where nothing was."""
        return self.completeness != "none" and super().will_run

    @property
    def not_judged(self) -> list[str]:
        """What was not judged, and why."""
        return list(self.response.not_judged)

    @property
    def repaired(self) -> str | list[str] | None:
        """The repaired text or arguments, where `repair=True` was asked for and there was something to repair."""
        if not self.response.HasField("repair"):
            return None
        return self.response.repair.text or list(self.response.repair.arguments)

    @property
    def _verdict(self) -> str:
        if self.completeness == "none":
            return "not judged"
        if not self.accepted_by_stack:
            return "refused"
        if not self.will_run:
            return "will fail"
        if self.completeness == "partial":
            return "not judged in full"
        unknown = self.response.memory.fit == estimate_pb2.FIT_VERDICT_UNKNOWN
        return "will run if it fits" if unknown else "will run"

    def __repr__(self) -> str:
        subject = f"Report on {self.target}" if self.target else "Report"
        return f"<{subject}: {self._verdict}, {len(self.findings)} findings, {self.digest}>"

    def _repr_html_(self) -> str:
        shown = _html.heading(repr(self)[1:-1], self.ok and self.completeness != "none")
        shown += _html.findings(self.findings)
        return shown if self.request is None else shown + _page.frame(self.page(), repr(self)[1:-1])

    def page(self) -> str:
        """The verdicts as a document of its own, without outside references, as `flightplan validate --format html`."""
        asked = self.request or resolver_service_pb2.ValidateConfigRequest()
        text = "\n\n".join([repr(self)[1:-1], *map(str, self.findings)])
        calls = [("ResolverService/ValidateConfig", asked, self.response)]
        return _page.page("validate", repr(self)[1:-1], text, calls, [asked.file.name or "launch"])
