// One page of the reference for each kind, as `flightplan explain`, `models` and `gpus` print them.
import { useEffect } from "preact/hooks";
import { knobs, rules } from "../../client/catalogue";
import { token } from "../../client/token";
import type { KnobInfo, RuleInfo } from "../../generated/flightplan/v1/catalog_service_pb";
import type { GpuSystem } from "../../generated/flightplan/v1/hardware_pb";
import type { ModelSpec } from "../../generated/flightplan/v1/model_pb";
import { ModelSpecSchema } from "../../generated/flightplan/v1/model_pb";
import { fixText, flagSpelling } from "../../words/findings";
import { gibNumber, parameterText, valueText, withThousands } from "../../words/text";
import { verdictText } from "../../words/verdicts";
import { Lines, Links } from "./lines";
import type { LineOf } from "./lines";

export function RulePage({ rule }: { rule: RuleInfo }) {
  useEffect(() => void knobs.load(), [token.value]);
  const known = new Set(knobs.entries.value.map(({ name }) => name));
  const needs = rule.kind === "error" || rule.kind === "warning" ? "needs" : "does";
  return (
    <Lines lines={[
      ["kind", rule.kind + (rule.stage ? `, stage ${rule.stage}` : "")],
      [needs, rule.text],
      ["verdict", verdictText(rule.verdict, rule.kind)],
      ["looks at", rule.reads.length > 0 && <>{rule.reads.map((name, at) => (
        <span key={name}>{at > 0 && ", "}{known.has(name) ? <Links kind="knob" names={[name]} /> : name}</span>))}</>],
      ["fix", rule.fixes.length > 0 && rule.fixes.map((fix, at) => <code key={at}>{fixText(fix, flagSpelling)} </code>)],
      ["source", rule.source && rule.source.text + (rule.source.fieldReport ? " (field report)" : "")],
      ["Megatron-Core", rule.coreReleases],
      ["Megatron-Bridge", rule.bridgeReleases],
    ]} />
  );
}

export function KnobPage({ knob }: { knob: KnobInfo }) {
  useEffect(() => void rules.load(), [token.value]);
  const readers = rules.entries.value.filter(({ reads }) => reads.includes(knob.name));
  const writes = ({ kind }: RuleInfo): boolean => kind === "change" || kind === "decision";
  const ids = (some: readonly RuleInfo[]) => some.length > 0 && <Links kind="rule" names={some.map(({ id }) => id)} />;
  return (
    <Lines lines={[
      ["class", knob.knobClass === "convergence" ? "convergence: never touched to gain speed" : knob.knobClass],
      ["type", knob.type + (knob.choices.length ? `: ${knob.choices.join(", ")}` : "")],
      ["default", valueText(knob.defaultValue)],
      ["section", knob.section],
      ["also", knob.aliases.join(", ")],
      ["megatron-lm", knob.megatronLmFlags.join(", ")],
      ["bridge", knob.bridgeOverride],
      ["bridge-perf", knob.bridgePerf],
      ["loongforge", knob.loongforge],
      ["note", knob.note],
      ["judged by", ids(readers.filter((rule) => !writes(rule)))],
      ["changed by", ids(readers.filter(writes))],
    ]} />
  );
}

export function ModelPage({ model }: { model: ModelSpec }) {
  const counts = model.parameters;
  const fields = ModelSpecSchema.fields.flatMap((field): LineOf[] => {
    const value = (model as unknown as Record<string, unknown>)[field.localName];
    if (field.fieldKind !== "scalar" || value === undefined || value === "" || value === 0) return [];
    return [[field.name, String(value)]];
  });
  return (
    <Lines lines={[
      ["parameters", counts && `${withThousands(counts.totalCount)} (${parameterText(counts.totalCount)}), active ${parameterText(counts.activeCount)}`],
      ...fields,
      ["source", model.sources.join("; ")],
    ]} />
  );
}

// Zero means unknown in this message.
function figure(value: number, scale: number, unit: string): string {
  return value > 0 ? `${Number((value / scale).toPrecision(4))} ${unit}` : "?";
}

export function GpuPage({ gpu }: { gpu: GpuSystem }) {
  return (
    <Lines lines={[
      ["device", gpu.deviceName],
      ["also", gpu.aliases.join(", ")],
      ["compute capability", gpu.computeCapability],
      ["memory", `${gibNumber(gpu.hbmBytes)} GiB, ${figure(gpu.hbmBytesPerSecond, 1e12, "TB/s")}`],
      ["BF16", figure(gpu.bf16FlopsPerSecond, 1e12, "TFLOP/s")],
      ["FP8", figure(gpu.fp8FlopsPerSecond, 1e12, "TFLOP/s")],
      ["FP4", figure(gpu.fp4FlopsPerSecond, 1e12, "TFLOP/s")],
      ["NVLink", `${figure(gpu.nvlinkBytesPerSecond, 1e9, "GB/s")}, ${gpu.nvlinkDomainGpuCount} per domain`],
      ["network", figure(gpu.nicBytesPerSecond, 1e9, "GB/s")],
      ["node", `${gpu.gpusPerNodeCount} GPUs`],
      ["flex backends", gpu.flexBackends.join(", ") || "none"],
      ["FP8, FP4 recipes", gpu.fp8Recipes.join(", ") || "none"],
      ["note", gpu.notes],
      ["source", gpu.source],
    ]} />
  );
}
