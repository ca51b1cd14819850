#!/usr/bin/env python3
"""`flightplan lsp` as a process, by raw frames: a transcript of an editor's session, newer text that supersedes older, and what
no editor sends.

usage: lsp_test.py FLIGHTPLAN_BINARY [--time]
--time: also prints how long diagnostics take after a keystroke in a script of 1,000 lines.
"""
import json
import os
import statistics
import sys
import time
import unittest

from stdio_process import StdioProcess

TIMED = "--time" in sys.argv
if TIMED:
    sys.argv.remove("--time")
FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
URI = "file:///home/user/train.sh"
LINES = (["#!/bin/bash", "export CUDA_DEVICE_MAX_CONNECTIONS=1"]
         + [f"VARIABLE_{i}=${{VARIABLE_{i}:-{i}}}  # of the site" for i in range(980)]
         + ["ARGS=(", "  --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --num-experts 64 --moe-router-topk 8",
            "  --expert-model-parallel-size 16", "  --recompute-granularity full", "  --seq-length 4096 --max-position-embeddings 4096",
            "  --micro-batch-size 1 --global-batch-size 192 --bf16", "  --lr 1e-4 --train-iters 1000 --mock-data",
            "  --tokenizer-type NullTokenizer --vocab-size 128000", ")", "torchrun --nnodes 3 --nproc-per-node 8 pretrain_gpt.py ${ARGS[@]}"])
EXPERTS = next(i for i, line in enumerate(LINES) if "--expert-model" in line)


class Editor(StdioProcess):
    def __init__(self, *flags):
        super().__init__(FLIGHTPLAN, "lsp", *flags)
        self.number = 0
        self.seen = []

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def read(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def ask(self, method, params):
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        while (message := self.read()).get("id") != self.number:
            self.seen.append(message)
        return message

    def tell(self, method, params):
        self.send(method=method, params=params)

    def start(self, **settings):
        answer = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": settings})
        self.tell("initialized", {})
        return answer["result"]

    def open(self, text, uri=URI, language="shellscript"):
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}})

    def change(self, version, start, end, text):
        span = {"start": {"line": start[0], "character": start[1]}, "end": {"line": end[0], "character": end[1]}}
        self.tell("textDocument/didChange", {"textDocument": {"uri": URI, "version": version},
                                             "contentChanges": [{"range": span, "text": text}]})

    def diagnostics(self, version):
        """Those of that version; how many were published on the way."""
        published = 0
        while True:
            message = self.seen.pop(0) if self.seen else self.read()
            if message.get("method") == "textDocument/publishDiagnostics":
                published += 1
                if message["params"].get("version") == version:
                    return message["params"]["diagnostics"], published


class Lsp(unittest.TestCase):
    def setUp(self):
        self.editor = Editor()
        self.addCleanup(self.editor.end)

    def test_a_session(self):
        told = self.editor.start(gpu="h100-sxm", gpus=24)
        self.assertTrue(told["capabilities"]["hoverProvider"])
        self.editor.open("\n".join(LINES) + "\n")
        found, _ = self.editor.diagnostics(1)
        by_rule = {one["code"]: one for one in found}
        self.assertEqual(by_rule["mesh.expert-world-divisible"]["range"]["start"], {"line": EXPERTS, "character": 2})
        self.assertIn("recompute.full-needs-method", by_rule)
        actions = self.editor.ask("textDocument/codeAction", {"textDocument": {"uri": URI}, "range": found[0]["range"],
                                                              "context": {"diagnostics": found}})["result"]
        edits = actions[0]["edit"]["documentChanges"][0]["edits"]
        text = "\n".join(LINES) + "\n"
        lines = text.splitlines(keepends=True)
        for edit in reversed(edits):  # whole lines
            lines[edit["range"]["start"]["line"]:edit["range"]["end"]["line"]] = [edit["newText"]]
        self.editor.tell("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": "".join(lines)}]})
        found, _ = self.editor.diagnostics(2)
        self.assertEqual([one["code"] for one in found if one["severity"] == 1], [])
        self.assertIsNone(self.editor.ask("shutdown", None)["result"])
        self.editor.tell("exit", None)
        self.assertEqual(self.editor.process.wait(timeout=30), 0)

    def test_newer_text_supersedes_older(self):
        self.editor.start(gpu="h100-sxm", gpus=24, debounceMs=200)
        self.editor.open("\n".join(LINES) + "\n")
        self.editor.diagnostics(1)
        end = len(LINES[EXPERTS])
        for version in range(2, 102):
            self.editor.change(version, (EXPERTS, end), (EXPERTS, end), " ")
        _, published = self.editor.diagnostics(101)
        self.assertLess(published, 20)

    def test_keystrokes(self):
        self.editor.start(gpu="h100-sxm", gpus=24)
        self.editor.open("\n".join(LINES) + "\n")
        self.editor.diagnostics(1)
        end, took = len(LINES[EXPERTS]), []
        for version in range(2, 42):
            began = time.monotonic()
            if version % 2 == 0:
                self.editor.change(version, (EXPERTS, end - 2), (EXPERTS, end), "8")
            else:
                self.editor.change(version, (EXPERTS, end - 2), (EXPERTS, end - 1), "16")
            found, _ = self.editor.diagnostics(version)
            took.append(1000 * (time.monotonic() - began))
            self.assertEqual("mesh.expert-world-divisible" in {one["code"] for one in found}, version % 2 == 1)
        if TIMED:
            print(f"{len(LINES)} lines, keystroke to diagnostics: median {statistics.median(took):.0f} ms, "
                  f"95th percentile {sorted(took)[37]:.0f} ms, worst {max(took):.0f} ms")

    def test_what_no_editor_sends(self):
        self.editor.start()
        self.editor.write(b"Content-Length: 9\r\n\r\n{\"a\": not")
        self.assertEqual(self.editor.read()["error"]["code"], -32700)
        big = b"x" * (9 << 20)
        self.editor.write(b"Content-Length: %d\r\n\r\n%s" % (len(big), big))
        self.assertEqual(self.editor.read()["error"]["code"], -32600)
        self.editor.open("echo\n" * 3)
        for position in ({"line": -1, "character": -1}, {"line": 1 << 40, "character": 1 << 40}):
            self.assertIsNone(self.editor.ask("textDocument/hover", {"textDocument": {"uri": URI}, "position": position})["result"])
        self.assertEqual(self.editor.ask("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": 1.5}})["error"]["code"],
                         -32602)
        self.assertEqual(self.editor.ask("workspace/symbol", {})["error"]["code"], -32601)
        self.editor.write(b"no header\r\n\r\n")
        self.assertEqual(self.editor.process.wait(timeout=30), 2)

    def test_a_text_without_a_bottom(self):
        self.editor.start()
        self.editor.open("torchrun pretrain_gpt.py --num-layers 4 " + "((((" * 100_000 + "\n" + "A=$A$A\n" * 10_000)
        self.editor.diagnostics(1)
        self.editor.open("x" * (5 << 20), uri="file:///too/long.sh")
        self.editor.ask("shutdown", None)
        self.assertTrue(any("too long" in json.dumps(one) for one in self.editor.seen))


if __name__ == "__main__":
    unittest.main()
