// Servers for a test, each on a port of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";

const FLAGS = ["--listen=127.0.0.1:0", "--http_listen=", "--drain_delay=0s", "--evidence_store=off"];

/** Starts `flightplan serve`; `port` 0: any free one. */
export async function startServer({ port = 0, flags = [] } = {}) {
  const child = spawn(process.env.FLIGHTPLAN, ["serve", ...FLAGS, `--web_listen=127.0.0.1:${port}`, ...flags], { stdio: ["ignore", "ignore", "pipe"] });
  const lines = [];
  const reader = createInterface({ input: child.stderr });
  const served = await new Promise((resolve, reject) => {
    reader.on("line", (line) => {
      lines.push(line);
      const match = line.match(/"msg":"serving".*"web_port":(\d+)/);
      if (match) resolve(Number(match[1]));
    });
    child.on("exit", () => reject(new Error(`the server ended while starting: ${lines.join("\n")}`)));
  });
  const ended = once(child, "exit");
  const end = async (signal) => {
    child.kill(signal);
    await ended;
  };
  return { base: `http://127.0.0.1:${served}`, port: served, stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
}

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm" };

/** A server that only knows files: those of `folder`, and `more`: texts by path, asked for at each request. */
export async function serveFiles(folder, more = {}) {
  const files = createServer((request, response) => {
    try {
      const asked = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
      const path = asked.endsWith("/") ? `${asked}index.html` : asked;
      response.setHeader("Content-Type", TYPES[extname(path)] ?? "application/octet-stream");
      response.end(more[path]?.() ?? readFileSync(join(folder, path)));
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
  await new Promise((resolve) => files.listen(0, "127.0.0.1", resolve));
  return { base: `http://127.0.0.1:${files.address().port}`, stop: () => files.close() };
}
