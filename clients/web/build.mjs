// Bundles the page into a folder: the same bytes for the same sources, so that what is committed can be compared.
// usage: node build.mjs [DIR]; default: dist
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "dist"));

// CodeMirror's styles go into a <style> element where they belong to a document, which the page's content security policy
// forbids; into a constructed style sheet, which it allows, only in a shadow root. Every browser that runs this bundle has
// them for documents too.
const ONLY_SHADOW_ROOTS = "!root.head && root.adoptedStyleSheets";
const constructedStyles = {
  name: "constructed-styles",
  setup({ onLoad }) {
    onLoad({ filter: /node_modules\/style-mod\/src\/style-mod\.js$/ }, ({ path }) => {
      const [before, after, ...more] = readFileSync(path, "utf8").split(ONLY_SHADOW_ROOTS);
      if (after === undefined || more.length > 0) throw new Error("style-mod changed: see build.mjs");
      return { contents: `${before}root.adoptedStyleSheets${after}`, loader: "js" };
    });
  },
};

// A report asks nobody: what it holds answers.
const recordedAnswers = {
  name: "recorded-answers",
  setup({ onResolve }) {
    onResolve({ filter: /\/transport$/ }, () => ({ path: join(here, "src/report/transport.ts") }));
  },
};

// A site's pages are files: they have addresses of their own, and the lists beside them answer.
const fileAddresses = {
  name: "file-addresses",
  setup({ onResolve }) {
    onResolve({ filter: /\/transport$/ }, () => ({ path: join(here, "src/site/transport.ts") }));
    onResolve({ filter: /state\/route$/ }, () => ({ path: join(here, "src/site/route.ts") }));
  },
};

const COMMON = {
  absWorkingDir: here,
  bundle: true,
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
};

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const { metafile } = await build({
  ...COMMON,
  entryPoints: { app: "src/main.tsx", style: "src/style.css" },
  // The server lets browsers keep what is in assets/ for good: each name has a digest of the content.
  outdir: join(out, "assets"),
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  splitting: true,
  format: "esm",
  plugins: [constructedStyles],
});

const outputs = Object.entries(metafile.outputs);
const built = (entry) => relative(out, join(here, outputs.find(([, output]) => output.entryPoint === entry)[0]));
const page = readFileSync(join(here, "src/index.html"), "utf8")
  .replace("{style}", built("src/style.css"))
  .replace("{app}", built("src/main.tsx"));
writeFileSync(join(out, "index.html"), page);
cpSync(join(here, "src/icon.svg"), join(out, "icon.svg"));

// The licences of what was bundled go with it.
const packages = new Set(outputs.flatMap(([, output]) => Object.entries(output.inputs))
  .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
  .flatMap(([path]) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []));
const licence = (name) => {
  const folder = join(here, "node_modules", name);
  const { license, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENCE"].map((one) => join(folder, one)).find(existsSync);
  return `${name} ${version}, ${license}\n\n${file ? readFileSync(file, "utf8").trim() : `SPDX-License-Identifier: ${license}`}\n`;
};
writeFileSync(join(out, "LICENSE-packages.txt"), [...packages].sort().map(licence).join(`\n${"-".repeat(80)}\n\n`));

// The report: one file without outside references, and a policy that lets only its own script and style in. The programs that
// write reports have it built in, and put title, text and report where %%...%% stands.
const report = await build({
  ...COMMON, entryPoints: { app: "src/report/main.tsx", style: "src/style.css" }, outdir: join(out, "report"), format: "iife", write: false,
  plugins: [recordedAnswers],
});
const textOf = (ending) => report.outputFiles.find(({ path }) => path.endsWith(ending)).text.trim();
const inside = { app: textOf(".js").replaceAll("</script", "<\\/script"), style: textOf(".css") };
const digest = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${digest(inside.app)}; style-src ${digest(inside.style)}`;
const filled = readFileSync(join(here, "src/report/report.html"), "utf8")
  .replace(/\{(policy|style|app)\}/g, (_, name) => ({ ...inside, policy })[name]);
mkdirSync(`${out}-report`, { recursive: true });
writeFileSync(join(`${out}-report`, "report.html"), filled);

// The site: a script and a style that its pages share. No module, which a page of a disk may not load.
await build({
  ...COMMON, entryPoints: { site: "src/site/main.tsx", "site-style": "src/style.css" }, outdir: `${out}-report`, format: "iife", plugins: [fileAddresses],
});
