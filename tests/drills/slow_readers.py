#!/usr/bin/env python3
"""Callers who ask and never read, and one tenant who searches all the time, beside a tenant who asks small questions.
usage: slow_readers.py BINDIR [SECONDS of each]"""
import contextlib
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

from drill_server import Server, tokens
from http2 import ACK, DATA, DEAF_OPENING, OPENING, PING, SETTINGS, frame, grpc_call, grpc_message
from serving import peak_mib

bindir, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 5.0
root = pathlib.Path(__file__).resolve().parent.parent.parent
BATCH, PLAN, RESOLVE = (f"/flightplan.v1.ResolverService/{name}" for name in ("BatchResolve", "PlanLayouts", "ResolveConfig"))
HELD_MIB = 256  # more than before; sixteen readers held 1,073 MiB
UNREAD_MIB = 512  # of unary answers, which may be 256 MiB and what the allocator keeps; sixty readers held 2.5 GB
MODEL = 'target { framework: "megatron-lm" } model { name: "%s" } hardware { gpu: "h100-sxm" gpu_count: %d }'
SMALL = MODEL % ("qwen3-30b-a3b", 64) + " workload { seq_length: 4096 global_batch_size: 256 }"


def encode(message, text, service="resolver_service"):
    return subprocess.run(["protoc", f"-I{root}/proto", f"--encode=flightplan.v1.{message}", f"flightplan/v1/{service}.proto"],
                          input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


LAYOUT = (" layout { tensor_model_parallel_size: 2 pipeline_model_parallel_size: 2 context_parallel_size: 1 "
          "expert_model_parallel_size: 8 expert_tensor_parallel_size: 1 micro_batch_size: 1 }")


def open_layout(batch):
    return MODEL % ("deepseek-v3", 1024) + f" workload {{ seq_length: 4096 global_batch_size: {batch} }}"


def drain(peer):
    """Answers what a server may ask of a client (its settings, pings), and throws the rest away."""
    kept = b""
    with contextlib.suppress(OSError):
        while data := peer.recv(65536):
            kept += data
            while len(kept) >= 9 and len(kept) >= 9 + int.from_bytes(kept[:3], "big"):
                size, kind, flags = int.from_bytes(kept[:3], "big"), kept[3], kept[4]
                if kind in (SETTINGS, PING) and not flags & ACK:
                    peer.sendall(frame(kind, ACK, 0, kept[9:9 + size] if kind == PING else b""))
                kept = kept[9 + size:]


def connect(server, opening):
    peer = socket.create_connection(("127.0.0.1", server.port), timeout=120)
    peer.sendall(opening)
    threading.Thread(target=drain, args=(peer,), daemon=True).start()
    return peer


def unread_plans():
    """Plans that nobody reads: their places are given back when the work is done, and all ends at the deadline."""
    server = Server(bindir, "--max_deadline=3s")
    plan = encode("PlanLayoutsRequest", "base { " + MODEL % ("qwen3-30b-a3b", 8) +
                  " workload { seq_length: 4096 global_batch_size: 64 } } plan_count: 5")
    peers = [connect(server, DEAF_OPENING) for _ in range(4)]
    stop = time.monotonic() + seconds

    def ask():
        for i in range(100 * len(peers)):
            peers[i % len(peers)].sendall(grpc_call(2 * (i // len(peers)) + 1, PLAN, plan))
            time.sleep(0.02)
            if time.monotonic() > stop:
                return

    thread = threading.Thread(target=ask)
    thread.start()
    good = server.load(50, seconds)
    thread.join()
    held = server.metric("flightplan_in_flight_requests")
    asked = server.metric(r'grpc_server_started_total\{[^}]*grpc_method="PlanLayouts"[^}]*\}')
    end = time.monotonic() + 20
    ended = 0.0
    while ended < asked and time.monotonic() < end:
        time.sleep(0.2)
        ended = server.metric(r'grpc_server_handled_total\{[^}]*grpc_method="PlanLayouts"[^}]*\}')
    print(f"slow_readers: plans asked={asked:.0f} in_flight={held:.0f} ended={ended:.0f} good_ok={good['ok']:.0f} "
          f"good_failed={good['failed']:.0f} good_refused={good['refused']:.0f}", flush=True)
    server.stop()
    return asked > 0 and ended == asked and good["failed"] == 0 and good["ok"] >= 0.95 * good["total"]


def unread_batches():
    server = Server(bindir, "--max_deadline=60s", "--cache_bytes=0")
    server.load(50, seconds)
    before = peak_mib(server.process.pid)
    peers = [connect(server, DEAF_OPENING) for _ in range(16)]
    stop = time.monotonic() + seconds

    def ask(peer, of):
        with contextlib.suppress(OSError):
            peer.settimeout(1)
            for i in range(4000):
                item = encode_batch(of * 4000 + i)
                peer.sendall(grpc_call(1, BATCH, item, more=True) if i == 0 else frame(DATA, 0, 1, grpc_message(item)))
                time.sleep(0.002)  # no faster than the server allows: to do more is an error of the connection
                if time.monotonic() > stop:
                    return

    threads = [threading.Thread(target=ask, args=(peer, i)) for i, peer in enumerate(peers)]
    for thread in threads:
        thread.start()
    good = server.load(50, seconds)
    for thread in threads:
        thread.join()
    after = peak_mib(server.process.pid)
    print(f"slow_readers: batches peak_mib={before:.0f}->{after:.0f} good_ok={good['ok']:.0f} good_failed={good['failed']:.0f} "
          f"good_p99_ms={good['p99_ms']:.0f}", flush=True)
    server.stop()
    return after - before < HELD_MIB and good["failed"] == 0


def unread_answers():
    """Lists of all rules that nobody reads, on many connections: the oldest calls are ended, and others are answered."""
    server = Server(bindir)
    server.load(50, 1)
    before = peak_mib(server.process.pid)
    ask = encode("ListRulesRequest", "page_size: 1000", "catalog_service")
    peers = [connect(server, DEAF_OPENING) for _ in range(60)]
    stop = time.monotonic() + 6 * seconds

    def flood():
        with contextlib.suppress(OSError):
            for stream in range(1, 201, 2):
                for peer in peers:
                    peer.sendall(grpc_call(stream, "/flightplan.v1.CatalogService/ListRules", ask))
                if time.monotonic() > stop:
                    return

    thread = threading.Thread(target=flood)
    thread.start()
    good = server.load(50, seconds)
    thread.join()
    time.sleep(2)
    asked = server.metric(r'grpc_server_started_total\{[^}]*grpc_method="ListRules"[^}]*\}')
    given_up = server.metric("flightplan_unread_answers_given_up_total")
    after = peak_mib(server.process.pid)
    print(f"slow_readers: answers asked={asked:.0f} given_up={given_up:.0f} peak_mib={before:.0f}->{after:.0f} "
          f"good_ok={good['ok']:.0f} good_failed={good['failed']:.0f} good_p99_ms={good['p99_ms']:.0f}", flush=True)
    server.stop()
    return after - before < UNREAD_MIB and given_up > 0 and good["failed"] == 0 and good["ok"] >= 0.95 * good["total"]


def encode_batch(i, template=[]):  # noqa: B006  one encoding, with a number that is changed
    if not template:
        template.append(encode("BatchResolveRequest", 'request_id: "00000000" resolve { ' + SMALL + LAYOUT + " }"))
    return template[0].replace(b"00000000", b"%08d" % i, 1)


def searches():
    """A tenant who leaves layouts open, many at a time, beside one who asks small questions: the second's answers."""
    scratch = tempfile.TemporaryDirectory(prefix="slow-readers-")
    server = Server(bindir, tokens(scratch.name, "loud", "quiet"), "--cache_bytes=0")
    alone = server.load(40, seconds, "--token=quiet", "--cold")
    peer = connect(server, OPENING)
    stop = time.monotonic() + seconds + 1
    asked = 0

    def ask():
        nonlocal asked
        for i in range(10_000):
            if time.monotonic() > stop:
                return
            peer.sendall(grpc_call(2 * i + 1, RESOLVE, encode("ResolveConfigRequest", open_layout(8192 + 1024 * (i % 32))), "loud"))
            asked += 1
            time.sleep(0.2)

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.5)
    beside = server.load(40, seconds, "--token=quiet", "--cold")
    thread.join()
    found = server.metric(r'flightplan_outcomes_total\{[^}]*\}')
    print(f"slow_readers: searches asked={asked} quiet_ok={alone['ok']:.0f}->{beside['ok']:.0f} of {beside['total']:.0f} "
          f"quiet_p50_ms={alone['p50_ms']:.1f}->{beside['p50_ms']:.1f} quiet_p99_ms={alone['p99_ms']:.1f}->{beside['p99_ms']:.1f} "
          f"answers={found:.0f}", flush=True)
    server.stop()
    return beside["ok"] >= 0.95 * beside["total"] and beside["failed"] == 0


failed = [part.__name__ for part in (unread_plans, unread_answers, unread_batches, searches) if not part()]
if failed:
    sys.exit(f"failed: {', '.join(failed)}")
