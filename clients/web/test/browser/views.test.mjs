// Every view, in both themes and two widths: opened, used, photographed; nothing foreign is asked, nothing complains, axe
// finds nothing.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { open, photograph, settled, violations, withPage } from "./browser.mjs";
import { startServer } from "./server.mjs";

const SCRIPT = `#!/bin/bash
#SBATCH --nodes=16
#SBATCH --gpus-per-node=8
export CUDA_DEVICE_MAX_CONNECTIONS=1
PARALLEL_ARGS=(
  --tensor-model-parallel-size 2
  --pipeline-model-parallel-size 4
  --expert-model-parallel-size 64
  --recompute-granularity full
)
torchrun --nproc_per_node 8 --nnodes 16 pretrain_gpt.py \\
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --num-experts 64 --moe-router-topk 2 \\
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 256 --bf16 \\
  --train-iters 100 --lr 1e-4 \${PARALLEL_ARGS[@]}
`;

/** What a person does in each view, and what must then be there; false: the server has no such view. */
const USES = {
  script: async (page) => {
    await page.locator(".cm-content").click();
    await page.evaluate((text) => {
      const data = new DataTransfer();
      data.setData("text/plain", text);
      document.querySelector(".cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }, SCRIPT);
    await page.locator(".verdict").waitFor();
    await settled(page);
    assert.ok(await page.locator(".mark-error").count() > 0, "errors stand in the gutter");
    assert.match(await page.locator(".verdict").textContent(), /rejected by the stack/);
    await page.locator(".cm-line.line-error").first().hover({ position: { x: 60, y: 8 } });
    await page.locator(".hover-findings").waitFor();
    assert.match(await page.locator(".hover-findings").textContent(), /needs: .*Megatron-LM/s);
    await page.mouse.move(0, 0);
    assert.ok(await page.locator(".merge .cm-deletedChunk").count() > 0, "the repair is a merge");
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "download" }).click();
    assert.equal((await saved).suggestedFilename(), "pretrain.sh");
  },
  answer: async (page) => {
    for (const title of await page.locator("details.section > summary").all()) await title.click();
    await page.locator("pre.launch").first().waitFor();
    await page.getByLabel("megatron-bridge", { exact: true }).check();
    await page.locator('pre[aria-label="launch, megatron-bridge"]').waitFor();
    assert.match(await page.locator(".decisions").textContent(), /needs an A\/B/);
  },
  memory: async (page) => {
    const before = await page.locator(".foot code").first().textContent();
    await page.getByLabel("EP", { exact: true }).last().focus();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction((digest) => document.querySelector(".foot code").textContent !== digest, before);
    await settled(page);
    const last = page.locator(".chart .mark").last();
    await last.focus();
    await page.keyboard.press("Enter");
    await page.locator('.chart .mark[aria-pressed="true"]').and(last).waitFor();
    await page.getByText("all stages as a table").click();
  },
  plans: async (page) => {
    await page.getByRole("button", { name: "search" }).click();
    await page.locator(".chart .mark").first().waitFor({ timeout: 120_000 });
    await settled(page);
    const picks = page.getByRole("checkbox", { name: /^pick plan/ });
    const all = await picks.count();
    // The brush by keys, then by the pointer: the table follows.
    await page.getByLabel("step to").focus();
    for (let i = 0; i < 60; ++i) await page.keyboard.press("ArrowLeft");
    await page.getByText(new RegExp(`^\\d+ of ${all} plans$`)).waitFor();
    const fewer = await picks.count();
    assert.ok(fewer > 0 && fewer < all, `${fewer} of ${all}`);
    assert.equal(await page.locator(".chart .mark.outside").count(), all - fewer);
    await page.getByRole("button", { name: "all plans" }).click();
    assert.equal(await picks.count(), all);
    await page.locator(".chart .plane").scrollIntoViewIfNeeded();
    const box = await page.locator(".chart .plane").boundingBox();
    await page.mouse.move(box.x + 2, box.y + 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.7, box.y + box.height - 2, { steps: 5 });
    await page.mouse.up();
    assert.ok(await page.locator(".chart .brush").count() === 1);
    const drawn = await picks.count();
    assert.ok(drawn > 0 && drawn < all, `${drawn} of ${all}`);
    await picks.nth(0).check();
    await picks.nth(1).check();
    await page.getByRole("button", { name: /^compare plans/ }).waitFor();
  },
  compare: async (page) => {
    await page.getByRole("button", { name: "choose B" }).click();
    await page.locator(".second").getByLabel("EP", { exact: true }).fill("32");
    await page.keyboard.press("Tab");
    await page.getByText(/B's step is .* \([+-][\d.]+ %\.\.[+-][\d.]+ %\)/).waitFor();
    await page.getByRole("region", { name: "the step's change, with the interval of the difference" }).waitFor();
    // The terminal says the same of the same two.
    await settled(page);
    const command = await page.locator("p", { hasText: "the same on a terminal" }).locator("code").textContent();
    const printed = execFileSync("/bin/sh", ["-c", command.replace(/^flightplan/, '"$FLIGHTPLAN"')], { encoding: "utf8", env: { ...process.env, COLUMNS: "400", LC_ALL: "C.UTF-8" } });
    const sentence = await page.getByText(/^B's step is/).textContent();
    assert.ok(printed.replace(/\s+/g, " ").includes(sentence), `${sentence}\n${printed}`);
    await settled(page);
  },
  timeline: async (page, t) => {
    await page.locator(".lanes, main .note.bad").first().waitFor();
    if (await page.locator(".lanes").count() === 0) {
      t.skip("skipped: this server draws no timeline");
      return false;
    }
    for (const name of ["the steady state", "one layer", "the whole step"]) {
      await page.getByLabel(name).check();
      await page.locator(".lanes .event").first().waitFor();
    }
    await page.getByLabel("nearer").fill("3");
    await page.locator(".lanes .event").nth(3).click({ force: true });
    await page.locator('main p[role="status"]', { hasText: /^rank \d+, .* exposed$/ }).waitFor();
    await page.getByText("these events as a table").click();
  },
  releases: async (page) => {
    await page.locator("tbody tr").nth(4).waitFor();
    assert.match(await page.locator("tbody").textContent(), /0\.16.*main/s);
  },
  reference: async (page) => {
    await page.getByLabel(/^search/).fill("dispatcher type");
    await page.getByRole("link", { name: "moe_token_dispatcher_type", exact: true }).click();
    await page.getByText("judged by").waitFor();
  },
  probe: async (page) => {
    await page.getByLabel("beside it").selectOption({ index: 2 });
    await page.getByLabel("measured", { exact: true }).selectOption("hbm.copy");
    const table = page.getByRole("region", { name: "hbm.copy of A and B" });
    // B is the same with every rate at half.
    assert.match(await table.locator("tbody tr").first().textContent(), /GB\/s.*GB\/s(0\.50|2\.00)$/);
    assert.equal(await page.locator(".chart rect[fill]").count() >= 2 * await table.locator("tbody tr").count(), true);
  },
};

let server;
let profiles;
before(async () => {
  profiles = storedProfiles();
  server = await startServer({ flags: [`--profile_dir=${profiles}`] });
});
after(async () => {
  await server.stop();
  rmSync(profiles, { recursive: true, force: true });
});

// Two of a device that only replays; they are no evidence, so that no answer rests on them.
function storedProfiles() {
  const folder = mkdtempSync(join(tmpdir(), "flightplan-profiles-"));
  const fake = fileURLToPath(new URL("../../../../probe/testdata/synthetic.json", import.meta.url));
  const text = execFileSync(process.env.FLIGHTPLAN, ["probe", "--fake", fake, "--out", "-"], { encoding: "utf8", env: { ...process.env, FLIGHTPLAN_PROFILE_DIR: "" } });
  const profile = JSON.parse(text);
  const halved = { ...profile, rows: profile.rows.map((row) => ({ ...row, value: row.value / 2, low: row.low / 2, high: row.high / 2 })) };
  for (const [name, one] of [["first", profile], ["second", halved]]) writeFileSync(join(folder, `${name}.json`), JSON.stringify({ ...one, name }));
  return folder;
}

for (const [view, use] of Object.entries(USES)) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      test(`${view}, ${colorScheme}, ${width} px`, async (t) => {
        await withPage(server.base, { colorScheme, viewport: { width, height: 900 } }, async (page, record) => {
          await open(page, server.base, `#/${view}`);
          if (await use(page, t) === false) return;
          await settled(page);
          await photograph(page, `${view}-${colorScheme}-${width}`);
          assert.deepEqual(await violations(page), []);
          const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert.ok(over <= 0, `the page is ${over} px wider than the window`);
          assert.deepEqual(record, { foreign: [], complaints: [], dialogs: [] });
        });
      });
    }
  }
}
