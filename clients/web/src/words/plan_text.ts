// A plan in one row, in the terminal's words (clients/cli/commands/plan.cc).
import { FitVerdict } from "../generated/flightplan/v1/estimate_pb";
import type { PlanProgress, PlanResult, ResolveConfigResponse } from "../generated/flightplan/v1/resolver_service_pb";
import { fitSentence } from "./forecast";
import { percentText, valueText, withThousands } from "./text";

const BOUNDS = [
  ["memory_bound", "cannot fit"], ["time_bound", "cannot be faster"], ["incompatible", "not to be combined"],
  ["refused_by_rules", "layouts refused by the rules"],
] as const;

export function progressText({ doneRatio, judgedCount, bestStepTimeUs }: PlanProgress): string {
  const best = bestStepTimeUs === undefined ? "" : `, best ${(bestStepTimeUs / 1e6).toPrecision(3)} s`;
  return `searching: ${percentText(doneRatio)}, ${withThousands(judgedCount)} judged${best}`;
}

export function denseText({ layout }: ResolveConfigResponse): string {
  const sizes = layout?.sizes;
  const chunks = sizes?.virtualPipelineModelParallelSize ?? 1;
  return `TP${sizes?.tensorModelParallelSize ?? 0} CP${sizes?.contextParallelSize ?? 0} DP${layout?.dataParallelSize ?? 0} PP${sizes?.pipelineModelParallelSize ?? 0}${chunks > 1 ? ` VPP${chunks}` : ""}`;
}

export function expertsText({ layout, model }: ResolveConfigResponse): string {
  const sizes = layout?.sizes;
  if (!model?.numMoeExperts) return "";
  return `ETP${sizes?.expertTensorParallelSize ?? 0} EP${sizes?.expertModelParallelSize ?? 0} EDP${layout?.expertDataParallelSize ?? 0}`;
}

/** Why a plan stands behind slower ones: "ranked +12 % (PP above 8)"; empty: it does not. */
export function cautionText({ findings }: ResolveConfigResponse): string {
  const caution = findings.find(({ ruleId, observed }) => ruleId === "plan.outside-evidence" && observed.length > 0);
  const kind = caution?.observed[0]!.value?.kind;
  if (!caution || kind?.case !== "doubleValue") return "";
  const reasons = caution.seen.split("; ").map((reason) => reason.split(":")[0]);
  return `ranked ${kind.value < 0 ? "" : "+"}${(100 * kind.value).toFixed(0)} % (${reasons.join(", ")})`;
}

/** "flex/hybridep, EP overlap, recompute moe_act", with the fit in front where it is not "fits", and the caution. */
export function executionText(plan: ResolveConfigResponse): string {
  const values = new Map(plan.config.map(({ name, value }) => [name, valueText(value)]));
  const said: string[] = [];
  if ((plan.layout?.sizes?.expertModelParallelSize ?? 1) > 1) {
    const type = values.get("moe_token_dispatcher_type") ?? "allgather";
    said.push(type === "flex" ? values.get("moe_flex_dispatcher_backend") ?? "flex" : type);
  }
  if (values.get("overlap_moe_expert_parallel_comm") === "true") said.push("EP overlap");
  const granularity = values.get("recompute_granularity");
  if (granularity === "full") said.push("full recompute");
  if (granularity === "selective") said.push(`recompute ${values.get("recompute_modules") ?? ""}`);
  const graphs = values.get("cuda_graph_impl") ?? "none";
  if (graphs !== "none") said.push(`graphs ${graphs}`);
  const fit = plan.estimate?.fit ?? FitVerdict.UNSPECIFIED;
  const worries = [fit === FitVerdict.FITS ? "" : fitSentence(fit), cautionText(plan)].filter(Boolean);
  return [...worries, said.length ? said.join(", ") : "as by default"].join("; ");
}

/** "1,204 candidates: 310 judged, 800 cannot fit". */
export function statisticsText({ spaceCount, judgedCount, prunedCounts }: PlanResult): string {
  const pruned = BOUNDS.flatMap(([bound, words]) => {
    const count = prunedCounts[bound] ?? 0n;
    return count > 0n ? [`${withThousands(count)} ${words}`] : [];
  });
  return [`${withThousands(spaceCount)} candidates: ${withThousands(judgedCount)} judged`, ...pruned].join(", ");
}
