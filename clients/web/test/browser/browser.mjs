// Chromium for a test: a fresh profile, a record of what it asked and said, pictures, and axe.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pictures = process.env.FLIGHTPLAN_PICTURES ?? "";

/** Runs `use` with a page; `options` are playwright's of a browser context. */
export async function withPage(base, options, use) {
  const profile = mkdtempSync(join(tmpdir(), "flightplan-chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium", args: ARGUMENTS, viewport: { width: 1280, height: 900 }, ...options,
  });
  try {
    const page = context.pages()[0] ?? await context.newPage();
    const record = watch(page, base);
    await use(page, record, context);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

// What must not happen, and what happened.
function watch(page, base) {
  const record = { foreign: [], complaints: [], dialogs: [] };
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${base}/`) && !url.startsWith("blob:")) record.foreign.push(url);
  });
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") record.complaints.push(message.text());
  });
  page.on("pageerror", (error) => record.complaints.push(error.message));
  page.on("dialog", async (dialog) => {
    record.dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  return record;
}

export async function photograph(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

/** Violations that axe finds, each as one line. It fetches style sheets once more, which a page of a disk forbids it. */
export async function violations(page, { preload = true } = {}) {
  // The page's policy lets no script in; a debugger may.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: AXE });
  const result = await page.evaluate((again) => window.axe.run(document, { resultTypes: ["violations"], preload: again }), preload);
  await session.detach();
  return result.violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} ${target}: ${failureSummary}`));
}

/** Opens a view by its fragment and waits for the answer it is about. */
export async function open(page, base, fragment) {
  await page.goto(`${base}/${fragment}`);
  await page.locator("main h1").waitFor();
  await settled(page);
}

/** Waits until nothing is asked any more. */
export async function settled(page) {
  await page.waitForFunction(() => !document.querySelector('main [aria-busy="true"]') && ![...document.querySelectorAll('main [role="status"]')].some((one) => /^(asking|opening|searching)/.test(one.textContent)), undefined, { timeout: 60_000 });
}
