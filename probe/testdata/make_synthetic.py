#!/usr/bin/env python3
"""Writes synthetic.json: a whole profile of a device that does not exist, from round figures and seeded noise.

Nothing in it was measured. It exercises the method, the protocol, the fit and the report; it is never evidence.
"""
import json
import pathlib
import random

SMS, COPY, READ, FILL, FLOPS, LINK, NETWORK = 120, 4e12, 4.2e12, 3.8e12, 8e14, 4e11, 4e10
T, H, K, E, F, L, RANKS = 4096, 2048, 8, 128, 768, 8, 8
noise = random.Random(5)


def samples(center, count=11):
    return [float(f"{center * (1 + 0.004 * noise.gauss(0, 1)):.6g}") for _ in range(count)]


def row(rid, unit, value, work=0, labels=None, **parameters):
    """One row whose median is about `value`, in its unit."""
    center = 1e6 * work / value if work else value
    return {"id": rid, "unit": unit, "work": work, "kind": "synthetic", "parameters": parameters,
            "labels": labels or {}, "samples": samples(center)}


def smooth(x, slope, ceiling, power):
    return ((slope * x) ** -power + ceiling ** -power) ** (-1 / power)


B, FL, US, RATIO = "bytes_per_second", "flops_per_second", "us", "ratio"
experiments = []


def add(group, *rows, stage=0):
    experiments.append({"group": group, "stage": stage, "rows": list(rows)})


def ceilings():
    for mib in (64, 128, 256):
        size = mib << 20
        add("ceilings", row("hbm.copy", B, COPY, 2 * size, bytes=size))
        add("ceilings", row("hbm.copy_engine", B, 0.98 * COPY, 2 * size, bytes=size), stage=1)
        add("ceilings", row("hbm.read", B, READ, size, bytes=size))
        add("ceilings", row("hbm.fill", B, FILL, size, bytes=size))
        add("ceilings", row("hbm.memset", B, 0.99 * FILL, size, bytes=size), stage=1)
    for op, ceiling in (("copy", COPY), ("read", READ), ("fill", FILL)):
        for sms in (1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96, SMS):
            size = 128 << 20
            counted = 2 * size if op == "copy" else size
            add("ceilings", row("hbm.sm_curve", B, smooth(sms, 1e11, ceiling, 6), counted, {"op": op}, sms=sms, bytes=size),
                stage=1)
    for path, share in (("cublaslt", 1.0), ("own", 0.8)):
        add("ceilings", row("mm.dense", FL, share * FLOPS, 2 * 8192 ** 3, {"path": path}, n=8192, k=8192, rows=8192))
    add("ceilings", row("timing.null", US, 1.6, kernels=256))


def dispatch():
    shape = {"tokens": T, "hidden": H, "topk": K, "experts": E}
    rows, wide = T * K * H * 2, T * H * 2
    add("dispatch", row("router.topk", US, 6.0, **shape))
    add("dispatch", row("permute.map", US, 9.0, **shape))
    for rid, share, counted in (("permute.fwd", 0.93, wide + rows + T * K * 12), ("permute.bwd", 0.90, rows + wide),
                                ("unpermute.fwd", 0.91, rows + wide + T * K * 8),
                                ("unpermute.bwd", 0.84, wide + 2 * rows + T * K * 4), ("chunk.sort", 0.94, 2 * rows)):
        add("dispatch", row(rid, B, share * COPY, counted, **shape))


def experts():
    for m in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192):
        stage = 0 if m in (256, 1024, 4096) else 1
        for rid, k, n, labels in (("gemm.fc1", H, 2 * F, {}), ("gemm.fc2", F, H, {}), ("gemm.dgrad", 2 * F, H, {"layer": "fc1"}),
                                  ("gemm.wgrad", H, 2 * F, {"layer": "fc1"}), ("gemm.wgrad", F, H, {"layer": "fc2"})):
            rate = smooth(m, 2.2e12, 0.85 * FLOPS, 1.6)
            add("experts", row(rid, FL, rate, 2 * L * m * k * n, {"path": "cublaslt", **labels}, rows=m, experts=L, k=k, n=n),
                stage=stage)
    for zipf, ratio in ((0.5, 1.03), (1.0, 1.11), (1.5, 1.24)):
        add("experts", row("gemm.skew", RATIO, ratio, 0, {"path": "cublaslt"}, zipf=zipf, rows=1024, experts=L), stage=1)
    n = T * K
    add("experts", row("act.swiglu.fwd", B, 0.93 * COPY, 3 * n * F * 2, rows=n, ffn=F))
    add("experts", row("act.swiglu.bwd", B, 0.88 * COPY, 5 * n * F * 2, rows=n, ffn=F))
    add("experts", row("norm.fwd", B, 0.92 * COPY, 2 * T * H * 2, tokens=T, hidden=H))


SENT = T * K * H * 2 * (RANKS - 1) // RANKS


def exchange():
    for sms in (4, 8, 16, 20, 24, 32, 48, 64):
        rate = smooth(sms, 1e11, COPY, 6) / 2
        add("exchange", row("a2a.logical", B, rate, SENT, sms=sms, bytes=SENT, ranks=RANKS), stage=0 if sms == 20 else 1)
        paced = smooth(sms, 5e10, LINK, 8)
        add("exchange", row("a2a.paced", B, paced, SENT, sms=sms, bytes=SENT, ranks=RANKS, link_bytes_per_second=LINK),
            stage=0 if sms == 20 else 1)
    add("exchange", row("a2a.meta", US, 14, ranks=RANKS, experts=E))
    experiments.append({"group": "exchange", "stage": 0, "absent": "needs two GPUs",
                        "rows": [row("a2a.p2p.push", B, LINK, SENT, sms=20, bytes=SENT, ranks=2)]})


def overlap():
    for sms in (4, 8, 16, 20, 24, 32, 48, 64):
        add("overlap", row("gemm.sm_budget", RATIO, SMS / (SMS - sms), sms=sms), stage=0 if sms == 20 else 1)
    for link, pace in (("paced", LINK), ("paced", NETWORK), ("push", 0), ("copy_engine", 0)):
        for other, base in (("gemm", 1.02), ("wgrad", 1.04), ("elementwise", 1.15), ("attention", 1.03)):
            for sms in ((0,) if link == "copy_engine" else (8, 20, 32)):
                labels = {"communication": link, "compute": other}
                at = {"sms": sms, **({"link_bytes_per_second": pace} if pace else {})}
                add("overlap",
                    row("corun.matrix", RATIO, base + 1.05 * sms / (SMS - sms), 0, {**labels, "side": "compute"}, **at),
                    row("corun.matrix", RATIO, 1.1 + 0.3 * sms / SMS, 0, {**labels, "side": "communication"}, **at),
                    stage=0 if sms in (0, 20) and other == "gemm" else 1)
    for priority in ("normal", "high"):
        for launch in ("plain", "cooperative"):
            add("overlap", row("corun.start", US, 12 if launch == "plain" else 60, 0, {"priority": priority, "launch": launch},
                               sms=20), stage=1)
    shape = {"tokens": T, "hidden": H, "topk": K, "experts": E, "ffn": F, "ranks": RANKS, "sms": 20,
             "link_bytes_per_second": LINK}
    parts = {"pre.fwd": 300, "dispatch.fwd": 330, "mlp.fwd": 420, "combine.fwd": 350, "combine.bwd": 330, "mlp.bwd": 430,
             "mlp.wgrad": 400, "dispatch.bwd": 350, "pre.bwd": 500, "pre.wgrad": 150}
    for node, us in parts.items():
        add("overlap", row("pair.part", US, us, 0, {"node": node}, **shape))
    total = sum(parts.values())
    for rid, us in (("pair.seq", total), ("pair.overlap", 0.76 * total), ("pair.overlap_dw", 0.73 * total),
                    ("pair.early_release", 0.78 * total)):
        add("overlap", row(rid, US, us, **shape))
    for connections, us in ((1, 0.80 * total), (32, 0.76 * total)):
        add("overlap", row("corun.queues", US, us, connections=connections, sms=20), stage=1)
    add("overlap", row("wgrad.split", RATIO, 1.02, rows=1024), stage=1)


def launch():
    for side, eager, graph in (("host", 2.1, 9.0), ("device", 2.9, 1.6)):
        add("launch", row("launch.eager", US, eager, 0, {"side": side}, kernels=256))
        add("launch", row("launch.graph", US, graph, 0, {"side": side}, kernels=256))
    for scope, kernels, saved in (("attn", 24, 30), ("router", 16, 20), ("preprocess", 10, 12)):
        add("launch", row("scope.small", US, saved, 0, {"scope": scope}, kernels=kernels))
    for step, us in (("capture", 300), ("instantiate", 500), ("upload", 90)):
        add("launch", row("graph.cost", US, us, 0, {"step": step}, kernels=256), stage=1)


def memory():
    for mib in (1, 4, 16, 64, 128):
        size = mib << 20
        rate = smooth(size, 1e5, 5.5e10, 1)
        add("memory", row("offload.d2h", B, rate, size, bytes=size), stage=0 if mib == 64 else 1)
        add("memory", row("offload.h2d", B, rate, size, bytes=size), stage=0 if mib == 64 else 1)
    add("memory", row("offload.bidir", B, 9.5e10, 128 << 20, bytes=64 << 20))
    for compute in ("gemm", "elementwise"):
        add("memory", row("offload.hide", RATIO, 0.97, 0, {"compute": compute, "value": "hidden"}, bytes=64 << 20),
            row("offload.hide", RATIO, 1.02, 0, {"compute": compute, "value": "slowdown"}, bytes=64 << 20))
    add("memory", row("recompute.norm", US, 9.1, tokens=T, hidden=H))
    add("memory", row("recompute.act", US, 41, rows=T * K, ffn=F))


def main():
    for group in (ceilings, dispatch, experts, exchange, overlap, launch, memory):
        group()
    state = {"sm_clock_mhz": 1800, "memory_clock_mhz": 3000, "power_watts": 600, "power_limit_watts": 700,
             "temperature_celsius": 55}
    device = {"name": "Synthetic GPU", "uuid": "GPU-5ca1ab1e-0000-0000-0000-000000000001", "driver_version": "0.0",
              "sm_count": SMS, "memory_bytes": 128 << 30, "l2_bytes": 64 << 20}
    lines = ",\n".join(json.dumps(e, separators=(",", ":")) for e in experiments)
    text = (f'{{"device":{json.dumps(device)},\n"states":[{json.dumps(state)}],\n"experiments":[\n{lines}\n]}}\n')
    (pathlib.Path(__file__).parent / "synthetic.json").write_text(text)


if __name__ == "__main__":
    main()
