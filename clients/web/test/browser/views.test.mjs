// Every view, in both themes and two widths: opened, used, photographed; nothing foreign is asked, nothing complains, axe
// finds nothing.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
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
    await picks.nth(0).check();
    await picks.nth(1).check();
    await page.getByRole("button", { name: /^compare plans/ }).waitFor();
  },
  compare: async (page) => {
    await page.getByRole("button", { name: "choose B" }).click();
    await page.locator(".second").getByLabel("EP", { exact: true }).fill("32");
    await page.keyboard.press("Tab");
    await page.getByText(/B's step is/).waitFor();
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
    await page.getByText(/no profile is stored here|profile/).first().waitFor();
  },
};

let server;
before(async () => (server = await startServer()));
after(() => server.stop());

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
