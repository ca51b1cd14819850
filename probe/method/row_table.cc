#include "probe/method/row_table.h"

#include <iterator>

#include "probe/device/device.h"
#include "probe/limits.h"

namespace flightplan::probe {
namespace {

constexpr std::string_view kUs = "us", kBytes = "bytes_per_second", kFlops = "flops_per_second", kRatio = "ratio";

constexpr RowKindInfo kRows[] = {
    {"ceilings", "hbm.copy", kBytes, "own copy kernel: bytes read and written"},
    {"ceilings", "hbm.copy_engine", kBytes, "cudaMemcpyAsync on the device: bytes read and written"},
    {"ceilings", "hbm.read", kBytes, "read into registers"},
    {"ceilings", "hbm.fill", kBytes, "own fill kernel"},
    {"ceilings", "hbm.memset", kBytes, "cudaMemsetAsync"},
    {"ceilings", "hbm.sm_curve", kBytes, "the same with one block on each of `sms` SMs; label op: copy, read, fill"},
    {"ceilings", "mm.dense", kFlops, "8192 cubed, bf16 in and out, fp32 sums; label path: cublaslt, own, tma"},
    {"ceilings", "mm.sustained", kFlops, "the same, after a second of it and for a second more"},
    {"ceilings", "mm.clock", kRatio, "SM clock right behind it over the card's highest; label load: burst, sustained"},
    {"ceilings", "mm.fp8", kFlops, "8192 cubed, e4m3 in, bf16 out; label recipe: tensor, block128, mxfp8"},
    {"ceilings", "timing.null", kUs, "an empty kernel of a graph"},
    {"dispatch", "router.topk", kUs, "softmax and top-k of the router's logits"},
    {"dispatch", "permute.map", kUs, "row map from expert indices: count, scan, place"},
    {"dispatch", "permute.fwd", kBytes, "token rows to expert order, with probabilities"},
    {"dispatch", "permute.bwd", kBytes, "its gradient: sum of k rows"},
    {"dispatch", "unpermute.fwd", kBytes, "expert rows to token order, weighted sum in fp32"},
    {"dispatch", "unpermute.bwd", kBytes, "its gradient: scaled rows and the gradient of the probabilities"},
    {"dispatch", "chunk.sort", kBytes, "chunks by rank to chunks by expert"},
    {"experts", "gemm.fc1", kFlops, "gate and up projection of all local experts, `rows` each"},
    {"experts", "gemm.fc2", kFlops, "down projection of all local experts"},
    {"experts", "gemm.dgrad", kFlops, "input gradient; label layer: fc1, fc2"},
    {"experts", "gemm.wgrad", kFlops, "weight gradient added to fp32; label layer: fc1, fc2"},
    {"experts", "gemm.fp8", kFlops, "forward of all local experts on e4m3; labels layer: fc1, fc2, and recipe"},
    {"experts", "cast.fp8", kBytes, "bf16 to e4m3 with scales; label scales: tensor, 1x128, 128x128, 1x32"},
    {"experts", "gemm.skew", kRatio, "time with Zipf-distributed rows over time with equal rows"},
    {"experts", "act.swiglu.fwd", kBytes, "silu(gate) * up * probability"},
    {"experts", "act.swiglu.bwd", kBytes, "its gradient, with that of the probability"},
    {"experts", "norm.fwd", kBytes, "RMS norm"},
    {"exchange", "a2a.logical", kBytes, "all-to-all between `ranks` ranks on one device; bytes sent per rank"},
    {"exchange", "a2a.paced", kBytes, "the same held to `link_bytes_per_second` by a device clock"},
    {"exchange", "a2a.p2p.push", kBytes, "remote stores to every peer; bytes sent per rank"},
    {"exchange", "a2a.p2p.pull", kBytes, "remote loads from every peer; bytes received per rank"},
    {"exchange", "a2a.ce", kBytes, "copy engines between peers"},
    {"exchange", "a2a.nccl", kBytes, "NCCL grouped send and receive"},
    {"exchange", "a2a.combine", kBytes, "remote loads from every peer, added up in fp32; bytes read per rank"},
    {"exchange", "a2a.alpha", kUs, "one row to every peer; label path: push, pull, copy_engine, nccl"},
    {"exchange", "a2a.skew", kRatio, "time with parts by Zipf's law over time with equal parts"},
    {"exchange", "a2a.straggler", kRatio, "time of the slowest device over that of the middle one"},
    {"exchange", "a2a.meta", kUs, "counts to the host, and the host's wake"},
    {"overlap", "gemm.sm_budget", kRatio, "time of a GEMM that leaves `sms` SMs free over its time with all"},
    {"overlap", "corun.matrix", kRatio, "time beside the other over time alone; label side: compute, communication"},
    {"overlap", "corun.lead", kUs, "from the start of the exchange to that of the compute beside it"},
    {"overlap", "corun.start", kUs, "from the end of the wait to the first block of an exchange beside compute"},
    {"overlap", "corun.full", kUs, "from the end of the wait to its last block on the chip"},
    {"overlap", "corun.queues", kUs, "pair micro-step, overlapped, with `connections` hardware queues"},
    {"overlap", "pair.part", kUs, "one node of the pair micro-step alone; label node"},
    {"overlap", "pair.seq", kUs, "forward, then backward of one layer on one stream"},
    {"overlap", "pair.overlap", kUs, "both on two streams in the order of the published schedule"},
    {"overlap", "pair.overlap_dw", kUs, "with delayed weight gradients"},
    {"overlap", "pair.early_release", kUs, "with delayed weight gradients and the attention backward moved forward"},
    {"overlap", "wgrad.split", kRatio, "input and weight gradient apart over both together"},
    {"launch", "launch.eager", kUs, "one of many small kernels launched in turn; label side: host, device"},
    {"launch", "launch.graph", kUs, "the same as a graph; label side: host (one replay), device (one kernel)"},
    {"launch", "launch.layer", kUs, "queueing one layer's forward and backward launch by launch; label side: host"},
    {"launch", "scope.small", kUs, "saved per layer by a graph over a chain of small kernels; label scope"},
    {"launch", "graph.cost", kUs, "label step: capture, instantiate, upload"},
    {"memory", "offload.d2h", kBytes, "device to pinned host memory"},
    {"memory", "offload.h2d", kBytes, "pinned host memory to device"},
    {"memory", "offload.bidir", kBytes, "both at once; sum of both"},
    {"memory", "offload.hide", kRatio,
     "beside compute; label value: hidden (share of the copy), slowdown (of compute)"},
    {"memory", "recompute.norm", kUs, "RMS norm once more"},
    {"memory", "recompute.act", kUs, "SwiGLU once more"},
};

}  // namespace

const RowKindInfo* RowTableBegin() { return std::begin(kRows); }
const RowKindInfo* RowTableEnd() { return std::end(kRows); }

const RowKindInfo* FindRow(std::string_view id) {
  for (const RowKindInfo& row : kRows) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

bool IsGroup(std::string_view name) {
  for (const char* group : kGroups) {
    if (name == group) return true;
  }
  return false;
}

}  // namespace flightplan::probe
