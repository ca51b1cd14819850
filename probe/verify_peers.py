#!/usr/bin/env python3
"""The probe's rows against peers on the same GPU in the same minutes: PyTorch, own Triton kernels, the profiler's clock.

usage: verify_peers.py PROFILE.json OUT.json RUN.json RUN.json...   one line a row: value, peer, ratio, goal, verdict
       verify_peers.py --profile LINES.jsonl PROFILE.json          takes the profile out of a worker's lines
       verify_peers.py --timing PROFILE.json NCU.csv               rows against gpu__time_duration of the same kernels
       verify_peers.py --team RUN.json RUN.json...                 exchanges between GPUs: by each way, and how far runs differ
A peer that is not installed is told, and its rows are skipped. Exit code 0: every goal that could be held was met; 2: some
were missed; 3: a comparison itself broke, so that what was missed is not known; 1: nothing was compared.
"""
import csv
import json
import re
import statistics
import sys
import time
import traceback

T, H, K, E, F, L = 4096, 2048, 8, 128, 768, 8
RESULTS = []
BROKEN = []  # comparisons that ended in an exception
ALL_MET, NOTHING, MISSED, BROKE = 0, 1, 2, 3


def compare(name, work, *arguments):
    """One group of comparisons; where it breaks the others go on."""
    try:
        work(*arguments)
    except Exception:  # whatever a peer of any version throws
        BROKEN.append(name)
        print(f"BROKEN: {name}")
        traceback.print_exc(file=sys.stdout)


def verdict():
    """Tells what came out; the exit code."""
    missed = [r["name"] for r in RESULTS if not r["met"]]
    print(f"{len(RESULTS) - len(missed)} of {len(RESULTS)} goals met" + (f", {len(BROKEN)} comparisons broke" if BROKEN else ""))
    return BROKE if BROKEN else NOTHING if not RESULTS else MISSED if missed else ALL_MET


def rows_of(path):
    with open(path) as file:
        return json.load(file)["rows"]


def find(rows, rid, labels=None, /, **parameters):
    """The best row with this id and these parameters; None: not measured. K is the default shape's unless it is asked for."""
    parameters.setdefault("topk", K)
    fit = [r for r in rows if r["id"] == rid and all(r["labels"].get(k) == v for k, v in (labels or {}).items())
           and all(r["parameters"].get(k, v if k == "topk" else None) == v for k, v in parameters.items())]
    return max((r["value"] for r in fit), default=None)


def report(name, value, peer, ratio, goal, at_least=True):
    if ratio is None:
        print(f"{name:44} {'':>12} {'':>12} {'':>8}   {goal or '':>8}  skipped: not measured")
        return
    if goal is None:  # told, and held to nothing
        print(f"{name:44} {value:12.5g} {peer:12.5g} {ratio:8.3f}")
        return
    good = ratio >= goal if at_least else ratio <= goal
    RESULTS.append({"name": name, "value": value, "peer": peer, "ratio": ratio, "goal": goal, "at_least": at_least, "met": good})
    sign = ">=" if at_least else "<="
    print(f"{name:44} {value:12.5g} {peer:12.5g} {ratio:8.3f} {sign} {goal:<6} {'met' if good else 'MISSED'}")


def against(rows, name, rid, peer_id, goal, labels=None, peer_labels=None, at_least=True):
    value, peer = find(rows, rid, labels), find(rows, peer_id, peer_labels)
    report(name, value, peer, value / peer if value and peer else None, goal, at_least)


# Bytes that one operation reads and writes.
MOVED = {"permute.fwd": 2 * T * H + 2 * T * K * H, "permute.bwd": 2 * T * H + 2 * T * K * H,
         "unpermute.fwd": 2 * T * H + 2 * T * K * H, "unpermute.bwd": 2 * T * H + 4 * T * K * H, "chunk.sort": 4 * T * K * H,
         "act.swiglu.fwd": 6 * T * K * F, "act.swiglu.bwd": 10 * T * K * F, "norm.fwd": 4 * T * K * H}


def copy_of(rows, moved):
    """The copy that moves about as much; a longer one is faster, a shorter one finds more in the cache."""
    copies = [r for r in rows if r["id"] == "hbm.copy"]
    return min(copies, key=lambda r: abs(2 * r["parameters"]["bytes"] - moved))["value"] if copies else None


def own_rows(rows):
    """Rows against rows of the same profile."""
    against(rows, "hbm.copy / cudaMemcpyAsync", "hbm.copy", "hbm.copy_engine", 0.97)
    against(rows, "hbm.fill / cudaMemsetAsync", "hbm.fill", "hbm.memset", 0.97)
    for rid, goal in (("permute.fwd", 0.90), ("permute.bwd", 0.88), ("unpermute.fwd", 0.88), ("unpermute.bwd", 0.80),
                      ("chunk.sort", 0.90), ("act.swiglu.fwd", 0.90), ("act.swiglu.bwd", 0.85), ("norm.fwd", 0.90)):
        against(rows, f"{rid} / hbm.copy", rid, "hbm.copy", None)
        value, copy = find(rows, rid), copy_of(rows, MOVED[rid])
        report(f"{rid} / copy of about its bytes", value, copy, value / copy if value and copy else None, goal)
    for path, goal in (("own", 0.5), ("tma", 0.85)):  # mma.sync reaches about six tenths of Hopper's tensor cores
        against(rows, f"mm.dense {path} / cublaslt", "mm.dense", "mm.dense", goal, {"path": path}, {"path": "cublaslt"})
    for rid in ("gemm.fc1", "gemm.fc2", "gemm.dgrad", "gemm.wgrad"):
        own = max(filter(None, (find(rows, rid, {"path": path}, rows=1024) for path in ("own", "tma"))), default=None)
        library = find(rows, rid, {"path": "cublaslt"}, rows=1024)
        report(f"{rid} best own / cublaslt, 1024 rows", own, library, own / library if own and library else None, 0.85)
    for sms in (8, 20, 32):
        logical, curve = find(rows, "a2a.logical", sms=sms), find(rows, "hbm.sm_curve", {"op": "copy"}, sms=sms)
        report(f"a2a.logical / hbm.sm_curve, {sms} SMs", 2 * logical if logical else None, curve,
               2 * logical / curve if logical and curve else None, 0.90)
    for row in rows:
        if row["id"] == "a2a.paced" and row["parameters"]["sms"] == 20:
            asked = row["parameters"]["link_bytes_per_second"]
            report(f"a2a.paced / asked, {asked / 1e9:.0f} GB/s", row["value"], asked, 1 + abs(row["value"] / asked - 1), 1.02, False)
    parts = [r["value"] for r in rows if r["id"] == "pair.part"]
    whole = find(rows, "pair.seq")
    report("pair.seq / sum of its parts", whole or 0, sum(parts), 1 + abs(whole / sum(parts) - 1) if whole and parts else None,
           1.03, False)


# What a neighbour on the host's cores, or on its memory, changes.
OF_THE_HOST = ("launch.", "scope.", "graph.", "offload.", "a2a.meta")


def key_of(row):
    return row["id"], tuple(sorted(row["parameters"].items())), tuple(sorted(row["labels"].items()))


def repeat(runs):
    """How far any two of the runs are apart, row by row."""
    values = {}
    for run in runs:
        for row in run:
            values.setdefault(key_of(row), []).append(row["value"])
    off = {key: (max(v) - min(v)) / statistics.median(v) for key, v in values.items() if len(v) == len(runs) and min(v) > 0}
    if not off:
        return report("q.repeat", None, None, None, 0.02)
    for of, chosen, goals in (("", off, (0.02, 0.05)),
                              (" the device's own", [k for k in off if not k[0].startswith(OF_THE_HOST)], (None, None)),
                              (" the host has part in", [k for k in off if k[0].startswith(OF_THE_HOST)], (None, None))):
        apart = sorted(off[key] for key in chosen)
        if not apart:
            continue
        median, p95 = statistics.median(apart), apart[min(len(apart) - 1, int(0.95 * len(apart)))]
        report(f"q.repeat median of {len(apart)} rows{of}", median, 0, median, goals[0], False)
        report(f"q.repeat p95{of}", p95, 0, p95, goals[1], False)


def team_rows(rows):
    """Exchanges between GPUs against NCCL's, which users run; only what is told of the probe itself is held to a goal."""
    for rid in ("a2a.p2p.push", "a2a.p2p.pull", "a2a.ce"):
        against(rows, f"{rid} / a2a.nccl, largest", rid, "a2a.nccl", None)
    latency = {path: find(rows, "a2a.alpha", {"path": path}) for path in ("push", "pull", "copy_engine", "nccl")}
    for path in ("push", "pull", "copy_engine"):
        both = latency[path] and latency["nccl"]
        report(f"a2a.alpha {path} / nccl", latency[path], latency["nccl"], latency[path] / latency["nccl"] if both else None, None)
    for row in rows:
        if row["id"] == "a2a.straggler":
            report(f"a2a.straggler {row['labels']['path']}", row["value"], 1, row["value"], None)
        if row["id"] == "a2a.skew":
            # By the bytes of the busiest rank; NCCL may do better, as a receiver is served by all links at once.
            ranks, zipf = int(row["parameters"]["ranks"]), row["parameters"]["zipf"]
            busiest = ranks / sum((r + 1) ** -zipf for r in range(ranks))
            report(f"a2a.skew / busiest rank, zipf {zipf}", row["value"], busiest, row["value"] / busiest, None)
        if row["id"] == "corun.matrix" and row["kind"] == "measured":
            labels = row["labels"]
            report(f"{labels['communication']} beside {labels['compute']}: {labels['side']}", row["value"], 1, row["value"], None)


def timed_us(torch, *works, turns=30, rounds=9):
    """Median time of one call, from a CUDA graph where the call allows it. Of several works, on buffers of their own, one
    comes after the other, so that no call finds in the cache what the one before has left there."""
    def queue():
        for turn in range(turns):
            works[turn % len(works)]()

    queue()
    torch.cuda.synchronize()
    graph = None
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            queue()
    except RuntimeError:
        graph = None
        torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        if graph is not None:
            graph.replay()
        else:
            queue()
        end.record()
        torch.cuda.synchronize()
        times.append(1e3 * begin.elapsed_time(end) / turns)
    return statistics.median(times)


def seconds_of(rows, rid, counted, labels=None, /, **parameters):
    rate = find(rows, rid, labels, **parameters)
    return counted / rate * 1e6 if rate else None  # microseconds


def faster(name, ours_us, peer_us, goal):
    """Our time over the peer's."""
    report(name, ours_us or 0, peer_us or 0, ours_us / peer_us if ours_us and peer_us else None, goal, False)


def torch_rows(rows, torch):
    """What a layer does to its rows."""
    device = torch.device("cuda")
    torch.manual_seed(1)
    wide, many = 2 * T * H, 2 * T * K * H
    tokens = torch.randn(T, H, device=device, dtype=torch.bfloat16)
    permuted = torch.randn(T * K, H, device=device, dtype=torch.bfloat16)
    experts = torch.stack([torch.randperm(E, device=device)[:K] for _ in range(T)])
    order = torch.argsort(experts.flatten(), stable=True)
    source = order // K

    logits = torch.randn(T, E, device=device)
    faster("router.topk / torch softmax + topk", find(rows, "router.topk"),
           timed_us(torch, lambda: torch.topk(torch.softmax(logits, -1), K)), 0.5)
    faster("permute.map / torch argsort", find(rows, "permute.map"),
           timed_us(torch, lambda: torch.argsort(experts.flatten(), stable=True)), 0.25)
    faster("permute.fwd / torch index_select", seconds_of(rows, "permute.fwd", wide + many + 12 * T * K),
           timed_us(torch, *[lambda x=x, y=y: torch.index_select(x, 0, source, out=y) for x, y in
                             ((tokens, torch.empty_like(permuted)), (tokens.clone(), torch.empty_like(permuted)))]), 1.0)
    out = torch.zeros(T, H, device=device, dtype=torch.bfloat16)
    index = source[:, None].expand(-1, H).contiguous()
    faster("unpermute.fwd / torch scatter_add_", seconds_of(rows, "unpermute.fwd", many + wide + 8 * T * K),
           timed_us(torch, lambda: out.scatter_add_(0, index, permuted), turns=5), 0.4)
    both = torch.randn(T * K, 2 * F, device=device, dtype=torch.bfloat16)
    faster("unpermute.fwd / torch index_add_", seconds_of(rows, "unpermute.fwd", many + wide + 8 * T * K),
           timed_us(torch, lambda: out.index_add_(0, source, permuted), turns=5), 1.0)
    weight = torch.ones(H, device=device, dtype=torch.bfloat16)
    if hasattr(torch.nn.functional, "rms_norm"):
        faster("norm.fwd / torch rms_norm", seconds_of(rows, "norm.fwd", 2 * many),
               timed_us(torch, lambda: torch.nn.functional.rms_norm(permuted, (H,), weight)), 1.0)
    faster("act.swiglu.fwd / torch silu*mul", seconds_of(rows, "act.swiglu.fwd", 6 * T * K * F),
           timed_us(torch, lambda: torch.nn.functional.silu(both[:, :F]) * both[:, F:]), 1.0)
    flat = torch.randn(128 << 20, device=device, dtype=torch.bfloat16)
    summed, read = timed_us(torch, lambda: torch.sum(flat), turns=8), find(rows, "hbm.read")
    rate = 2 * flat.numel() / summed * 1e6
    report("hbm.read / torch.sum (rate)", read or 0, rate, read / rate if read else None, 0.98)


def torch_gemms(rows, torch):
    """The library's GEMMs by the way that PyTorch calls it."""
    device = torch.device("cuda")
    a = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    dense = timed_us(torch, lambda: a @ a.t(), turns=4)
    library = seconds_of(rows, "mm.dense", 2 * 8192 ** 3, {"path": "cublaslt"})
    report("mm.dense cublaslt / torch.matmul (rate)", library or 0, dense, dense / library if library else None, 0.98)
    x = torch.randn(L, 1024, H, device=device, dtype=torch.bfloat16)
    w = torch.randn(L, 2 * F, H, device=device, dtype=torch.bfloat16)
    loop = timed_us(torch, lambda: [x[i] @ w[i].t() for i in range(L)], turns=8)
    ours = seconds_of(rows, "gemm.fc1", 2 * L * 1024 * H * 2 * F, {"path": "cublaslt"}, rows=1024)
    faster("gemm.fc1 cublaslt / torch loop, 1024 rows", ours, loop, 1.03)
    if hasattr(torch, "_grouped_mm"):
        try:
            ends = torch.arange(1, L + 1, device=device, dtype=torch.int32) * 1024
            flat, turned = x.reshape(L * 1024, H), w.transpose(1, 2)
            grouped = timed_us(torch, lambda: torch._grouped_mm(flat, turned, offs=ends), turns=8)
            faster("gemm.fc1 cublaslt / torch._grouped_mm", ours, grouped, 1.03)
        except RuntimeError as error:
            print(f"skipped: torch._grouped_mm ({str(error).splitlines()[0]})")
    dy, kept = torch.randn(L, 1024, 2 * F, device=device, dtype=torch.bfloat16), torch.zeros(L, 2 * F, H, device=device)

    def wgrad():  # as without the fused accumulation: the product, then its sum in fp32
        for i in range(L):
            kept[i] += dy[i].t() @ x[i]

    faster("gemm.wgrad fc1 cublaslt / torch matmul, add to fp32",
           seconds_of(rows, "gemm.wgrad", 2 * L * 1024 * H * 2 * F, {"path": "cublaslt", "layer": "fc1"}, rows=1024),
           timed_us(torch, wgrad, turns=8), 1.0)


def graph_gap(rows, clock_mhz):
    """A graph's node without what its kernel spins for (launch.cu: 2500 cycles)."""
    node = find(rows, "launch.graph", {"side": "device"})
    return node - 2500 / clock_mhz if node and clock_mhz else None


def torch_launches(rows, torch, clock_mhz):
    """What an operator costs the host, and a node of a graph the device, on tensors that take no time."""
    small, count = torch.zeros(32, device="cuda"), 256

    def chain():
        for _ in range(count):
            small.add_(1)

    chain()
    torch.cuda.synchronize()
    times = []
    for _ in range(9):
        begin = time.perf_counter()
        chain()
        times.append(1e6 * (time.perf_counter() - begin) / count)
        torch.cuda.synchronize()
    faster("launch.eager host / torch add_, no autograd", find(rows, "launch.eager", {"side": "host"}), statistics.median(times), 1.0)
    faster("launch.graph device, its gap / torch graph of add_", graph_gap(rows, clock_mhz), timed_us(torch, chain, turns=1) / count,
           1.0)


def torch_pair(rows, torch):
    """Expert GEMMs beside a copy of an exchange's bytes on two streams, over both in turn. Other work than the pair's own
    nodes: it says whether this card and driver overlap at all as the probe found."""
    device, side = torch.device("cuda"), torch.cuda.Stream()
    x = torch.randn(L, 2048, H, device=device, dtype=torch.bfloat16)
    w = torch.randn(L, 2 * F, H, device=device, dtype=torch.bfloat16)
    sent = torch.randn(2048 * K, H, device=device, dtype=torch.bfloat16)
    received = torch.empty_like(sent)

    def step(other):
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            received.copy_(sent)
        for i in range(L):
            x[i] @ w[i].t()
        torch.cuda.current_stream().wait_stream(other)

    turn = timed_us(torch, lambda: step(torch.cuda.current_stream()), turns=8)
    both = timed_us(torch, lambda: step(side), turns=8) / turn
    overlapped, in_turn = find(rows, "pair.overlap"), find(rows, "pair.seq")
    ours = overlapped / in_turn if overlapped and in_turn else None
    report("pair.overlap/seq over torch on two streams", ours or 0, both, ours / both if ours else None, 1.1, False)


def torch_copies(rows, torch):
    """Copies to the host and back."""
    device = torch.device("cuda")
    for op, host_first in (("offload.d2h", False), ("offload.h2d", True)):
        count = 64 << 20
        host, here = torch.empty(count, dtype=torch.uint8, pin_memory=True), torch.empty(count, dtype=torch.uint8, device=device)
        copy = (lambda: here.copy_(host, non_blocking=True)) if host_first else (lambda: host.copy_(here, non_blocking=True))
        faster(f"{op} / torch copy_, 64 MiB", seconds_of(rows, op, count, bytes=count), timed_us(torch, copy, turns=4), 1.03)


def triton_peers(rows, torch):
    """Own ports of the published semantics of a fused permute (row id map, push) and unpermute (weighted gather)."""
    global triton, tl  # where Triton looks for the names in a kernel
    import triton
    import triton.language as tl

    @triton.jit
    def permute(x, places, out, width: tl.constexpr, topk: tl.constexpr, block: tl.constexpr):
        token = tl.program_id(0)
        at = tl.program_id(1) * block + tl.arange(0, block)
        value = tl.load(x + token * width + at, mask=at < width)
        for k in range(topk):
            place = tl.load(places + token * topk + k).to(tl.int64)
            tl.store(out + place * width + at, value, mask=at < width)

    @triton.jit
    def unpermute(x, places, probs, out, width: tl.constexpr, topk: tl.constexpr, block: tl.constexpr):
        token = tl.program_id(0)
        at = tl.program_id(1) * block + tl.arange(0, block)
        total = tl.zeros((block,), tl.float32)
        for k in range(topk):
            place = tl.load(places + token * topk + k).to(tl.int64)
            weight = tl.load(probs + token * topk + k)
            total += weight * tl.load(x + place * width + at, mask=at < width, other=0).to(tl.float32)
        tl.store(out + token * width + at, total.to(tl.bfloat16), mask=at < width)

    @triton.jit
    def unpermute_grad(grad, x, places, probs, out, probs_grad, width: tl.constexpr, topk: tl.constexpr, block: tl.constexpr):
        token = tl.program_id(0)
        for k in range(topk):
            place = tl.load(places + token * topk + k).to(tl.int64)
            weight = tl.load(probs + token * topk + k)
            product = tl.zeros((block,), tl.float32)
            for begin in range(0, width, block):
                at = begin + tl.arange(0, block)
                g = tl.load(grad + token * width + at, mask=at < width, other=0).to(tl.float32)
                product += g * tl.load(x + place * width + at, mask=at < width, other=0).to(tl.float32)
                tl.store(out + place * width + at, (weight * g).to(tl.bfloat16), mask=at < width)
            tl.store(probs_grad + token * topk + k, tl.sum(product, 0))

    device = torch.device("cuda")
    tokens = torch.randn(T, H, device=device, dtype=torch.bfloat16)
    many = torch.empty(T * K, H, device=device, dtype=torch.bfloat16)
    places = torch.empty(T * K, device=device, dtype=torch.int32)
    experts = torch.stack([torch.randperm(E, device=device)[:K] for _ in range(T)])
    places[torch.argsort(experts.flatten(), stable=True)] = torch.arange(T * K, device=device, dtype=torch.int32)
    probs = torch.rand(T, K, device=device)
    grid = (T, triton.cdiv(H, 1024))
    faster("permute.fwd / Triton", seconds_of(rows, "permute.fwd", 2 * T * H + 2 * T * K * H + 12 * T * K),
           timed_us(torch, *[lambda x=x, y=y: permute[grid](x, places, y, H, K, 1024)
                             for x, y in ((tokens, many), (tokens.clone(), torch.empty_like(many)))]), 1.1)
    out = torch.empty_like(tokens)
    faster("unpermute.fwd / Triton", seconds_of(rows, "unpermute.fwd", 2 * T * K * H + 2 * T * H + 8 * T * K),
           timed_us(torch, lambda: unpermute[grid](many, places, probs, out, H, K, 1024)), 1.1)
    ones = torch.ones_like(probs)  # the gradient of a permute: its rows' sum
    faster("permute.bwd / Triton", seconds_of(rows, "permute.bwd", 2 * T * K * H + 2 * T * H),
           timed_us(torch, lambda: unpermute[grid](many, places, ones, out, H, K, 1024)), 1.1)
    of_rows, of_probs = torch.empty_like(many), torch.empty_like(probs)
    faster("unpermute.bwd / Triton", seconds_of(rows, "unpermute.bwd", 2 * T * H + 4 * T * K * H + 4 * T * K),
           timed_us(torch, lambda: unpermute_grad[(T,)](tokens, many, places, probs, of_rows, of_probs, H, K, 1024)), 1.1)


def take_profile(lines_path, profile_path):
    """The profile of a run, or its error; tells what is in it. Exit code 1: there is none."""
    lines = []
    with open(lines_path) as file:
        for line in file:
            try:
                lines.append(json.loads(line))
            except ValueError:
                print("not a line of JSON:", line[:80])
    error = next((line["error"] for line in lines if "error" in line), None)
    if error:
        print("error:", error["code"], error["message"])
    profile = next((line["profile"] for line in lines if "profile" in line), None)
    if profile is None:  # what a worker that died has left
        print("no profile;", sum("row" in line for line in lines), "rows")
        return 1
    with open(profile_path, "w") as file:
        json.dump(profile, file, indent=1)
    rows = profile["rows"]
    print(f"{len(rows)} rows, {sum(r['checked'] for r in rows)} checked, {profile['duration_us'] / 1e6:.1f} s,",
          "partial" if profile["partial"] else "whole", profile["conditions"])
    for note in profile["notes"]:
        print("  note:", note)
    return 0


# Kernels that only one shape of one row runs, or several rows of the same shape: their times can be held together.
TIMED = {"PermuteKernel": ("permute.fwd", 2 * T * H + 2 * T * K * H + 12 * T * K),
         "CombineGradKernel": ("unpermute.bwd", 2 * T * H + 4 * T * K * H + 4 * T * K),
         "MoveRowsKernel": ("chunk.sort", 4 * T * K * H), "TopkKernel": ("router.topk", None),
         "SwigluKernel": ("act.swiglu.fwd", 6 * T * K * F), "SwigluGradKernel": ("act.swiglu.bwd", 10 * T * K * F),
         "NormKernel": ("norm.fwd", 4 * T * K * H)}


def timing(profile_path, csv_path):
    """Rows against the profiler, which runs every kernel alone. A row's operation also pays for its place in a graph: that
    is timing.null less what the profiler says of the same empty kernel, and is taken off."""
    rows = rows_of(profile_path)
    measured = {}
    with open(csv_path) as file:  # lines of the profiler and of the program stand before the table
        table = csv.DictReader(line for line in file if line.startswith('"'))
        for line in table:
            name = re.search(r"\w+Kernel|$", line["Kernel Name"]).group()
            scale = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1, "ms": 1e3, "msecond": 1e3}[line["Metric Unit"]]
            measured.setdefault(name, []).append(float(line["Metric Value"].replace(",", "")) * scale)
    null, empty, off = find(rows, "timing.null"), measured.get("EmptyKernel"), []
    place = max(0.0, null - statistics.median(empty)) if null and empty else 0.0
    print(f"an operation's place in a graph: {place:.3f} us")
    for kernel, (rid, counted) in TIMED.items():
        ours = find(rows, rid) if counted is None else seconds_of(rows, rid, counted)
        if not ours or kernel not in measured:
            continue
        ours -= place
        theirs = statistics.median(measured[kernel])
        off.append(abs(ours - theirs) / theirs)
        print(f"{rid:20} {ours:10.3f} us, profiler {theirs:10.3f} us of {len(measured[kernel]):4} launches, off {off[-1]:.3f}")
    report("q.timing median", statistics.median(off) if off else None, 0, statistics.median(off) if off else None, 0.02, False)
    return verdict()


def main():
    if sys.argv[1:2] == ["--profile"] and len(sys.argv) == 4:
        sys.exit(take_profile(*sys.argv[2:]))
    if sys.argv[1:2] == ["--timing"] and len(sys.argv) == 4:
        sys.exit(timing(*sys.argv[2:]))
    if sys.argv[1:2] == ["--team"] and len(sys.argv) > 3:
        runs = [rows_of(path) for path in sys.argv[2:]]
        compare("rows between GPUs", team_rows, runs[0])
        compare("runs", repeat, runs)
        sys.exit(verdict())
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    profile, runs = rows_of(sys.argv[1]), [rows_of(path) for path in sys.argv[3:]]
    with open(sys.argv[1]) as file:
        clock_mhz = json.load(file).get("conditions", {}).get("sm_clock_mhz")
    print(f"{'row':44} {'value':>12} {'peer':>12} {'ratio':>8}   {'goal':>8}")
    compare("rows of one profile", own_rows, profile)
    compare("runs", repeat, runs)
    try:
        import torch
        if not torch.cuda.is_available():
            raise ImportError("torch sees no GPU")
        for peers in (torch_rows, torch_gemms, torch_pair, torch_copies):
            compare(peers.__name__, peers, profile, torch)
        compare("torch_launches", torch_launches, profile, torch, clock_mhz)
        try:
            import triton  # noqa: F401
            compare("triton_peers", triton_peers, profile, torch)
        except ImportError:
            print("skipped: Triton is not installed")
    except ImportError as error:
        print(f"skipped: PyTorch's peers ({error})")
    with open(sys.argv[2], "w") as file:
        json.dump(RESULTS, file, indent=1)
    sys.exit(verdict())


if __name__ == "__main__":
    main()
