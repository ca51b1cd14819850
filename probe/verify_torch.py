"""The probe's rows beside PyTorch and own Triton kernels on the same GPU in the same minutes."""
import statistics
import time

from verify_report import E, F, H, K, L, T, faster, find, report, seconds_of


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
