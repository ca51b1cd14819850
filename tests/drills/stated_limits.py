#!/usr/bin/env python3
"""The numbers of deploy/hardening.md that a caller meets, read from its prose and tried at a server: at each and one above.
usage: stated_limits.py BINDIR"""
import contextlib
import pathlib
import re
import socket
import ssl
import sys
import time
import warnings

from http2 import OPENING, SETTINGS

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../doors"))
from webhook import Door  # noqa: E402

ROOT = pathlib.Path(__file__).parent / "../.."
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}
PROSE = " ".join((ROOT / "deploy/hardening.md").read_text().split())
door = Door(f"{sys.argv[1]}/flightplan", "shadow", "--health_listen=127.0.0.1:0", "--web_listen=127.0.0.1:0", listen=("127.0.0.1:0",))
grpc, http, health, webhook, web = door.port, door.http, door.health, door.webhook, door.web
wrong = []


def stated(pattern):
    """The numbers of a sentence: they are to stand there once."""
    found = re.findall(pattern, PROSE)
    if len(found) != 1:
        sys.exit(f"stated_limits.py: deploy/hardening.md says {len(found)} times: {pattern}")
    parts = found[0] if isinstance(found[0], tuple) else (found[0],)
    return [int(number.replace(",", "")) * UNITS.get(unit, 1) for number, unit in (re.fullmatch(r"([\d,]+)(?: (\w+))?", p).groups()
                                                                                    for p in parts)]


def expect(what, got, wanted):
    if got != wanted:
        wrong.append(f"{what}: {got}, not {wanted}")


def connect(port):
    s = socket.create_connection(("127.0.0.1", port), timeout=10)
    return door.context.wrap_socket(s, server_hostname="127.0.0.1") if port == webhook else s


def status_of(port, data):
    with connect(port) as s:
        s.sendall(data)
        return int(s.recv(4096).split()[1])


def header(size, port, line=b""):
    """A request whose line and headers have that many bytes, the empty line's among them: many such lines, and a long one."""
    start, end = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % port, b"\r\n\r\n"
    room = size - len(start) - len(b"X: ") - len(end)
    lines = line * (room // len(line)) if line else b""
    return start + lines + b"X: " + b"x" * (room - len(lines)) + end


def body(path, kind, size, port):
    return (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n\r\n").encode() + b" " * size


def held(port, count):
    """How many of that many silent connections of one address the server holds."""
    with contextlib.ExitStack() as stack:
        open_ones = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10)) for _ in range(count)]
        time.sleep(0.5)  # long before any of them is given up for its silence
        left = 0
        for s in open_ones:
            s.setblocking(False)
            with contextlib.suppress(ConnectionResetError):
                try:
                    left += s.recv(1) != b""
                except BlockingIOError:
                    left += 1
        return left


# gRPC's port.
(streams,) = stated(r"([\d,]+) streams a connection")
with connect(grpc) as s:
    s.sendall(OPENING)
    first = s.recv(4096)
size = int.from_bytes(first[:3], "big")
settings = {int.from_bytes(first[i:i + 2], "big"): int.from_bytes(first[i + 2:i + 6], "big") for i in range(9, 9 + size, 6)}
expect("the first frame", first[3], SETTINGS)
expect("streams a connection", settings.get(3), streams)

# Ports that speak HTTP/1.1.
(head,) = stated(r"(\d+ KiB) of request line and headers")
for name, port in (("http", http), ("health", health), ("webhook", webhook), ("web", web)):
    expect(f"{name}: a header of {head} bytes is refused", status_of(port, header(head, port)) == 431, False)
    for line in (b"", b"X:\r\n"):
        expect(f"{name}: a header of {head + 1} bytes", status_of(port, header(head + 1, port, line)), 431)
plain, reviewed = stated(r"(\d+) connections, the webhook (\d+), half of them of one address;")
(browsed,) = stated(r"(\d+) connections, half of them of one address; at most half")
for name, port, most in (("http", http, plain), ("health", health, plain), ("webhook", webhook, reviewed), ("web", web, browsed)):
    expect(f"{name}: connections of one address", held(port, most // 2 + 8), most // 2)
(review,) = stated(r"the webhook (\d+ MiB) a review")
expect("webhook: a body at its limit", status_of(webhook, body("/admission/v1/validate", "application/json", review, webhook)), 400)
expect("webhook: a body above it", status_of(webhook, body("/admission/v1/validate", "application/json", review + 1, webhook)), 413)
(asked,) = stated(r"At the port for browsers \(`--web_listen`\): the same header, (\d+ MiB) a body")
path = "/flightplan.v1.ResolverService/ResolveConfig"
expect("web: a body at its limit", status_of(web, body(path, "application/json", asked, web)), 400)
expect("web: a body above it", status_of(web, body(path, "application/json", asked + 1, web)) in (413, 429), True)

# TLS.
if "TLS 1.2 or 1.3." not in PROSE:
    sys.exit("stated_limits.py: deploy/hardening.md no longer names the versions of TLS")
for version, taken in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that TLS 1.1 is old
        context.minimum_version = context.maximum_version = version
    with socket.create_connection(("127.0.0.1", webhook), timeout=10) as s:
        try:
            context.wrap_socket(s).close()
            expect(f"webhook: {version.name}", True, taken)
        except (ssl.SSLError, OSError):
            expect(f"webhook: {version.name}", False, taken)

# What stands in front: the prose and the configuration that tests/drills/strangers.sh runs have the same numbers.
BALANCER = "\n".join(path.read_text() for path in sorted((ROOT / "deploy/haproxy").glob("*.cfg")))
share = stated(r"`tests/drills/strangers.sh`\): ([\d,]+) connections, ([\d,]+) new ones a second, ([\d,]+) open calls")
waits = stated(r"of a connection (\d+ s) until its first headers are whole \((\d+ s) until its first byte\), headers of (\d+ KiB), "
               r"a body within (\d+ s)")
total = stated(r"In all: ([\d,]+) connections, ([\d,]+) TLS handshakes a second")
(taken_back,) = stated(r"who takes back more than ([\d,]+) calls a second")
for pattern, number in zip((r"presetenv FLIGHTPLAN_CONNECTIONS (\d+)", r"presetenv FLIGHTPLAN_CONNECTS (\d+)",
                            r"presetenv FLIGHTPLAN_OPEN (\d+)", r"timeout http-request (\d+)s", r"timeout client (\d+)s",
                            r"\(txn.headers\) -m int gt (\d+)", r"wait-for-body time (\d+)s", r"maxconn (\d+)", r"maxsslrate (\d+)",
                            r"presetenv FLIGHTPLAN_TAKEN_BACK (\d+)"),
                           (*share, *waits, *total, taken_back), strict=True):
    expect(f"deploy/haproxy: {pattern}", set(re.findall(pattern, BALANCER)), {str(number)})

code = door.stop()
print(f"stated_limits: streams={streams} header={head} connections={plain},{reviewed},{browsed} review={review} body={asked} "
      f"wrong={len(wrong)}")
if wrong or code != 0:
    sys.exit(f"failed: exit code {code}, " + "; ".join(wrong))
