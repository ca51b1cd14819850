// Head, layout and assumptions of an answer in the terminal's words (clients/cli/resolve_page.cc, commands/resolve.cc).
import type { KnobSetting } from "../generated/flightplan/v1/finding_pb";
import type { Answer } from "../state/answer";
import { parameterText, valueText, withThousands } from "./text";

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

const SOFTWARE: Readonly<Record<string, readonly [name: string, flag: string]>> = { te: ["TE ", "--te"], torch: ["PyTorch ", "--torch"] };

function observed({ response }: Answer, rule: string): readonly KnobSetting[] {
  return response.findings.find(({ ruleId }) => ruleId === rule)?.observed ?? [];
}

/** What was taken from the stack's own image; empty: nothing. */
function imageText(answer: Answer): string {
  const facts = observed(answer, "decide.software-from-image").map(({ name, value }) => {
    const [before, flag] = SOFTWARE[name] ?? ["", "--capability"];
    return { text: before + valueText(value).replaceAll(",", " and "), flag };
  });
  if (facts.length === 0) return "";
  return `${facts.map(({ text }) => text).join(", ")} as in ${answer.response.target}'s own image (${facts.map(({ flag }) => flag).join(", ")})`;
}

/** "GPU rates of a recorded H100 80GB HBM3, driver 580.159.04"; empty: they are not of a recorded profile. */
function ratesText(answer: Answer): string {
  const facts = new Map(observed(answer, "evidence.recorded-profile").map(({ name, value }) => [name, valueText(value)]));
  return facts.size === 0 ? "" : `GPU rates of a recorded ${facts.get("device")?.replace(/^NVIDIA /, "")}, driver ${facts.get("driver")} (--profile)`;
}

/** What the person did not say and what was taken instead. */
export function assumedTexts(answer: Answer): string[] {
  const { written, request, response } = answer;
  const assumed = [];
  if (!written.workload?.seqLength) assumed.push(`sequence ${withThousands(request.workload?.seqLength ?? 0)} (--seq)`);
  if (!written.workload?.globalBatchSize) assumed.push(`global batch ${withThousands(request.workload?.globalBatchSize ?? 0)} (--gbs)`);
  if (!written.workload?.precision) assumed.push("bf16 (--precision)");
  if (!written.stage) assumed.push("production (--stage)");
  const image = imageText(answer);
  if (image) assumed.push(image);
  // Without experts nothing is dispatched.
  if (response.model?.numMoeExperts && !written.software?.dispatchers && !image.includes("--capability")) {
    assumed.push("installed dispatcher backends unknown (--capability)");
  }
  const rates = ratesText(answer);
  if (rates) assumed.push(rates);
  return assumed;
}
