#!/usr/bin/env python3
"""Strangers at the port for browsers: slow bodies, headers and envelopes without end, gzip that is cut short or grows without
end, deep JSON, calls that nobody reads, a thousand connections. Beside each of them a good client of gRPC, one of the port
itself and health are answered; memory has a bound.
usage: web_strangers.py BINDIR [SECONDS of each]"""
import contextlib
import gzip
import http.client
import json
import pathlib
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../support"))
from serving import Server, peak_mib  # noqa: E402

flightplan = f"{sys.argv[1]}/flightplan"
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 4.0
GROWTH_MIB = 192  # of the peak, over all attacks
GOOD_WAITS_S = 5.0
METHOD = "/flightplan.v1.ResolverService/"
HEAD = "Host: localhost\r\nContent-Type: application/json\r\n"
QUESTION = json.dumps({"name": "h100-sxm"})
BOMB = gzip.compress(bytes(64 << 20))
stop = 0.0


def connect():
    return socket.create_connection(("127.0.0.1", server.web), timeout=2)


def ask(path, body, headers=()):
    """The status of one call, and what it says."""
    connection = http.client.HTTPConnection("127.0.0.1", server.web, timeout=GOOD_WAITS_S)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json", **dict(headers)})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def push(head, part):
    with connect() as s:
        s.sendall(head.encode())
        while time.monotonic() < stop:
            s.sendall(part)


def slow_body():
    with connect() as s:
        s.sendall(f"POST {METHOD}ResolveConfig HTTP/1.1\r\n{HEAD}Content-Length: 1000000\r\n\r\n".encode())
        while time.monotonic() < stop:
            s.sendall(b" ")
            time.sleep(0.05)


def large_bodies():  # begun, and never ended
    with connect() as s:
        s.sendall(f"POST {METHOD}ResolveConfig HTTP/1.1\r\n{HEAD}Content-Length: 1000000\r\n\r\n".encode() + b" " * 900_000)
        time.sleep(max(0.0, min(1.0, stop - time.monotonic())))


def chunks():
    push(f"POST {METHOD}ResolveConfig HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b" " * 4096 + b"\r\n")


def header_lines():
    push(f"POST {METHOD}ResolveConfig HTTP/1.1\r\nHost: x\r\n", b"X: " + b"x" * 4000 + b"\r\n")


def envelopes():
    for body in (b"\0\xff\xff\xff\xff", b"\0\0\0\0\x02{", b"\x80\0\0\0\x02{}", b"\0\0\0\0\x02{}" * 1000, b"\x01\0\0\0\x02{}"):
        status, said = ask(f"{METHOD}PlanLayouts", body, {"Content-Type": "application/connect+json"}.items())
        assert status == 200 and b'"error"' in said, (status, said)


def bombs():
    for body in (BOMB, BOMB[:1000], b"no gzip", gzip.compress(BOMB)):
        status, _ = ask(f"{METHOD}ResolveConfig", body, {"Content-Encoding": "gzip"}.items())
        assert status in (400, 429, 503), status


def deep_json():
    for text in ("[" * 1_000_000, '{"model":' * 100_000, '{"a":"' + "\\u0000" * 150_000 + '"}', "9" * 1_000_000):
        status, _ = ask(f"{METHOD}ResolveConfig", text)
        assert status in (400, 503), status


def unread():  # the whole catalogue, over and over, and nobody takes it
    with connect() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        call = f"POST /flightplan.v1.CatalogService/ListKnobs HTTP/1.1\r\n{HEAD}Content-Length: 20\r\n\r\n" + '{"pageSize":    1000}'
        while time.monotonic() < stop:
            s.sendall(call.encode())
            time.sleep(0.01)


def gone():  # asks, and goes
    with connect() as s:
        body = '{"model":{"name":"deepseek-v3"},"hardware":{"gpu":"h100-sxm","gpuCount":4096}}'
        s.sendall(f"POST {METHOD}ResolveConfig HTTP/1.1\r\n{HEAD}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    time.sleep(0.002)  # as fast as this, four threads of Python leave the good ones here no turn


def thousand():  # 250 for each of four threads
    with contextlib.ExitStack() as held:
        for number in range(250):
            s = held.enter_context(connect())
            s.sendall(f"POST {METHOD}ResolveConfig HTTP/1.1\r\n".encode()[: number % 30])
        time.sleep(max(0.0, stop - time.monotonic()))


def good_grpc():
    layout = ("--model=deepseek-v3", "--gpu=h100-sxm", "--gpus=1024", "--tp=2", "--pp=8", "--vpp=4", "--ep=64")
    return subprocess.run([flightplan, "resolve", *layout, f"--server=127.0.0.1:{server.port}"], capture_output=True,
                          timeout=GOOD_WAITS_S, check=False).returncode == 0


def good_web():
    status, said = ask("/flightplan.v1.CatalogService/GetGpu", QUESTION)
    return status == 200 and b"h100" in said


def good_health():
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http}/healthz", timeout=GOOD_WAITS_S) as answer:
        return answer.status == 200


def attack(what, failures):
    while time.monotonic() < stop:
        try:
            what()
        except (OSError, http.client.HTTPException):  # refused, or let go
            time.sleep(0.001)
        except AssertionError as error:
            failures.append(f"{what.__name__}: {error}")
            return


def beside(what, threads):
    """What the good ones got while `threads` did `what`: asked, failed by kind, the longest in ms."""
    global stop
    stop = time.monotonic() + seconds
    failures = []
    attackers = [threading.Thread(target=attack, args=(what, failures), daemon=True) for _ in range(threads)]
    for thread in attackers:
        thread.start()
    time.sleep(0.2)
    asked, slowest = 0, 0.0
    failed = {"grpc": 0, "web": 0, "health": 0}
    while time.monotonic() < stop:
        for name, good in (("grpc", good_grpc), ("web", good_web), ("health", good_health)):
            start = time.monotonic()
            asked += 1
            try:
                failed[name] += not good()
            except (OSError, http.client.HTTPException, subprocess.TimeoutExpired):
                failed[name] += 1
            slowest = max(slowest, time.monotonic() - start)
        time.sleep(0.02)
    for thread in attackers:
        thread.join(10)
    return asked, failed, slowest * 1e3, failures


soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
server = Server(flightplan, "--web_listen=127.0.0.1:0")
lost, wrong = 0, []
try:
    good_grpc(), good_web()
    before = peak_mib(server.process.pid)
    for what, threads in ((slow_body, 16), (large_bodies, 16), (chunks, 4), (header_lines, 4), (envelopes, 2), (bombs, 2),
                          (deep_json, 2), (unread, 8), (gone, 4), (thousand, 4)):
        asked, failed, slowest, failures = beside(what, threads)
        print(f"web_strangers: {what.__name__}: asked={asked} failed_grpc={failed['grpc']} failed_web={failed['web']} "
              f"failed_health={failed['health']} slowest_ms={slowest:.0f}", flush=True)
        # A place at the port itself may be another's; gRPC and health are nobody's but their own.
        lost += failed["grpc"] + failed["health"] + (failed["web"] > asked // 6)
        wrong += failures
    after = peak_mib(server.process.pid)
    print(f"web_strangers: peak_mib={before:.0f}->{after:.0f}")
    alive = server.alive()
finally:
    code = server.stop()
if lost or wrong or not alive or code != 0 or after - before > GROWTH_MIB:
    sys.exit(f"failed: lost={lost} alive={alive} exit={code} {wrong[:3]}")
