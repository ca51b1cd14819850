// What goes wrong: a huge script, a server that goes away, hostile names, tokens, no JavaScript.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { open, photograph, settled, violations, withPage } from "./browser.mjs";
import { startServer } from "./server.mjs";

const HOSTILE = `<img src=x onerror=alert(1)>"'</script><script>alert(2)</script>\u202e{{7*7}}`;

async function withServer(options, use) {
  const server = await startServer(options);
  try {
    await use(server);
  } finally {
    await server.stop().catch(() => undefined);
  }
}

function paste(page, text) {
  return page.evaluate((words) => {
    const data = new DataTransfer();
    data.setData("text/plain", words);
    document.querySelector(".cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);
}

test("a script of 1 MiB is refused or judged, and the page stays usable", async () => {
  await withServer({}, async (server) => {
    await withPage(server.base, {}, async (page, record) => {
      await open(page, server.base, "#/script");
      const line = "  --some-flag-that-nobody-knows 12345 \\\n";
      await page.locator(".cm-content").click();
      await paste(page, `torchrun pretrain_gpt.py \\\n${line.repeat(Math.ceil((1 << 20) / line.length))}`);
      await page.locator(".verdict, main .note.bad").first().waitFor({ timeout: 30_000 });
      await paste(page, "x");
      await page.getByRole("link", { name: "answer", exact: true }).click();
      await page.locator(".headline").waitFor();
      assert.deepEqual(record.dialogs, []);
    });
  });
});

test("a server that is killed during a search is said, and asked again when it is back", async () => {
  const first = await startServer();
  await withPage(first.base, {}, async (page) => {
    await open(page, first.base, "#/plans");
    await page.getByRole("button", { name: "search" }).click();
    await page.locator("progress").waitFor();
    await first.kill();
    await page.getByText("the server does not answer").waitFor();
    await photograph(page, "trouble-server-gone");
    const second = await startServer({ port: first.port });
    try {
      await page.getByRole("button", { name: "ask again" }).click();
      await page.locator(".chart .mark").first().waitFor({ timeout: 120_000 });
    } finally {
      await second.stop();
    }
  });
});

test("a search ends when it is cancelled", async () => {
  await withServer({}, async (server) => {
    await withPage(server.base, {}, async (page) => {
      await open(page, server.base, "#/plans");
      await page.getByLabel("GPUs", { exact: true }).fill("2048");
      await page.keyboard.press("Tab");
      await page.getByRole("button", { name: "search" }).click();
      await page.getByRole("button", { name: "cancel" }).click();
      await page.getByText("cancelled").waitFor();
      await page.getByRole("button", { name: "search" }).click();
      await page.locator(".chart .mark").first().waitFor({ timeout: 120_000 });
    });
  });
});

test("what is being typed stays when names or an answer arrive meanwhile", async () => {
  await withServer({}, async (server) => {
    await withPage(server.base, {}, async (page) => {
      let release;
      const held = new Promise((resolve) => (release = resolve));
      await page.route("**/flightplan.v1.CatalogService/ListModels*", async (route) => {
        await held;
        await route.continue();
      });
      await open(page, server.base, "#/answer");
      const model = page.getByLabel("model", { exact: true });
      await model.fill("qwen3-30b-a3b");
      release();
      await page.locator("datalist option").first().waitFor({ state: "attached" });
      assert.equal(await model.inputValue(), "qwen3-30b-a3b");
    });
  });
});

test("names and scripts of others are text", async () => {
  await withServer({}, async (server) => {
    await withPage(server.base, {}, async (page, record) => {
      await open(page, server.base, "#/answer");
      await page.getByLabel("model", { exact: true }).fill(HOSTILE);
      await page.keyboard.press("Tab");
      await page.locator("main .note.bad").waitFor();
      await page.goto(`${server.base}/#/reference/rule/${encodeURIComponent(HOSTILE)}`);
      await page.locator("main .note.bad").waitFor();
      await page.goto(`${server.base}/#/script`);
      await page.locator('#script-file').setInputFiles({ name: `${HOSTILE.replaceAll("/", "_")}.sh`, mimeType: "text/plain", buffer: Buffer.from(`torchrun pretrain_gpt.py --${HOSTILE} --num-layers '${HOSTILE}'\n`) });
      await page.locator(".verdict, main .note.bad").first().waitFor();
      await page.getByRole("link", { name: "releases", exact: true }).click();
      await settled(page);
      assert.equal(await page.locator("main img, main script, aside img").count(), 0);
      assert.deepEqual(record.dialogs, []);
      assert.deepEqual(record.foreign, []);
    });
  });
});

test("a model of a hostile name is answered as text", async () => {
  await withServer({}, async (server) => {
    await withPage(server.base, {}, async (page, record) => {
      await open(page, server.base, "#/answer");
      const config = { architectures: ["LlamaForCausalLM"], _name_or_path: HOSTILE, model_type: "llama", hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128256, max_position_embeddings: 8192 };
      await page.locator('.model input[type="file"]').setInputFiles({ name: "config.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(config)) });
      await page.getByText("your config.json").waitFor();
      await settled(page);
      assert.equal(await page.locator("main img, main script").count(), 0);
      assert.deepEqual(record.dialogs, []);
    });
  });
});

test("a token is asked for, a wrong one is told, the right one is kept for the tab", async () => {
  const folder = mkdtempSync(join(tmpdir(), "flightplan-tokens-"));
  const digest = createHash("sha256").update("right").digest("hex");
  writeFileSync(join(folder, "tokens.yaml"), `tokens:\n  - {sha256: ${digest}, tenant: "<b>tenant</b>", roles: [read, resolve], expires: 2126-01-01T00:00:00Z}\n`);
  try {
    await withServer({ flags: [`--token_file=${join(folder, "tokens.yaml")}`] }, async (server) => {
      await withPage(server.base, {}, async (page) => {
        await page.goto(`${server.base}/#/answer`);
        await page.locator(".token input").waitFor();
        assert.deepEqual(await violations(page), []);
        await photograph(page, "trouble-token");
        await page.locator(".token input").fill("wrong");
        await page.getByRole("button", { name: "use" }).click();
        await page.getByRole("button", { name: "forget the token" }).waitFor();
        await page.locator(".token input").fill("right");
        await page.getByRole("button", { name: "use" }).click();
        await page.locator(".headline").waitFor();
        assert.equal(await page.locator(".token input").count(), 0);
        await page.reload();
        await page.locator(".headline").waitFor();
        assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes("right") || document.cookie !== ""), false);
      });
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("without JavaScript a line says so", async () => {
  await withServer({}, async (server) => {
    await withPage(server.base, { javaScriptEnabled: false }, async (page, record) => {
      await page.goto(`${server.base}/`);
      assert.match(await page.locator("noscript, body").first().innerText(), /needs JavaScript/);
      await photograph(page, "trouble-no-javascript");
      assert.deepEqual(record.foreign, []);
    });
  });
});

test("the keyboard reaches everything in the order of the page", async () => {
  await withServer({}, async (server) => {
    await withPage(server.base, {}, async (page) => {
      await open(page, server.base, "#/memory");
      const seen = [];
      for (let at = 0; at < 40; ++at) {
        await page.keyboard.press("Tab");
        seen.push(await page.evaluate(() => {
          const place = document.activeElement.closest("header.head, aside, main, footer") ?? document.activeElement;
          return place.className || place.localName;
        }));
      }
      const order = seen.filter((place, at) => place !== seen[at - 1]);
      assert.deepEqual(order.slice(0, 3).map((place) => place.split(" ")[0]), ["skip", "head", "aside"]);
      assert.ok(order.includes("view-memory"));
    });
  });
});

test("a list of the reference that fails is said, and asked for again", async () => {
  await withServer({}, async (server) => {
    await withPage(server.base, {}, async (page) => {
      let down = true;
      await page.route("**/flightplan.v1.CatalogService/List*", (route) => (down ? route.abort() : route.continue()));
      await open(page, server.base, "#/reference");
      await page.locator("main .note.bad").getByText("the server does not answer").waitFor();
      assert.equal(await page.getByText("asking …").count(), 0);
      down = false;
      await page.getByRole("button", { name: "ask again" }).click();
      await page.getByText(/^[\d,]+ entries/).waitFor();
      await page.locator("main .note.bad").waitFor({ state: "detached" });
    });
  });
});

test("a script is judged for the stack that it shows", async () => {
  await withServer({}, async (server) => {
    await withPage(server.base, {}, async (page) => {
      await open(page, server.base, "#/script");
      const judged = async (text, said) => {
        await page.locator("#script-file").setInputFiles({ name: "run.sh", mimeType: "text/plain", buffer: Buffer.from(text) });
        await page.locator(".verdict").getByText(said).first().waitFor();
      };
      await judged("torchrun scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config\n", /^megatron-bridge main · /);
      await page.getByRole("link", { name: "releases", exact: true }).click();
      await page.getByRole("region", { name: "megatron-bridge, every release" }).waitFor();
      await page.getByRole("link", { name: "script", exact: true }).click();
      await judged("rm -rf checkpoints\n", /^not judged/);
    });
  });
});
