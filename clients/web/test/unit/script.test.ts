import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { TARGETS } from "../../src/form/targets";
import { Completeness, ValidateConfigResponseSchema } from "../../src/generated/flightplan/v1/resolver_service_pb";
import { releaseVerdict } from "../../src/words/release_text";

// The transport asks where the page came from.
globalThis.location ??= { origin: "http://localhost" } as Location;
const { EMPTY, validateRequest } = await import("../../src/state/script");

test("a script is for the stack that its text shows, unless the person names one", () => {
  assert.equal(validateRequest({ ...EMPTY, text: "torchrun train.py" }).target?.framework, "");
  assert.equal(validateRequest({ ...EMPTY, framework: "slime" }).target?.framework, "slime");
});

test("every stack of the service can be chosen", () => {
  const names = TARGETS.map(([name]) => name);
  for (const name of ["megatron-lm", "megatron-lm@0.17", "megatron-bridge@0.6", "loongforge", "slime", "verl", "roll"]) assert.ok(names.includes(name), name);
});

test("a text without a training is not judged by any release", () => {
  const nothing = create(ValidateConfigResponseSchema, { acceptedByStack: true, willRun: true, completeness: Completeness.NONE });
  assert.deepEqual(releaseVerdict(nothing), ["warn", "not judged"]);
});
