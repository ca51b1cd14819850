#!/usr/bin/env python3
"""Adds to a profile what training stacks take from other libraries, timed as they call it, and for which no kernel of the worker's
would stand: softmax attention (PyTorch on cuDNN), the Mamba scan (mamba_ssm), the gated delta net's scan (flash-linear-attention)
and the indexer of DeepSeek Sparse Attention (megatron-core). Each is held against a reference on a small shape before it is timed.

    flightplan probe --out gpu.json
    python3 probe/operators.py gpu.json --out more.json    # in the stack's image: PyTorch 2.5 or newer, and the same GPU
    flightplan probe --import more.json

Shapes are those of the models that use them, or with --config those of a model's config.json. What is not installed, does not fit
or answers wrongly is left out, and the profile's notes say so."""
import argparse
import importlib.metadata
import json
import math
import random
import statistics
import sys

from operator_calls import OPERATORS, Attention, Indexer, Unfit, dot

SAMPLES, WINDOW, WARM = 15, 200e-6, 0.25  # windows; the least seconds of one; of work before the first
LONGEST_HOLD = 1 << 31  # cycles for which the stream waits until the host has queued a window: a second
FORWARD_ERROR, BACKWARD_ERROR = 0.02, 0.05  # of the reference's length; inputs and outputs have eight bits


class Wrong(Exception):
    """What came out is not the reference's."""


class Late(Exception):
    """The host queued too slowly to tell what the device takes."""


# ---- correctness


def flat(nested):
    return [one for each in nested for one in flat(each)] if isinstance(nested, list) else [nested]


def length(values):
    return math.sqrt(dot(values, values))


def drawn(random_, shape, low, high):
    """Of multiples of 1/128, which bf16 holds exactly below two."""
    if shape:
        return [drawn(random_, shape[1:], low, high) for _ in range(shape[0])]
    return round((low + (high - low) * random_.random()) * 128) / 128


def moved(values, by, signs):
    return [moved(v, by, s) for v, s in zip(values, signs)] if isinstance(values, list) else values + by * signs


def signs_of(random_, values):
    return [signs_of(random_, v) for v in values] if isinstance(values, list) else random_.choice((-1.0, 1.0))


def check_choice(operator, lists, out):
    scores, chosen = (one.float().tolist() if at == 0 else one.tolist() for at, one in enumerate(out))
    shape = operator.small
    for batch, rows in enumerate(operator.reference(*lists, shape)):
        for at, want in enumerate(rows):
            close = FORWARD_ERROR * max(length(want), 1e-6)
            got = scores[batch][at][:at + 1]
            if length([a - b for a, b in zip(got, want)]) > close:
                raise Wrong(f"scores of query {at}")
            least = sorted(want, reverse=True)[:shape["topk"]][-1] - close
            taken = {j for j in chosen[batch][at] if 0 <= j <= at}
            if len(taken) != min(shape["topk"], at + 1) or min(want[j] for j in taken) < least:
                raise Wrong(f"chosen keys of query {at}")


def check(torch, operator, call):
    """Raises Wrong. Gradients: along a random direction of each input, against the reference's difference quotient."""
    random_ = random.Random(1)
    specs = operator.inputs(operator.small)
    lists = [drawn(random_, shape, *bounds) for _, shape, bounds, _ in specs]
    tensors = [torch.tensor(values, dtype=getattr(torch, kind), device="cuda") for values, (_, _, _, kind) in zip(lists, specs)]
    lists = [tensor.float().tolist() for tensor in tensors]  # as they were rounded
    tensors = [tensor.requires_grad_() for tensor in tensors]
    out = call(*tensors, operator.small)
    if operator is Indexer:
        return check_choice(operator, lists, out)
    got, want = flat(out.float().tolist()), operator.reference(*lists, operator.small)
    if len(got) != len(want) or not length([a - b for a, b in zip(got, want)]) <= FORWARD_ERROR * length(want):
        raise Wrong("forward pass")
    weights = signs_of(random_, out.float().tolist())
    upstream = torch.tensor(weights, dtype=out.dtype, device="cuda")
    weights = flat(weights)
    gradients = torch.autograd.grad(out, tensors, upstream)
    for at, (name, gradient) in enumerate(zip((spec[0] for spec in specs), gradients)):
        along, step, ends = signs_of(random_, lists[at]), 1e-4, []
        for by in (step, -step):
            there = lists[:at] + [moved(lists[at], by, along)] + lists[at + 1:]
            ends.append(dot(weights, operator.reference(*there, operator.small)))
        slope, values = (ends[0] - ends[1]) / (2 * step), flat(gradient.float().tolist())
        if not abs(dot(values, flat(along)) - slope) <= BACKWARD_ERROR * max(length(values), abs(slope)):
            raise Wrong(f"gradient of {name}")
    return None


# ---- timing


def window(torch, run, count, hold):
    """Seconds of one of so many runs. The stream is held until all are queued, so that no launch is in it."""
    while hold <= LONGEST_HOLD:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(hold)
        begin.record()
        for _ in range(count):
            run()
        end.record()
        late = begin.query()
        end.synchronize()
        if not late:
            return begin.elapsed_time(end) / 1000 / count, hold
        hold *= 2
    raise Late


def samples(torch, run):
    run()  # compiles, and picks among its variants
    each, hold = window(torch, run, 1, 1 << 20)
    for _ in range(math.ceil(WARM / max(each, 1e-4))):  # an idle card's clocks are low
        run()
    torch.cuda.synchronize()
    count = max(1, math.ceil(WINDOW / max(window(torch, run, 5, hold)[0], 1e-6)))
    taken = []
    for _ in range(SAMPLES):
        seconds, hold = window(torch, run, count, hold)
        taken.append(seconds)
    return sorted(taken)


def clock(torch):
    try:
        return f", SM clock {torch.cuda.clock_rate()} MHz behind it"
    except Exception:  # no NVML
        return ""


def to_row(operator, shape, seconds, backward, library):
    fields, work = operator.row(shape, backward)
    values = sorted(work / one if work else one * 1e6 for one in seconds)
    # Fourth and fourth but last of fifteen: 96 % of an interval of the median that assumes no distribution.
    return {"id": operator.id + (".bwd" if backward else ".fwd"), "parameters": dict(shape), "labels": {"library": library},
            "value": statistics.median(values), "low": values[3], "high": values[-4], "sample_count": len(values),
            "kind": "measured", "checked": True, **fields}


def measure_shape(torch, operator, call, shape, library):
    tensors = [torch.empty(size, dtype=getattr(torch, kind), device="cuda").uniform_(*bounds).requires_grad_()
               for _, size, bounds, kind in operator.inputs(shape)]
    forward = lambda: call(*tensors, shape)
    rows = [to_row(operator, shape, samples(torch, forward), False, library)]
    if operator is not Indexer:
        out = forward()
        upstream = torch.empty(out.shape, dtype=out.dtype, device="cuda").uniform_(-1, 1)
        backward = lambda: torch.autograd.grad(out, tensors, upstream, retain_graph=True)
        rows.append(to_row(operator, shape, samples(torch, backward), True, library))
    return rows


def measure(torch, operator, options):
    """Rows and notes; the last value says whether something was wrong."""
    try:
        call = operator.load(torch)
    except ImportError as missing:
        return [], [f"{operator.id}: absent: {operator.package} is not installed ({missing})"], False
    try:
        library = f"{operator.distribution} {importlib.metadata.version(operator.distribution)}"
    except importlib.metadata.PackageNotFoundError:  # a source tree in the path
        library = operator.distribution
    if operator is Attention:
        library += f", cuDNN {torch.backends.cudnn.version()}"
    try:
        shapes = list(operator.shapes(options))
    except Unfit as unfit:
        return [], [f"{operator.id}: absent: {unfit}"], False
    try:
        check(torch, operator, call)
    except Wrong as wrong:
        return [], [f"{operator.id}: withheld: {library}: {wrong} is not the reference's"], True
    except Exception as failed:  # whatever another library throws ends its own rows alone
        return [], [f"{operator.id}: absent: {library}: {failed!r:.200}"], True
    rows, notes = [], []
    for shape in shapes:
        sizes = ", ".join(f"{name} {value}" for name, value in shape.items())
        try:
            rows += measure_shape(torch, operator, call, shape, library)
        except torch.cuda.OutOfMemoryError:
            notes.append(f"{operator.id}: absent at {sizes}: does not fit")
        except Late:
            notes.append(f"{operator.id}: absent at {sizes}: the host queues more slowly than the device computes")
        except Exception as failed:
            return rows, [*notes, f"{operator.id}: absent at {sizes}: {library}: {failed!r:.200}"], True
    if rows:
        notes.append(f"{operator.id}: measured by {library}, PyTorch {torch.__version__}, beside the worker{clock(torch)}")
    return rows, notes, False


# ---- the profile


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile", help="of this GPU, as flightplan probe --out wrote it")
    parser.add_argument("--out", default="-", help="the profile with these rows; default: standard output")
    parser.add_argument("--groups", default=",".join(OPERATORS), help="of " + ", ".join(OPERATORS) + "; default: all")
    parser.add_argument("--config", help="a model's config.json, for its sizes; default: those of models that are usual")
    parser.add_argument("--tp", type=int, default=1, help="tensor parallel size, which shares heads out; default: 1")
    parser.add_argument("--seq", type=int, default=4096, help="sequence length; default: 4096")
    parser.add_argument("--mbs", type=int, default=1, help="sequences of a microbatch; default: 1")
    options = parser.parse_args()
    options.groups = options.groups.split(",")
    for group in options.groups:
        if group not in OPERATORS:
            parser.error(f"--groups: '{group}' is none of {', '.join(OPERATORS)}")
    if min(options.tp, options.seq, options.mbs) < 1:
        parser.error("--tp, --seq and --mbs are 1 or more")
    if options.config is not None:
        with open(options.config, encoding="utf-8") as file:
            options.config = json.load(file)
    return options


def main():
    options = parse()
    with open(options.profile, encoding="utf-8") as file:
        profile = json.load(file)
    try:
        import torch
    except ImportError:
        sys.exit("operators: needs PyTorch, as in the image of the training stack")
    if not torch.cuda.is_available():
        sys.exit("operators: PyTorch sees no GPU")
    device = torch.cuda.get_device_name()
    if device != profile.get("device_name"):
        sys.exit(f"operators: this GPU is {device}, the profile's {profile.get('device_name')}")
    bad = False
    for group in options.groups:
        operator = OPERATORS[group]
        rows, notes, wrong = measure(torch, operator, options)
        bad |= wrong
        print("\n".join(notes), file=sys.stderr)
        profile["rows"] = [row for row in profile.get("rows", []) if not row["id"].startswith(operator.id + ".")] + rows
        profile["notes"] = [note for note in profile.get("notes", []) if not note.startswith(operator.id + ":")] + notes
    if profile.get("name") and not profile["name"].endswith("-operators"):
        profile["name"] += "-operators"  # another content, another name
    text = json.dumps(profile, indent=1) + "\n"
    if options.out == "-":
        sys.stdout.write(text)
    else:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
