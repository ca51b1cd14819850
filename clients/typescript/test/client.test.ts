// Retries by the shared service config, against a server that fails on purpose.
import assert from "node:assert/strict";
import { test } from "node:test";

import * as grpc from "@grpc/grpc-js";

import { call, Client, failureOf, launchOf, ResolveConfigRequest, ResolveConfigResponse, ResolverServiceService } from "../src";
import { ErrorInfo } from "../src/generated/google/rpc/error_details";
import { Status } from "../src/generated/google/rpc/status";

// A server whose first `failures` answers are `code`, and a client of it.
async function failing(failures: number, code: grpc.status, metadata = new grpc.Metadata()) {
  const server = new grpc.Server();
  const seen = { calls: 0 };
  const resolveConfig: grpc.handleUnaryCall<ResolveConfigRequest, ResolveConfigResponse> = (_, reply) => {
    seen.calls += 1;
    if (seen.calls <= failures) reply({ code, details: "not now", metadata });
    else reply(null, ResolveConfigResponse.fromPartial({ digest: "fp1-here" }));
  };
  server.addService(ResolverServiceService, { resolveConfig });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  const client = new Client(`127.0.0.1:${port}`);
  const ask = () => call(client.resolver, client.resolver.resolveConfig, ResolveConfigRequest.create());
  const stop = () => {
    client.close();
    server.forceShutdown();
  };
  return { ask, seen, stop };
}

test("UNAVAILABLE is tried once more", async () => {
  const { ask, seen, stop } = await failing(1, grpc.status.UNAVAILABLE);
  assert.equal((await ask()).digest, "fp1-here");
  assert.equal(seen.calls, 2);
  stop();
});

test("other codes are not tried again, and their details can be read", async () => {
  const metadata = new grpc.Metadata();
  const info = ErrorInfo.encode(ErrorInfo.fromPartial({ reason: "OVERLOADED", domain: "flightplan" })).finish();
  const details = [{ typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value: Buffer.from(info) }];
  metadata.set("grpc-status-details-bin", Buffer.from(Status.encode(Status.fromPartial({ code: 8, details })).finish()));
  const { ask, seen, stop } = await failing(99, grpc.status.RESOURCE_EXHAUSTED, metadata);
  await assert.rejects(ask(), (error: grpc.ServiceError) => {
    const failure = failureOf(error);
    assert.equal(failure.code, grpc.status.RESOURCE_EXHAUSTED);
    assert.equal(failure.info?.reason, "OVERLOADED");
    return true;
  });
  assert.equal(seen.calls, 1);
  stop();
});

test("launchOf", () => {
  const plan = ResolveConfigResponse.fromPartial({ launches: [{ dialect: "megatron-lm" }, { dialect: "yaml" }] });
  assert.equal(launchOf(plan)?.dialect, "megatron-lm");
  assert.equal(launchOf(plan, "yaml")?.dialect, "yaml");
  assert.equal(launchOf(plan, "loongforge"), undefined);
});
