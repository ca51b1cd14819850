#!/usr/bin/env python3
"""Whether a front sends its callers away while its server drains: goaway.py PORT SERVER_PID TOKEN.

A caller with one connection asks, the server gets SIGTERM, and the caller asks on, four times a second, until a GOAWAY comes or
a call is not answered. Prints how many calls were answered before."""
import os
import signal
import socket
import sys
import time

from http2 import OPENING, grpc_call

GOAWAY, TRAILERS_OK = 7, b"grpc-status\x010"
port, server, token = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
received = bytearray()
kinds = []


def take(peer):
    """Reads what has come; the kinds of whole frames go to `kinds`. Returns how many calls it ended well."""
    received.extend(peer.recv(1 << 16))
    answered = 0
    while len(received) >= 9 and len(received) >= 9 + (size := int.from_bytes(received[:3], "big")):
        kinds.append(received[3])
        answered += TRAILERS_OK in received[9:9 + size]
        del received[:9 + size]
    return answered


with socket.create_connection(("127.0.0.1", port), 5) as peer:
    peer.sendall(OPENING)
    for call in range(60):
        peer.sendall(grpc_call(2 * call + 1, "/flightplan.v1.CatalogService/ListGpus", b"", token))
        end = time.monotonic() + 5
        while not take(peer):
            if time.monotonic() > end:
                sys.exit(f"call {call} is not answered")
        if call == 0:
            os.kill(server, signal.SIGTERM)
        if GOAWAY in kinds:
            print(f"answered={call + 1} goaway=yes")
            break
        time.sleep(0.25)
    else:
        sys.exit("no GOAWAY came")
