import assert from "node:assert/strict";
import { test } from "node:test";
import { equals } from "@bufbuild/protobuf";
import { FixSchema } from "../../src/generated/flightplan/v1/finding_pb";
import { HardwareSchema, HostCpuClass, SoftwareStackSchema } from "../../src/generated/flightplan/v1/hardware_pb";
import { LayoutSchema, MeasuredProfileSchema, Wall, WorkloadSchema } from "../../src/generated/flightplan/v1/parallelism_pb";
import { ResolveConfigRequestSchema } from "../../src/generated/flightplan/v1/resolver_service_pb";
import { create } from "@bufbuild/protobuf";
import { BadLink, pack, packMessage, unpack, unpackMessage } from "../../src/state/link";
import { applyFix, parseValue, setKnob } from "../../src/state/pins";
import { asked, changed, example } from "../../src/state/question";
import { commandText, diffText } from "../../src/words/command";
import { valueText } from "../../src/words/text";

test("the example is the README's command", () => {
  assert.equal(commandText("resolve", example()), "flightplan resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64");
});

test("what is open is assumed as the terminal assumes it", () => {
  const sent = asked(example());
  assert.equal(sent.workload?.seqLength, 4096n);
  assert.equal(sent.workload?.globalBatchSize, 8192n);
  assert.equal(sent.target?.framework, "megatron-lm");
  assert.ok(sent.software && !example().workload, "the person's own question stays as it was");
});

test("a question survives a link, and the link is short", async () => {
  const question = changed(example(), (draft) => setKnob(draft, "moe_shared_expert_overlap", parseValue("bool", "true")));
  const text = await packMessage(ResolveConfigRequestSchema, question);
  assert.match(text, /^[\w-]+$/);
  assert.ok(text.length < 160, `${text.length} characters`);
  assert.ok(equals(ResolveConfigRequestSchema, question, await unpackMessage(ResolveConfigRequestSchema, text)));
});

test("a link that is none of ours is refused in words", async () => {
  for (const text of ["", "%%%", "AAAA", "bm90IGRlZmxhdGVk"]) await assert.rejects(unpack(text), BadLink, text);
  const whole = await pack(new TextEncoder().encode("x".repeat(500)));
  await assert.rejects(unpack(whole.slice(0, -4)), BadLink);
  await assert.rejects(unpack(await pack(new Uint8Array(3 << 20))), /more than any question may/);
  await assert.rejects(unpackMessage(ResolveConfigRequestSchema, await pack(new Uint8Array([255, 255, 255]))), BadLink);
});

test("a value is of its knob's type, or none", () => {
  assert.equal(parseValue("bool", "2"), undefined);
  assert.equal(parseValue("int", "1.5"), undefined);
  assert.equal(valueText(parseValue("int", "64")), "64");
  assert.equal(valueText(parseValue("float", "0.5")), "0.5");
  assert.equal(valueText(parseValue("string_list", "mlp,moe_act")), "mlp,moe_act");
  assert.equal(valueText(parseValue("bool", "none")), "none");
  assert.equal(parseValue("int_list", "1,x"), undefined);
});

test("a fix sets sizes in the layout and other knobs as the person's word", () => {
  const fix = create(FixSchema, {
    knobs: [{ name: "tensor_model_parallel_size", value: { kind: { case: "intValue", value: 4n } } }, { name: "sequence_parallel", value: { kind: { case: "boolValue", value: true } } }],
    env: { CUDA_DEVICE_MAX_CONNECTIONS: "1" },
  });
  const fixed = changed(example(), (draft) => applyFix(draft, fix));
  assert.equal(commandText("resolve", fixed), "flightplan resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 4 --pp 8 --vpp 4 --ep 64 --set sequence_parallel=true --env CUDA_DEVICE_MAX_CONNECTIONS=1");
});

test("whatever a flag says is in the command", () => {
  const full = changed(example(), (draft) => {
    draft.hardware = create(HardwareSchema, {
      gpu: "h100-sxm", gpuCount: 16, reservedBytes: 3n << 29n, hostMemoryBytes: 1n << 40n, hostCpuClass: HostCpuClass.X86_SLOW });
    draft.layout = create(LayoutSchema, {});
    draft.workload = create(WorkloadSchema, { trainIters: 50n });
    draft.software = create(SoftwareStackSchema, {
      ncclVersion: "2.28.3", driverVersion: "580.1", packages: { deep_ep: "1.2.1" }, pagedStash: true, dispatchers: { transport: "ibgda" } });
    draft.profile = create(MeasuredProfileSchema, { stepTimeUs: 2500, hostGapRatio: 0.2, wall: Wall.HOST, memoryHighWaterBytes: 1n << 36n });
  });
  assert.equal(commandText("resolve", full), "flightplan resolve --model deepseek-v3 --gpu h100-sxm --gpus 16 " +
    "--reserved-memory-gib 1.5 --host-memory-gib 1024 --host-cpu x86-slow --iterations 50 --capability none,paged_stash " +
    "--nccl 2.28.3 --driver 580.1 --package deep_ep=1.2.1 --dispatcher-transport ibgda " +
    "--profile-step-ms 2.5 --profile-host 0.2 --profile-memory-gib 64 --profile-wall host");
});

test("two questions are one diff command", () => {
  const other = changed(example(), (draft) => (draft.layout.expertModelParallelSize = 32));
  assert.equal(diffText(example(), other), "flightplan diff --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 -- --ep 64 -- --ep 32");
});
