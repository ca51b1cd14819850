import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { ResolveConfigResponseSchema } from "../../src/generated/flightplan/v1/resolver_service_pb";
import { TimelineKind } from "../../src/generated/flightplan/v1/timeline_pb";
import { compare, memorySentence, timeSentence } from "../../src/words/comparison";
import { durationText, kindWord, seriesOf } from "../../src/words/timeline_text";
import { frontier, MEASURES } from "../../src/views/plans/measures";
import { columnsOf } from "../../src/views/memory/stages";

const GIB = 2 ** 30;

function answer(step: number, gib: number, walls: Record<string, number> = { compute: 0.6, communication: 0.4 }) {
  const bytes = gib * GIB;
  return create(ResolveConfigResponseSchema, {
    estimate: {
      stepTimeUs: { value: step * 1e6, low: step * 0.9e6, high: step * 1.2e6 }, usableBytes: BigInt(80 * GIB), wallRatios: walls,
      stages: [{ stage: 0, lastStageIndex: 2, parts: [{ name: "parameters", partBytes: BigInt(bytes / 2) }, { name: "mlp_activations", partBytes: BigInt(bytes / 4) }, { name: "expert_activations", partBytes: BigInt(bytes / 4) }], totalBytes: { value: bytes, low: bytes, high: bytes } }],
    },
  });
}

test("the frontier has what no other plan beats by both measures", () => {
  const plans = [answer(10, 70), answer(12, 60), answer(12, 65), answer(9, 75), answer(13, 76)];
  const [step, memory] = [MEASURES[0]!, MEASURES[1]!];
  assert.deepEqual([...frontier(plans, step, memory)], [0, 1, 3]);
});

test("two answers are compared in the terminal's sentences", () => {
  const found = compare(answer(10, 64), answer(8, 72, { compute: 0.75, communication: 0.25 }));
  assert.equal(timeSentence(found), "B's step is 20 % shorter (-28 %..-12 %): communication -2.00 s");
  assert.equal(memorySentence(found), "B's fullest stage needs 8.0 GiB more: parameters +4.0, mlp activations +2.0 GiB");
  assert.equal(timeSentence(compare(answer(10, 64), answer(10, 64))), "B's step takes as long as A's");
});

test("every stage has a column, its activations together", () => {
  const { series, stacks, stageOf } = columnsOf(answer(10, 64).estimate!);
  assert.deepEqual(series, ["parameters", "activations"]);
  assert.deepEqual(stacks.map(({ key }) => key), ["0", "1", "2"]);
  assert.deepEqual(stacks[0]!.values, [32, 32]);
  assert.equal(stageOf.size, 3);
});

test("every kind of event has a word and a series", () => {
  for (const kind of Object.values(TimelineKind).filter((value): value is TimelineKind => typeof value === "number" && value !== 0)) {
    assert.notEqual(kindWord(kind), "other");
    assert.ok(seriesOf(kind) >= 0);
  }
  assert.deepEqual([0.5, 1200, 38e6, 120e6].map(durationText), ["0.50 µs", "1.20 ms", "38.0 s", "120 s"]);
});
