// The launch script of the Script view, its judgement, and what is said beside it.
import { create, fromJson, toJson } from "@bufbuild/protobuf";
import type { JsonValue } from "@bufbuild/protobuf";
import { effect, signal } from "@preact/signals";
import { resolver } from "../client/clients";
import { latest } from "../client/latest";
import { token } from "../client/token";
import type { KnobSetting } from "../generated/flightplan/v1/finding_pb";
import { KnobSettingsSchema, ValidateConfigRequestSchema } from "../generated/flightplan/v1/resolver_service_pb";
import type { ValidateConfigRequest, ValidateConfigResponse } from "../generated/flightplan/v1/resolver_service_pb";

export interface Script {
  name: string;
  text: string;
  /** Empty: the one that the text shows. */
  framework: string;
  /** Empty: main. */
  version: string;
  /** Empty: hardware is not judged. */
  gpu: string;
  /** 0: what the launch says. */
  gpuCount: number;
  /** Knobs that hold beside the text and over it. */
  stated: readonly KnobSetting[];
}

export const EMPTY: Script = { name: "pretrain.sh", text: "", framework: "", version: "", gpu: "", gpuCount: 0, stated: [] };

export const script = signal<Script>(EMPTY);
/** Whether a link may hold the script; its owner ticks it. */
export const inLink = signal(false);
export const verdict = latest<ValidateConfigResponse>();

/** Time without a key before the text is judged. */
const PAUSE_MS = 250;

export function validateRequest(from: Script): ValidateConfigRequest {
  return create(ValidateConfigRequestSchema, {
    config: { case: "file", value: { $typeName: "flightplan.v1.TextFile", name: from.name, text: from.text } },
    target: { framework: from.framework, version: from.version },
    ...(from.gpu ? { hardware: { gpu: from.gpu, gpuCount: from.gpuCount } } : from.gpuCount ? { worldSize: from.gpuCount } : {}),
    statedKnobs: [...from.stated],
    repair: true,
  });
}

/** Judges the script whenever it changes; called once, when a view needs it. */
let kept = false;
export function keepJudged(): void {
  if (kept) return;
  kept = true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const written = script.value;
    void token.value;
    clearTimeout(timer);
    if (!written.text.trim()) {
      verdict.cancel();
      verdict.answer.value = undefined;
      verdict.failure.value = undefined;
      return;
    }
    timer = setTimeout(() => {
      void verdict.ask((signal) => resolver.validateConfig(validateRequest(written), { signal }));
    }, PAUSE_MS);
  });
}

function settings(stated: readonly KnobSetting[]) {
  return create(KnobSettingsSchema, { settings: [...stated] });
}

export function toBytes(from: Script): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ ...from, stated: toJson(KnobSettingsSchema, settings(from.stated)) }));
}

/** Only what is a script's own, whatever the bytes hold. */
export function fromBytes(bytes: Uint8Array): Script {
  const read = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  const word = (key: keyof Script): string => (typeof read[key] === "string" ? (read[key] as string) : (EMPTY[key] as string));
  const count = typeof read.gpuCount === "number" && Number.isInteger(read.gpuCount) ? read.gpuCount : 0;
  const stated = read.stated ? fromJson(KnobSettingsSchema, read.stated as JsonValue, { ignoreUnknownFields: true }).settings : [];
  return { name: word("name"), text: word("text"), framework: word("framework"), version: word("version"), gpu: word("gpu"), gpuCount: count, stated };
}
