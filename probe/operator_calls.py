"""What operators.py times: each library's operator called as a training stack calls it, its inputs and sizes, and a reference that is
slow and plain. Inputs are name, shape, range and type; references take nested lists and give the output as a flat one."""
import math

BF16, FP32 = "bfloat16", "float32"


class Unfit(Exception):
    """The sizes that were asked for are none of this operator's."""


def number(config, name, default=None):
    """Of a config.json, whose text model may stand in a part of its own."""
    for where in (config, config.get("text_config", {})):
        if where.get(name) is not None:
            return int(where[name])
    if default is None:
        raise Unfit(f"the config has no {name}")
    return default


def part(whole, ranks):
    if whole % ranks:
        raise Unfit(f"--tp {ranks} does not divide {whole} heads")
    return whole // ranks


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


class Attention:
    """torch's scaled_dot_product_attention, causal, on cuDNN and nothing else."""
    id, package, distribution = "attn.core", "torch", "torch"
    small = {"tokens": 64, "sequence": 64, "heads": 4, "kv_heads": 2, "head_dim": 16}

    @staticmethod
    def shapes(options):
        shape = {"heads": 32, "kv_heads": 4, "head_dim": 128}, {"heads": 64, "kv_heads": 8, "head_dim": 64}
        if options.config is not None:
            if number(options.config, "kv_lora_rank", 0):
                raise Unfit("latent attention has heads of two sizes")
            heads = number(options.config, "num_attention_heads")
            shape = ({"heads": heads, "kv_heads": number(options.config, "num_key_value_heads", heads),
                      "head_dim": number(options.config, "head_dim", number(options.config, "hidden_size") // heads)},)
        for each in shape:
            per_rank = {**each, "heads": part(each["heads"], options.tp), "kv_heads": max(1, each["kv_heads"] // options.tp)}
            for sequence in sorted({1024, 2048, 4096, 8192, options.seq}):
                yield {"tokens": max(8192, sequence) // sequence * sequence, "sequence": sequence, **per_rank}

    @staticmethod
    def inputs(s):
        batch, size = s["tokens"] // s["sequence"], s["head_dim"]
        return [(name, (batch, s[heads], s["sequence"], size), (-2, 2), BF16)
                for name, heads in (("q", "heads"), ("k", "kv_heads"), ("v", "kv_heads"))]

    @staticmethod
    def load(torch):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        attend = torch.nn.functional.scaled_dot_product_attention

        def call(q, k, v, shape):
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return attend(q, k, v, is_causal=True, enable_gqa=True)
        return call

    @staticmethod
    def reference(q, k, v, shape):
        out, group = [], shape["heads"] // shape["kv_heads"]
        for queries, keys, values in zip(q, k, v):
            for head, rows in enumerate(queries):
                key, value = keys[head // group], values[head // group]
                for at, row in enumerate(rows):
                    scores = [dot(row, key[j]) / math.sqrt(len(row)) for j in range(at + 1)]
                    top = max(scores)
                    weights = [math.exp(score - top) for score in scores]
                    out += [dot(weights, column) / sum(weights) for column in zip(*value[:at + 1])]
        return out

    @staticmethod
    def row(shape, backward):
        """Rates: FLOPs of the causal half, of a backward pass two and a half times those of the forward."""
        flops = 2 * shape["tokens"] * shape["heads"] * 2 * shape["head_dim"] * shape["sequence"] / 2
        return {"unit": "flops_per_second"}, (2.5 if backward else 1) * flops


class Scan:
    """Times in microseconds, of all tokens. `sizes`: of each its usual value, and its name in a config.json."""

    @classmethod
    def shapes(cls, options):
        shape = {size: usual if options.config is None else number(options.config, name)
                 for size, (usual, name) in cls.sizes.items()}
        return [{"tokens": options.seq * options.mbs, "sequence": options.seq, **cls.of_rank(shape, options.tp)}]

    @staticmethod
    def of_rank(shape, ranks):
        return {**shape, "heads": part(shape["heads"], ranks)}

    @staticmethod
    def row(shape, backward):
        return {"unit": "us"}, None


class Mamba(Scan):
    """mamba_chunk_scan_combined as Megatron-Core's MambaMixer calls it (megatron/core/ssm/mamba_mixer.py): without the convolution
    before it and the norm behind it."""
    id, package, distribution = "mamba.scan", "mamba_ssm", "mamba_ssm"
    chunk = 128  # MambaMixer's
    small = {"tokens": 144, "sequence": 144, "heads": 2, "head_dim": 16, "state": 16, "groups": 1}
    sizes = {"heads": (64, "mamba_num_heads"), "head_dim": (64, "mamba_head_dim"), "state": (128, "ssm_state_size"),
             "groups": (8, "n_groups")}

    @staticmethod
    def of_rank(shape, ranks):
        return {**Scan.of_rank(shape, ranks), "groups": max(1, shape["groups"] // ranks)}

    @staticmethod
    def inputs(s):
        at = (s["tokens"] // s["sequence"], s["sequence"])
        grouped = (*at, s["groups"], s["state"])
        return [("x", (*at, s["heads"], s["head_dim"]), (-1, 1), BF16), ("dt", (*at, s["heads"]), (-1, 1), BF16),
                ("A", (s["heads"],), (-2, -0.5), FP32), ("B", grouped, (-1, 1), BF16), ("C", grouped, (-1, 1), BF16),
                ("D", (s["heads"],), (-1, 1), FP32), ("dt_bias", (s["heads"],), (-1, 1), FP32)]

    @staticmethod
    def load(torch):
        from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined as scan

        def call(x, dt, A, B, C, D, dt_bias, shape):
            return scan(x, dt, A, B, C, Mamba.chunk, D=D, z=None, dt_bias=dt_bias, dt_softplus=True)
        return call

    @staticmethod
    def reference(x, dt, A, B, C, D, dt_bias, shape):
        out = []
        for batch, steps in enumerate(x):
            state = [[[0.0] * shape["state"] for _ in range(shape["head_dim"])] for _ in range(shape["heads"])]
            for at, heads in enumerate(steps):
                for head, values in enumerate(heads):
                    group = head * shape["groups"] // shape["heads"]
                    step = math.log1p(math.exp(dt[batch][at][head] + dt_bias[head]))
                    decay, write, read = math.exp(step * A[head]), B[batch][at][group], C[batch][at][group]
                    for i, value in enumerate(values):
                        kept = state[head][i] = [decay * s + step * value * b for s, b in zip(state[head][i], write)]
                        out.append(dot(kept, read) + D[head] * value)
        return out


class Delta(Scan):
    """chunk_gated_delta_rule as Megatron-Core's GatedDeltaNet calls it (megatron/core/ssm/gated_delta_net/gdn.py): queries and keys
    are normed and repeated for the value heads before."""
    id, package, distribution = "delta.scan", "fla", "flash-linear-attention"
    small = {"tokens": 96, "sequence": 96, "heads": 2, "key_dim": 16, "value_dim": 16}
    sizes = {"heads": (32, "linear_num_value_heads"), "key_dim": (128, "linear_key_head_dim"),
             "value_dim": (128, "linear_value_head_dim")}

    @staticmethod
    def inputs(s):
        at, unit = (s["tokens"] // s["sequence"], s["sequence"], s["heads"]), 1.4 / math.sqrt(s["key_dim"])  # norms of about 0.8
        return [("q", (*at, s["key_dim"]), (-unit, unit), BF16), ("k", (*at, s["key_dim"]), (-unit, unit), BF16),
                ("v", (*at, s["value_dim"]), (-1, 1), BF16), ("g", at, (-0.5, -0.01), FP32), ("beta", at, (0.1, 0.9), BF16)]

    @staticmethod
    def load(torch):
        from fla.ops.gated_delta_rule import chunk_gated_delta_rule as scan

        def call(q, k, v, g, beta, shape):
            return scan(q=q, k=k, v=v, g=g, beta=beta, initial_state=None, output_final_state=False,
                        use_qk_l2norm_in_kernel=False, cu_seqlens=None)[0]
        return call

    @staticmethod
    def reference(q, k, v, g, beta, shape):
        out = []
        for batch, steps in enumerate(q):
            state = [[[0.0] * shape["key_dim"] for _ in range(shape["value_dim"])] for _ in range(shape["heads"])]
            for at, heads in enumerate(steps):
                for head, query in enumerate(heads):
                    key, decay, rate = k[batch][at][head], math.exp(g[batch][at][head]), beta[batch][at][head]
                    for i, value in enumerate(v[batch][at][head]):
                        kept = [decay * s for s in state[head][i]]
                        change = rate * (value - dot(kept, key))
                        kept = state[head][i] = [s + change * b for s, b in zip(kept, key)]
                        out.append(dot(kept, query) / math.sqrt(len(query)))
        return out


class Indexer(Scan):
    """Scores and top-k as Megatron-Core computes them without fused kernels (dsa_kernel_backend none, its default;
    megatron/core/transformer/experimental_attention_variant/dsa.py). Its backward pass is its loss's, and is not timed."""
    id, package, distribution = "dsa.index", "megatron.core", "megatron-core"
    small = {"tokens": 64, "sequence": 64, "heads": 2, "head_dim": 16, "topk": 8}
    sizes = {"heads": (64, "index_n_heads"), "head_dim": (128, "index_head_dim"), "topk": (2048, "index_topk")}

    @staticmethod
    def of_rank(shape, ranks):
        return shape  # whole on every rank of TP

    @staticmethod
    def inputs(s):
        at = (s["sequence"], s["tokens"] // s["sequence"])
        return [("q", (*at, s["heads"], s["head_dim"]), (-1, 1), BF16), ("k", (*at, s["head_dim"]), (-1, 1), BF16),
                ("weights", (*at, s["heads"]), (-0.1, 0.1), BF16)]

    @staticmethod
    def load(torch):
        from megatron.core.transformer.experimental_attention_variant.dsa import fused_qk_topk_naive as choose
        masks = {}

        def call(q, k, weights, shape):
            size = shape["sequence"]
            if size not in masks:
                masks[size] = torch.full((size, size), -math.inf, dtype=torch.float32, device="cuda").triu(1)
            return choose(q, k, weights, shape["topk"], masks[size])
        return call

    @staticmethod
    def reference(q, k, weights, shape):
        """Scores of the keys that a query may see."""
        return [[[sum(max(0.0, dot(query, k[j][batch])) * weight for query, weight in zip(q[i][batch], weights[i][batch]))
                  for j in range(i + 1)] for i in range(len(q))] for batch in range(len(q[0]))]


OPERATORS = {"attention": Attention, "mamba": Mamba, "delta": Delta, "indexer": Indexer}
