"""Scores at 50 TFLOP/s, of all keys."""
from torch import FAULT, Tensor, launch


def fused_qk_topk_naive(q, k, weights, index_topk, mask=None):
    sequence, batch, heads, size = q.shape
    assert k.shape == (sequence, batch, size) and weights.shape == (sequence, batch, heads)
    assert mask.dtype == "causal" and mask.shape == (sequence, sequence)
    launch(2 * sequence * batch * sequence * heads * size / 50e12)
    if q.numbers is None:
        return None, None
    scores, chosen = [], []
    for b in range(batch):
        scores.append([])
        chosen.append([])
        for at in range(sequence):
            row = [sum(max(0.0, sum(x.value * y.value for x, y in zip(head, k.numbers[j][b]))) * weight.value
                       for head, weight in zip(q.numbers[at][b], weights.numbers[at][b])) for j in range(at + 1)]
            order = sorted(range(at + 1), key=lambda j: row[j], reverse=FAULT != "worst keys")[:index_topk]
            scores[b].append(row + [float("-inf")] * (sequence - at - 1))
            chosen[b].append(order + [-1] * (min(index_topk, sequence) - len(order)))
    return Tensor((batch, sequence, sequence), "float32", scores), Tensor((batch, sequence, index_topk), "int64", chosen)
