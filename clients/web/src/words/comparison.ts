// Two answers side by side, as data (clients/cli/comparison.h).
import type { Estimate } from "../generated/flightplan/v1/estimate_pb";
import type { Finding } from "../generated/flightplan/v1/finding_pb";
import { PAIR_ERRORS, PAIR_FLOOR } from "../generated/pair_error";
import { ConfigOrigin } from "../generated/flightplan/v1/resolver_service_pb";
import type { ResolveConfigResponse } from "../generated/flightplan/v1/resolver_service_pb";
import { fullestStage, unitFor } from "./forecast";
import { gibNumber, partName, percentText, signedPercent, valueText } from "./text";

const SMALLEST_BYTES = 2 ** 20;
const SMALLEST_US = 1;
const CONTRIBUTORS = 2;
const SMALL_SHARE = 0.05;

export interface ValueDifference {
  name: string;
  /** As a person types it; undefined: not written, the stack's default holds. */
  a?: string;
  b?: string;
  whyA: string;
  whyB: string;
  /** Both values are the stack's own consequence of others. */
  byStack: boolean;
}

/** Bytes or microseconds. */
export interface AmountDifference {
  name: string;
  a: number;
  b: number;
}

/** Relative change of the step, B against A; negative is faster. What both have in common cancels with its error. */
export interface StepEffect {
  change: number;
  low: number;
  high: number;
  /** The interval reaches over zero: only a run of both can tell. */
  needsAb: boolean;
}

export interface Comparison {
  values: ValueDifference[];
  memory: AmountDifference[];
  memoryTotal?: AmountDifference;
  time: AmountDifference[];
  step?: AmountDifference;
  effect?: StepEffect;
  findingsA: Finding[];
  findingsB: Finding[];
  common: number;
}

export function compare(a: ResolveConfigResponse, b: ResolveConfigResponse): Comparison {
  return { values: compareValues(a, b), ...compareMemory(a.estimate, b.estimate), ...compareTime(a.estimate, b.estimate), ...compareFindings(a.findings, b.findings) };
}

interface Written {
  text: string;
  why: string;
  byStack: boolean;
}

function valuesOf(answer: ResolveConfigResponse): Map<string, Written> {
  const values = new Map<string, Written>();
  for (const { name, value, reason, origin } of answer.config) {
    values.set(name, { text: valueText(value), why: reason, byStack: origin === ConfigOrigin.UPSTREAM });
  }
  for (const [name, text] of Object.entries(answer.launches[0]?.env ?? {})) values.set(`env.${name}`, { text, why: "", byStack: false });
  for (const { name, reason } of answer.decisions) {
    const written = values.get(name);
    if (written) written.why = reason;
  }
  return values;
}

function compareValues(a: ResolveConfigResponse, b: ResolveConfigResponse): ValueDifference[] {
  const [inA, inB] = [valuesOf(a), valuesOf(b)];
  // Variables can only be compared where both sides have a launch.
  const variables = a.launches.length > 0 && b.launches.length > 0;
  const differences = [...new Set([...inA.keys(), ...inB.keys()])]
    .filter((name) => (variables || !name.startsWith("env.")) && inA.get(name)?.text !== inB.get(name)?.text)
    .map((name): ValueDifference => {
      const [left, right] = [inA.get(name), inB.get(name)];
      return { name, a: left?.text, b: right?.text, whyA: left?.why ?? "", whyB: right?.why ?? "", byStack: (left?.byStack ?? true) && (right?.byStack ?? true) };
    });
  return differences.sort((x, y) => Number(x.byStack) - Number(y.byStack));
}

function amounts(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): AmountDifference[] {
  return [...new Set([...a.keys(), ...b.keys()])].map((name) => ({ name, a: a.get(name) ?? 0, b: b.get(name) ?? 0 }))
    .sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a));
}

function compareMemory(a: Estimate | undefined, b: Estimate | undefined): Pick<Comparison, "memory" | "memoryTotal"> {
  const [inA, inB] = [fullestStage(a), fullestStage(b)];
  if (!inA?.totalBytes || !inB?.totalBytes) return { memory: [] };
  const [partsA, partsB] = [inA, inB].map(({ parts }) => new Map(parts.map(({ name, partBytes }) => [name, Number(partBytes)])));
  const memory = amounts(partsA!, partsB!).filter((part) => Math.abs(part.b - part.a) >= SMALLEST_BYTES);
  return { memory, memoryTotal: { name: "total", a: inA.totalBytes.value, b: inB.totalBytes.value } };
}

/** As resolver/estimate/effect.h has it. */
export function effectOf(a: Estimate, b: Estimate): StepEffect {
  const [stepA, stepB] = [a.stepTimeUs?.value ?? 0, b.stepTimeUs?.value ?? 0];
  const wall = (estimate: Estimate, step: number, name: string): number => (estimate.wallRatios[name] ?? 0) * step;
  const error = Object.entries(PAIR_ERRORS).reduce((sum, [name, part]) => sum + part * Math.abs(wall(b, stepB, name) - wall(a, stepA, name)), 0);
  const change = stepB / stepA - 1;
  const half = PAIR_FLOOR + error / stepA;
  const [low, high] = [change - half, change + half];
  return { change, low, high, needsAb: low < 0 && high > 0 };
}

function compareTime(a: Estimate | undefined, b: Estimate | undefined): Pick<Comparison, "time" | "step" | "effect"> {
  const [stepA, stepB] = [a?.stepTimeUs?.value ?? 0, b?.stepTimeUs?.value ?? 0];
  if (!a || !b || stepA <= 0 || stepB <= 0) return { time: [] };
  const walls = (estimate: Estimate, step: number) => new Map(Object.entries(estimate.wallRatios).map(([name, ratio]) => [name, ratio * step]));
  const time = amounts(walls(a, stepA), walls(b, stepB)).filter((wall) => Math.max(wall.a, wall.b) >= SMALLEST_US);
  return { time, step: { name: "step", a: stepA, b: stepB }, effect: effectOf(a, b) };
}

// Findings are the same when rule and sight are.
function compareFindings(a: readonly Finding[], b: readonly Finding[]): Pick<Comparison, "findingsA" | "findingsB" | "common"> {
  const key = ({ ruleId, seen }: Finding): string => `${ruleId}\n${seen}`;
  const left = [...b];
  const findingsA = a.filter((finding) => {
    const at = left.findIndex((other) => key(other) === key(finding));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  return { findingsA, findingsB: left, common: a.length - findingsA.length };
}

/** Three figures, in a unit of the longer step. */
export function timeFigure(us: number, longest: number): string {
  const unit = unitFor(longest);
  const value = us / unit.us;
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit.name}`;
}

/** "+2.3", "-10". */
export function signed(change: number, text: (amount: number) => string): string {
  return `${change < 0 ? "-" : "+"}${text(Math.abs(change))}`;
}

// "activations -10, optimizer state +2.3": what moves the total most.
function contributors(parts: readonly AmountDifference[], text: (amount: number) => string): string {
  const first = Math.abs((parts[0]?.b ?? 0) - (parts[0]?.a ?? 0));
  return parts.slice(0, CONTRIBUTORS).filter((part) => Math.abs(part.b - part.a) >= SMALL_SHARE * first)
    .map((part) => `${partName(part.name)} ${signed(part.b - part.a, text)}`).join(", ");
}

export function timeSentence({ step, time, effect }: Comparison): string {
  if (!step || !effect) return "";
  if (step.a === step.b) return "B's step takes as long as A's";
  const { change, low, high, needsAb } = effect;
  const longest = Math.max(step.a, step.b);
  const sure = needsAb ? "; the interval reaches over zero, only a run of both can tell" : "";
  return `B's step is ${percentText(Math.abs(change))} ${change < 0 ? "shorter" : "longer"} (${signedPercent(low)}..${signedPercent(high)}): `
    + `${contributors(time, (us) => timeFigure(us, longest))}${sure}`;
}

export function memorySentence({ memory, memoryTotal }: Comparison): string {
  if (!memoryTotal) return "";
  if (memory.length === 0) return "B needs as much memory as A";
  const change = memoryTotal.b - memoryTotal.a;
  return `B's fullest stage needs ${gibNumber(Math.abs(change))} GiB ${change < 0 ? "less" : "more"}: ${contributors(memory, gibNumber)} GiB`;
}

/** "will run, marginal", "rejected by the stack". */
export function verdictWords({ acceptedByStack, willRun }: ResolveConfigResponse): string {
  return !acceptedByStack ? "rejected by the stack" : willRun ? "will run" : "accepted, will fail later";
}
