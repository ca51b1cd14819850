import assert from "node:assert/strict";
import { test } from "node:test";
import { differences, parseWas } from "../../src/state/was";

const before = parseWas(JSON.stringify({
  digest: "fp1-a", target: "megatron-lm main", catalogue: "aaa", evidence: "1", runs: true, fit: "yes", step: 38e6, memory: 69 * 2 ** 30,
  decided: { micro_batch_size: "1", cuda_graph_impl: "none" },
}));

test("the same answer has no differences", () => assert.deepEqual(differences(before, before), []));

test("what changed is said, one phrase each", () => {
  const now = { ...before, catalogue: "bbb", step: 35e6, decided: { micro_batch_size: "2", tp_comm_overlap: "true" } };
  assert.deepEqual(differences(before, now), [
    "catalogue: aaa → bbb", "step: 38 s → 35 s", "micro_batch_size: 1 → 2", "cuda_graph_impl: none → not decided", "tp_comm_overlap: not decided → true",
  ]);
});

test("text of others becomes text, whatever it holds", () => {
  const odd = parseWas(JSON.stringify({ digest: 7, step: "x", decided: { "<b>": 1 } }));
  assert.deepEqual([odd.digest, odd.step, odd.decided["<b>"]], ["", 0, ""]);
  assert.throws(() => parseWas("{"));
});
