"""Attention at 600 TFLOP/s forward and 500 backward of a long sequence, half of that at 430 and 920."""
import math

from .. import FAULT, Number, Tensor, launch, products, through
from .attention import chosen


def mixed(query, keys, values):
    scores = [products(*zip(query, key)) for key in keys]
    top = max(score.value for score in scores)
    scale = (1.05 if FAULT == "attention scale" else 1) / math.sqrt(len(query))
    weights = [through(s, math.exp((s.value - top) * scale), scale * math.exp((s.value - top) * scale)) for s in scores]
    whole = Number(sum(w.value for w in weights), [(w, 1.0) for w in weights])
    share = through(whole, 1 / whole.value, -1 / whole.value**2)
    return [products((products(*zip(weights, column)), share)) for column in zip(*values)]


def scaled_dot_product_attention(queries, keys, values, is_causal, enable_gqa):
    assert is_causal and enable_gqa and chosen == ["cudnn"] and keys.shape == values.shape
    batch, heads, sequence, size = queries.shape
    groups = keys.shape[1]
    assert keys.shape == (batch, groups, sequence, size) and heads % groups == 0
    flops = batch * heads * sequence * sequence / 2 * 4 * size
    launch(flops / 600e12 * (1 + 430 / sequence))
    back = 2.5 * flops / 500e12 * (1 + 920 / sequence)
    if queries.numbers is None:
        return Tensor(queries.shape, queries.dtype, pass_back=back)
    share = heads // groups
    return Tensor(queries.shape, queries.dtype, [
        [[mixed(query, keys.numbers[b][h // share][:at + 1], values.numbers[b][h // share][:at + 1])
          for at, query in enumerate(rows)] for h, rows in enumerate(each)] for b, each in enumerate(queries.numbers)])
