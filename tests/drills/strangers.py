#!/usr/bin/env python3
"""One address that holds all that it is given, without a credential: strangers.py PORT SECONDS idle|slow|headers|calls.

idle: connections that say nothing. slow: a byte of headers a second. headers: a HEADERS frame and CONTINUATION frames that
have no end. calls: calls whose body has no end, 128 on a connection. Prints how many connections it had at most and at the
end, and for calls how many were answered.
"""
import selectors
import socket
import sys
import time

from http2 import ADDRESS, CONTINUATION, END_HEADERS, HEADERS, OPENING, frame

PATH = b"/flightplan.v1.ResolverService/ResolveConfig"
# HPACK: POST, http, authority a, the path, and what gRPC asks for.
CALL = (b"\x83\x86\x41\x01a\x04" + bytes([len(PATH)]) + PATH + b"\x00\x02te\x08trailers" +
        b"\x00\x0ccontent-type\x10application/grpc")
DATA = 0
WANTED, OPENED_A_SECOND, STREAMS = 400, 90, 128
port, seconds, how = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
held, most, answers = {}, 0, 0
selector = selectors.DefaultSelector()


def bytes_for(how):
    """What is sent at once, and what then, again and again."""
    if how == "idle":
        return b"", b""
    if how == "slow":
        return OPENING + frame(HEADERS, 0, 1, CALL), frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b")[:1]
    if how == "headers":
        field = b"\x40\x02aa\x7f\x81\x7d" + b"b" * 16128  # a field of 16 KiB
        return OPENING + frame(HEADERS, 0, 1, CALL), frame(CONTINUATION, 0, 1, field) * 4
    calls = [frame(HEADERS, END_HEADERS, 2 * i + 1, CALL) + frame(DATA, 0, 2 * i + 1, b"\x00\x00\x0f\x00\x00" + bytes(400))
             for i in range(STREAMS)]
    return OPENING + b"".join(calls), b""


def let_go(peer):
    selector.unregister(peer)
    peer.close()
    held.pop(peer, None)


def send(peer):
    pending = held[peer]
    try:
        while pending:
            del pending[:peer.send(pending)]
    except BlockingIOError:
        pass
    except OSError:
        let_go(peer)


first, again = bytes_for(how)
start = last = time.monotonic()
opened = 0
while (now := time.monotonic()) < start + seconds:
    if len(held) < WANTED and opened < (now - start) * OPENED_A_SECOND:
        opened += 1
        peer = socket.socket()
        peer.bind((ADDRESS, 0))
        try:
            peer.settimeout(1)
            peer.connect(("127.0.0.1", port))
            peer.setblocking(False)
            held[peer] = bytearray(first)
            selector.register(peer, selectors.EVENT_READ)
            send(peer)
        except OSError:
            peer.close()
    if now > last + (1 if how == "slow" else 0.02):
        last = now
        for peer in list(held):
            if again and not held[peer]:
                held[peer] += again
            send(peer)
    for key, _ in selector.select(0.005):
        try:
            received = key.fileobj.recv(1 << 16)
        except OSError:
            received = b""
        answers += received.count(b"too many")
        if not received:
            let_go(key.fileobj)
    most = max(most, len(held))
print(f"opened={opened} most={most} left={len(held)} refused={answers}")
