#!/usr/bin/env python3
"""Clients that are slow, huge, half open or talk nonsense, while a good one goes on: bad_clients.py BINDIR [SECONDS [front]].

front: at deploy/haproxy/front.cfg before the server instead of the server itself."""
import atexit
import contextlib
import hashlib
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from http2 import CONTINUATION, HEADERS, OPENING, PREFACE, frame, reset_streams

bindir, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
for program in ("flightplan", "load_client"):
    if not os.access(f"{bindir}/{program}", os.X_OK):
        sys.exit(f"bad_clients.py: {bindir}/{program} is missing, or no program")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


grpc_port, http_port = free_port(), free_port()
behind_front = sys.argv[3:] == ["front"]
scratch = tempfile.TemporaryDirectory()
listen = [f"--listen=127.0.0.1:{grpc_port}"]
if behind_front:
    tokens = pathlib.Path(scratch.name) / "tokens.yaml"
    tokens.write_text(f"tokens: [{{sha256: {hashlib.sha256(b'good').hexdigest()}, tenant: good, roles: [admin], "
                      "expires: 2126-01-01T00:00:00Z}]\n")
    listen = [f"--listen=unix:{scratch.name}/own", f"--front_listen=unix:{scratch.name}/front", f"--token_file={tokens}"]
server = subprocess.Popen([f"{bindir}/flightplan", "serve", *listen, f"--http_listen=127.0.0.1:{http_port}",
                           "--log_level=error"], stderr=subprocess.DEVNULL)
atexit.register(server.kill)  # it holds our output: whoever reads that would wait for it
if behind_front:
    haproxy = pathlib.Path(__file__).resolve().parents[2] / "deploy/haproxy"
    front = subprocess.Popen(["haproxy", "-f", haproxy / "strangers.cfg", "-f", haproxy / "front.cfg"], stderr=subprocess.DEVNULL,
                             env=os.environ | {"FLIGHTPLAN_FRONT": f"127.0.0.1:{grpc_port}", "FLIGHTPLAN_FRONT_PLAINTEXT": "1",
                                               "FLIGHTPLAN_FRONT_HTTP": f"127.0.0.1:{free_port()}",
                                               "FLIGHTPLAN_SERVER": f"unix@{scratch.name}/front",
                                               "FLIGHTPLAN_FRONT_LUA": str(haproxy / "front.lua"),
                                               # The good client has the bad ones' address: what one address may have
                                               # is front.sh's matter.
                                               "FLIGHTPLAN_CONNECTS": "2000", "FLIGHTPLAN_TAKEN_BACK": "1000000"})
    atexit.register(front.kill)


def ready():
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{http_port}/readyz", timeout=5).status == 200
    except OSError:
        return False


def memory_mib():
    with open(f"/proc/{server.pid}/status") as f:
        return next(int(line.split()[1]) // 1024 for line in f if line.startswith("VmRSS"))


def descriptors():
    return len(os.listdir(f"/proc/{server.pid}/fd"))


end = time.monotonic() + 20
while not ready():
    if time.monotonic() > end or server.poll() is not None:
        sys.exit("the server does not get ready")
    time.sleep(0.05)
rng = random.Random(7)
stop = time.monotonic() + seconds
count = {}


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=2)


def slow(port):  # a byte now and then
    with connect(port) as s:
        for byte in OPENING:
            s.send(bytes([byte]))
            time.sleep(0.2)
            if time.monotonic() > stop:
                return


def half_open(port):  # begins and says nothing more
    with connect(port) as s:
        s.send(PREFACE[:10])
        time.sleep(max(0, min(3, stop - time.monotonic())))


def nonsense(port):
    with connect(port) as s:
        s.send(rng.randbytes(65536))


def bad_frames(port):
    with connect(port) as s:
        s.send(OPENING)
        for _ in range(50):
            s.send(frame(rng.randrange(12), rng.randrange(256), rng.randrange(9), rng.randbytes(rng.randrange(200))))


def huge(port):  # frames and headers beyond what was agreed
    with connect(port) as s:
        s.send(OPENING + frame(HEADERS, 0, 1, rng.randbytes(16000)))
        for _ in range(400):
            s.send(frame(CONTINUATION, 0, 1, rng.randbytes(16000)))


def resets(port):  # streams opened and taken back at once
    with connect(port) as s:
        s.send(OPENING)
        for stream in reset_streams(2000, b"\x82\x84\x86\x41\x01a"):
            s.send(stream)


def attack(what, port):
    while time.monotonic() < stop:
        with contextlib.suppress(OSError):
            what(port)
        count[what.__name__] = count.get(what.__name__, 0) + 1
        time.sleep(0.02)


before = memory_mib(), descriptors()
threads = [threading.Thread(target=attack, args=(what, port), daemon=True)
           for what in (slow, half_open, nonsense, bad_frames, huge, resets)
           for port in (grpc_port, grpc_port, http_port)]
for thread in threads:
    thread.start()
good = subprocess.run([f"{bindir}/load_client", f"--target=127.0.0.1:{grpc_port}", "--rate=50", f"--seconds={seconds}",
                       "--token=good"],
                      capture_output=True, text=True)
most = memory_mib(), descriptors()
for thread in threads:
    thread.join(15)
deadline = time.monotonic() + 15
while descriptors() > before[1] + 8 and time.monotonic() < deadline:
    time.sleep(0.1)
# Health asks the served port itself, and says so as long as that is too slow.
while server.poll() is None and not ready() and time.monotonic() < deadline:
    time.sleep(0.1)
alive = server.poll() is None and ready()
print(f"bad_clients: attacks={sum(count.values())} server_alive={alive} rss_mib={before[0]}->{most[0]} "
      f"descriptors={before[1]}->{most[1]}->{descriptors()} good_client: {good.stdout.strip()}")
server.terminate()
code = server.wait(40)
if not alive or code != 0 or " failed=0 " not in good.stdout:
    sys.exit(f"failed: exit code {code}, of the good client {good.returncode}, {good.stderr}")
