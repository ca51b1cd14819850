// What operators see: the decisions of others, and only with the role for it.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { open, photograph, settled, violations, withPage } from "./browser.mjs";
import { startServer } from "./server.mjs";

const HOSTILE = `<img src=x onerror=alert(1)>`;
const TOKENS = [["operator", "ops", "admin"], ["launcher", "team-a", "read, resolve"], ["other", HOSTILE, "read, resolve"]];
const QUESTION = (gpus) => ({
  model: { name: "qwen3-30b-a3b" }, hardware: { gpu: "h100-sxm", gpuCount: gpus }, target: { framework: "megatron-lm" },
  layout: { tensorModelParallelSize: 1, pipelineModelParallelSize: 1, expertModelParallelSize: 8 }, workload: { seqLength: 4096, globalBatchSize: 128 },
});
const LAUNCH = { arguments: { values: ["--num-layers=4", "--hidden-size=64", "--num-attention-heads=3"] }, target: { framework: "megatron-lm" }, hardware: { gpu: "h100-sxm", gpuCount: 8 } };

let folder;
let server;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "flightplan-fleet-"));
  const rows = TOKENS.map(([token, tenant, roles]) => `  - {sha256: ${createHash("sha256").update(token).digest("hex")}, tenant: "${tenant}", roles: [${roles}], expires: 2126-01-01T00:00:00Z}\n`);
  writeFileSync(join(folder, "tokens.yaml"), `tokens:\n${rows.join("")}`);
  server = await startServer({ flags: [`--token_file=${join(folder, "tokens.yaml")}`, `--decision_log=file:${join(folder, "decisions")}`] });
  for (const [token, rpc, body] of [["launcher", "ResolveConfig", QUESTION(16)], ["launcher", "ResolveConfig", QUESTION(32)], ["launcher", "ValidateConfig", LAUNCH], ["other", "ValidateConfig", LAUNCH]]) {
    const answer = await fetch(`${server.base}/flightplan.v1.ResolverService/${rpc}`, {
      method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` }, body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200, await answer.text());
  }
});
after(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function openAs(token, page) {
  await page.addInitScript((text) => sessionStorage.setItem("flightplan.token", text), token);
  await open(page, server.base, "#/fleet");
}

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1280, 390]) {
    test(`fleet, ${colorScheme}, ${width} px`, async () => {
      await withPage(server.base, { colorScheme, viewport: { width, height: 900 } }, async (page, record) => {
        await openAs("operator", page);
        await page.getByText(/^\d+ decisions, of the whole log/).waitFor();
        const table = page.getByRole("region", { name: "by tenant" });
        assert.match(await table.textContent(), /team-a.*31.*<img/s);
        await photograph(page, `fleet-${colorScheme}-${width}`);
        assert.deepEqual(await violations(page), []);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(over <= 0, `the page is ${over} px wider than the window`);
        await table.getByRole("button", { name: "team-a" }).click();
        await page.getByText(/^3 decisions that are as chosen/).waitFor();
        await page.getByRole("region", { name: "by rule" }).getByRole("button").first().click();
        await page.getByRole("button", { name: /^rule .* ×$/ }).waitFor();
        await settled(page);
        assert.deepEqual(record, { foreign: [], complaints: [], dialogs: [] });
      });
    });
  }
}

test("a tenant sees nothing of the fleet", async () => {
  await withPage(server.base, {}, async (page) => {
    await openAs("launcher", page);
    await page.getByText(/this call needs the role admin/).waitFor();
    assert.equal(await page.locator("table").count(), 0);
  });
});

test("a server that asks nobody who they are shows no fleet", async () => {
  const open_ = await startServer({ flags: [`--decision_log=file:${join(folder, "others")}`] });
  try {
    await withPage(open_.base, {}, async (page) => {
      await open(page, open_.base, "#/fleet");
      await page.getByText(/it knows no operators/).waitFor();
    });
  } finally {
    await open_.stop();
  }
});

test("every view asks again with the token that is typed", async () => {
  const seen = [
    ["fleet", "operator", (page) => page.getByText(/decisions, of the whole log/)],
    ["reference", "operator", (page) => page.getByText(/^[\d,]+ entries/)],
    ["reference/gpu/h100-sxm", "operator", (page) => page.locator("article h2.entry")],
    ["probe", "operator", (page) => page.getByText(/no profile is stored here/)],
    ["releases", "operator", (page) => page.getByRole("region", { name: "megatron-lm, every release" })],
  ];
  for (const [view, token, there] of seen) {
    await withPage(server.base, {}, async (page) => {
      await open(page, server.base, `#/${view}`);
      const form = page.getByRole("form", { name: "your token" });
      await form.getByLabel("token", { exact: true }).fill(token);
      await form.getByRole("button", { name: "use" }).click();
      await there(page).first().waitFor({ timeout: 60_000 });
      assert.equal(await page.locator("main .note.bad").count(), 0, view);
    });
  }
});
