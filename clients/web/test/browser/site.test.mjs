// `flightplan site`: from a disk, and from a server that only knows files.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { photograph, violations, withPage } from "./browser.mjs";
import { serveFiles } from "./server.mjs";

let folder;
let files;
const bases = {};
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "flightplan-site-"));
  execFileSync(process.env.FLIGHTPLAN, ["site", folder]);
  files = await serveFiles(folder);
  bases.disk = `file://${folder}`;
  bases.server = files.base;
});
after(() => {
  files.stop();
  rmSync(folder, { recursive: true, force: true });
});

for (const where of ["disk", "server"]) {
  for (const [colorScheme, width] of [["light", 1280], ["dark", 390]]) {
    test(`the reference as files, from a ${where}, ${colorScheme}, ${width} px`, async () => {
      await withPage(bases[where], { colorScheme, viewport: { width, height: 900 } }, async (page, record) => {
        await page.goto(`${bases[where]}/index.html`);
        await page.getByText(/^[\d,]+ entries, the first/).waitFor();
        await photograph(page, `site-index-${where}-${colorScheme}-${width}`);
        assert.deepEqual(await violations(page, { preload: where === "server" }), []);
        await page.getByLabel(/^search/).fill("dispatcher type");
        await page.getByRole("link", { name: "moe_token_dispatcher_type", exact: true }).click();
        await page.getByText("judged by").waitFor();
        assert.equal(page.url(), `${bases[where]}/knob/moe_token_dispatcher_type.html`);
        await photograph(page, `site-knob-${where}-${colorScheme}-${width}`);
        assert.deepEqual(await violations(page, { preload: where === "server" }), []);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(over <= 0, `the page is ${over} px wider than the window`);
        await page.locator('dd a[href*="/rule/"]').first().click();
        await page.getByText("source", { exact: true }).waitFor();
        assert.match(page.url(), /\/rule\/[\w.-]+\.html$/);
        for (const entry of ["model/deepseek-v3", "gpu/h100-sxm"]) {
          await page.goto(`${bases[where]}/${entry}.html`);
          await page.locator("h2.entry").waitFor();
          assert.deepEqual(await violations(page, { preload: where === "server" }), []);
        }
        await page.getByRole("link", { name: "all of the reference" }).click();
        await page.getByLabel(/^search/).waitFor();
        assert.deepEqual(record, { foreign: [], complaints: [], dialogs: [] });
      });
    });
  }
}

test("without scripts each page is the terminal's text, and the index names all", async () => {
  await withPage(bases.disk, { javaScriptEnabled: false }, async (page) => {
    await page.goto(`${bases.disk}/index.html`);
    assert.ok(await page.locator("li a").count() > 2_000);
    await page.getByRole("link", { name: "moe_token_dispatcher_type", exact: true }).click();
    const terminal = execFileSync(process.env.FLIGHTPLAN, ["explain", "moe_token_dispatcher_type"], { env: { ...process.env, LC_ALL: "C.UTF-8", COLUMNS: "" }, encoding: "utf8" });
    assert.equal((await page.locator("pre").textContent()).trim(), terminal.trim());
  });
});
