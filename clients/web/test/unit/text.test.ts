import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { EstimateSchema, FitVerdict, RangeSchema } from "../../src/generated/flightplan/v1/estimate_pb";
import { FindingSchema, FixSchema, KnobValueSchema, Severity, VerdictKind } from "../../src/generated/flightplan/v1/finding_pb";
import { countText, fixText, flagSpelling, launchSpelling } from "../../src/words/findings";
import { memoryText, stepText } from "../../src/words/forecast";
import { gibNumber, parameterText, percentText, shellWord, valueText, withThousands } from "../../src/words/text";
import { verdictText } from "../../src/words/verdicts";

test("figures are written as on the terminal", () => {
  assert.equal(withThousands(1024), "1,024");
  assert.equal(withThousands(2158233440n), "2,158,233,440");
  assert.equal(parameterText(671_026_419_200n), "671 B");
  assert.equal(parameterText(30_500_000_000n), "30.5 B");
  assert.equal(parameterText(560_000_000n), "560 M");
  assert.equal(gibNumber(71 * 2 ** 30), "71");
  assert.equal(gibNumber(4.2 * 2 ** 30), "4.2");
  assert.equal(gibNumber(0.03 * 2 ** 30), "0.03");
  assert.equal(gibNumber(0), "0");
  assert.equal(percentText(0.27), "27 %");
  assert.equal(percentText(0.034), "3.4 %");
});

test("a step has one unit for its three figures", () => {
  assert.equal(stepText(create(RangeSchema, { value: 37.9e6, low: 25.2e6, high: 57e6 })), "38 s (25..57)");
  assert.equal(stepText(create(RangeSchema, { value: 900e3, low: 800e3, high: 1100e3 })), "900 ms (800..1100)");
});

test("memory names the fullest stage", () => {
  const gib = 2 ** 30;
  const stage = (index: number, value: number) => ({ stage: index, totalBytes: { value: value * gib, low: (value - 10) * gib, high: (value + 20) * gib } });
  const estimate = create(EstimateSchema, { fit: FitVerdict.MARGINAL, usableBytes: BigInt(80 * gib), stages: [stage(0, 60), stage(1, 69), stage(2, 65)] });
  assert.equal(memoryText(estimate), "69 GiB of 80 (59..89), stage 1");
  assert.equal(memoryText(undefined), "");
});

test("values are what a person types", () => {
  const value = (kind: Parameters<typeof create<typeof KnobValueSchema>>[1]) => valueText(create(KnobValueSchema, kind));
  assert.equal(value({ kind: { case: "boolValue", value: false } }), "false");
  assert.equal(value({ kind: { case: "intValue", value: 0n } }), "0");
  assert.equal(value({}), "none");
  assert.equal(valueText(undefined), "none");
  const word = (text: string) => ({ kind: { case: "stringValue" as const, value: text } });
  assert.equal(value({ kind: { case: "listValue", value: { values: [word("mlp"), word("moe_act")] } } }), "mlp,moe_act");
});

test("a fix is spelled as flags, or as the launch spells it", () => {
  const fix = create(FixSchema, {
    knobs: [{ name: "tensor_model_parallel_size", value: { kind: { case: "intValue", value: 4n } } }, { name: "sequence_parallel", value: { kind: { case: "boolValue", value: true } } }, { name: "moe_pad", value: {} }],
    env: { B: "2", A: "1" },
  });
  assert.equal(fixText(fix, flagSpelling), "--tp 4 --set sequence_parallel=true --unset moe_pad --env A=1 --env B=2");
  const entry = (name: string, spelling: string) => ({ $typeName: "flightplan.v1.ConfigEntry" as const, name, spelling, origin: 0, reason: "" });
  const spelling = launchSpelling([entry("tensor_model_parallel_size", "--tensor-model-parallel-size"), entry("sequence_parallel", "--sequence-parallel")]);
  assert.equal(fixText(fix, spelling), "A=1 B=2 --tensor-model-parallel-size 4 --sequence-parallel without moe_pad");
});

test("findings are counted by severity", () => {
  const finding = (severity: Severity) => create(FindingSchema, { severity });
  assert.equal(countText([], 0), "no findings");
  assert.equal(countText([finding(Severity.ERROR), finding(Severity.INFO), finding(Severity.INFO)], 3), "1 error, 2 notes, 3 silent changes");
});

test("a warning fails no run by itself", () => {
  assert.equal(verdictText(VerdictKind.WILL_RUN, "error"), "the stack accepts it; the run fails later");
  assert.match(verdictText(VerdictKind.WILL_RUN, "warning"), /fails no run/);
  assert.equal(verdictText(VerdictKind.ADVICE, "warning"), "legal and runs; worth knowing");
});

test("a word is quoted for a shell where it must be", () => {
  assert.equal(shellWord("--tp"), "--tp");
  assert.equal(shellWord("Et|tt"), "'Et|tt'");
  assert.equal(shellWord("it's"), `'it'\\''s'`);
});
