// The extension without an editor: `vscode` is a stand-in, and so is the client's connection, which only keeps what it is
// given. What it would start is started here and spoken to. usage: FLIGHTPLAN_BINARY=... node --test test
const assert = require("node:assert");
const { spawnSync } = require("node:child_process");
const Module = require("node:module");
const test = require("node:test");

const flightplan = process.env.FLIGHTPLAN_BINARY;
const manifest = require("../package.json");
const properties = manifest.contributes.configuration.properties;
const values = Object.fromEntries(Object.entries(properties).map(([name, { default: value }]) => [name.split(".")[1], value]));

let configured = {};
let listener;
const shown = [];
const clients = [];
const vscode = {
  workspace: {
    getConfiguration: () => {
      const all = { ...values, ...configured };
      return { ...all, get: (name, fallback) => all[name] ?? fallback };
    },
    onDidChangeConfiguration: (callback) => {
      listener = callback;
      return { dispose() {} };
    },
  },
  window: { showErrorMessage: (text) => shown.push(text) },
};
class LanguageClient {
  constructor(id, name, server, options) {
    Object.assign(this, { id, name, server, options, sent: [], stopped: false });
    clients.push(this);
  }
  async start() {
    if (this.server.command === "missing") throw new Error("ENOENT");
  }
  async stop() {
    this.stopped = true;
  }
  async sendNotification(method, params) {
    this.sent.push([method, params]);
  }
}
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);
const extension = require("../dist/extension.js");

// What the program answers to messages on its standard input.
function talk(args, messages) {
  const bodies = messages.map((message) => JSON.stringify({ jsonrpc: "2.0", ...message }));
  const input = bodies.map((body) => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`).join("");
  const done = spawnSync(flightplan, args, { input, encoding: "utf8" });
  assert.strictEqual(done.status, 0, done.stderr);
  return done.stdout;
}

test("starts the program with the settings, and what it starts takes them", async () => {
  configured = { command: flightplan, gpu: "h100-sxm", gpus: 16, set: ["vocab_size=32000"] };
  await extension.activate({ subscriptions: [] });
  const { server, options } = clients.at(-1);
  assert.deepStrictEqual(server, { command: flightplan, args: ["lsp"] });
  const handed = Object.keys(options.initializationOptions);
  assert.deepStrictEqual(handed.sort(), Object.keys(values).filter((name) => !["command", "server"].includes(name)).sort());
  const out = talk(server.args, [
    { id: 1, method: "initialize", params: { capabilities: {}, initializationOptions: options.initializationOptions } },
    { id: 2, method: "shutdown" },
    { method: "exit" },
  ]);
  assert.match(out, /"positionEncoding":"utf-16"/);
  assert.doesNotMatch(out, /window\/logMessage/); // of a setting that it does not take
});

test("hands on what is changed, and starts anew where the program is", async () => {
  configured = { ...configured, gpus: 32 };
  await listener({ affectsConfiguration: (section) => section === "flightplan" });
  assert.strictEqual(clients.at(-1).sent[0][0], "workspace/didChangeConfiguration");
  assert.strictEqual(clients.at(-1).sent[0][1].settings.flightplan.gpus, 32);
  const first = clients.at(-1);
  configured = { ...configured, server: "unix:/run/x" };
  await listener({ affectsConfiguration: () => true });
  assert.ok(first.stopped);
  assert.deepStrictEqual(clients.at(-1).server.args, ["lsp", "--server", "unix:/run/x"]);
  await extension.deactivate();
  assert.ok(clients.at(-1).stopped);
});

test("says why it does not start", async () => {
  configured = { command: "missing" };
  await extension.activate({ subscriptions: [] });
  assert.match(shown.at(-1), /flightplan.command/);
});
