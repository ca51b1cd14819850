// How many bytes, gzipped, a browser fetches for the first view and for a view that is opened after it.
// usage: node budget.mjs [DIR]; exit code 1 where a budget is not kept
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const dist = process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), "../dist");
const BUDGETS = [["first load", 80_000], ["script", 180_000]];

const assets = readdirSync(join(dist, "assets"));
const read = (name) => readFileSync(join(dist, name));
const named = (prefix) => `assets/${assets.find((name) => name.startsWith(prefix) && name.endsWith(".js"))}`;

/** A module and everything that it imports before it runs. */
function withImports(name, seen = new Set()) {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const [, imported] of read(name).toString().matchAll(/(?:\bfrom|\bimport)\s*"\.\/([\w.-]+\.js)"/g)) withImports(`assets/${imported}`, seen);
  return seen;
}

const size = (names) => [...names].reduce((sum, name) => sum + gzipSync(read(name), { level: 9 }).length, 0);
const first = withImports(named("app-"));
const style = `assets/${assets.find((name) => name.endsWith(".css"))}`;
const sizes = new Map([["first load", size([...first, style, "index.html", "icon.svg"])]]);
for (const view of assets.filter((name) => /_view-[^.]*\.js$/.test(name))) {
  const own = [...withImports(`assets/${view}`)].filter((name) => !first.has(name));
  sizes.set(view.replace(/_view-.*/, ""), size(own));
}
for (const [name, bytes] of sizes) console.log(`${name.padEnd(12)} ${String(bytes).padStart(7)} bytes`);

const over = BUDGETS.filter(([name, most]) => !(sizes.get(name) <= most));
for (const [name, most] of over) console.error(`${name}: ${sizes.get(name)} bytes gzipped, at most ${most}`);
process.exit(over.length > 0 ? 1 : 0);
