"""The scan at 0.3 ps a token and element of the state forward, 0.9 backward."""
import math

from torch import FAULT, Number, OutOfMemoryError, Tensor, launch, products, through


def chunk_gated_delta_rule(q, k, v, g, beta, initial_state, output_final_state, use_qk_l2norm_in_kernel, cu_seqlens):
    assert initial_state is None and cu_seqlens is None and not output_final_state and not use_qk_l2norm_in_kernel
    batch, sequence, heads, key_size = k.shape
    size = v.shape[3]
    assert q.shape == k.shape and v.shape[:3] == (batch, sequence, heads) == g.shape == beta.shape and g.dtype == "float32"
    elements = batch * sequence * heads * key_size * size
    if FAULT == "delta memory" and q.numbers is None:
        raise OutOfMemoryError
    launch(elements * 0.3e-12)
    if q.numbers is None:
        return Tensor(v.shape, v.dtype, pass_back=elements * 0.9e-12), None
    one, scale = Number(1.0), Number(1 / math.sqrt(key_size))
    out = []
    for b in range(batch):
        kept = [[[Number(0.0)] * key_size for _ in range(size)] for _ in range(heads)]
        rows = []
        for at in range(sequence):
            row = []
            for head in range(heads):
                gate, rate, key = g.numbers[b][at][head], beta.numbers[b][at][head], k.numbers[b][at][head]
                if FAULT == "delta gradient":
                    key = [through(number, number.value, 0.8) for number in key]
                decay = through(gate, math.exp(gate.value), math.exp(gate.value))
                minus = through(rate, -rate.value, -1.0)
                for i, value in enumerate(v.numbers[b][at][head]):
                    faded = [products((decay, s)) for s in kept[head][i]]
                    change = products((rate, value), (minus, products(*zip(faded, key))))
                    kept[head][i] = [products((s, one), (change, n)) for s, n in zip(faded, key)]
                row.append([products((products(*zip(kept[head][i], q.numbers[b][at][head])), scale)) for i in range(size)])
            rows.append(row)
        out.append(rows)
    return Tensor(v.shape, v.dtype, out), None
