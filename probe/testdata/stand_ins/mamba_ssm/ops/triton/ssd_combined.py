"""The scan at 0.01 ps a token and element of the state forward, 0.03 backward."""
import math

from torch import FAULT, Tensor, launch, products, through, Number


def softplus(number):
    return through(number, math.log1p(math.exp(number.value)), 1 / (1 + math.exp(-number.value)))


def exp(number):
    return through(number, math.exp(number.value), math.exp(number.value))


def mamba_chunk_scan_combined(x, dt, A, B, C, chunk_size, D=None, z=None, dt_bias=None, dt_softplus=False):
    assert chunk_size == 128 and z is None and dt_softplus
    batch, sequence, heads, size = x.shape
    groups, state = B.shape[2:]
    assert dt.shape == (batch, sequence, heads) and C.shape == B.shape == (batch, sequence, groups, state)
    assert A.shape == D.shape == dt_bias.shape == (heads,) and A.dtype == D.dtype == dt_bias.dtype == "float32"
    elements = batch * sequence * heads * size * state
    launch(elements * 0.01e-12)
    if x.numbers is None:
        return Tensor(x.shape, x.dtype, pass_back=elements * 0.03e-12)
    out = []
    for values, steps, writes, reads in zip(x.numbers, dt.numbers, B.numbers, C.numbers):
        kept = [[[Number(0.0)] * state for _ in range(size)] for _ in range(heads)]
        rows = []
        for at in range(sequence):
            row = []
            for head in range(heads):
                step = softplus(Number(steps[at][head].value + dt_bias.numbers[head].value,
                                       [(steps[at][head], 1.0), (dt_bias.numbers[head], 1.0)]))
                rate = A.numbers[head]
                decay = exp(products((step, rate)))
                group = head // (heads // groups)
                for i, value in enumerate(values[at][head]):
                    pushed = products((value, step))
                    kept[head][i] = [products((decay, s), (pushed, b)) for s, b in zip(kept[head][i], writes[at][group])]
                skip = [] if FAULT == "mamba skip" else [D.numbers[head]]
                row.append([products(*zip(kept[head][i], reads[at][group]), *((d, value) for d in skip))
                            for i, value in enumerate(values[at][head])])
            rows.append(row)
        out.append(rows)
    return Tensor(x.shape, x.dtype, out)
