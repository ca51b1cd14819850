#include <algorithm>
#include <span>

#include "probe/kernels/elementwise.cuh"
#include "probe/kernels/pair.cuh"

namespace flightplan::probe {
namespace {

using fit::PairNode;

GemmShape Forward(int rows, int n, int k) { return {.m = rows, .n = n, .k = k}; }
GemmShape InputGrad(int rows, int n, int k) { return {.m = rows, .n = k, .k = n, .b_by_k = true}; }
GemmShape WeightGrad(int rows, int n, int k) {
  return {.m = n, .n = k, .k = rows, .a_by_k = true, .b_by_k = true, .accumulate_fp32 = true};
}

}  // namespace

Status LayerPair::Allocate(Gpu& gpu, int sms) {
  gpu_ = &gpu;
  shape_ = gpu.shape;
  shape_.tokens = std::min(shape_.tokens, kPairTokens);
  gpu.arena.Reset();
  const GemmPath path = BestPath(gpu);
  const int t = shape_.tokens, h = shape_.hidden, f = shape_.ffn, local = shape_.local_experts();
  const int heads = shape_.heads * shape_.head_dim, qkv = heads + 2 * shape_.kv_heads * shape_.head_dim;
  const int per_expert = static_cast<int>(shape_.rows()) / local;
  struct List {
    Gemms* gemms;
    GemmShape shape;
    int count;
  };
  // Causal attention over s positions: 2 * 2 * t * s * heads / 2 FLOPs, which is a GEMM of n = s, k = heads.
  const List dense[] = {{&qkv_, Forward(t, qkv, h), 1},
                        {&project_, Forward(t, h, heads), 1},
                        {&core_, Forward(t, shape_.sequence, heads), 1},
                        {&qkv_grad_, InputGrad(t, qkv, h), 1},
                        {&project_grad_, InputGrad(t, h, heads), 1},
                        {&qkv_weights_, WeightGrad(t, qkv, h), 1},
                        {&project_weights_, WeightGrad(t, h, heads), 1}};
  const List experts[] = {{&fc1_, Forward(per_expert, 2 * f, h), local},
                          {&fc2_, Forward(per_expert, h, f), local},
                          {&fc1_grad_, InputGrad(per_expert, 2 * f, h), local},
                          {&fc2_grad_, InputGrad(per_expert, h, f), local},
                          {&fc1_weights_, WeightGrad(per_expert, 2 * f, h), local},
                          {&fc2_weights_, WeightGrad(per_expert, h, f), local}};
  // GEMMs of one stream: what they read may be the same memory, as it is larger than the caches.
  const auto open = [&](std::span<const List> lists) -> Status {
    int64_t most = 0;
    for (const List& list : lists) most = std::max(most, OperandPool::Elements(list.shape, list.count));
    OperandPool pool;
    TRY(pool.Reserve(gpu.arena, most));
    for (const List& list : lists) {
      TRY(list.gemms->Open(gpu, path, std::vector<GemmShape>(static_cast<size_t>(list.count), list.shape)));
      TRY(list.gemms->AllocateFrom(&pool));
      TRY(list.gemms->Check());
    }
    return Ok();
  };
  TRY(open(dense));
  TRY(open(experts));

  const int64_t row_words = shape_.rows() * h / 8, bytes = shape_.rows() * shape_.token_bytes();
  TRY(AllocateExchange(gpu, bytes / shape_.ranks * (shape_.ranks - 1), shape_.ranks, &exchange_));
  exchange_.sms = sms;
  exchange_.link_bytes_per_second = LinkRate(gpu);
  int* map = nullptr;
  TRY(gpu.arena.Get(shape_.rows(), &map));
  const std::vector<int> map_host = RowMap(shape_, RandomExperts(shape_));
  TRY(Upload(gpu.stream, map_host.data(), 4 * shape_.rows(), map));
  rows_.map = map;
  rows_.token_count = t;
  rows_.hidden = h;
  rows_.topk = shape_.topk;
  TRY(gpu.arena.Get(int64_t{t} * h / 8, &rows_.tokens));
  TRY(gpu.arena.Get(row_words, &rows_.rows));
  TRY(gpu.arena.Get(row_words, &rows_.rows_out));
  TRY(gpu.arena.Get(shape_.rows(), &probs_));
  TRY(gpu.arena.Get(shape_.rows(), &rows_.probs_out));
  TRY(gpu.arena.Get(h, &weight_));
  TRY(gpu.arena.Get(2 * shape_.rows() * f, &wide_));
  TRY(gpu.arena.Get(shape_.rows() * f, &narrow_));
  rows_.probs = probs_;
  TRY(FillBf16(gpu.stream, reinterpret_cast<Bf16*>(rows_.tokens), int64_t{t} * h, 71, 1));
  TRY(FillBf16(gpu.stream, reinterpret_cast<Bf16*>(rows_.rows), shape_.rows() * h, 72, 1));
  TRY(FillBf16(gpu.stream, wide_, 2 * shape_.rows() * f, 73, 1));
  TRY(FillBf16(gpu.stream, narrow_, shape_.rows() * f, 74, 1));
  TRY(FillFloat(gpu.stream, probs_, shape_.rows(), 75, 0.125f));
  TRY(FillFloat(gpu.stream, weight_, h, 76, 1));
  for (cudaEvent_t* event : {&forward_chain_, &backward_chain_, &end_}) {
    if (*event == nullptr) CUDA_TRY(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  }
  return Ok();
}

// Norm, attention, norm, permute: what a layer does before its exchange.
Status LayerPair::PreForward(cudaStream_t stream) {
  Bf16* tokens = reinterpret_cast<Bf16*>(rows_.tokens);
  TRY(LaunchNorm(stream, tokens, weight_, shape_.tokens, shape_.hidden, tokens));
  TRY(qkv_.Run(stream, 0));
  TRY(core_.Run(stream, 0));
  TRY(project_.Run(stream, 0));
  TRY(LaunchNorm(stream, tokens, weight_, shape_.tokens, shape_.hidden, tokens));
  return LaunchPermute(stream, rows_);
}

Status LayerPair::PreBackward(cudaStream_t stream) {
  Bf16* tokens = reinterpret_cast<Bf16*>(rows_.tokens);
  TRY(LaunchCombine(stream, rows_, /*with_probs=*/false));  // gradient of the permute
  TRY(LaunchNorm(stream, tokens, weight_, shape_.tokens, shape_.hidden, tokens));
  TRY(project_grad_.Run(stream, 0));
  for (int i = 0; i < 2; ++i) TRY(core_.Run(stream, 0));  // attention's backward is 2.5 times its forward; 2 at least
  TRY(qkv_grad_.Run(stream, 0));
  return LaunchNorm(stream, tokens, weight_, shape_.tokens, shape_.hidden, tokens);
}

Status LayerPair::MlpForward(cudaStream_t stream) {
  TRY(fc1_.Run(stream, 0));
  TRY(LaunchSwiglu(stream, wide_, probs_, shape_.rows(), shape_.ffn, narrow_));
  return fc2_.Run(stream, 0);
}

Status LayerPair::MlpBackward(cudaStream_t stream) {
  TRY(fc2_grad_.Run(stream, 0));
  TRY(LaunchSwigluGrad(stream, narrow_, wide_, probs_, shape_.rows(), shape_.ffn, wide_, rows_.probs_out));
  return fc1_grad_.Run(stream, 0);
}

Status LayerPair::Node(PairNode node, cudaStream_t stream, bool with_wgrad) {
  Trace(stream, "begin " + std::string(fit::Name(node)));
  TRY(Queue(node, stream, with_wgrad));
  Trace(stream, "end " + std::string(fit::Name(node)));
  return Ok();
}

Status LayerPair::Queue(PairNode node, cudaStream_t stream, bool with_wgrad) {
  switch (node) {
    case PairNode::kPreFwd:
      return PreForward(stream);
    case PairNode::kDispatchFwd:
    case PairNode::kDispatchBwd:
      return LaunchExchange(*gpu_, stream, exchange_);
    case PairNode::kMlpFwd:
      return MlpForward(stream);
    case PairNode::kCombineFwd:
      TRY(LaunchExchange(*gpu_, stream, exchange_));
      return LaunchCombine(stream, rows_, /*with_probs=*/true);
    case PairNode::kCombineBwd:
      TRY(LaunchCombineGrad(stream, rows_));
      return LaunchExchange(*gpu_, stream, exchange_);
    case PairNode::kMlpBwd:
      TRY(MlpBackward(stream));
      return with_wgrad ? Node(PairNode::kMlpWgrad, stream, false) : Ok();
    case PairNode::kMlpWgrad:
      TRY(fc2_weights_.Run(stream, 0));
      return fc1_weights_.Run(stream, 0);
    case PairNode::kPreBwd:
      TRY(PreBackward(stream));
      return with_wgrad ? Node(PairNode::kPreWgrad, stream, false) : Ok();
    case PairNode::kPreWgrad:
      TRY(project_weights_.Run(stream, 0));
      return qkv_weights_.Run(stream, 0);
  }
  return Ok();
}

Status LayerPair::ExpertsBackward(cudaStream_t stream, bool apart) {
  if (apart) return Node(PairNode::kMlpBwd, stream, /*with_wgrad=*/true);
  TRY(fc2_grad_.Run(stream, 0));
  TRY(fc2_weights_.Run(stream, 0));
  TRY(LaunchSwigluGrad(stream, narrow_, wide_, probs_, shape_.rows(), shape_.ffn, wide_, rows_.probs_out));
  TRY(fc1_grad_.Run(stream, 0));
  return fc1_weights_.Run(stream, 0);
}

Status LayerPair::Sequential(cudaStream_t stream) {
  for (const PairNode node : {PairNode::kPreFwd, PairNode::kDispatchFwd, PairNode::kMlpFwd, PairNode::kCombineFwd,
                              PairNode::kCombineBwd, PairNode::kMlpBwd, PairNode::kDispatchBwd, PairNode::kPreBwd}) {
    TRY(Node(node, stream, /*with_wgrad=*/true));
  }
  return Ok();
}

Status LayerPair::Overlapped(cudaStream_t compute, cudaStream_t exchange, const fit::PairSchedule& schedule) {
  std::vector<PairNode> order = {PairNode::kCombineBwd, PairNode::kPreFwd, PairNode::kMlpBwd, PairNode::kDispatchFwd};
  if (schedule.delay_wgrad) order.push_back(PairNode::kMlpWgrad);
  order.push_back(PairNode::kDispatchBwd);
  if (schedule.early_release) order.push_back(PairNode::kPreBwd);
  order.insert(order.end(), {PairNode::kMlpFwd, PairNode::kCombineFwd});
  if (!schedule.early_release) order.push_back(PairNode::kPreBwd);
  if (schedule.delay_wgrad) order.push_back(PairNode::kPreWgrad);

  for (cudaEvent_t chain : {forward_chain_, backward_chain_}) CUDA_TRY(cudaEventRecord(chain, compute));
  for (const PairNode node : order) {
    cudaStream_t stream = fit::IsExchange(node) ? exchange : compute;
    // Delayed weight gradients wait for their stream alone, and nobody waits for them.
    const bool chained = node != PairNode::kMlpWgrad && node != PairNode::kPreWgrad;
    const bool forward = node == PairNode::kPreFwd || node == PairNode::kDispatchFwd || node == PairNode::kMlpFwd ||
                         node == PairNode::kCombineFwd;
    cudaEvent_t chain = forward ? forward_chain_ : backward_chain_;
    if (chained) CUDA_TRY(cudaStreamWaitEvent(stream, chain));
    TRY(Node(node, stream, /*with_wgrad=*/!schedule.delay_wgrad));
    if (chained) CUDA_TRY(cudaEventRecord(chain, stream));
  }
  CUDA_TRY(cudaEventRecord(end_, exchange));
  CUDA_TRY(cudaStreamWaitEvent(compute, end_));
  return Ok();
}

}  // namespace flightplan::probe
