// Fills the page's state from the report, by the command that wrote it.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { PlanLayoutsRequestSchema, PlanResultSchema, ResolveConfigRequestSchema, ResolveConfigResponseSchema, ValidateConfigRequestSchema, ValidateConfigResponseSchema } from "../generated/flightplan/v1/resolver_service_pb";
import { keepAnswered } from "../state/answer";
import { other, sideNames } from "../state/other";
import { asked, question } from "../state/question";
import { EMPTY, script, verdict } from "../state/script";
import { found, questionOf } from "../state/search";
import { VIEWS } from "../state/route";
import type { View } from "../state/route";
import { askedOf, report } from "./recorded";

const RESOLVE = "flightplan.v1.ResolverService/ResolveConfig";

/** What each command's report shows, what it opens with first. */
const SHOWN: Readonly<Record<string, readonly View[]>> = {
  resolve: ["answer", "memory", "timeline"],
  plan: ["plans", "answer", "memory", "compare"],
  diff: ["compare", "answer", "memory"],
  validate: ["script"],
  timeline: ["timeline"],
};

export function shownViews(): readonly View[] {
  const views = SHOWN[report.command] ?? VIEWS.slice(1, 2);
  const drawn = report.calls.some(({ rpc }) => rpc.endsWith("/DescribeTimeline"));
  return views.filter((view) => view !== "timeline" || drawn);
}

/** Asks for what the report answers. */
export function start(): void {
  question.value = askedOf(ResolveConfigRequestSchema, "ResolveConfig") ?? question.value;
  if (report.command === "diff") {
    other.value = askedOf(ResolveConfigRequestSchema, "ResolveConfig", 1);
    sideNames.value = report.names;
  }
  startPlans();
  startVerdict();
  if (report.command !== "validate" && report.command !== "timeline") keepAnswered();
}

// Each plan is the answer to the question that pins its sizes.
function startPlans(): void {
  const [call] = report.calls.filter(({ rpc }) => rpc.endsWith("/PlanLayouts"));
  if (!call) return;
  const { base, objective } = fromBinary(PlanLayoutsRequestSchema, call.request);
  if (!base) return;
  const result = fromBinary(PlanResultSchema, call.answer);
  found.value = { base, objective, result };
  for (const plan of result.plans) {
    const request = toBinary(ResolveConfigRequestSchema, asked(questionOf(found.value, plan)));
    report.calls.push({ rpc: RESOLVE, request, answer: toBinary(ResolveConfigResponseSchema, plan) });
  }
  if (result.plans[0]) question.value = questionOf(found.value, result.plans[0]);
}

function startVerdict(): void {
  const [call] = report.calls.filter(({ rpc }) => rpc.endsWith("/ValidateConfig"));
  if (!call || report.command !== "validate") return;
  const { config } = fromBinary(ValidateConfigRequestSchema, call.request);
  const text = config.case === "file" ? config.value.text : config.case === "arguments" ? config.value.values.join("\n") : "";
  script.value = { ...EMPTY, name: report.names[0] ?? EMPTY.name, text };
  verdict.answer.value = fromBinary(ValidateConfigResponseSchema, call.answer);
}
