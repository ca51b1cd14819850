#!/usr/bin/env python3
"""Random requests at the port for browsers, as bytes: every method of every service, with headers, bodies, envelopes and
chunks that are right, wrong or damaged. None may end the server or be answered as its own fault (500); afterwards it
answers as before, and its memory has a bound.
usage: web_flood.py BINDIR [REQUESTS [SEED [COMMAND that runs the server, such as valgrind --error-exitcode=9 ...]]]"""
import collections
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import pathlib
import random
import re
import select
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../support"))
from serving import Server, peak_mib  # noqa: E402

ROOT = pathlib.Path(__file__).parent / "../.."
flightplan = f"{sys.argv[1]}/flightplan"
requests = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
under = sys.argv[4:]
GROWTH_MIB = 192
PER_CONNECTION = 4
THREADS = 24
SILENCE_S = 10 if under else 1  # after which a connection is given up
WAIT_S = 120 if under else 30  # of a good call

PATHS = [f"/flightplan.v1.{service}/{rpc}"
         for proto in sorted((ROOT / "proto/flightplan/v1").glob("*.proto"))
         for service, rpcs in re.findall(r"^service (\w+) \{(.*?)^\}", proto.read_text(), re.M | re.S)
         for rpc in re.findall(r"^  rpc (\w+)", rpcs, re.M) if rpc != "RunProbe"]
OTHER_PATHS = ["/", "/index.html", "/../../etc/passwd", "/%2e%2e/%00", "/grpc.health.v1.Health/Check", "*", "http://a/", "/" + "a" * 5000]
# A layout that is given in full: one that is left open is a search of seconds, which is another drill's subject.
LAYOUT = {"tensorModelParallelSize": 2, "pipelineModelParallelSize": 8, "virtualPipelineModelParallelSize": 4,
          "expertModelParallelSize": 64}
RESOLVE = {"model": {"name": "deepseek-v3"}, "hardware": {"gpu": "h100-sxm", "gpuCount": 1024}, "layout": LAYOUT,
           "workload": {"seqLength": 4096, "globalBatchSize": 8192}, "target": {"framework": "megatron-lm"}}
MESSAGES = [{}, {"name": "h100-sxm"}, {"name": "deepseek-v3"}, {"pageSize": 3}, {"pageSize": -1, "pageToken": "x"}, RESOLVE,
            {"base": RESOLVE, "planCount": -1}, {"resolve": RESOLVE}, {"id": "1", "resolve": RESOLVE}, {"hfConfigJson": "{"},
            {"target": {"framework": "megatron-lm"}, "arguments": {"values": ["--num-layers", "4"]}},
            {"target": {"framework": "megatron-lm"}, "file": {"text": "x=1\ntorchrun pretrain_gpt.py --num-layers 4\n"}, "repair": True}]
SCALARS = [None, True, "", "x", -1, 1e308, -1e-308, 2**63, "\u0000", "\ud800", [], {}, [[]], "9" * 400]
TYPES = ["application/json", "application/proto", "application/connect+json", "application/connect+proto", "application/grpc",
         "application/grpc-web+json", "text/plain", "application/json; charset=latin-1", ""]
HEADERS = ["Host: evil.example", "Origin: http://evil.example", "Connect-Protocol-Version: 1", "Connect-Protocol-Version: 2",
           "Connect-Timeout-Ms: 1", "Connect-Timeout-Ms: 99999999999999999999", "Connect-Timeout-Ms: -1", "Content-Encoding: gzip",
           "Connect-Content-Encoding: gzip", "Content-Encoding: br", "Accept-Encoding: gzip", "Accept-Encoding: *;q=0",
           "Authorization: Bearer x", "Authorization: " + "a" * 3000, "Expect: 100-continue", "Upgrade: h2c", "Connection: Upgrade",
           "Connection: close", "Cookie: a=b", "X-Bin: \x01", "Key-Bin: ====", ": empty", "No colon", " folded", "X: " + "x" * 5000,
           "Content-Length: 5", "Content-Length: -1", "Content-Length: 99999999999999999999", "Transfer-Encoding: chunked",
           "Transfer-Encoding: gzip, chunked", "TE: trailers", "Range: bytes=0-1"]
DAMAGE = [b"\r\n", b"\n", b"\0", b"\xff", b"{", b"}", b'"', b":", b"\r\n\r\n", b"0\r\n\r\n", b" HTTP/1.1", b"\\u0000", b"\x80\x80\x80"]


def damaged(rng, data):
    for _ in range(rng.randint(1, 4)):
        at, size = rng.randrange(len(data) + 1), rng.choice((0, 0, 1, 2, 8, 64))
        put = rng.choice((b"", rng.choice(DAMAGE), rng.randbytes(rng.randint(1, 8)), data[at:at + 16] * rng.choice((2, 50))))
        data = data[:at] + put + data[at + size:]
    return data


def body_of(rng):
    message = json.loads(json.dumps(rng.choice(MESSAGES)))
    if message and rng.random() < 0.3:
        message[rng.choice((*message, "unknown"))] = rng.choice(SCALARS)
    body = json.dumps(message).encode()
    if rng.random() < 0.3:
        body = damaged(rng, body)
    if rng.random() < 0.1:
        body = gzip.compress(body, 1)
    if rng.random() < 0.3:
        body = b"".join(bytes((rng.choice((0, 0, 0, 1, 2, 255)),)) + rng.choice((len(body), len(body), 0, 2**32 - 1)).to_bytes(4, "big")
                        + body for _ in range(rng.randint(1, 3)))
    return body


def request_of(rng):
    path = rng.choice(PATHS) if rng.random() < 0.95 else rng.choice(OTHER_PATHS)
    if rng.random() < 0.05:
        path += "?" + rng.choice(("connect=v1&encoding=json&message=%7B%7D", "message=%", "base64=1&message=" + "A" * 99, "&&&=="))
    body = body_of(rng)
    lines = [f"{rng.choice(('POST',) * 12 + ('GET', 'PUT', 'OPTIONS', 'HEAD', 'PRI'))} {path} HTTP/1.{rng.choice('1111110')}"]
    lines += ["Host: localhost", f"Content-Type: {rng.choice(TYPES[:4] if rng.random() < 0.9 else TYPES)}"]
    lines += rng.sample(HEADERS, rng.choice((0, 0, 0, 1, 1, 2)))
    if rng.random() < 0.15:
        cut = rng.randrange(len(body) + 1)
        body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:cut], body[cut:]) if part) + b"0\r\n\r\n"
        lines.append("Transfer-Encoding: chunked")
    else:
        lines.append(f"Content-Length: {len(body)}")
    data = "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body
    return damaged(rng, data) if rng.random() < 0.15 else data


def converse(port, data):
    """What is answered to these bytes: up to the end of the connection, or until the server waits for more of them."""
    said = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=SILENCE_S) as s:
        s.setblocking(False)
        left = memoryview(data)
        while True:
            readable, writable, _ = select.select([s], [s] if left else [], [], SILENCE_S)
            if not readable and not writable:
                return said
            if writable:
                left = left[s.send(left):]
            if readable:
                part = s.recv(1 << 16)
                if not part:
                    return said
                said += part
    return said


def flood(port, number, count, done):
    """Sends a share of the requests; counts what came back, and keeps what was answered as the server's fault."""
    statuses, faults = collections.Counter(), []
    rng = random.Random(seed * 1000 + number)
    for _ in range(0, count, PER_CONNECTION):
        sent = [request_of(rng) for _ in range(PER_CONNECTION)]
        said = converse(port, b"".join(sent))
        done[number] += len(sent)
        statuses.update(re.findall(rb"HTTP/1\.[01] (\d{3}) ", said))
        faults += re.findall(rb"HTTP/1\.[01] 500 .{0,300}", said, re.S)
        # Connect calls a fault in the envelope itself "internal", whoever made it.
        faults += re.findall(rb'"code":"(?:internal|unknown|data_loss)","message":"(?!an envelope).{0,200}', said, re.S)
    return statuses, faults


def good(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    connection.request("POST", "/flightplan.v1.ResolverService/ResolveConfig", json.dumps(RESOLVE), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status == 200 and b"digest" in answer.read()


def main():
    server = Server(flightplan, "--web_listen=127.0.0.1:0", under=under)
    port = server.web
    if not good(port):
        sys.exit("the server refuses the good question")
    before, start, done = peak_mib(server.process.pid), time.monotonic(), [0] * THREADS
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        shares = list(pool.map(lambda n: flood(port, n, requests // THREADS, done), range(THREADS)))
    statuses = sum((share[0] for share in shares), collections.Counter())
    faults = [fault for share in shares for fault in share[1]]
    seconds, alive = time.monotonic() - start, server.alive()
    after = peak_mib(server.process.pid) if alive else 0
    answers_again = alive and good(port)
    code = server.stop(120)
    print(f"web_flood: sent={sum(done)} answered={sum(statuses.values())} "
          + " ".join(f"{status.decode()}={count}" for status, count in sorted(statuses.items()))
          + f" faults={len(faults)} seconds={seconds:.0f} peak_mib={before:.0f}->{after:.0f} exit={code}")
    if faults or not answers_again or code != 0 or not statuses[b"200"] or (after - before > GROWTH_MIB and not under):
        sys.exit(f"failed: alive={alive} answers_again={answers_again} {faults[:3]}\n{server.log()[-3000:]}")


main()
