#!/usr/bin/env python3
"""Two hundred callers at an HTTP port that say nothing, or headers without an end: http_crowd.py PORT SECONDS."""
import contextlib
import socket
import sys
import time

port, stop = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
CROWD = 200
held, opened, cut = [], 0, 0
while time.monotonic() < stop:
    while len(held) < CROWD and time.monotonic() < stop:
        with contextlib.suppress(OSError):
            peer = socket.create_connection(("127.0.0.1", port), timeout=2)
            opened += 1
            peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + (b"X: " + b"x" * 2000 if opened % 2 else b""))
            held.append(peer)
    for peer in list(held):
        try:
            peer.sendall(b"x")
        except OSError:
            held.remove(peer)
            cut += 1
    time.sleep(0.1)
print(f"opened={opened} cut={cut}")
