#!/usr/bin/env python3
"""Clients that are slow, huge, half open or talk nonsense, while a good one goes on: bad_clients.py BINDIR [SECONDS [front]].

front: at deploy/haproxy/front.cfg before the server instead of the server itself."""
import atexit
import contextlib
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

from drill_server import Server, tokens
from http2 import CONTINUATION, HEADERS, OPENING, PREFACE, frame, reset_streams
from serving import free_port, memory_mib


def connects(port):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
        return True
    return False


bindir, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
behind_front = sys.argv[3:] == ["front"]
if behind_front:
    scratch = tempfile.TemporaryDirectory()
    server = Server(bindir, f"--front_listen=unix:{scratch.name}/front", tokens(scratch.name, "good", roles="admin"),
                    listen=(f"unix:{scratch.name}/own",))
    grpc_port = free_port()
    haproxy = pathlib.Path(__file__).resolve().parents[2] / "deploy/haproxy"
    front = subprocess.Popen(["haproxy", "-f", haproxy / "strangers.cfg", "-f", haproxy / "front.cfg"], stderr=subprocess.DEVNULL,
                             env=os.environ | {"FLIGHTPLAN_FRONT": f"127.0.0.1:{grpc_port}", "FLIGHTPLAN_FRONT_PLAINTEXT": "1",
                                               "FLIGHTPLAN_FRONT_HTTP": f"127.0.0.1:{free_port()}",
                                               "FLIGHTPLAN_SERVER": f"unix@{scratch.name}/front",
                                               "FLIGHTPLAN_FRONT_LUA": str(haproxy / "front.lua"),
                                               # The good client has the bad ones' address: what one address may have
                                               # is front.sh's matter.
                                               "FLIGHTPLAN_CONNECTS": "2000", "FLIGHTPLAN_TAKEN_BACK": "1000000"})
    atexit.register(front.kill)  # it holds our output: whoever reads that would wait for it
    server.wait_for(lambda: front.poll() is None and connects(grpc_port))
else:
    server = Server(bindir)
    grpc_port = server.port


def descriptors():
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


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


before = memory_mib(server.process.pid), descriptors()
threads = [threading.Thread(target=attack, args=(what, port), daemon=True)
           for what in (slow, half_open, nonsense, bad_frames, huge, resets)
           for port in (grpc_port, grpc_port, server.http)]
for thread in threads:
    thread.start()
good = server.load(50, seconds, "--token=good", port=grpc_port)
most = memory_mib(server.process.pid), descriptors()
for thread in threads:
    thread.join(15)
deadline = time.monotonic() + 15
while descriptors() > before[1] + 8 and time.monotonic() < deadline:
    time.sleep(0.1)
# Health asks the served port itself, and says so as long as that is too slow.
while server.alive() and not server.ready() and time.monotonic() < deadline:
    time.sleep(0.1)
alive = server.alive() and server.ready()
print(f"bad_clients: attacks={sum(count.values())} server_alive={alive} rss_mib={before[0]:.0f}->{most[0]:.0f} "
      f"descriptors={before[1]}->{most[1]}->{descriptors()} good_ok={good['ok']:.0f} good_failed={good['failed']:.0f} "
      f"good_refused={good['refused']:.0f} good_p99_ms={good['p99_ms']:.0f}")
code = server.stop()
if not alive or code != 0 or good["failed"] != 0 or good["ok"] == 0:
    sys.exit(f"failed: exit code {code}, see above")
