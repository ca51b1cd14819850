#!/usr/bin/env python3
"""The deepest searches of a large model, as many at once as two tenants may have: how much memory the server takes for them,
and what it keeps when they have ended.
usage: search_memory.py BINDIR [ROUNDS]"""
import contextlib
import hashlib
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
searches = min(4, 2 * max(1, len(os.sched_getaffinity(0)) // 2))


def resident_mib(process):
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def ask(port, number):
    tenant = TENANTS[number % len(TENANTS)]
    return subprocess.Popen([flightplan, "plan", f"--server=127.0.0.1:{port}", "--model", "deepseek-v3", "--gpu", "h100-sxm", "--gpus", "4096",
                             "--gbs", str(32768 + 128 * number), "--rank-by", "memory", "--top", "100", "--format", "json"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "FLIGHTPLAN_TOKEN": tenant})


work = pathlib.Path(tempfile.mkdtemp(prefix="search-memory-"))
(work / "tokens.yaml").write_text("tokens:\n" + "".join(
    f"  - {{sha256: {hashlib.sha256(name.encode()).hexdigest()}, tenant: {name}, roles: [resolve], expires: 2126-01-01T00:00:00Z}}\n"
    for name in TENANTS))
grpc, http = free_port(), free_port()
server = subprocess.Popen([flightplan, "serve", f"--listen=127.0.0.1:{grpc}", f"--http_listen=127.0.0.1:{http}", "--log_level=error",
                           f"--token_file={work}/tokens.yaml", "--cache_bytes=0", "--drain_delay=0s", "--drain_timeout=1s"],
                          stderr=subprocess.DEVNULL)
try:
    for _ in range(200):
        with contextlib.suppress(OSError):
            if urllib.request.urlopen(f"http://127.0.0.1:{http}/readyz", timeout=5).status == 200:
                break
        time.sleep(0.1)
    rest, failed = resident_mib(server.pid), 0
    for turn in range(rounds):
        asked = [ask(grpc, turn * searches + i) for i in range(searches)]
        for one in asked:
            error = one.communicate(timeout=280)[1]
            failed += one.returncode != 0
            if one.returncode != 0:
                print(error.strip()[:200])
    time.sleep(1)
    kept, peak = resident_mib(server.pid), peak_mib(server.pid)
finally:
    server.terminate()
    server.wait(30)
print(f"searches={rounds * searches} at_once={searches} failed={failed} rest_mib={rest:.0f} peak_mib={peak:.0f} "
      f"kept_mib={kept - rest:.0f}")
sys.exit(0 if failed == 0 and peak < rest + searches * EACH_MIB and kept < rest + KEPT_MIB else 1)
