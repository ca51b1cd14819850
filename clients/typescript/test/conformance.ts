// The conformance runner. usage: node dist/test/conformance.js --cases FILE --server HOST:PORT
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import * as grpc from "@grpc/grpc-js";

import { call, Client, failureOf } from "../src";
import * as answers from "./answers";
import { Facts, holds } from "./facts";
import { Case, CaseSet, Check } from "./generated/conformance";

const REQUEST_ID = "x-request-id";
const DECISION_ID = "x-flightplan-decision-id";

function optionsOf(test: Case): Partial<grpc.CallOptions> {
  const milliseconds = test.options?.deadlineMs;
  return milliseconds === undefined ? {} : { deadline: Date.now() + milliseconds };
}

function metadataOf(test: Case): grpc.Metadata {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(test.options?.metadata ?? {})) metadata.set(name, value);
  return metadata;
}

async function unary<Stub, Request, Answer>(
  test: Case,
  facts: Facts,
  stub: Stub,
  method: (
    request: Request,
    metadata: grpc.Metadata,
    options: Partial<grpc.CallOptions>,
    callback: (error: grpc.ServiceError | null, answer: Answer) => void,
  ) => grpc.ClientUnaryCall,
  request: Request,
  add: (answer: Answer) => void,
): Promise<void> {
  let ended: Promise<void> = Promise.resolve();
  const watch = (made: grpc.ClientUnaryCall) => {
    made.on("metadata", (metadata) => {
      if (test.options?.metadata[REQUEST_ID]) facts.addEach(`~header.${REQUEST_ID}`, metadata.get(REQUEST_ID).map(String));
    });
    ended = new Promise((resolve) =>
      made.on("status", (status) => {
        facts.addEach(`~trailer.${DECISION_ID}`, status.metadata.get(DECISION_ID).map(String));
        resolve();
      }),
    );
  };
  try {
    add(await call(stub, method, request, optionsOf(test), metadataOf(test), watch));
    facts.add("code", "OK");
  } catch (error) {
    answers.addFailure("", failureOf(error as grpc.ServiceError), facts);
  }
  await ended;
}

// Takes the messages of a stream until it ends.
async function drain<Answer>(
  stream: grpc.ClientReadableStream<Answer>,
  facts: Facts,
  take: (answer: Answer) => void,
): Promise<void> {
  await new Promise<void>((resolve) => {
    let failed = false;
    let waiting = 2; // for the last message and for the status
    const part = () => (--waiting === 0 ? resolve() : undefined);
    stream.on("data", take);
    stream.on("end", part);
    stream.on("error", (error) => {
      failed = true;
      answers.addFailure("", failureOf(error as grpc.ServiceError), facts);
    });
    stream.on("status", () => {
      if (!failed) facts.add("code", "OK");
      part();
    });
  });
}

async function factsOf(test: Case, { resolver, catalog, evidence, probe }: Client): Promise<Facts> {
  const facts = new Facts();
  const ask = test.call;
  switch (ask?.$case) {
    case "resolveConfig": {
      const padding = test.options?.paddingBytes ?? 0;
      if (padding > 0) ask.resolveConfig.env["PADDING"] = "x".repeat(padding);
      const add = (answer: Parameters<typeof answers.addResolve>[1]) => answers.addResolve("", answer, facts);
      await unary(test, facts, resolver, resolver.resolveConfig, ask.resolveConfig, add);
      break;
    }
    case "validateConfig":
      await unary(test, facts, resolver, resolver.validateConfig, ask.validateConfig, (answer) =>
        answers.addValidate("", answer, facts),
      );
      break;
    case "convertConfig":
      await unary(test, facts, resolver, resolver.convertConfig, ask.convertConfig, (answer) =>
        answers.addConvert("", answer, facts),
      );
      break;
    case "planLayouts": {
      let progress = 0;
      const stream = resolver.planLayouts(ask.planLayouts, metadataOf(test), optionsOf(test));
      await drain(stream, facts, (event) => {
        if (event.event?.$case === "result") answers.addPlan("", event.event.result, facts);
        else progress += 1;
        if (test.options?.cancelAfterFirst) stream.cancel();
      });
      facts.add("~progress", progress);
      break;
    }
    case "batchResolve": {
      let answered = 0;
      const stream = resolver.batchResolve(metadataOf(test), optionsOf(test));
      const drained = drain(stream, facts, (answer) => {
        answered += 1;
        answers.addBatch("", answer, facts);
      });
      for (const request of ask.batchResolve.requests) stream.write(request);
      stream.end();
      await drained;
      facts.add("answered", answered);
      break;
    }
    case "getModel":
      await unary(test, facts, catalog, catalog.getModel, ask.getModel, (a) => answers.addModel("", a, facts));
      break;
    case "importModel":
      await unary(test, facts, catalog, catalog.importModel, ask.importModel, (a) => answers.addModel("", a, facts));
      break;
    case "getGpu":
      await unary(test, facts, catalog, catalog.getGpu, ask.getGpu, (a) => answers.addGpu("", a, facts));
      break;
    case "getKnob":
      await unary(test, facts, catalog, catalog.getKnob, ask.getKnob, (a) => answers.addKnob("", a, facts));
      break;
    case "getRule":
      await unary(test, facts, catalog, catalog.getRule, ask.getRule, (a) => answers.addRule("", a, facts));
      break;
    case "listModels":
      await unary(test, facts, catalog, catalog.listModels, ask.listModels, (a) =>
        answers.addPage(a.models.map((model) => model.name), a.nextPageToken, facts),
      );
      break;
    case "listGpus":
      await unary(test, facts, catalog, catalog.listGpus, ask.listGpus, (a) =>
        answers.addPage(a.gpus.map((gpu) => gpu.name), a.nextPageToken, facts),
      );
      break;
    case "listKnobs":
      await unary(test, facts, catalog, catalog.listKnobs, ask.listKnobs, (a) =>
        answers.addPage(a.knobs.map((knob) => knob.name), a.nextPageToken, facts),
      );
      break;
    case "listRules":
      await unary(test, facts, catalog, catalog.listRules, ask.listRules, (a) =>
        answers.addPage(a.rules.map((rule) => rule.id), a.nextPageToken, facts),
      );
      break;
    case "reportMeasurement":
      await unary(test, facts, evidence, evidence.reportMeasurement, ask.reportMeasurement, (a) => {
        answers.addMeasurement("", a.measurement, facts);
        facts.add("~revision", a.revision);
      });
      break;
    case "getMeasurement":
      await unary(test, facts, evidence, evidence.getMeasurement, ask.getMeasurement, (a) =>
        answers.addMeasurement("", a, facts),
      );
      break;
    case "listMeasurements":
      await unary(test, facts, evidence, evidence.listMeasurements, ask.listMeasurements, (a) =>
        answers.addPage(a.measurements.map((measurement) => measurement.id), a.nextPageToken, facts),
      );
      break;
    case "getProfile":
      await unary(test, facts, probe, probe.getProfile, ask.getProfile, (a) => answers.addProfile("", a, facts));
      break;
    case "importProfile":
      await unary(test, facts, probe, probe.importProfile, ask.importProfile, (a) => answers.addProfile("", a, facts));
      break;
    case "listProfiles":
      await unary(test, facts, probe, probe.listProfiles, ask.listProfiles, (a) =>
        answers.addPage(a.profiles.map((profile) => profile.name), a.nextPageToken, facts),
      );
      break;
  }
  return facts;
}

function describe(check: Check, values: string[]): string {
  const text = JSON.stringify(check, (_, value) => (typeof value === "bigint" ? value.toString() : value));
  return `${text}: got [${values.join(", ")}]`;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { cases: { type: "string" }, server: { type: "string" } } });
  if (!values.cases || !values.server) throw new Error("usage: conformance.js --cases FILE --server HOST:PORT");
  const set = CaseSet.decode(readFileSync(values.cases));
  const client = new Client(values.server);
  let passed = 0;
  let failed = 0;
  for (const test of set.cases) {
    const facts = await factsOf(test, client);
    const faults = test.want.filter((check) => !holds(check, facts.of(check.fact)));
    if (faults.length > 0) {
      failed += 1;
      const texts = faults.map((check) => describe(check, facts.of(check.fact)));
      console.log(`FAILED ${test.name}: ${texts.join("; ")}`);
    } else {
      passed += 1;
      console.log(`ok ${test.name} ${facts.fingerprint()}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  client.close();
  return failed > 0 || passed === 0 ? 1 : 0;
}

main().then(
  (code) => (process.exitCode = code),
  (error) => {
    console.error(error);
    process.exitCode = 2;
  },
);
