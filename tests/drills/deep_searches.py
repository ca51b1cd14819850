#!/usr/bin/env python3
"""The deepest searches of a large model, as many at once as two tenants may have: how much memory the server takes for them,
and what it keeps when they have ended. Then one that the deadline cuts: it answers with what it found until then.
usage: deep_searches.py BINDIR [ROUNDS]"""
import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../doors"))
from webhook import free_port, peak_mib  # noqa: E402

flightplan, rounds = f"{sys.argv[1]}/flightplan", int(sys.argv[2]) if len(sys.argv) > 2 else 1
TENANTS = ("one", "other")
EACH_MIB = 96  # of one search; service/server.cc counts with more, for models of a thousand layers
KEPT_MIB = 48  # of what was built for the first question: catalogue, defaults, knobs
DEADLINE = "2s"  # half of the processor time that one takes
searches = min(4, 2 * max(1, len(os.sched_getaffinity(0)) // 2))
work = pathlib.Path(tempfile.mkdtemp(prefix="deep-searches-"))
(work / "tokens.yaml").write_text("tokens:\n" + "".join(
    f"  - {{sha256: {hashlib.sha256(name.encode()).hexdigest()}, tenant: {name}, roles: [resolve], expires: 2126-01-01T00:00:00Z}}\n"
    for name in TENANTS))


@contextlib.contextmanager
def serving(*flags):
    grpc, http = free_port(), free_port()
    server = subprocess.Popen([flightplan, "serve", f"--listen=127.0.0.1:{grpc}", f"--http_listen=127.0.0.1:{http}", "--log_level=error",
                               f"--token_file={work}/tokens.yaml", "--cache_bytes=0", "--drain_delay=0s", "--drain_timeout=1s", *flags],
                              stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError):
                if urllib.request.urlopen(f"http://127.0.0.1:{http}/readyz", timeout=5).status == 200:
                    break
            time.sleep(0.1)
        yield grpc, server.pid
    finally:
        server.terminate()
        server.wait(30)


def resident_mib(process):
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def ask(port, number, rank_by="memory"):
    return subprocess.Popen([flightplan, "plan", f"--server=127.0.0.1:{port}", "--model", "deepseek-v3", "--gpu", "h100-sxm", "--gpus", "4096",
                             "--gbs", str(32768 + 128 * number), "--rank-by", rank_by, "--top", "100", "--format", "json"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "FLIGHTPLAN_TOKEN": TENANTS[number % len(TENANTS)]})


def answer(asked):
    text, error = asked.communicate(timeout=280)
    if asked.returncode == 0:
        return json.loads(text)
    print(error.strip()[:200])
    return None


with serving() as (port, process):
    rest, failed = resident_mib(process), 0
    for turn in range(rounds):
        for asked in [ask(port, turn * searches + i) for i in range(searches)]:
            failed += answer(asked) is None
    time.sleep(1)
    kept, peak = resident_mib(process), peak_mib(process)
with serving(f"--max_deadline={DEADLINE}") as (port, process):
    cut = {}
    for _ in range(5):  # on a machine full of other work an answer may come too late to be sent
        cut = cut or answer(ask(port, 0, "time")) or {}
plans = len(cut.get("plans", []))
says = "plan.search-stopped" in json.dumps(cut)
print(f"searches={rounds * searches} at_once={searches} failed={failed} rest_mib={rest:.0f} peak_mib={peak:.0f} "
      f"kept_mib={kept - rest:.0f} plans_of_cut={plans} says_so={says}")
sys.exit(0 if failed == 0 and peak < rest + searches * EACH_MIB and kept < rest + KEPT_MIB and plans > 0 and says else 1)
