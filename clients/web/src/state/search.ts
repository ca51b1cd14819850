// The search of layouts: progress while it runs, then the plans; it ends when the person says so.
import { clone, create } from "@bufbuild/protobuf";
import { signal } from "@preact/signals";
import { resolver } from "../client/clients";
import { failureOf } from "../client/failure";
import type { Failure } from "../client/failure";
import { STREAM } from "../client/transport";
import { LayoutSchema } from "../generated/flightplan/v1/parallelism_pb";
import { PlanLayoutsRequestSchema, PlanObjective } from "../generated/flightplan/v1/resolver_service_pb";
import type { PlanProgress, PlanResult, ResolveConfigResponse } from "../generated/flightplan/v1/resolver_service_pb";
import { setKnob } from "./pins";
import { asked, changed, question } from "./question";
import type { Question } from "./question";

export const DEFAULT_COUNT = 10;

/** How to search. */
export const options = signal({ keepSizes: false, count: DEFAULT_COUNT, objective: PlanObjective.STEP_TIME });

/** The rule of what a search decided about execution (resolver/plan/decision.h). */
const EXECUTION = "plan.execution";

export interface Found {
  /** The question that was searched. */
  base: Question;
  objective: PlanObjective;
  result: PlanResult;
}

export const progress = signal<PlanProgress | undefined>(undefined);
export const found = signal<Found | undefined>(undefined);
export const failure = signal<Failure | undefined>(undefined);
export const searching = signal(false);
/** "cancelled", once the person ended a search; empty otherwise. */
export const ended = signal("");
/** Indices of the plans that are picked, at most two. */
export const picked = signal<readonly number[]>([]);

let running: AbortController | undefined;

export function cancelSearch(): void {
  running?.abort();
}

export async function search(): Promise<void> {
  running?.abort();
  const mine = (running = new AbortController());
  const base = asked(question.value);
  if (!options.value.keepSizes) base.layout = create(LayoutSchema);
  const { count, objective } = options.value;
  const request = create(PlanLayoutsRequestSchema, { base, planCount: count, objective });
  searching.value = true;
  progress.value = failure.value = undefined;
  ended.value = "";
  try {
    for await (const { event } of resolver.planLayouts(request, { ...STREAM, signal: mine.signal })) {
      if (running !== mine) return;
      if (event.case === "progress") progress.value = event.value;
      if (event.case === "result") take({ base, objective, result: event.value });
    }
  } catch (error) {
    if (running !== mine) return;
    failure.value = failureOf(error);
    if (mine.signal.aborted) ended.value = "cancelled";
  }
  if (running === mine) searching.value = false;
}

function take(result: Found): void {
  found.value = result;
  picked.value = [];
}

/** Takes a plan among the picked or out of them; a third takes the place of the first. */
export function pick(index: number): void {
  const others = picked.value.filter((other) => other !== index);
  picked.value = others.length < picked.value.length ? others : [...others, index].slice(-2);
}

/** GPUs of a plan: a search for fewer leaves some of those it was asked about. */
export function gpusOf({ layout }: ResolveConfigResponse): number {
  const sizes = layout?.sizes;
  return (layout?.dataParallelSize ?? 0) * (sizes?.tensorModelParallelSize ?? 1) * (sizes?.pipelineModelParallelSize ?? 1) * (sizes?.contextParallelSize ?? 1);
}

/** The question that a plan answers, as `flightplan plan` prints it: the searched one with the plan's GPUs and sizes. */
export function questionOf({ base, objective }: Found, plan: ResolveConfigResponse): Question {
  return changed(base, (draft) => {
    const sizes = plan.layout?.sizes;
    if (sizes) draft.layout = clone(LayoutSchema, sizes);
    // It follows from the sizes; said, it would be the person's word.
    draft.layout.sequenceParallel = undefined;
    draft.hardware.gpuCount = gpusOf(plan) || draft.hardware.gpuCount;
    // Without what makes room in it the plan with the least memory would be another one.
    if (objective !== PlanObjective.MEMORY_HEADROOM) return;
    for (const { name, value, ruleId } of plan.decisions) if (ruleId === EXECUTION) setKnob(draft, name, value);
  });
}
