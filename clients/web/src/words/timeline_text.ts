// A timeline in the terminal's words (clients/cli/timeline_words.h), and which of a chart's series each kind belongs to.
import { TimelineKind as Kind, TimelineSchedule, TimelineStream as Stream, TimelineZoom } from "../generated/flightplan/v1/timeline_pb";
import type { DescribeTimelineResponse } from "../generated/flightplan/v1/timeline_pb";
import { plural } from "./text";

const KINDS = new Map([
  [Kind.FORWARD, "forward"], [Kind.BACKWARD, "backward"], [Kind.FORWARD_BACKWARD, "forward and backward"], [Kind.PASSES, "passes, joined"],
  [Kind.WEIGHT_GRADIENT, "weight gradient"], [Kind.RECOMPUTE, "recompute"], [Kind.DISPATCH, "dispatch"], [Kind.COMBINE, "combine"],
  [Kind.EXPERT_EXCHANGE, "dispatch and combine"], [Kind.TENSOR_PARALLEL, "tensor parallel"], [Kind.CONTEXT_PARALLEL, "context parallel"],
  [Kind.PIPELINE_TRANSFER, "pipeline transfer"], [Kind.GRADIENT_REDUCE, "gradients reduced"], [Kind.PARAMETER_GATHER, "weights gathered"],
  [Kind.OPTIMIZER, "optimizer"], [Kind.STEP_FIXED, "fixed per step"], [Kind.HOST, "host"], [Kind.ACTIVATION_OFFLOAD, "activation offload"],
  [Kind.BUBBLE, "waits for other ranks"],
]);
// In the order of lanes.
const STREAMS = new Map([
  [Stream.COMPUTE, "compute"], [Stream.EXPERT, "expert exchange"], [Stream.MODEL, "tensor, context"], [Stream.PIPELINE, "to next stage"],
  [Stream.PIPELINE_BACKWARD, "to stage before"], [Stream.DATA, "data parallel"], [Stream.HOST, "host"],
]);
const SCHEDULES = new Map([
  [TimelineSchedule.NO_PIPELINING, "no pipeline"], [TimelineSchedule.ONE_FORWARD_ONE_BACKWARD, "1F1B"], [TimelineSchedule.INTERLEAVED, "interleaved 1F1B"],
]);

/** Kinds that share a colour and a pattern, and what the legend calls them together. */
export const SERIES: readonly (readonly [name: string, kinds: readonly Kind[]])[] = [
  ["forward", [Kind.FORWARD]],
  ["backward", [Kind.BACKWARD]],
  ["forward and backward; passes, joined", [Kind.FORWARD_BACKWARD, Kind.PASSES]],
  ["weight gradient, recompute", [Kind.WEIGHT_GRADIENT, Kind.RECOMPUTE]],
  ["dispatch, combine", [Kind.DISPATCH, Kind.COMBINE, Kind.EXPERT_EXCHANGE]],
  ["waits for other ranks, host, fixed per step", [Kind.BUBBLE, Kind.HOST, Kind.STEP_FIXED]],
  ["tensor and context parallel, pipeline transfer", [Kind.TENSOR_PARALLEL, Kind.CONTEXT_PARALLEL, Kind.PIPELINE_TRANSFER]],
  ["gradients reduced, weights gathered, optimizer, offload", [Kind.GRADIENT_REDUCE, Kind.PARAMETER_GATHER, Kind.OPTIMIZER, Kind.ACTIVATION_OFFLOAD]],
];
const OTHER = 5;
const SERIES_OF = new Map(SERIES.flatMap(([, kinds], at) => kinds.map((kind) => [kind, at] as const)));

export function seriesOf(kind: Kind): number {
  return SERIES_OF.get(kind) ?? OTHER;
}

export function kindWord(kind: Kind): string {
  return KINDS.get(kind) ?? "other";
}

export function streamWord(stream: Stream): string {
  return STREAMS.get(stream) ?? "other";
}

/** Where a stream's lane stands among those of its rank. */
export function laneOrder(stream: Stream): number {
  const at = [...STREAMS.keys()].indexOf(stream);
  return at < 0 ? STREAMS.size : at;
}

/** Three figures: "1.20 ms", "38.0 s". */
export function durationText(us: number): string {
  const [scale, unit] = Math.abs(us) >= 1e6 ? [1e6, "s"] : Math.abs(us) >= 1e3 ? [1e3, "ms"] : [1, "µs"];
  const size = Math.abs(us / (scale as number));
  return `${(us / (scale as number)).toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)} ${unit}`;
}

/** "PP 8 x VPP 4, 128 microbatches, interleaved 1F1B, forward beside backward". */
export function layoutText(timeline: DescribeTimelineResponse): string {
  const parts = [
    `PP ${timeline.pipelineModelParallelSize} x VPP ${timeline.virtualPipelineModelParallelSize}`,
    plural(Number(timeline.microbatchCount), "microbatch").replace("microbatchs", "microbatches"),
    SCHEDULES.get(timeline.schedule) ?? "a schedule that this page does not know",
  ];
  if (timeline.combined) parts.push("forward beside backward");
  if (timeline.delayedWeightGradients) parts.push("delayed weight gradients");
  return parts.join(", ");
}

/** What a zoom shows. */
export const ZOOMS: readonly (readonly [TimelineZoom, string])[] = [
  [TimelineZoom.STEP, "the whole step"], [TimelineZoom.STEADY, "the steady state"], [TimelineZoom.LAYER, "one layer"],
];
