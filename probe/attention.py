#!/usr/bin/env python3
"""Adds attention to a profile: softmax attention forward and backward by sequence and head size, as PyTorch runs it on cuDNN,
which is what TransformerEngine runs for most models. The worker itself has no kernel that would stand for cuDNN's.

    flightplan probe --out gpu.json
    python3 probe/attention.py gpu.json --out with-attention.json    # wants PyTorch 2.5 or newer, and the same GPU
    flightplan probe --import with-attention.json

Causal, bf16. FLOPs are those of the causal half, of a backward pass two and a half times those of the forward."""
import argparse
import json
import statistics
import sys

TOKENS = 8192
SEQUENCES = (1024, 2048, 4096, 8192)
HEADS = ((32, 4, 128), (64, 8, 64))  # of queries, of keys and values, and their size
RUNS, SAMPLES = 5, 15


def samples(torch, run):
    """Seconds of one run, each of a window that is long enough for the events; the host queues ahead."""
    for _ in range(RUNS):
        run()
    taken = []
    for _ in range(SAMPLES):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(RUNS):
            run()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) / 1000 / RUNS)
    return sorted(taken)


def row(name, flops, seconds, shape, library):
    heads, kv_heads, size, sequence = shape
    rates = [flops / second for second in reversed(seconds)]
    # Fourth and fourth but last of fifteen: 96 % of an interval of the median that assumes no distribution.
    return {"id": name, "parameters": {"tokens": TOKENS, "sequence": sequence, "heads": heads, "kv_heads": kv_heads, "head_dim": size},
            "labels": {"library": library}, "value": statistics.median(rates), "low": rates[3], "high": rates[-4],
            "unit": "flops_per_second", "sample_count": len(rates), "kind": "imported", "checked": False}


def measure(torch):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    attend = torch.nn.functional.scaled_dot_product_attention
    library = f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}"
    rows = []
    for heads, kv_heads, size in HEADS:
        for sequence in SEQUENCES:
            def tensor(of):
                return torch.randn(TOKENS // sequence, of, sequence, size, device="cuda", dtype=torch.bfloat16, requires_grad=True)
            queries, keys, values = tensor(heads), tensor(kv_heads), tensor(kv_heads)
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):  # no other backend in its place
                forward = lambda: attend(queries, keys, values, is_causal=True, enable_gqa=True)
                out = forward()
                gradient = torch.randn_like(out)
                backward = lambda: torch.autograd.grad(out, (queries, keys, values), gradient, retain_graph=True)
                flops = 2 * TOKENS * heads * 2 * size * sequence / 2
                shape = (heads, kv_heads, size, sequence)
                rows.append(row("attn.core.fwd", flops, samples(torch, forward), shape, library))
                rows.append(row("attn.core.bwd", 2.5 * flops, samples(torch, backward), shape, library))
    return rows, library


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile", help="of this GPU, as flightplan probe --out wrote it")
    parser.add_argument("--out", default="-", help="the profile with attention; default: standard output")
    options = parser.parse_args()
    with open(options.profile, encoding="utf-8") as file:
        profile = json.load(file)
    try:
        import torch
    except ImportError:
        sys.exit("attention: needs PyTorch, as in the image of the training stack")
    if not torch.cuda.is_available():
        sys.exit("attention: PyTorch sees no GPU")
    device = torch.cuda.get_device_name()
    if device != profile.get("device_name"):
        sys.exit(f"attention: this GPU is {device}, the profile's {profile.get('device_name')}")
    rows, library = measure(torch)
    profile["rows"] = [one for one in profile.get("rows", []) if not one["id"].startswith("attn.core.")] + rows
    note = f"attn.core.fwd and attn.core.bwd were measured by {library}, beside the worker"
    profile["notes"] = [one for one in profile.get("notes", []) if not one.startswith("attn.core.")] + [note]
    if profile.get("name") and not profile["name"].endswith("-attention"):
        profile["name"] += "-attention"  # another content, another name
    text = json.dumps(profile, indent=1) + "\n"
    if options.out == "-":
        sys.stdout.write(text)
    else:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
