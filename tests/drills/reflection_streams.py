#!/usr/bin/env python3
"""Streams of reflection that stay open, which ask for no token: the threads that they hold are few, all else is answered, and
the server ends at once. usage: reflection_streams.py BINDIR"""
import os
import socket
import sys
import time

from drill_server import Server
from http2 import OPENING, grpc_call

REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
LIST_SERVICES = b"\x3a\x00"
CONNECTIONS, STREAMS, THREADS = 8, 120, 16  # the last as service/net/reflection.h has it; 8 x 120 held as many threads

server = Server(sys.argv[1], "--drain_timeout=10s")


def threads():
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


assert server.load(50, 2)["failed"] == 0  # and every thread is there that answers take
before = threads()
held = []
for _ in range(CONNECTIONS):
    peer = socket.create_connection(("127.0.0.1", server.port), 5)
    peer.sendall(OPENING + b"".join(grpc_call(2 * n + 1, REFLECTION, LIST_SERVICES, more=True) for n in range(STREAMS)))
    held.append(peer)
time.sleep(1)
beside = server.load(50, 2)["failed"]
more = threads() - before
assert beside == 0, f"{beside} calls failed beside {CONNECTIONS * STREAMS} streams of reflection"
assert server.ready()
assert more <= THREADS, f"{more} threads more for {CONNECTIONS * STREAMS} streams"
status = server.stop()
assert status == 0, f"ended with {status}"
print(f"reflection: streams={CONNECTIONS * STREAMS} threads={more} failed=0")
