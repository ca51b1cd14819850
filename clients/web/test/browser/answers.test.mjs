// What the page answers: the example at once and in few numbers, links that keep their word, a first look at times.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { open, settled, withPage } from "./browser.mjs";
import { startServer } from "./server.mjs";

let server;
before(async () => (server = await startServer()));
after(() => server.stop());

const digestOf = (page) => page.locator(".foot code").first().textContent();

test("the first look is the README's example, in at most eight numbers", async () => {
  await withPage(server.base, {}, async (page) => {
    await page.goto(`${server.base}/`);
    await page.locator(".headline").waitFor();
    const words = (await page.locator("main").innerText()).split(/\s+/);
    const numbers = words.filter((word) => /^[(+-]?\d[\d,.]*/.test(word));
    assert.ok(numbers.length <= 8, numbers.join(" "));
    const said = execFileSync(process.env.FLIGHTPLAN, ["resolve", "--model", "deepseek-v3", "--gpu", "h100-sxm", "--gpus", "1024", "--tp", "2", "--pp", "8", "--vpp", "4", "--ep", "64"], { encoding: "utf8" });
    assert.ok(said.includes(await digestOf(page)), "the terminal's digest is the page's");
  });
});

test("a link gives the same answer to whoever opens it", async () => {
  await withPage(server.base, { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    await open(page, server.base, "#/memory");
    await page.getByLabel("GPUs", { exact: true }).fill("2048");
    await page.keyboard.press("Tab");
    await page.getByLabel("microbatch", { exact: true }).first().fill("2");
    await page.keyboard.press("Tab");
    await page.waitForFunction(() => location.hash.includes("d=fp1-") && location.hash.includes("q="));
    await settled(page);
    const digest = await digestOf(page);
    await page.getByRole("button", { name: "copy link" }).click();
    await page.getByText("copied").waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(link.includes(digest));
    await withPage(server.base, {}, async (reader) => {
      await reader.goto(link);
      await reader.getByText("same answer as when the link was made").waitFor();
      assert.equal(await digestOf(reader), digest);
      assert.equal(await reader.locator("main h1").textContent(), "Memory");
    });
    await withPage(server.base, {}, async (reader) => {
      await reader.goto(link.replace(/d=fp1-\w+/, "d=fp1-0123"));
      await reader.getByText("the answer changed since the link was made").waitFor();
    });
  });
});

test("a link that is cut short says so, and the example is there", async () => {
  await withPage(server.base, {}, async (page, record) => {
    await page.goto(`${server.base}/#/answer?q=q1YqLU4tCkgsSlWyUsoqzs9T`);
    await page.getByText(/cut short or not one of this page's/).waitFor();
    await page.locator(".headline").waitFor();
    assert.deepEqual(record.complaints, []);
  });
});

test("a script is in a link only when its owner ticks it", async () => {
  const writer = { permissions: ["clipboard-read", "clipboard-write"] };
  await withPage(server.base, writer, async (page) => {
    await open(page, server.base, "#/script");
    await page.getByRole("button", { name: "take the launch of the answer" }).click();
    await page.locator(".verdict").waitFor();
    const copied = async () => {
      await page.getByRole("button", { name: "copy link" }).click();
      await page.getByText("copied").first().waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    assert.ok(!(await copied()).includes("s="));
    await page.getByLabel("the link holds the script").check();
    const link = await copied();
    assert.match(link, /[?&]s=/);
    await withPage(server.base, {}, async (reader) => {
      await reader.goto(link);
      await reader.locator(".verdict").waitFor();
      assert.match(await reader.locator(".cm-content").textContent(), /torchrun/);
    });
  });
});

test("a model's config.json is taken as it stands", async () => {
  const config = { architectures: ["LlamaForCausalLM"], hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128256, max_position_embeddings: 8192, model_type: "llama" };
  await withPage(server.base, {}, async (page) => {
    await open(page, server.base, "#/answer");
    for (const size of ["VPP", "EP"]) {
      await page.getByLabel(size, { exact: true }).fill("");
      await page.keyboard.press("Tab");
    }
    await page.locator('.model input[type="file"]').setInputFiles({ name: "config.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(config)) });
    await page.getByText("your config.json").waitFor();
    await settled(page);
    await page.locator(".subject", { hasText: "llama, on 1,024" }).waitFor();
    assert.equal(await page.locator(".outcome").textContent(), "RESOLVED");
  });
});

test("a print has what is closed on the screen", async () => {
  await withPage(server.base, {}, async (page) => {
    await page.addInitScript(() => (window.print = () => (window.printed = document.querySelector("main").innerText)));
    await open(page, server.base, "#/answer");
    await page.getByRole("button", { name: "print" }).click();
    await page.waitForFunction(() => window.printed);
    const paper = await page.evaluate(() => window.printed);
    for (const part of ["needs an A/B", "torchrun", "the stack will change", "moe_token_dispatcher_type", "flightplan resolve --model"]) assert.ok(paper.includes(part), part);
  });
});

test("times to an answer", async (t) => {
  await withPage(server.base, {}, async (page) => {
    const start = performance.now();
    await page.goto(`${server.base}/#/memory`);
    await page.locator(".chart .mark").first().waitFor();
    t.diagnostic(`from an empty cache to the drawn answer: ${(performance.now() - start).toFixed(0)} ms`);
    await page.getByLabel("microbatch", { exact: true }).last().focus();
    const took = [];
    for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight"]) {
      const before = await digestOf(page);
      const pressed = performance.now();
      await page.keyboard.press(key);
      await page.waitForFunction((digest) => document.querySelector(".foot code").textContent !== digest, before, { polling: 5 });
      took.push((performance.now() - pressed).toFixed(0));
    }
    t.diagnostic(`from a slider's key to its answer: ${took.join(", ")} ms`);
  });
});
