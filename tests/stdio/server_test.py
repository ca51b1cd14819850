#!/usr/bin/env python3
"""`flightplan mcp` and `flightplan lsp` with --server: the answers of a running server, the same as in process; a search that is
cancelled there, too.

usage: server_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from stdio_process import ENVIRONMENT

FLIGHTPLAN = os.path.abspath(sys.argv[1])
LAUNCH = ("torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
          "--num-experts 64 --expert-model-parallel-size 16 --recompute-granularity full\n")
CALLS = [("resolve", {"model": "qwen3-30b-a3b", "gpu": "h100-sxm", "gpus": 16, "tp": 1, "pp": 2, "ep": 8}),
         ("fix", {"text": LAUNCH, "gpu": "h100-sxm", "gpus": 24}), ("explain", {"name": "recompute_granularity"})]


def talk(flags, messages, headers):
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) if headers else body + b"\n" for body in bodies)
    done = subprocess.run([FLIGHTPLAN, *flags], input=sent, capture_output=True, env=ENVIRONMENT, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def main():
    if subprocess.run([FLIGHTPLAN, "serve", "--help"], capture_output=True).returncode != 0:
        print("skipped: this build is without the server")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix:{folder}/s"
        server = subprocess.Popen([FLIGHTPLAN, "serve", f"--listen={address}", "--http_listen=", "--drain_delay=0s"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT, cwd=folder)
        try:
            while not pathlib.Path(f"{folder}/s").exists():
                assert server.poll() is None, "the server has ended"
                time.sleep(0.02)
            calls = [{"id": i, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
                     for i, (tool, arguments) in enumerate(CALLS)]
            answers = [sorted(talk(["mcp", *flags], calls, False).splitlines()) for flags in ([], ["--server", address])]
            assert answers[0] == answers[1], "a server's answers differ"
            opened = [{"id": 1, "method": "initialize", "params": {"capabilities": {}}},
                      {"method": "textDocument/didOpen", "params": {"textDocument": {
                          "uri": "file:///a.sh", "languageId": "shellscript", "version": 1, "text": LAUNCH}}}]
            found = [talk(["lsp", *flags], opened, True) for flags in ([], ["--server", address])]
            assert found[0] == found[1] and b"recompute.full-needs-method" in found[0], found
            search = {"model": "deepseek-v3", "gpu": "h100-sxm", "gpus": 1024}
            cut = talk(["mcp", "--server", address], [
                {"id": 1, "method": "tools/call", "params": {"name": "plan", "arguments": search}},
                {"method": "notifications/cancelled", "params": {"requestId": 1}}, {"id": 2, "method": "ping"}], False)
            assert b'"id":1,' not in cut and b'"id":2,' in cut, cut
        finally:
            server.terminate()
            server.wait(timeout=60)
    print("ok: in process and by a server the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
