#!/usr/bin/env python3
"""The deepest searches of a large model, as many at once as two tenants may have: how much memory the server takes for them,
and what it keeps when they have ended. Then one that the deadline cuts: it answers with what it found until then.
usage: deep_searches.py BINDIR [ROUNDS]"""
import json
import os
import subprocess
import sys
import tempfile
import time

from drill_server import Server, tokens
from serving import memory_mib, peak_mib

bindir, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
TENANTS = ("one", "other")
EACH_MIB = 96  # of one search; service/server.cc counts with more, for models of a thousand layers
KEPT_MIB = 48  # of what was built for the first question: catalogue, defaults, knobs
DEADLINE = "2s"  # half of the processor time that one takes
searches = min(4, 2 * max(1, len(os.sched_getaffinity(0)) // 2))
scratch = tempfile.TemporaryDirectory(prefix="deep-searches-")
FLAGS = (tokens(scratch.name, *TENANTS), "--cache_bytes=0")


def ask(server, number, rank_by="memory"):
    return subprocess.Popen([f"{bindir}/flightplan", "plan", f"--server=127.0.0.1:{server.port}", "--model", "deepseek-v3",
                             "--gpu", "h100-sxm", "--gpus", "4096", "--gbs", str(32768 + 128 * number), "--rank-by", rank_by, "--top", "100", "--format", "json"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "FLIGHTPLAN_TOKEN": TENANTS[number % len(TENANTS)]})


def answer(asked):
    text, error = asked.communicate(timeout=280)
    if asked.returncode == 0:
        return json.loads(text)
    print(error.strip()[:200])
    return None


server = Server(bindir, *FLAGS)
rest, failed = memory_mib(server.process.pid), 0
for turn in range(rounds):
    for asked in [ask(server, turn * searches + i) for i in range(searches)]:
        failed += answer(asked) is None
time.sleep(1)
kept, peak = memory_mib(server.process.pid), peak_mib(server.process.pid)
server.stop()

server = Server(bindir, *FLAGS, f"--max_deadline={DEADLINE}")
cut = {}
for _ in range(5):  # on a machine full of other work an answer may come too late to be sent
    cut = cut or answer(ask(server, 0, "time")) or {}
server.stop()
plans = len(cut.get("plans", []))
says = "plan.search-stopped" in json.dumps(cut)
print(f"searches={rounds * searches} at_once={searches} failed={failed} rest_mib={rest:.0f} peak_mib={peak:.0f} "
      f"kept_mib={kept - rest:.0f} plans_of_cut={plans} says_so={says}")
sys.exit(0 if failed == 0 and peak < rest + searches * EACH_MIB and kept < rest + KEPT_MIB and plans > 0 and says else 1)
