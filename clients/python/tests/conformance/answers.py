"""The facts of each answer."""

from __future__ import annotations

from typing import Any, Callable, Iterable

from facts import Facts
from google.rpc import error_details_pb2

from flightplan.v1 import (
    catalog_service_pb2,
    estimate_pb2,
    evidence_pb2,
    evidence_service_pb2,
    finding_pb2,
    hardware_pb2,
    model_pb2,
    probe_service_pb2,
    profile_pb2,
    resolver_service_pb2,
)

CODES = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED "
    "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS "
    "UNAUTHENTICATED"
).split()


def _value(value: finding_pb2.KnobValue) -> str:
    kind = value.WhichOneof("kind")
    if kind == "bool_value":
        return "true" if value.bool_value else "false"
    if kind == "int_value":
        return str(value.int_value)
    if kind == "double_value":
        return str(int(value.double_value * 1e6))
    if kind == "string_value":
        return value.string_value
    if kind == "list_value":
        return f"[{','.join(_value(item) for item in value.list_value.values)}]"
    return "None"


def _fix(fix: finding_pb2.Fix) -> str:
    knobs = [f"{knob.name}={_value(knob.value)}" for knob in fix.knobs]
    return " ".join(knobs + [f"env.{name}={fix.env[name]}" for name in sorted(fix.env)])


def _findings(at: str, findings: Iterable[finding_pb2.Finding], facts: Facts) -> None:
    for finding in findings:
        rule = finding.rule_id
        facts.add(f"{at}finding", rule)
        facts.add(f"{at}severity.{rule}", finding_pb2.Severity.Name(finding.severity))
        facts.add(f"{at}seen.{rule}", finding.seen)
        facts.add(f"{at}needs.{rule}", finding.needs)
        facts.add(f"{at}source.{rule}", finding.source.text)
        for fix in finding.fixes:
            facts.add(f"{at}fix.{rule}", _fix(fix))


def _config(at: str, entries: Iterable[resolver_service_pb2.ConfigEntry], facts: Facts) -> None:
    for entry in entries:
        facts.add(f"{at}config.{entry.name}", _value(entry.value))
        facts.add(f"{at}origin.{entry.name}", resolver_service_pb2.ConfigOrigin.Name(entry.origin))
        facts.add(f"{at}spelling.{entry.name}", entry.spelling)


def _changes(at: str, changes: Iterable[finding_pb2.EffectiveChange], facts: Facts) -> None:
    for change in changes:
        before, after = _value(getattr(change, "from")), _value(change.to)
        facts.add(f"{at}change", f"{change.rule_id} {change.name} {before} -> {after}")


def _estimate(at: str, estimate: estimate_pb2.Estimate, facts: Facts) -> None:
    facts.add(f"{at}fit", estimate_pb2.FitVerdict.Name(estimate.fit))
    facts.add(f"{at}usable_bytes", estimate.usable_bytes)
    if estimate.HasField("step_time_us"):
        facts.add(f"{at}step_time_us", estimate.step_time_us.value)


def _launch(at: str, launch: resolver_service_pb2.Launch, facts: Facts) -> None:
    for argument in launch.argv:
        facts.add(f"{at}argv.{launch.dialect}", argument)
    facts.add(f"{at}text.{launch.dialect}", launch.text)
    for name, value in launch.env.items():
        facts.add(f"{at}env.{launch.dialect}.{name}", value)


def _each(name: str, values: Iterable[str], facts: Facts) -> None:
    for value in values:
        facts.add(name, value)


def _resolve(at: str, answer: resolver_service_pb2.ResolveConfigResponse, facts: Facts) -> None:
    facts.add(f"{at}outcome", resolver_service_pb2.Outcome.Name(answer.outcome))
    for field in ("accepted_by_stack", "will_run", "target", "digest", "catalog_revision", "evidence_revision"):
        facts.add(at + field, getattr(answer, field))
    _config(at, answer.config, facts)
    for decision in answer.decisions:
        facts.add(f"{at}decision.{decision.name}", _value(decision.value))
        facts.add(f"{at}basis.{decision.name}", finding_pb2.Basis.Name(decision.basis))
        facts.add(f"{at}reason.{decision.name}", decision.reason)
    _findings(at, answer.findings, facts)
    _changes(at, answer.effective_changes, facts)
    if answer.HasField("estimate"):
        _estimate(at, answer.estimate, facts)
    for launch in answer.launches:
        _launch(at, launch, facts)
    _each(f"{at}ab", (suggestion.knob for suggestion in answer.ab_suggestions), facts)
    if answer.HasField("model"):
        facts.add(f"{at}model", answer.model.name)
        facts.add(f"{at}parameters", answer.model.parameters.total_count)
    if answer.HasField("layout"):
        for field in ("data_parallel_size", "expert_data_parallel_size", "microbatch_count"):
            facts.add(at + field, getattr(answer.layout, field))


def _validate(at: str, answer: resolver_service_pb2.ValidateConfigResponse, facts: Facts) -> None:
    for field in ("accepted_by_stack", "will_run", "target", "digest", "catalog_revision", "input_format"):
        facts.add(at + field, getattr(answer, field))
    _config(at, answer.config, facts)
    _findings(at, answer.findings, facts)
    _changes(at, answer.effective_changes, facts)
    _each(f"{at}not_judged", answer.not_judged, facts)
    _each(f"{at}wanted_file", answer.wanted_files, facts)
    if answer.HasField("repair"):
        for step in answer.repair.steps:
            facts.add(f"{at}repair.step", f"{step.rule_id} {_fix(step.fix)}")
        facts.add(f"{at}repair.will_run", answer.repair.will_run)
        facts.add(f"{at}repair.text", answer.repair.text)
        _each(f"{at}repair.argument", answer.repair.arguments, facts)
    if answer.HasField("estimate"):
        _estimate(at, answer.estimate, facts)


def _plan(at: str, answer: resolver_service_pb2.PlanResult, facts: Facts) -> None:
    for index, plan in enumerate(answer.plans):
        facts.add(f"{at}plans", plan.digest)
        _resolve(f"{at}plans.{index}.", plan, facts)
    facts.add(f"{at}space_count", answer.space_count)
    facts.add(f"{at}judged_count", answer.judged_count)
    _findings(at, answer.findings, facts)


def _batch(at: str, answer: resolver_service_pb2.BatchResolveResponse, facts: Facts) -> None:
    below = f"{at}{answer.request_id}."
    if answer.HasField("resolve"):
        _resolve(below, answer.resolve, facts)
    if answer.HasField("validate"):
        _validate(below, answer.validate, facts)
    add_status(below, answer.error.code, answer.error.details, facts)


def _convert(at: str, answer: resolver_service_pb2.ConvertConfigResponse, facts: Facts) -> None:
    if answer.HasField("launch"):
        _launch(at, answer.launch, facts)
    _each(f"{at}converted", (knob.name for knob in answer.converted), facts)
    _each(f"{at}dropped", (knob.name for knob in answer.dropped), facts)
    _each(f"{at}pinned_default", (knob.name for knob in answer.pinned_defaults), facts)
    _findings(f"{at}source.", answer.source_findings, facts)
    _findings(f"{at}target.", answer.target_findings, facts)


def _model(at: str, answer: model_pb2.ModelSpec, facts: Facts) -> None:
    for field in ("name", "family", "attention", "num_layers", "hidden_size", "tie_embeddings"):
        facts.add(at + field, getattr(answer, field))
    if answer.HasField("num_moe_experts"):
        facts.add(f"{at}num_moe_experts", answer.num_moe_experts)
    if answer.HasField("moe_router_topk"):
        facts.add(f"{at}moe_router_topk", answer.moe_router_topk)
    if answer.HasField("rotary_base"):
        facts.add(f"{at}rotary_base", answer.rotary_base)
    for name, value in answer.extra_dimensions.items():
        facts.add(f"{at}extra_dimensions.{name}", value)
    facts.add(f"{at}total_count", answer.parameters.total_count)
    facts.add(f"{at}active_count", answer.parameters.active_count)
    _each(f"{at}sources", answer.sources, facts)


def _gpu(at: str, answer: hardware_pb2.GpuSystem, facts: Facts) -> None:
    facts.add(f"{at}name", answer.name)
    _each(f"{at}aliases", answer.aliases, facts)
    for field in ("compute_capability", "hbm_bytes", "sm_count", "nvlink_bytes_per_second", "nvlink_domain_gpu_count"):
        facts.add(at + field, getattr(answer, field))
    _each(f"{at}flex_backends", answer.flex_backends, facts)


def _knob(at: str, answer: catalog_service_pb2.KnobInfo, facts: Facts) -> None:
    for field in ("name", "section", "knob_class", "type", "bridge_override"):
        facts.add(at + field, getattr(answer, field))
    _each(f"{at}aliases", answer.aliases, facts)
    _each(f"{at}choices", answer.choices, facts)
    facts.add(f"{at}default_value", _value(answer.default_value))
    _each(f"{at}megatron_lm_flags", answer.megatron_lm_flags, facts)


def _rule(at: str, answer: catalog_service_pb2.RuleInfo, facts: Facts) -> None:
    for field in ("id", "area", "kind", "text", "core_releases"):
        facts.add(at + field, getattr(answer, field))
    facts.add(f"{at}verdict", finding_pb2.VerdictKind.Name(answer.verdict))
    _each(f"{at}reads", answer.reads, facts)
    _each(f"{at}fix", (_fix(fix) for fix in answer.fixes), facts)
    facts.add(f"{at}source", answer.source.text)


def _measurement(at: str, answer: evidence_pb2.Measurement, facts: Facts) -> None:
    for field in ("id", "metric", "value", "model", "gpu", "gpu_count", "quality", "trust"):
        facts.add(at + field, getattr(answer, field))
    if answer.HasField("error"):
        facts.add(f"{at}error", answer.error)


def _reported(at: str, answer: evidence_service_pb2.ReportMeasurementResponse, facts: Facts) -> None:
    _measurement(at, answer.measurement, facts)
    facts.add(f"{at}~revision", answer.revision)


def _profile(at: str, answer: profile_pb2.HardwareProfile, facts: Facts) -> None:
    for field in ("name", "device_name", "gpu", "kind"):
        facts.add(at + field, getattr(answer, field))
    for row in answer.rows:
        facts.add(f"{at}row", row.id)
        facts.add(f"{at}row.{row.id}", row.value)


def _page(field: str, key: str) -> Callable[[str, Any, Facts], None]:
    def add(at: str, answer: Any, facts: Facts) -> None:
        _each(f"{at}names", (getattr(entry, key) for entry in getattr(answer, field)), facts)
        facts.add(f"{at}next_page_token", answer.next_page_token)

    return add


_BY_TYPE: dict[type, Callable[[str, Any, Facts], None]] = {
    resolver_service_pb2.ResolveConfigResponse: _resolve,
    resolver_service_pb2.ValidateConfigResponse: _validate,
    resolver_service_pb2.PlanResult: _plan,
    resolver_service_pb2.BatchResolveResponse: _batch,
    resolver_service_pb2.ConvertConfigResponse: _convert,
    model_pb2.ModelSpec: _model,
    hardware_pb2.GpuSystem: _gpu,
    catalog_service_pb2.KnobInfo: _knob,
    catalog_service_pb2.RuleInfo: _rule,
    catalog_service_pb2.ListModelsResponse: _page("models", "name"),
    catalog_service_pb2.ListGpusResponse: _page("gpus", "name"),
    catalog_service_pb2.ListKnobsResponse: _page("knobs", "name"),
    catalog_service_pb2.ListRulesResponse: _page("rules", "id"),
    evidence_pb2.Measurement: _measurement,
    evidence_service_pb2.ReportMeasurementResponse: _reported,
    evidence_service_pb2.ListMeasurementsResponse: _page("measurements", "id"),
    profile_pb2.HardwareProfile: _profile,
    probe_service_pb2.ListProfilesResponse: _page("profiles", "name"),
}


def add_answer(answer: object, facts: Facts) -> None:
    """The facts of an answer."""
    _BY_TYPE[type(answer)]("", answer, facts)


def add_status(at: str, code: int, details: Iterable[Any], facts: Facts) -> None:
    """Code, ErrorInfo, violations, RetryInfo."""
    facts.add(f"{at}code", CODES[code] if 0 <= code < len(CODES) else "OTHER")
    info, bad, failed = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.PreconditionFailure(),
    )
    for detail in details:
        if detail.Unpack(info):
            facts.add(f"{at}reason", info.reason)
            facts.add(f"{at}domain", info.domain)
        elif detail.Unpack(bad):
            for violation in bad.field_violations:
                facts.add(f"{at}violation.{violation.field}", violation.description)
        elif detail.Unpack(failed):
            for missing in failed.violations:
                facts.add(f"{at}precondition.{missing.type}", missing.description)
        elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            facts.add(f"{at}retry_info", True)
