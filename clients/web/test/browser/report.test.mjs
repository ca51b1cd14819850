// Reports (`--format html`) from files, with the network off: every view of each, both themes, two widths, and without scripts.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { photograph, settled, violations, withPage } from "./browser.mjs";

const MOST_BYTES = 3 << 20;
const folder = mkdtempSync(join(tmpdir(), "flightplan-report-"));
after(() => rmSync(folder, { recursive: true }));

const HOSTILE = `</script><img src=x onerror=alert(1)>%%report%%`;
writeFileSync(join(folder, "launch.sh"), `#!/bin/bash
# ${HOSTILE}
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
  --num-experts 64 --moe-router-topk 2 --expert-model-parallel-size 16 --recompute-granularity full \\
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 256 --bf16 --lr 1e-4
`);

const QUESTION = ["--model", "qwen3-30b-a3b", "--gpu", "h100-sxm", "--gpus", "16"];
/** What each command is given, and what must be in each view of its report. */
const REPORTS = {
  resolve: [[...QUESTION, "--ep", "8"], {
    answer: async (page) => {
      for (const title of await page.locator("details.section > summary").all()) await title.click();
      await page.locator("pre.launch").first().waitFor();
    },
    memory: (page) => page.locator(".chart .mark").first().waitFor(),
    timeline: (page) => page.locator(".lanes .event").first().waitFor(),
  }],
  plan: [[...QUESTION, "--top", "4"], {
    plans: async (page) => {
      const picks = page.getByRole("checkbox", { name: /^pick plan/ });
      await picks.nth(0).check();
      await picks.nth(1).check();
      await page.getByRole("button", { name: /^compare plans/ }).click();
      await page.getByText(/^B's step/).waitFor();
      await page.getByRole("link", { name: "plans" }).click();
      await picks.nth(1).waitFor();
    },
    answer: (page) => page.locator(".headline").waitFor(),
  }],
  diff: [[...QUESTION, "--", "--ep", "4", "--", "--ep", "8"], { compare: (page) => page.getByText(/^B's step/).waitFor() }],
  validate: [[join(folder, "launch.sh"), "--gpu", "h100-sxm", "--gpus", "16"], {
    script: async (page) => {
      assert.match(await page.locator(".verdict").textContent(), /rejected by the stack/);
      assert.match(await page.locator('pre[aria-label="what the repair changes"]').textContent(), /^\+/m);
      assert.ok(await page.locator(".read-lines .findings li").count() > 0, "findings stand at their lines");
    },
  }],
  timeline: [[...QUESTION, "--ep", "8"], { timeline: (page) => page.locator(".lanes .event").first().waitFor() }],
};

function written(command, flags) {
  const path = join(folder, `${command}.html`);
  let html;
  try {
    html = execFileSync(process.env.FLIGHTPLAN, [command, "--format", "html", ...flags], { maxBuffer: 1 << 26 });
  } catch (error) {
    // A refused launch is an answer, too.
    assert.equal(error.status, 1, String(error.stderr));
    html = error.stdout;
  }
  writeFileSync(path, html);
  return path;
}

for (const [command, [flags, views]] of Object.entries(REPORTS)) {
  test(`report of ${command}`, async () => {
    const path = written(command, flags);
    assert.ok(statSync(path).size < MOST_BYTES, `${statSync(path).size} bytes`);
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1280, 390]) {
        await withPage("file://", { offline: true, colorScheme, viewport: { width, height: 900 } }, async (page, record) => {
          for (const [view, use] of Object.entries(views)) {
            await page.goto(`file://${path}#/${view}`);
            await page.locator("main h1").waitFor();
            await use(page);
            await settled(page);
            await photograph(page, `report-${command}-${view}-${colorScheme}-${width}`);
            assert.deepEqual(await violations(page), []);
            const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.ok(over <= 0, `${view} is ${over} px wider than the window`);
          }
          assert.deepEqual(record, { foreign: [], complaints: [], dialogs: [] });
        });
      }
    }
  });

  test(`report of ${command}, without JavaScript, is the terminal's text`, async () => {
    const path = written(command, flags);
    await withPage("file://", { offline: true, javaScriptEnabled: false }, async (page, record) => {
      await page.goto(`file://${path}`);
      assert.ok((await page.locator("main pre").textContent()).length > 200);
      assert.equal(await page.locator("img").count(), 0);
      assert.deepEqual(record.foreign, []);
    });
  });
}

test("a report in a notebook's frame works without an origin of its own", async () => {
  const report = readFileSync(written("resolve", REPORTS.resolve[0]), "utf8");
  const path = join(folder, "notebook.html");
  // As clients/python/src/flightplan/_page.py frames it.
  const quoted = report.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  writeFileSync(path, `<!doctype html><title>notebook</title><iframe title="plan" sandbox="allow-scripts allow-downloads" style="width:100%;height:42rem" srcdoc="${quoted}"></iframe>`);
  await withPage("file://", { offline: true }, async (page, record) => {
    await page.goto(`file://${path}`);
    const frame = page.frameLocator("iframe");
    await frame.locator(".headline").waitFor();
    await frame.getByRole("link", { name: "memory", exact: true }).click();
    await frame.locator(".chart .mark").first().waitFor();
    await frame.getByRole("link", { name: "timeline", exact: true }).click();
    await frame.locator(".lanes .event").first().waitFor();
    await photograph(page, "report-notebook");
    assert.equal(page.url(), `file://${path}`);
    assert.deepEqual(record.foreign.filter((url) => !url.startsWith("about:")), []);
    assert.deepEqual(record.dialogs, []);
  });
});
