import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { PlanObjective, ResolveConfigResponseSchema } from "../../src/generated/flightplan/v1/resolver_service_pb";
import { asked, example } from "../../src/state/question";
import { commandText } from "../../src/words/command";
import { executionText } from "../../src/words/plan_text";

// The transport asks where the page came from.
globalThis.location ??= { origin: "http://localhost" } as Location;
const { questionOf } = await import("../../src/state/search");

function plan() {
  return create(ResolveConfigResponseSchema, {
    layout: {
      sizes: { tensorModelParallelSize: 1, pipelineModelParallelSize: 2, contextParallelSize: 1, expertModelParallelSize: 2, microBatchSize: 1, sequenceParallel: true },
      dataParallelSize: 2,
    },
    decisions: [
      { name: "recompute_granularity", value: { kind: { case: "stringValue", value: "full" } }, ruleId: "plan.execution" },
      { name: "recompute_modules", ruleId: "plan.execution" },
      { name: "moe_token_dispatcher_type", value: { kind: { case: "stringValue", value: "alltoall" } }, ruleId: "decide.dispatcher" },
    ],
    findings: [{ ruleId: "plan.outside-evidence", seen: "PP above 8: nobody; VPP 3: nobody", observed: [{ name: "ratio", value: { kind: { case: "doubleValue", value: 0.124 } } }] }],
    estimate: { fit: 2 },
  });
}

const BASE = asked(example());
const SIZES = "--tp 1 --pp 2 --cp 1 --ep 2 --mbs 1 --seq 4096 --gbs 8192 --target megatron-lm";

test("a plan for fewer GPUs is asked for on those, with the batch that was searched", () => {
  const found = { base: BASE, objective: PlanObjective.GPU_COUNT, result: create(ResolveConfigResponseSchema) as never };
  assert.equal(commandText("resolve", questionOf(found, plan())), `flightplan resolve --model deepseek-v3 --gpu h100-sxm --gpus 4 ${SIZES}`);
});

test("a plan of little memory keeps what makes room in it", () => {
  const found = { base: BASE, objective: PlanObjective.MEMORY_HEADROOM, result: create(ResolveConfigResponseSchema) as never };
  assert.equal(commandText("resolve", questionOf(found, plan())),
    `flightplan resolve --model deepseek-v3 --gpu h100-sxm --gpus 4 ${SIZES} --set recompute_granularity=full --unset recompute_modules`);
});

test("what holds a plan back is said as the terminal says it", () => {
  assert.equal(executionText(plan()), "marginal; ranked +12 % (PP above 8, VPP 3); allgather");
});
