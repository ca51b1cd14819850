// What a link remembers of the answer that its maker saw, and how another answer differs from it.
import type { ResolveConfigResponse } from "../generated/flightplan/v1/resolver_service_pb";
import { fitWord, fullestStage, timeText } from "../words/forecast";
import { gibNumber, valueText } from "../words/text";

/** Short names: it stands in a URL. */
export interface Was {
  digest: string;
  target: string;
  catalogue: string;
  evidence: string;
  runs: boolean;
  fit: string;
  step: number;
  memory: number;
  decided: Record<string, string>;
}

const SHOWN_REVISION = 12;

export function summaryOf(response: ResolveConfigResponse): Was {
  return {
    digest: response.digest,
    target: response.target,
    catalogue: response.catalogRevision.slice(0, SHOWN_REVISION),
    evidence: String(response.evidenceRevision),
    runs: response.willRun,
    fit: fitWord(response.estimate?.fit ?? 0),
    step: Math.round(response.estimate?.stepTimeUs?.value ?? 0),
    memory: Math.round(fullestStage(response.estimate)?.totalBytes?.value ?? 0),
    decided: Object.fromEntries(response.decisions.map(({ name, value }) => [name, valueText(value)])),
  };
}

/** One phrase for each difference; empty: what it remembers is the same. */
export function differences(was: Was, now: Was): string[] {
  const said: string[] = [];
  const compare = (what: string, before: string, after: string): void => {
    if (before !== after) said.push(`${what}: ${before} → ${after}`);
  };
  compare("catalogue", was.catalogue, now.catalogue);
  compare("evidence", was.evidence, now.evidence);
  compare("target", was.target, now.target);
  compare("will run", was.runs ? "yes" : "no", now.runs ? "yes" : "no");
  compare("fits", was.fit, now.fit);
  compare("step", timeText(was.step), timeText(now.step));
  compare("memory", `${gibNumber(was.memory)} GiB`, `${gibNumber(now.memory)} GiB`);
  for (const name of new Set([...Object.keys(was.decided), ...Object.keys(now.decided)])) {
    compare(name, was.decided[name] ?? "not decided", now.decided[name] ?? "not decided");
  }
  return said;
}

/** Throws where the text is none of ours. */
export function parseWas(text: string): Was {
  const read = JSON.parse(text) as Partial<Was>;
  const word = (value: unknown): string => (typeof value === "string" ? value : "");
  const number = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);
  const decided = Object.entries(read.decided ?? {}).map(([name, value]) => [name, word(value)] as const);
  return {
    digest: word(read.digest), target: word(read.target), catalogue: word(read.catalogue), evidence: word(read.evidence),
    runs: read.runs === true, fit: word(read.fit), step: number(read.step), memory: number(read.memory),
    decided: Object.fromEntries(decided),
  };
}
