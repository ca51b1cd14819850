#!/usr/bin/env python3
"""Streams of reflection that stay open, which ask for no token: the threads that they hold are few, all else is answered, and
the server ends at once. usage: reflection_streams.py BINDIR"""
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from http2 import OPENING, grpc_call

sys.path.insert(0, str(Path(__file__).parent / "../doors"))
from webhook import free_port  # noqa: E402

bindir = sys.argv[1]
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
LIST_SERVICES = b"\x3a\x00"
CONNECTIONS, STREAMS, THREADS = 8, 120, 16  # the last as service/server.cc has it; 8 x 120 held as many threads

port, http = free_port(), free_port()
server = subprocess.Popen([f"{bindir}/flightplan", "serve", f"--listen=127.0.0.1:{port}", f"--http_listen=127.0.0.1:{http}",
                           "--log_level=error", "--drain_delay=0s", "--drain_timeout=10s"], stderr=subprocess.DEVNULL)


def ready():
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{http}/readyz", timeout=5).status == 200
    except OSError:
        return False


def threads():
    return len(os.listdir(f"/proc/{server.pid}/task"))


def failed():
    out = subprocess.run([f"{bindir}/load_client", f"--target=127.0.0.1:{port}", "--rate=50", "--seconds=2"],
                         capture_output=True, text=True).stdout
    return next(word.split("=")[1] for word in out.split() if word.startswith("failed="))


try:
    while not ready():
        if server.poll() is not None:
            sys.exit("the server does not start")
        time.sleep(0.1)
    assert failed() == "0"  # and every thread is there that answers take
    before = threads()
    held = []
    for _ in range(CONNECTIONS):
        peer = socket.create_connection(("127.0.0.1", port), 5)
        peer.sendall(OPENING + b"".join(grpc_call(2 * n + 1, REFLECTION, LIST_SERVICES, more=True) for n in range(STREAMS)))
        held.append(peer)
    time.sleep(1)
    beside = failed()
    more = threads() - before
    assert beside == "0", f"{beside} calls failed beside {CONNECTIONS * STREAMS} streams of reflection"
    assert ready()
    assert more <= THREADS, f"{more} threads more for {CONNECTIONS * STREAMS} streams"
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0, f"ended with {server.returncode}"
finally:
    if server.poll() is None:
        server.kill()
print(f"reflection: streams={CONNECTIONS * STREAMS} threads={more} failed=0")
