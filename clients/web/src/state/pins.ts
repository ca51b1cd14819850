// Knobs that the person insists on, as text and as a question holds them.
import { create } from "@bufbuild/protobuf";
import type { KnobInfo } from "../generated/flightplan/v1/catalog_service_pb";
import { KnobSettingSchema, KnobValueSchema } from "../generated/flightplan/v1/finding_pb";
import type { Fix, KnobValue } from "../generated/flightplan/v1/finding_pb";
import type { Draft, LayoutField } from "./question";

const LAYOUT: Readonly<Record<string, LayoutField>> = {
  tensor_model_parallel_size: "tensorModelParallelSize",
  pipeline_model_parallel_size: "pipelineModelParallelSize",
  virtual_pipeline_model_parallel_size: "virtualPipelineModelParallelSize",
  context_parallel_size: "contextParallelSize",
  expert_model_parallel_size: "expertModelParallelSize",
  expert_tensor_parallel_size: "expertTensorParallelSize",
  micro_batch_size: "microBatchSize",
};

type Kind = KnobValue["kind"];

/** A value of the knob's type; undefined where the text is none. */
export function parseValue(type: string, text: string): KnobValue | undefined {
  const kind = parseKind(type, text.trim());
  return kind && create(KnobValueSchema, { kind });
}

function parseKind(type: string, text: string): Kind | undefined {
  if (text === "none" || text === "None") return { case: undefined };
  if (type.endsWith("_list")) {
    const values = text.split(",").map((item) => parseValue(type.slice(0, -"_list".length), item));
    return values.includes(undefined) ? undefined
      : { case: "listValue", value: { $typeName: "flightplan.v1.KnobList", values: values as KnobValue[] } };
  }
  const bool = /^(true|false)$/i.test(text) && ({ case: "boolValue", value: /^t/i.test(text) } as const);
  const int = /^-?\d+$/.test(text) && ({ case: "intValue", value: BigInt(text) } as const);
  const real = text !== "" && Number.isFinite(Number(text)) && ({ case: "doubleValue", value: Number(text) } as const);
  switch (type) {
    case "bool": return bool || undefined;
    case "int": return int || undefined;
    case "float": return real || undefined;
    case "string": return { case: "stringValue", value: text };
    default: return bool || int || real || { case: "stringValue", value: text };
  }
}

/** "wants true or false", where a knob's text is not of its type. */
export function wants(knob: KnobInfo): string {
  if (knob.choices.length > 0) return `wants ${knob.choices.join(", ")}`;
  return knob.type === "bool" ? "wants true or false" : `wants ${knob.type}`;
}

/** Takes a knob as the person's word; sizes of the layout stand in the layout. An unset value pins None. */
export function setKnob(draft: Draft, name: string, value: KnobValue | undefined): void {
  const field = LAYOUT[name];
  const kind = value?.kind;
  if (field && (kind?.case === "intValue" || kind?.case === undefined)) {
    draft.layout[field] = kind?.case === "intValue" ? Number(kind.value) : undefined;
    return;
  }
  if (name === "global_batch_size" && kind?.case === "intValue") draft.workload.globalBatchSize = kind.value;
  else if (name === "seq_length" && kind?.case === "intValue") draft.workload.seqLength = kind.value;
  else {
    clearKnob(draft, name);
    draft.pinnedKnobs.push(create(KnobSettingSchema, { name, value }));
  }
}

export function clearKnob(draft: Draft, name: string): void {
  draft.pinnedKnobs = draft.pinnedKnobs.filter((setting) => setting.name !== name);
}

export function applyFix(draft: Draft, fix: Fix): void {
  for (const { name, value } of fix.knobs) setKnob(draft, name, value);
  for (const [name, value] of Object.entries(fix.env)) {
    if (value) draft.env[name] = value;
    else delete draft.env[name];
  }
}
