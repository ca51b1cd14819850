// What plans are compared by, and which of them no other beats.
import type { ResolveConfigResponse } from "../../generated/flightplan/v1/resolver_service_pb";
import { fullestStage } from "../../words/forecast";
import { GIB } from "../../words/text";

type Plan = ResolveConfigResponse;

export interface Measure {
  name: string;
  unit: string;
  of: (plan: Plan) => number;
  /** Which end is better; 0: neither. */
  better: -1 | 0 | 1;
}

const memory = (plan: Plan): number => (fullestStage(plan.estimate)?.totalBytes?.value ?? 0) / GIB;

export const MEASURES: readonly Measure[] = [
  { name: "step", unit: "s", better: -1, of: (plan) => (plan.estimate?.stepTimeUs?.value ?? 0) / 1e6 },
  { name: "memory", unit: "GiB", better: -1, of: memory },
  { name: "tokens/s per GPU", unit: "", better: 1, of: (plan) => plan.estimate?.tokensPerSecondPerGpu ?? 0 },
  { name: "TFLOP/s per GPU", unit: "", better: 1, of: (plan) => (plan.estimate?.flopsPerSecondPerGpu ?? 0) / 1e12 },
  { name: "exposed communication", unit: "s", better: -1, of: (plan) => (plan.estimate?.communication ?? []).reduce((sum, path) => sum + path.exposedUs, 0) / 1e6 },
  { name: "step, upper end of the band", unit: "s", better: -1, of: (plan) => (plan.estimate?.stepTimeUs?.high ?? 0) / 1e6 },
  { name: "memory, upper end of the band", unit: "GiB", better: -1, of: (plan) => (fullestStage(plan.estimate)?.totalBytes?.high ?? 0) / GIB },
  { name: "TP", unit: "", better: 0, of: (plan) => plan.layout?.sizes?.tensorModelParallelSize ?? 0 },
  { name: "PP", unit: "", better: 0, of: (plan) => plan.layout?.sizes?.pipelineModelParallelSize ?? 0 },
  { name: "EP", unit: "", better: 0, of: (plan) => plan.layout?.sizes?.expertModelParallelSize ?? 0 },
  { name: "microbatch", unit: "", better: 0, of: (plan) => plan.layout?.sizes?.microBatchSize ?? 0 },
  { name: "GPUs", unit: "", better: -1, of: gpusOf },
];

function gpusOf({ layout }: Plan): number {
  const sizes = layout?.sizes;
  return (layout?.dataParallelSize ?? 0) * (sizes?.tensorModelParallelSize ?? 1) * (sizes?.contextParallelSize ?? 1) * (sizes?.pipelineModelParallelSize ?? 1);
}

/** Indices of the plans that no other is better than by one measure and as good as by the other. */
export function frontier(plans: readonly Plan[], x: Measure, y: Measure): Set<number> {
  const points = plans.map((plan) => [x.of(plan) * x.better, y.of(plan) * y.better] as const);
  const beaten = ([ax, ay]: readonly [number, number]): boolean =>
    points.some(([bx, by]) => bx >= ax && by >= ay && (bx > ax || by > ay));
  return new Set(points.flatMap((point, at) => (beaten(point) ? [] : [at])));
}
