// The facts of each answer.
import { status as GrpcStatus } from "@grpc/grpc-js";

import * as v1 from "../src";
import { Failure, failureOfStatus } from "../src";
import { Status } from "../src/generated/google/rpc/status";
import { Facts, millionths } from "./facts";

export function valueText(value: v1.KnobValue | undefined): string {
  const kind = value?.kind;
  switch (kind?.$case) {
    case "boolValue":
      return String(kind.boolValue);
    case "intValue":
      return kind.intValue.toString();
    case "doubleValue":
      return millionths(kind.doubleValue);
    case "stringValue":
      return kind.stringValue;
    case "listValue":
      return `[${kind.listValue.values.map(valueText).join(",")}]`;
    default:
      return "None";
  }
}

function fixText(fix: v1.Fix | undefined): string {
  const knobs = (fix?.knobs ?? []).map((knob) => `${knob.name}=${valueText(knob.value)}`);
  const names = Object.keys(fix?.env ?? {}).sort();
  return [...knobs, ...names.map((name) => `env.${name}=${fix!.env[name]}`)].join(" ");
}

function addFindings(at: string, findings: v1.Finding[], facts: Facts): void {
  for (const finding of findings) {
    const id = finding.ruleId;
    facts.add(`${at}finding`, id);
    facts.add(`${at}severity.${id}`, v1.Severity[finding.severity]!);
    facts.add(`${at}seen.${id}`, finding.seen);
    facts.add(`${at}needs.${id}`, finding.needs);
    facts.add(`${at}source.${id}`, finding.source?.text ?? "");
    for (const fix of finding.fixes) facts.add(`${at}fix.${id}`, fixText(fix));
  }
}

function addConfig(at: string, entries: v1.ConfigEntry[], facts: Facts): void {
  for (const entry of entries) {
    facts.add(`${at}config.${entry.name}`, valueText(entry.value));
    facts.add(`${at}origin.${entry.name}`, v1.ConfigOrigin[entry.origin]!);
    facts.add(`${at}spelling.${entry.name}`, entry.spelling);
  }
}

function addChanges(at: string, changes: v1.EffectiveChange[], facts: Facts): void {
  for (const change of changes) {
    facts.add(`${at}change`, `${change.ruleId} ${change.name} ${valueText(change.from)} -> ${valueText(change.to)}`);
  }
}

function addEstimate(at: string, estimate: v1.Estimate | undefined, facts: Facts): void {
  if (!estimate) return;
  facts.add(`${at}fit`, v1.FitVerdict[estimate.fit]!);
  facts.add(`${at}usable_bytes`, estimate.usableBytes);
  if (estimate.stepTimeUs) facts.addReal(`${at}step_time_us`, estimate.stepTimeUs.value);
}

function addLaunch(at: string, launch: v1.Launch, facts: Facts): void {
  facts.addEach(`${at}argv.${launch.dialect}`, launch.argv);
  facts.add(`${at}text.${launch.dialect}`, launch.text);
  for (const [name, value] of Object.entries(launch.env)) facts.add(`${at}env.${launch.dialect}.${name}`, value);
}

export function addResolve(at: string, answer: v1.ResolveConfigResponse, facts: Facts): void {
  facts.add(`${at}outcome`, v1.Outcome[answer.outcome]!);
  facts.add(`${at}accepted_by_stack`, answer.acceptedByStack);
  facts.add(`${at}will_run`, answer.willRun);
  facts.add(`${at}target`, answer.target);
  facts.add(`${at}digest`, answer.digest);
  facts.add(`${at}catalog_revision`, answer.catalogRevision);
  facts.add(`${at}evidence_revision`, answer.evidenceRevision);
  addConfig(at, answer.config, facts);
  for (const decision of answer.decisions) {
    facts.add(`${at}decision.${decision.name}`, valueText(decision.value));
    facts.add(`${at}basis.${decision.name}`, v1.Basis[decision.basis]!);
    facts.add(`${at}reason.${decision.name}`, decision.reason);
  }
  addFindings(at, answer.findings, facts);
  addChanges(at, answer.effectiveChanges, facts);
  addEstimate(at, answer.estimate, facts);
  for (const launch of answer.launches) addLaunch(at, launch, facts);
  for (const suggestion of answer.abSuggestions) facts.add(`${at}ab`, suggestion.knob);
  if (answer.model) {
    facts.add(`${at}model`, answer.model.name);
    facts.add(`${at}parameters`, answer.model.parameters?.totalCount ?? 0n);
  }
  if (answer.layout) {
    facts.add(`${at}data_parallel_size`, answer.layout.dataParallelSize);
    facts.add(`${at}expert_data_parallel_size`, answer.layout.expertDataParallelSize);
    facts.add(`${at}microbatch_count`, answer.layout.microbatchCount);
  }
}

export function addValidate(at: string, answer: v1.ValidateConfigResponse, facts: Facts): void {
  facts.add(`${at}accepted_by_stack`, answer.acceptedByStack);
  facts.add(`${at}will_run`, answer.willRun);
  facts.add(`${at}target`, answer.target);
  facts.add(`${at}digest`, answer.digest);
  facts.add(`${at}catalog_revision`, answer.catalogRevision);
  facts.add(`${at}input_format`, answer.inputFormat);
  addConfig(at, answer.config, facts);
  addFindings(at, answer.findings, facts);
  addChanges(at, answer.effectiveChanges, facts);
  facts.addEach(`${at}not_judged`, answer.notJudged);
  facts.addEach(`${at}wanted_file`, answer.wantedFiles);
  if (answer.repair) {
    for (const step of answer.repair.steps) facts.add(`${at}repair.step`, `${step.ruleId} ${fixText(step.fix)}`);
    facts.add(`${at}repair.will_run`, answer.repair.willRun);
    facts.add(`${at}repair.text`, answer.repair.text);
    facts.addEach(`${at}repair.argument`, answer.repair.arguments);
  }
  addEstimate(at, answer.estimate, facts);
}

export function addPlan(at: string, answer: v1.PlanResult, facts: Facts): void {
  answer.plans.forEach((plan, index) => {
    facts.add(`${at}plans`, plan.digest);
    addResolve(`${at}plans.${index}.`, plan, facts);
  });
  facts.add(`${at}space_count`, answer.spaceCount);
  facts.add(`${at}judged_count`, answer.judgedCount);
  addFindings(at, answer.findings, facts);
}

export function addBatch(at: string, answer: v1.BatchResolveResponse, facts: Facts): void {
  const below = `${at}${answer.requestId}.`;
  const result = answer.result;
  if (result?.$case === "resolve") addResolve(below, result.resolve, facts);
  if (result?.$case === "validate") addValidate(below, result.validate, facts);
  addFailure(below, failureOfStatus(result?.$case === "error" ? result.error : Status.create()), facts);
}

export function addConvert(at: string, answer: v1.ConvertConfigResponse, facts: Facts): void {
  if (answer.launch) addLaunch(at, answer.launch, facts);
  facts.addEach(`${at}converted`, answer.converted.map((knob) => knob.name));
  facts.addEach(`${at}dropped`, answer.dropped.map((knob) => knob.name));
  facts.addEach(`${at}pinned_default`, answer.pinnedDefaults.map((knob) => knob.name));
  addFindings(`${at}source.`, answer.sourceFindings, facts);
  addFindings(`${at}target.`, answer.targetFindings, facts);
}

export function addModel(at: string, answer: v1.ModelSpec, facts: Facts): void {
  facts.add(`${at}name`, answer.name);
  facts.add(`${at}family`, answer.family);
  facts.add(`${at}attention`, answer.attention);
  facts.add(`${at}num_layers`, answer.numLayers);
  facts.add(`${at}hidden_size`, answer.hiddenSize);
  if (answer.numMoeExperts !== undefined) facts.add(`${at}num_moe_experts`, answer.numMoeExperts);
  if (answer.moeRouterTopk !== undefined) facts.add(`${at}moe_router_topk`, answer.moeRouterTopk);
  facts.add(`${at}tie_embeddings`, answer.tieEmbeddings);
  if (answer.rotaryBase !== undefined) facts.addReal(`${at}rotary_base`, answer.rotaryBase);
  for (const [name, value] of Object.entries(answer.extraDimensions)) {
    facts.addReal(`${at}extra_dimensions.${name}`, value);
  }
  facts.add(`${at}total_count`, answer.parameters?.totalCount ?? 0n);
  facts.add(`${at}active_count`, answer.parameters?.activeCount ?? 0n);
  facts.addEach(`${at}sources`, answer.sources);
}

export function addGpu(at: string, answer: v1.GpuSystem, facts: Facts): void {
  facts.add(`${at}name`, answer.name);
  facts.addEach(`${at}aliases`, answer.aliases);
  facts.add(`${at}compute_capability`, answer.computeCapability);
  facts.add(`${at}hbm_bytes`, answer.hbmBytes);
  facts.add(`${at}sm_count`, answer.smCount);
  facts.addReal(`${at}nvlink_bytes_per_second`, answer.nvlinkBytesPerSecond);
  facts.add(`${at}nvlink_domain_gpu_count`, answer.nvlinkDomainGpuCount);
  facts.addEach(`${at}flex_backends`, answer.flexBackends);
}

export function addKnob(at: string, answer: v1.KnobInfo, facts: Facts): void {
  facts.add(`${at}name`, answer.name);
  facts.addEach(`${at}aliases`, answer.aliases);
  facts.add(`${at}section`, answer.section);
  facts.add(`${at}knob_class`, answer.knobClass);
  facts.add(`${at}type`, answer.type);
  facts.addEach(`${at}choices`, answer.choices);
  facts.add(`${at}default_value`, valueText(answer.defaultValue));
  facts.addEach(`${at}megatron_lm_flags`, answer.megatronLmFlags);
  facts.add(`${at}bridge_override`, answer.bridgeOverride);
}

export function addRule(at: string, answer: v1.RuleInfo, facts: Facts): void {
  facts.add(`${at}id`, answer.id);
  facts.add(`${at}area`, answer.area);
  facts.add(`${at}kind`, answer.kind);
  facts.add(`${at}verdict`, v1.VerdictKind[answer.verdict]!);
  facts.addEach(`${at}reads`, answer.reads);
  facts.add(`${at}text`, answer.text);
  facts.addEach(`${at}fix`, answer.fixes.map(fixText));
  facts.add(`${at}source`, answer.source?.text ?? "");
  facts.add(`${at}core_releases`, answer.coreReleases);
}

export function addMeasurement(at: string, answer: v1.Measurement | undefined, facts: Facts): void {
  const measurement = answer ?? v1.Measurement.create();
  facts.add(`${at}id`, measurement.id);
  facts.add(`${at}metric`, measurement.metric);
  facts.addReal(`${at}value`, measurement.value);
  if (measurement.error !== undefined) facts.addReal(`${at}error`, measurement.error);
  facts.add(`${at}model`, measurement.model);
  facts.add(`${at}gpu`, measurement.gpu);
  facts.add(`${at}gpu_count`, measurement.gpuCount);
  facts.add(`${at}quality`, measurement.quality);
  facts.add(`${at}trust`, measurement.trust);
}

export function addProfile(at: string, answer: v1.HardwareProfile, facts: Facts): void {
  facts.add(`${at}name`, answer.name);
  facts.add(`${at}device_name`, answer.deviceName);
  facts.add(`${at}gpu`, answer.gpu);
  facts.add(`${at}kind`, answer.kind);
  for (const row of answer.rows) {
    facts.add(`${at}row`, row.id);
    facts.addReal(`${at}row.${row.id}`, row.value);
  }
}

export function addPage(names: string[], nextPageToken: string, facts: Facts): void {
  facts.addEach("names", names);
  facts.add("next_page_token", nextPageToken);
}

export function addFailure(at: string, failure: Failure, facts: Facts): void {
  facts.add(`${at}code`, GrpcStatus[failure.code] ?? "OTHER");
  if (failure.info) {
    facts.add(`${at}reason`, failure.info.reason);
    facts.add(`${at}domain`, failure.info.domain);
  }
  for (const { field, description } of failure.violations) facts.add(`${at}violation.${field}`, description);
  for (const { type, description } of failure.preconditions) facts.add(`${at}precondition.${type}`, description);
  if (failure.retry) facts.add(`${at}retry_info`, true);
}
