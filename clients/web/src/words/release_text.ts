// What a release says, and what changed against the one before (clients/cli/versions_page.cc).
import { FitVerdict } from "../generated/flightplan/v1/estimate_pb";
import { Severity } from "../generated/flightplan/v1/finding_pb";
import { Completeness } from "../generated/flightplan/v1/resolver_service_pb";
import type { ValidateConfigResponse } from "../generated/flightplan/v1/resolver_service_pb";
import { valueText } from "./text";

type Judged = ValidateConfigResponse;

export function ruleIds({ findings }: Judged, ...severities: Severity[]): string[] {
  return [...new Set(findings.filter(({ severity }) => severities.includes(severity)).map(({ ruleId }) => ruleId))].sort();
}

export function releaseVerdict({ acceptedByStack, willRun, memory, completeness }: Judged): [mood: string, text: string] {
  if (completeness === Completeness.NONE) return ["warn", "not judged"];
  if (willRun && memory?.fit === FitVerdict.UNKNOWN) return ["warn", "will run if it fits"];
  if (willRun) return ["good", "will run"];
  return ["bad", acceptedByStack ? "accepted, fails later" : "rejected"];
}

export interface ReleaseChange {
  newFindings: string[];
  goneFindings: string[];
  values: string[];
}

export function changeBetween(older: Judged, newer: Judged): ReleaseChange {
  const [before, after] = [older, newer].map((judged) => ruleIds(judged, Severity.ERROR, Severity.WARNING));
  const old = new Map(older.config.map(({ name, value }) => [name, valueText(value)]));
  const values = newer.config.flatMap(({ name, value }) => {
    const text = valueText(value);
    return old.has(name) && old.get(name) !== text ? [`${name}: ${old.get(name)} → ${text}`] : [];
  });
  return {
    newFindings: after!.filter((id) => !before!.includes(id)), goneFindings: before!.filter((id) => !after!.includes(id)), values,
  };
}
