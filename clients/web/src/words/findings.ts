// Findings and fixes in the terminal's words (clients/cli/findings.cc, service/doors/spelling.cc).
import { Severity } from "../generated/flightplan/v1/finding_pb";
import type { Finding, Fix, KnobSetting, Location } from "../generated/flightplan/v1/finding_pb";
import type { ConfigEntry } from "../generated/flightplan/v1/resolver_service_pb";
import { plural, shellWord, valueText } from "./text";

/** "error", "warn", "info". */
export function severityWord(severity: Severity): "error" | "warn" | "info" {
  return severity === Severity.ERROR ? "error" : severity === Severity.WARNING ? "warn" : "info";
}

/** "1 error, 2 warnings, 3 silent changes". */
export function countText(findings: readonly Finding[], silentChanges: number): string {
  const count = (word: string) => findings.filter((finding) => severityWord(finding.severity) === word).length;
  const parts = [
    [count("error"), "error"], [count("warn"), "warning"], [count("info"), "note"], [silentChanges, "silent change"],
  ].flatMap(([number, noun]) => (number ? [plural(number as number, noun as string)] : []));
  return parts.length ? parts.join(", ") : "no findings";
}

export function hasError(findings: readonly Finding[]): boolean {
  return findings.some((finding) => finding.severity === Severity.ERROR);
}

/** "line 41", "argument 3"; empty where the value was not written. */
export function locationText(at: Location | undefined): string {
  if (at?.line !== undefined) return `line ${at.line}`;
  return at?.argumentIndex !== undefined ? `argument ${at.argumentIndex + 1}` : "";
}

/** How one knob is set to a value, and what stands before a variable. */
export interface Spelling {
  knob: (setting: KnobSetting) => string;
  variable: string;
}

/** Flags of `flightplan resolve` by knob. */
const FLAGS: Readonly<Record<string, string>> = {
  tensor_model_parallel_size: "--tp", pipeline_model_parallel_size: "--pp", virtual_pipeline_model_parallel_size: "--vpp",
  context_parallel_size: "--cp", expert_model_parallel_size: "--ep", expert_tensor_parallel_size: "--etp",
  micro_batch_size: "--mbs", pipeline_model_parallel_layout: "--pipeline-layout", global_batch_size: "--gbs", seq_length: "--seq",
};

/** As flags of `flightplan resolve`. */
export const flagSpelling: Spelling = {
  knob: ({ name, value }) =>
    value?.kind.case === undefined ? `--unset ${name}`
    : name in FLAGS ? `${FLAGS[name]} ${shellWord(valueText(value))}`
    : `--set ${shellWord(`${name}=${valueText(value)}`)}`,
  variable: "--env ",
};

/** As the launch itself writes it, with the spellings of the answer. */
export function launchSpelling(config: readonly ConfigEntry[]): Spelling {
  const spellings = new Map(config.map((entry) => [entry.name, entry.spelling]));
  // Fields of Bridge's container: what the recipe sets, leaving the word out leaves set.
  const container = config.some((entry) => entry.spelling.startsWith("model."));
  const knob = ({ name, value }: KnobSetting): string => {
    const spelling = spellings.get(name) || name;
    if (value?.kind.case === undefined) return container && spelling.includes(".") ? `${spelling}=null` : `without ${spelling}`;
    if (!spelling.startsWith("--")) return `${spelling}=${valueText(value)}`;
    if (value.kind.case !== "boolValue") return `${spelling} ${valueText(value)}`;
    return value.kind.value ? spelling : `without ${spelling}`;
  };
  return { knob, variable: "" };
}

/** "--tp 4 --set sequence_parallel=true". */
export function fixText(fix: Fix, spelling: Spelling): string {
  const env = Object.entries(fix.env).sort(([a], [b]) => (a < b ? -1 : 1));
  const variables = env.map(([name, value]) => `${spelling.variable}${name}=${value}`);
  const knobs = fix.knobs.map(spelling.knob);
  return (spelling.variable === "" ? [...variables, ...knobs] : [...knobs, ...variables]).join(" ");
}
