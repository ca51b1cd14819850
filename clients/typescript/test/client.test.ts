// Retries by the shared service config, against a server that fails on purpose.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import * as grpc from "@grpc/grpc-js";

import { call, Client, failureOf, launchOf, PlanLayoutsRequest, ResolveConfigRequest, ResolveConfigResponse, ResolverServiceService } from "../src";
import { ErrorInfo } from "../src/generated/google/rpc/error_details";
import { Status } from "../src/generated/google/rpc/status";
import { ALLOW_PLAINTEXT_TOKEN, isLocalAddress } from "../src/plaintext_token";

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

const LOCAL_ADDRESSES = join(__dirname, "../../../local_addresses.tsv");

test("local addresses", { skip: !existsSync(LOCAL_ADDRESSES) }, () => {
  const lines = readFileSync(LOCAL_ADDRESSES, "utf8").split("\n").slice(0, -1);
  const rows = lines.filter((line) => !line.startsWith("#")).map((line) => line.split("\t"));
  assert.ok(rows.length > 30);
  for (const [expected, address] of rows) assert.equal(isLocalAddress(address ?? ""), expected === "yes", address);
});

test("a proxy hears of no plain text and of no local address", async () => {
  const seen: string[] = [];
  const proxy = createServer().on("connect", (request, socket) => {
    seen.push(request.url ?? "");
    socket.end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const variables = ["http_proxy", "https_proxy", "grpc_proxy"];
  for (const name of variables) process.env[name] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const { ask, stop } = await failing(0, grpc.status.OK);
  assert.equal((await ask()).digest, "fp1-here");
  stop();
  process.env[ALLOW_PLAINTEXT_TOKEN] = "1";
  await endOf(new Client("192.0.2.1:1"));
  delete process.env[ALLOW_PLAINTEXT_TOKEN];
  await endOf(new Client("localhost:1", grpc.credentials.createSsl()));
  assert.deepEqual(seen, []);
  await endOf(new Client("192.0.2.1:1", grpc.credentials.createSsl()));
  assert.deepEqual([...new Set(seen)], ["192.0.2.1:1"]); // TLS may need it
  for (const name of variables) delete process.env[name];
  proxy.close();
});

// How a call with a token to nobody (TEST-NET-1) ends: unary and as a stream.
async function endOf(client: Client, token = true): Promise<grpc.status[]> {
  const metadata = new grpc.Metadata();
  if (token) metadata.set("authorization", "Bearer s3cret");
  const options = { deadline: Date.now() + 200 };
  const unary = call(client.resolver, client.resolver.resolveConfig, ResolveConfigRequest.create(), options, metadata).then(
    () => grpc.status.OK,
    (error: grpc.ServiceError) => error.code,
  );
  const stream = client.resolver.planLayouts(PlanLayoutsRequest.fromPartial({}), metadata, options);
  stream.on("data", () => {});
  const streamed = new Promise<grpc.status>((resolve) => stream.on("error", (error: grpc.ServiceError) => resolve(error.code)));
  const codes = await Promise.all([unary, streamed]);
  client.close();
  return codes;
}

test("a token is not sent to another machine in plain text", async () => {
  const elsewhere = "192.0.2.1:1";
  const refused = [grpc.status.UNAUTHENTICATED, grpc.status.UNAUTHENTICATED];
  assert.deepEqual(await endOf(new Client(elsewhere)), refused);
  for (const client of [new Client(elsewhere, grpc.credentials.createSsl()), new Client("127.0.0.1:1")]) {
    assert.ok(!(await endOf(client)).includes(grpc.status.UNAUTHENTICATED));
  }
  assert.ok(!(await endOf(new Client(elsewhere), false)).includes(grpc.status.UNAUTHENTICATED));
  process.env[ALLOW_PLAINTEXT_TOKEN] = "1";
  assert.ok(!(await endOf(new Client(elsewhere))).includes(grpc.status.UNAUTHENTICATED));
  delete process.env[ALLOW_PLAINTEXT_TOKEN];
});
