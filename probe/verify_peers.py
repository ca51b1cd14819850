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

import verify_torch
from verify_report import RESULTS, F, H, K, T, against, compare, find, report, rows_of, seconds_of, verdict

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
        for peers in (verify_torch.torch_rows, verify_torch.torch_gemms, verify_torch.torch_pair, verify_torch.torch_copies):
            compare(peers.__name__, peers, profile, torch)
        compare("torch_launches", verify_torch.torch_launches, profile, torch, clock_mhz)
        try:
            import triton  # noqa: F401
            compare("triton_peers", verify_torch.triton_peers, profile, torch)
        except ImportError:
            print("skipped: Triton is not installed")
    except ImportError as error:
        print(f"skipped: PyTorch's peers ({error})")
    with open(sys.argv[2], "w") as file:
        json.dump(RESULTS, file, indent=1)
    sys.exit(verdict())


if __name__ == "__main__":
    main()
