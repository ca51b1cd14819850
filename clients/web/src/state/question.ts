// The question that most views are about, as the person wrote it: what is unset is searched or assumed.
import { clone, create } from "@bufbuild/protobuf";
import { signal } from "@preact/signals";
import { LayoutSchema, TargetStackSchema, WorkloadSchema } from "../generated/flightplan/v1/parallelism_pb";
import { HardwareSchema, SoftwareStackSchema } from "../generated/flightplan/v1/hardware_pb";
import { ResolveConfigRequestSchema } from "../generated/flightplan/v1/resolver_service_pb";
import type { ResolveConfigRequest } from "../generated/flightplan/v1/resolver_service_pb";

export type Question = ResolveConfigRequest;
export type LayoutField = "tensorModelParallelSize" | "pipelineModelParallelSize" | "virtualPipelineModelParallelSize" |
  "contextParallelSize" | "expertModelParallelSize" | "expertTensorParallelSize" | "microBatchSize";

// As `flightplan resolve` assumes them (clients/cli/request.h).
const SEQ_LENGTH = 4096n;
const SAMPLES_PER_GPU = 8n;
export const FRAMEWORK = "megatron-lm";

/** The example of the README. */
export function example(): Question {
  return create(ResolveConfigRequestSchema, {
    model: { source: { case: "name", value: "deepseek-v3" } },
    hardware: { gpu: "h100-sxm", gpuCount: 1024 },
    layout: {
      tensorModelParallelSize: 2, pipelineModelParallelSize: 8, virtualPipelineModelParallelSize: 4, expertModelParallelSize: 64,
    },
  });
}

export const question = signal<Question>(example());

/** A copy with every part there, changed by `change`. */
export function changed(from: Question, change: (draft: Draft) => void): Question {
  const draft = clone(ResolveConfigRequestSchema, from);
  draft.hardware ??= create(HardwareSchema);
  draft.layout ??= create(LayoutSchema);
  draft.workload ??= create(WorkloadSchema);
  draft.target ??= create(TargetStackSchema);
  draft.software ??= create(SoftwareStackSchema);
  change(draft as Draft);
  return draft;
}

export type Draft = Question & Required<Pick<Question, "hardware" | "layout" | "workload" | "target" | "software">>;

export function edit(change: (draft: Draft) => void): void {
  question.value = changed(question.value, change);
}

/** The question as it is sent: with what is assumed, as `flightplan resolve` sends it, so that both have one digest. */
export function asked(from: Question): Question {
  return changed(from, (draft) => {
    const { workload, hardware, target } = draft;
    if (workload.seqLength === 0n) workload.seqLength = SEQ_LENGTH;
    if (workload.globalBatchSize === 0n) workload.globalBatchSize = SAMPLES_PER_GPU * BigInt(hardware.gpuCount);
    if (!target.framework) target.framework = FRAMEWORK;
  });
}
