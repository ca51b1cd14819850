import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { ResolveConfigResponseSchema } from "../../src/generated/flightplan/v1/resolver_service_pb";
import { asked, changed, example } from "../../src/state/question";
import { assumedTexts } from "../../src/words/answer_text";

const text = (name: string, value: string) => ({ name, value: { kind: { case: "stringValue" as const, value } } });

const response = create(ResolveConfigResponseSchema, {
  model: { numMoeExperts: 256 },
  target: "megatron-lm main",
  findings: [
    { ruleId: "decide.software-from-image", observed: [text("te", "2.17.1"), text("torch", "2.13.0a0"), text("dispatchers", "deepep,hybridep")] },
    { ruleId: "evidence.recorded-profile", observed: [text("device", "NVIDIA H100 80GB HBM3"), text("driver", "580.159.04")] },
  ],
});
const written = example();
const request = asked(written);

test("what was taken from the stack's image is said as the terminal says it", () => {
  assert.deepEqual(assumedTexts({ written, request, response }).slice(-2), [
    "TE 2.17.1, PyTorch 2.13.0a0, deepep and hybridep as in megatron-lm main's own image (--te, --torch, --capability)",
    "GPU rates of a recorded H100 80GB HBM3, driver 580.159.04 (--profile)",
  ]);
});

test("backends are unknown where no image says them, and only where something is dispatched", () => {
  const unknown = "installed dispatcher backends unknown (--capability)";
  const other = create(ResolveConfigResponseSchema, { model: { numMoeExperts: 8 } });
  assert.equal(assumedTexts({ written, request, response: other }).at(-1), unknown);
  const said = changed(written, (draft) => (draft.software.dispatchers = { $typeName: "flightplan.v1.DispatcherSupport", backends: [] }));
  assert.ok(!assumedTexts({ written: said, request, response: other }).includes(unknown));
  assert.ok(!assumedTexts({ written, request, response: create(ResolveConfigResponseSchema) }).includes(unknown));
});
