#!/usr/bin/env python3
"""What `resolve` costs the server at the port for browsers beside gRPC: CPU of the server for each call, answered by the cache
and worked out, medians of ROUNDS rounds that take turns. Figures, no verdict.
usage: web_cost.py BINDIR [CALLS a round] [ROUNDS]"""
import http.client
import json
import os
import pathlib
import random
import statistics
import sys

from drill_server import Server

bindir = sys.argv[1]
calls = int(sys.argv[2]) if len(sys.argv) > 2 else 500
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
PATH = "/flightplan.v1.ResolverService/ResolveConfig"
QUESTION = {  # that of tests/bench/sample_requests.h
    "model": {"name": "deepseek-v3"}, "hardware": {"gpu": "h100-sxm", "gpuCount": 1024},
    "workload": {"seqLength": 4096, "globalBatchSize": 8192, "precision": "bf16"}, "target": {"framework": "megatron-lm"},
    "software": {"teVersion": "2.12.0", "torchVersion": "2.9.0"},
    "layout": {"tensorModelParallelSize": 2, "pipelineModelParallelSize": 8, "virtualPipelineModelParallelSize": 4,
               "expertModelParallelSize": 64}}
number = random.randrange(10**6)


def cpu_s(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def next_question(cold):
    global number
    number += cold
    QUESTION["workload"]["globalBatchSize"] = 8192 + number * 128
    return json.dumps(QUESTION)


def by_web(cold, headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.web)
    size = 0
    for _ in range(calls):
        connection.request("POST", PATH, next_question(cold), {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"{answer.status}: {body[:300]}")
        size = len(body)
    connection.close()
    return calls, size


def by_grpc(cold):
    return int(server.load(250, calls / 250, *(["--cold"] if cold else []))["ok"]), 0


KINDS = {"grpc": by_grpc, "json": lambda cold: by_web(cold, {}), "json gzip": lambda cold: by_web(cold, {"Accept-Encoding": "gzip"})}
server = Server(bindir, "--web_listen=127.0.0.1:0")
for cold in (False, True):
    figures, sizes = {kind: [] for kind in KINDS}, {}
    for _ in range(rounds):
        for kind, ask in KINDS.items():
            before = cpu_s(server.process.pid)
            answered, sizes[kind] = ask(cold)
            figures[kind].append((cpu_s(server.process.pid) - before) / answered * 1e6)
    usual = statistics.median(figures["grpc"])
    for kind, rows in figures.items():
        median = statistics.median(rows)
        print(f"web_cost: {'worked out' if cold else 'from the cache'}, {kind}: cpu_us_per_call={median:.0f} "
              f"({min(rows):.0f}..{max(rows):.0f}) ratio={median / usual:.2f} answer_bytes={sizes[kind]}", flush=True)
server.stop()
