// Head, layout and assumptions of an answer in the terminal's words (clients/cli/resolve_page.cc, commands/resolve.cc).
import type { Answer } from "../state/answer";
import { parameterText, withThousands } from "./text";

export function modelText({ response: { model } }: Answer): string {
  const name = model?.name || "model";
  const counts = model?.parameters;
  if (!counts || counts.totalCount === 0n) return name;
  const active = counts.activeCount !== 0n && counts.activeCount !== counts.totalCount ? ` (${parameterText(counts.activeCount)} active)` : "";
  return `${name}, ${parameterText(counts.totalCount)}${active}`;
}

export function gpuText({ request: { hardware }, gpu }: Answer): string {
  const domain = hardware?.fabric?.nvlinkDomainGpuCount ?? gpu?.nvlinkDomainGpuCount ?? 0;
  const links = domain > 1 ? ` (${domain} per NVLink domain)` : "";
  return `${withThousands(hardware?.gpuCount ?? 0)} × ${gpu?.name || hardware?.gpu || ""}${links}`;
}

/** "dense TP2 × CP1 × DP64 × PP8 (VPP 4)", the experts', the microbatches. */
export function layoutTexts({ request, response }: Answer): string[] {
  const layout = response.layout;
  const sizes = layout?.sizes;
  if (!layout || !sizes) return [];
  const pipeline = `PP${sizes.pipelineModelParallelSize ?? 0}`;
  const chunks = Math.max(sizes.virtualPipelineModelParallelSize ?? 0, request.layout?.virtualPipelineModelParallelSize ?? 0);
  const dense = [`TP${sizes.tensorModelParallelSize ?? 0}`, `CP${sizes.contextParallelSize ?? 0}`, `DP${layout.dataParallelSize}`, pipeline];
  const parts = [`dense ${dense.join(" × ")}${chunks > 1 ? ` (VPP ${chunks})` : ""}`];
  if (response.model?.numMoeExperts !== undefined) {
    const experts = [`ETP${sizes.expertTensorParallelSize ?? 0}`, `EP${sizes.expertModelParallelSize ?? 0}`, `EDP${layout.expertDataParallelSize}`, pipeline];
    const domains = layout.epDomainCount > 1 ? ` over ${layout.epDomainCount} NVLink domains` : "";
    parts.push(`experts ${experts.join(" × ")}${domains}`);
  }
  parts.push(`${withThousands(layout.microbatchCount)} microbatches of ${sizes.microBatchSize ?? 0}`);
  return parts;
}

/** What the person did not say and what was taken instead. */
export function assumedTexts({ written, request }: Answer): string[] {
  const assumed = [];
  if (!written.workload?.seqLength) assumed.push(`sequence ${withThousands(request.workload?.seqLength ?? 0)} (--seq)`);
  if (!written.workload?.globalBatchSize) assumed.push(`global batch ${withThousands(request.workload?.globalBatchSize ?? 0)} (--gbs)`);
  if (!written.workload?.precision) assumed.push("bf16 (--precision)");
  if (!written.stage) assumed.push("production (--stage)");
  if (!written.software?.dispatchers) assumed.push("installed dispatcher backends unknown (--capability)");
  return assumed;
}
