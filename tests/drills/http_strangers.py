#!/usr/bin/env python3
"""Strangers at the HTTP ports (metrics, health, webhook): bodies and headers without end, hundreds who say nothing, scrapers
that keep their connections, jobs made to cost. Beside each of them probes and reviews go on; memory has a bound.
usage: http_strangers.py BINDIR [SECONDS of each]"""
import contextlib
import json
import pathlib
import socket
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../doors"))
from webhook import DEAR_SCRIPT, Door, obj  # noqa: E402
from serving import peak_mib  # noqa: E402

seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 4.0
door = Door(f"{sys.argv[1]}/flightplan", "enforce", "--health_listen=127.0.0.1:0")
http_port, health_port, webhook_port = door.http, door.health, door.webhook
GROWTH_MIB = 160  # of the peak, over all attacks; one of them took 1.2 GiB in four seconds
API_SERVER_WAITS_S = 2  # timeoutSeconds of clients/kubernetes/webhook.yaml
stop = 0.0


def connect(port):
    s = socket.create_connection(("127.0.0.1", port), timeout=2)
    if port != webhook_port:
        return s
    return door.context.wrap_socket(s, server_hostname="127.0.0.1")


def push(port, head, part):
    with connect(port) as s:
        s.sendall(head)
        while time.monotonic() < stop:
            s.sendall(part)


def chunks(port):
    push(port, b"POST /admission/v1/validate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n")


def header_lines(port):
    push(port, b"GET /metrics HTTP/1.1\r\nHost: x\r\n", b"X: " + b"x" * 4000 + b"\r\n")


def one_header(port):
    push(port, b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ", b"x" * 65536)


def large_bodies(port):  # begun, and never ended
    with connect(port) as s:
        s.sendall(b"POST /admission/v1/validate HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 3_000_000)
        time.sleep(max(0.0, min(1.0, stop - time.monotonic())))


def silent(port):  # of TLS not even the handshake
    with contextlib.ExitStack() as held:
        for _ in range(40):
            held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=2)).sendall(b"\x16")
        time.sleep(max(0.0, min(1.0, stop - time.monotonic())))


def scraper(port):  # one of Prometheus' kind, that would keep its connection
    with connect(port) as s:
        while time.monotonic() < stop:
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
            if not s.recv(65536):
                return


def dear_jobs(port):
    thing = obj("job", 3)
    container = thing["spec"]["template"]["spec"]["containers"][1]
    container["env"] = [{"name": "A", "value": "x" * 100_000}]
    for command in (["python", "train.py", *["$(A)"] * 100_000], ["bash", "-c", DEAR_SCRIPT]):
        container["command"], container["args"] = command, []
        door.review(json.loads(json.dumps(thing)))
        if time.monotonic() > stop:
            return


def good_probe(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=API_SERVER_WAITS_S) as answer:
        return answer.status == 200


def good_review():
    return door.review(obj("job"))["allowed"] is True


def attack(what, port):
    while time.monotonic() < stop:
        with contextlib.suppress(OSError, AssertionError):  # refused, or told that the server is busy
            what(port)


def beside(what, port, threads):
    """What the others get while `threads` do `what`: asked and failed, the longest in ms."""
    global stop
    stop = time.monotonic() + seconds
    attackers = [threading.Thread(target=attack, args=(what, port), daemon=True) for _ in range(threads)]
    for thread in attackers:
        thread.start()
    time.sleep(0.2)
    asked = failed = 0
    slowest = 0.0
    while time.monotonic() < stop:
        for ask in (lambda: good_probe(health_port), lambda: good_probe(http_port), good_review):
            start = time.monotonic()
            asked += 1
            try:
                failed += not ask()
            except OSError:
                failed += 1
            slowest = max(slowest, time.monotonic() - start)
        time.sleep(0.02)
    for thread in attackers:
        thread.join(10)
    return asked, failed, slowest * 1e3


try:
    good_review()
    before = peak_mib(door.process.pid)
    lost = 0
    for what, port, threads in ((chunks, http_port, 4), (chunks, webhook_port, 4), (header_lines, http_port, 4),
                                (header_lines, webhook_port, 4), (one_header, http_port, 4), (large_bodies, webhook_port, 16),
                                (silent, http_port, 8), (silent, webhook_port, 8), (scraper, http_port, 4), (dear_jobs, webhook_port, 8)):
        asked, failed, slowest = beside(what, port, threads)
        at = {http_port: "http", webhook_port: "webhook"}[port]
        late = slowest > API_SERVER_WAITS_S * 1e3
        print(f"http_strangers: {what.__name__} at {at}: asked={asked} failed={failed} slowest_ms={slowest:.0f}", flush=True)
        lost += failed + late
    after = peak_mib(door.process.pid)
    print(f"http_strangers: peak_mib={before:.0f}->{after:.0f}")
    alive = door.alive()
finally:
    door.close()
if lost or not alive or after - before > GROWTH_MIB:
    sys.exit("failed: see above")
