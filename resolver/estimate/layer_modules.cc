#include "resolver/estimate/layer_modules.h"

#include <algorithm>
#include <cmath>

#include "resolver/estimate/activation_passes.h"
#include "resolver/estimate/layer_terms.h"
#include "resolver/estimate/loss_passes.h"

namespace flightplan {
namespace {

// Where nothing else is said: chosen by what the kernels read and write and what the modules launch; none is measured
// alone. The measured coefficients are rows of step_rates.yaml.

// ---- attention
constexpr double kAttentionBackKernels = 1.5;

// ---- memory traffic
constexpr double kNormBytes = 10;     // a value of a layer's norms and residuals
constexpr double kFp32NormBytes = 6;  // more, where the residuals are in FP32: a norm reads them, a sum both ways
constexpr double kMoreNorms = 1.4;    // with norms behind the modules, too
constexpr double kNormOnlyBytes = 4;  // of a norm alone: read and written in 16 bits
constexpr double kFp32NormOnlyBytes = 2;
constexpr double kMemoryBack = 1.6;  // of the backward pass
constexpr double kNormKernels = 2, kNormKernelsBack = 3;
constexpr double kUpProjectionKernels = 8;

// ---- hyper-connections, at both of a layer's modules: the streams are read and mixed into the module's input, then
// read once more beside its output and written. Of the plain residual, which kNormBytes has: two reads and a write.
// ai-dynamo/aiconfigurator@095f58a51 systems/data/gb200/mhc (trtllm 1.3.0rc20): 395 us for a layer of 8,192 tokens,
// 4,096 values and 4 streams, both modules; these bytes and memory_share give 345 with the residual's.
constexpr double kResidualBytes = 6;
constexpr double kStreamKernels = 5, kStreamKernelsBack = 7;

// ---- experts: a library call an expert costs less host time than a framework's operator
constexpr double kFusedCalls = 4, kFusedWeightCalls = 2, kCallOfAnExpert = 0.4;
// Without the grouped product each expert is a module of the framework: two linear layers and an activation, forward;
// and with casts a further operator for each layer (Megatron-LM@d98e8a64dd experts.py, SequentialMLP).
constexpr double kExpertKernels = 3, kExpertKernelsBack = 4, kExpertLinears = 2;
constexpr double kRouterBytes = 14, kRouterBytesBack = 10;  // a token and expert: scores, mask, map
constexpr double kFusedRouterKernels = 8, kRouterKernels = 18;
constexpr double kRouteKernels = 3, kRouteKernelsBack = 5;
constexpr double kUnfusedPermute = 2.5, kUnfusedPermuteKernels = 2;
// Of the shared experts' forward and of the exchange: what may run beside the other.
constexpr double kSharedBeside = 0.7, kExchangeBeside = 0.8;

// ---- head
constexpr double kHeadKernels = 12, kHeadKernelsBack = 8;

// ---- adapters
constexpr unsigned kOfAttention = kAdaptQkv | kAdaptProj | kAdaptQ | kAdaptQDown | kAdaptQUp | kAdaptKvDown |
                                  kAdaptKvUp | kAdaptInProj | kAdaptOutProj;
constexpr double kSharedGradients = 4;  // collectives that sum the gradients of adapters that experts share

// Gated activations read two values and write one; backward three and two.
double ActivationBack(double fwd_bytes) { return fwd_bytes * 5 / 3; }

class ModuleTimer : private LayerTerms {
 public:
  using LayerTerms::LayerTerms;

  LayerModules Modules(const LayerWork& layer, size_t precision) const;
  // The exchange of a layer with experts alone, and what hides of it.
  void TimeExchange(const LayerWork& layer, LayerModules* m) const {
    m->exchange = ExchangeOf(plan_, rates_, local_, layer.mlp, ExchangeWidth(layer.mlp), ExpertRows(layer.mlp));
    HideBesideShared(layer, m);
  }
  Module Head() const;
  Products Join() const {
    const double rows = tokens_ / t_;
    Products join = ProductsOf(rows, 2 * h_, h_, batch_.precision, rows);
    if (Frozen()) join.wgrad = 0;
    return join;
  }

 private:
  bool Captured(unsigned module) const {
    if (plan_.graphs != GraphImpl::kLocal && plan_.graphs != GraphImpl::kTransformerEngine) return false;
    return plan_.graph_modules == 0 || (plan_.graph_modules & module) != 0;
  }
  double NormBytes() const { return (kNormBytes + (plan_.fp32_residual ? kFp32NormBytes : 0)) * h_ * local_; }

  Module AttentionModule(const LayerWork& layer, size_t precision) const;
  void AddStreams(double streams, Module* module) const;
  Load UpProjection(const AttentionWork& work, size_t precision) const;
  Module DenseModule(const LayerWork& layer, double width, size_t precision) const;
  double Passes(const MlpWork& mlp, bool routed) const {
    return ActivationPasses(mlp.activation, plan_.activation_fusion, routed, k_.activation_unfused);
  }
  void AddDense(const LayerWork& layer, size_t precision, LayerModules* m) const;
  void AddExperts(const MlpWork& mlp, size_t precision, LayerModules* m) const;
  void CountExpertCalls(double local_experts, bool casts, Module* experts) const;
  void AddExpertAdapters(double rows, double in, double first, double second, double local_experts,
                         Module* experts) const;
  double ExpertRows(const MlpWork& mlp) const;
  void AddRouter(const MlpWork& mlp, size_t precision, LayerModules* m) const;
  double ExchangeWidth(const MlpWork& mlp) const { return mlp.latent > 0 ? mlp.latent : h_; }
  void AddExchange(const LayerWork& layer, LayerModules* m) const;
  void HideBesideShared(const LayerWork& layer, LayerModules* m) const;
  static void AddUp(LayerModules* m);
};

Module ModuleTimer::AttentionModule(const LayerWork& layer, size_t precision) const {
  Module module;
  const AttentionWork& work = layer.attention;
  if (work.linear_count == 0) return module;
  for (int i = 0; i < work.linear_count; ++i) AddLinear(work.linears[static_cast<size_t>(i)], precision, &module);
  AddAdapters(layer.adapters, kOfAttention, &module);
  AddTensorParallel(&module);
  if (work.ratio > 0) {
    AddSparse(work, &module);
  } else if (work.heads > 0) {
    AddSoftmax(work, &module);
  }
  if (work.scan_state > 0) {
    AddScan(work, &module);
    if (plan_.cp > 1) AddScanExchange(work, &module);
  }
  const double norm_bytes = NormBytes() * (layer.norms > 2 ? kMoreNorms : 1.0);
  const double bytes = work.split_bytes * tokens_ / t_ + work.replicated_bytes * local_ + norm_bytes;
  AddMemory(bytes, kMemoryBack * bytes, &module);
  module.fwd.kernels += work.kernels - work.linear_count;
  module.bwd.kernels += kAttentionBackKernels * work.kernels;
  if (layer.streams > 1) AddStreams(layer.streams, &module);
  return module;
}

void ModuleTimer::AddStreams(double streams, Module* module) const {
  const double bytes = 2 * (kBf16Bytes * (3 * streams + 2) - kResidualBytes) * h_ * local_;
  AddMemory(bytes, kMemoryBack * bytes, module);
  module->fwd.kernels += 2 * kStreamKernels;
  module->bwd.kernels += 2 * kStreamKernelsBack;
}

Load ModuleTimer::UpProjection(const AttentionWork& work, size_t precision) const {
  Module up;
  for (int i = 0; i < work.linear_count; ++i) {
    const Linear& linear = work.linears[static_cast<size_t>(i)];
    if (linear.split == Linear::Split::kColumn) AddLinear(linear, precision, &up);
  }
  up.fwd.memory += work.up_projection_bytes * tokens_ / t_ * rates_.memory_us;
  up.fwd.kernels += kUpProjectionKernels;
  return up.fwd;
}

Module ModuleTimer::DenseModule(const LayerWork& layer, double width, size_t precision) const {
  Module module;
  const double first = layer.mlp.gated ? 2 * width : width;
  AddLinear({h_, first, Linear::Split::kColumn}, precision, &module);
  AddLinear({width, h_, Linear::Split::kRow}, precision, &module);
  AddAdapters(layer.adapters, kAdaptFc1 | kAdaptFc2, &module);
  AddTensorParallel(&module);
  const double activation = kBf16Bytes * (first + width) * tokens_ / t_ * Passes(layer.mlp, /*routed=*/false);
  AddMemory(activation, ActivationBack(activation), &module);
  module.fwd.kernels += 1;
  module.bwd.kernels += 2;
  return module;
}

// With the norm in front of it.
void ModuleTimer::AddDense(const LayerWork& layer, size_t precision, LayerModules* m) const {
  if (layer.mlp.width <= 0) return;
  Module& dense = m->mlp;
  dense = DenseModule(layer, layer.mlp.width, precision);
  AddMemory(NormBytes(), kMemoryBack * NormBytes(), &dense);
  dense.fwd.kernels += kNormKernels;
  dense.bwd.kernels += kNormKernelsBack;
  m->fwd += dense.fwd;
  m->bwd += dense.bwd;
  m->bwd += dense.wgrad;
  if (!Captured(kGraphMlp)) return;
  m->captured_fwd += dense.fwd.kernels;
  m->captured_bwd += dense.bwd.kernels + dense.wgrad.kernels;
}

// Rows that this rank computes.
double ModuleTimer::ExpertRows(const MlpWork& mlp) const {
  const double routed =
      plan_.imbalance <= 1 || plan_.ep == 1 ? 1.0 : 1 + k_.natural_imbalance * std::sqrt(2 * std::log(plan_.ep));
  const double sent = local_ * mlp.topk;  // rows that leave this rank
  return sent * plan_.etp * plan_.BusiestRows(routed);
}

void ModuleTimer::AddExperts(const MlpWork& mlp, size_t precision, LayerModules* m) const {
  const double q = plan_.etp, local_experts = std::max(1.0, mlp.experts / plan_.ep);
  const double in = mlp.latent > 0 ? mlp.latent : h_;
  const double rows = ExpertRows(mlp);
  const double per_expert = std::max(1.0, rows / local_experts);
  const double first = (mlp.gated ? 2 : 1) * mlp.expert_width / q, second = mlp.expert_width / q;
  Module& experts = m->experts;
  const Products up = ExpertProductsOf(rows, in, first, precision, per_expert);
  const Products down = ExpertProductsOf(rows, second, in, precision, per_expert);
  experts.fwd.matmul = up.fwd + down.fwd;
  experts.bwd.matmul = up.bwd + down.bwd;
  if (!Frozen()) experts.wgrad.matmul = up.wgrad + down.wgrad;
  // The fused grouped MLP has every gated activation in its own kernel, forward; the backward pass of one that is not
  // plain stays with the framework's operators.
  const double once = kBf16Bytes * (first + second) * rows, unfused = Passes(mlp, /*routed=*/true);
  const double bias = mlp.bias ? kBf16Bytes * (first + in) * rows : 0;
  const double activation = once * (plan_.fused_grouped_mlp ? 1 : unfused) + bias;
  AddMemory(activation, ActivationBack(once * unfused + bias), &experts);
  m->activation_us = activation * rates_.memory_us;
  const double fused = plan_.fused_grouped_mlp ? k_.fused_quantize : 1.0;
  if (precision != 0) {
    experts.fwd.memory += rows * (in + second) * quantize_us_ * fused;
    experts.bwd.memory += rows * (in + first) * quantize_us_ * fused;
  }
  CountExpertCalls(local_experts, precision != 0, &experts);
  if (Frozen() && plan_.adapters.at(kAdaptExperts)) AddExpertAdapters(rows, in, first, second, local_experts, &experts);
}

void ModuleTimer::CountExpertCalls(double local_experts, bool casts, Module* experts) const {
  const double linears = kExpertLinears * local_experts;
  if (!plan_.grouped_gemm) {
    experts->fwd.kernels = kFusedCalls + kExpertKernels * local_experts + (casts ? linears : 0);
    experts->bwd.kernels = kFusedCalls + kExpertKernelsBack * local_experts + (casts ? linears : 0);
    if (!Frozen()) experts->wgrad.kernels = linears;
    return;
  }
  // A call for each expert and each of the two layers, and as many again for casts.
  const double calls =
      plan_.fused_grouped_mlp ? kFusedCalls : kFusedCalls + kCallOfAnExpert * linears * (casts ? 2 : 1);
  experts->fwd.kernels = calls;
  experts->bwd.kernels = calls;
  if (!Frozen()) experts->wgrad.kernels = plan_.fused_grouped_mlp ? kFusedWeightCalls : kCallOfAnExpert * linears;
}

// Beside the experts of this rank, one for all of them or one each.
void ModuleTimer::AddExpertAdapters(double rows, double in, double first, double second, double local_experts,
                                    Module* experts) const {
  const double rank = plan_.adapters.expert_rank;
  const double each = plan_.adapters.shared_by_experts ? 0 : std::max(1.0, rows / local_experts);
  if (plan_.adapters.at(kAdaptFc1)) AddAdapter(rows, in, first, rank, rank, each, experts);
  if (plan_.adapters.at(kAdaptFc2)) AddAdapter(rows, second, in, rank, rank, each, experts);
  if (plan_.adapters.shared_by_experts && plan_.ep > 1) {
    experts->bwd.transfer += kSharedGradients * k_.collective_latency_us;
  }
}

void ModuleTimer::AddRouter(const MlpWork& mlp, size_t precision, LayerModules* m) const {
  Module route;
  const Products router = ProductsOf(local_, h_, mlp.experts, 0, local_);
  route.fwd.matmul = router.fwd;
  route.bwd.matmul = router.bwd;
  if (!Frozen()) route.wgrad.matmul = router.wgrad;
  const double norm_bytes = NormBytes();
  AddMemory(norm_bytes + kRouterBytes * local_ * mlp.experts,
            kMemoryBack * norm_bytes + kRouterBytesBack * local_ * mlp.experts, &route);
  const double router_kernels = plan_.router_fusion ? kFusedRouterKernels : kRouterKernels;
  route.fwd.kernels = kRouteKernels + router_kernels;
  route.bwd.kernels = kRouteKernelsBack + router_kernels;
  if (Captured(kGraphMoeRouter)) {
    m->captured_fwd += route.fwd.kernels;
    m->captured_bwd += route.bwd.kernels;
  }
  if (mlp.latent > 0) {
    AddLinear({h_, mlp.latent, Linear::Split::kWhole}, precision, &route);
    AddLinear({mlp.latent, h_, Linear::Split::kWhole}, precision, &route);
  }
  m->pre = route.fwd;
  m->pre_bwd = route.bwd;
  m->pre_wgrad = route.wgrad;
}

void ModuleTimer::AddExchange(const LayerWork& layer, LayerModules* m) const {
  TimeExchange(layer, m);
  const ExchangeWork& exchange = m->exchange;
  const double permute = exchange.permute_bytes * rates_.permute_us * (plan_.permute_fusion ? 1 : kUnfusedPermute);
  const double unpermute = exchange.unpermute_bytes * rates_.permute_us * (plan_.permute_fusion ? 1 : kUnfusedPermute);
  if (exchange.permutes_before) {
    m->permute_us = permute;
    m->pre.memory += permute;
    m->pre_bwd.memory += permute;
  } else {
    m->beside_experts_us += permute;
  }
  if (plan_.dispatcher == Dispatcher::kDeepEp) m->beside_experts_us += unpermute;
  if (plan_.dispatcher == Dispatcher::kAllToAll) m->on_exchange_us = unpermute;
  m->permute_kernels = exchange.kernels * (plan_.permute_fusion ? 1 : kUnfusedPermuteKernels);
  if (Captured(kGraphMoePreprocess)) m->captured_fwd += exchange.preprocess_kernels;
}

void ModuleTimer::HideBesideShared(const LayerWork& layer, LayerModules* m) const {
  if (layer.mlp.shared_width <= 0 || !plan_.shared_expert_overlap || plan_.ep_overlap) return;
  m->shared_hidden_us = std::min(kSharedBeside * m->shared.fwd.gpu(),
                                 kExchangeBeside * (m->exchange.dispatch_us + m->exchange.combine_us));
}

// Of a layer with experts, what stands behind its attention.
void ModuleTimer::AddUp(LayerModules* m) {
  m->fwd += m->experts.fwd;
  m->fwd += m->pre;
  m->fwd += m->shared.fwd;
  m->fwd.memory += m->beside_experts_us + m->on_exchange_us;
  m->fwd.kernels += m->permute_kernels;
  m->bwd += m->experts.bwd;
  m->bwd += m->experts.wgrad;
  m->bwd += m->pre_bwd;
  m->bwd += m->pre_wgrad;
  m->bwd += m->shared.bwd;
  m->bwd += m->shared.wgrad;
  m->bwd.memory += m->beside_experts_us + m->on_exchange_us;
  m->bwd.kernels += m->permute_kernels;
}

LayerModules ModuleTimer::Modules(const LayerWork& layer, size_t precision) const {
  LayerModules m;
  m.attention = AttentionModule(layer, precision);
  m.fwd = m.attention.fwd;
  m.bwd = m.attention.bwd;
  m.bwd += m.attention.wgrad;
  if (Captured(kGraphAttn | kGraphMamba)) {
    m.captured_fwd = m.attention.fwd.kernels;
    m.captured_bwd = m.attention.bwd.kernels + m.attention.wgrad.kernels;
  }
  if (layer.attention.latent) m.mla_up = UpProjection(layer.attention, precision);
  m.norms.memory =
      (kNormOnlyBytes + (plan_.fp32_residual ? kFp32NormOnlyBytes : 0)) * h_ * local_ * layer.norms * rates_.memory_us;
  m.norms.kernels = layer.norms;
  if (layer.streams > 1) {
    Module streams;
    AddStreams(layer.streams, &streams);
    m.streams = streams.fwd;
  }
  m.routed = layer.mlp.experts > 0;
  if (!m.routed) {
    AddDense(layer, precision, &m);
    return m;
  }
  AddExperts(layer.mlp, precision, &m);
  AddRouter(layer.mlp, precision, &m);
  if (layer.mlp.shared_width > 0) m.shared = DenseModule(layer, layer.mlp.shared_width, precision);
  AddExchange(layer, &m);
  AddUp(&m);
  // Rows that are padded to the capacity have one shape, so that a graph may hold all of the module.
  if (plan_.drop_pad && Captured(kGraphMoe)) {
    const Module outside = Captured(kGraphAttn | kGraphMamba) ? Module() : m.attention;
    m.captured_fwd = m.fwd.kernels - outside.fwd.kernels;
    m.captured_bwd = m.bwd.kernels - outside.bwd.kernels - outside.wgrad.kernels;
  }
  return m;
}

// Products in bf16 unless fp8_output_proj asks for the other layers' precision, with its casts of the hidden state and
// of the logits' gradient, and a vocabulary-parallel cross entropy.
Module ModuleTimer::Head() const {
  Module head;
  const double v = work_.vocabulary / t_;
  const size_t precision = plan_.low_precision_head ? batch_.precision : 0;
  const Products products = ProductsOf(tokens_, h_, v, precision, tokens_);
  head.fwd.matmul = products.fwd;
  head.bwd.matmul = products.bwd + (plan_.loss == LossKind::kLinearFused ? products.fwd : 0);
  if (!Frozen()) head.wgrad.matmul = products.wgrad;
  const LossPasses loss = PassesOf(plan_.loss);
  head.fwd.memory = tokens_ * v * loss.fwd * rates_.memory_us;
  head.bwd.memory = tokens_ * v * loss.bwd * rates_.memory_us;
  if (precision != 0) {
    head.fwd.memory += tokens_ * h_ * quantize_us_;
    head.bwd.memory += tokens_ * v * quantize_us_;
  }
  head.fwd.kernels = kHeadKernels;
  head.bwd.kernels = kHeadKernelsBack;
  return head;
}

}  // namespace

LayerModules ModulesOf(const LayerWork& layer, size_t precision, const ModelWork& work, const Candidate& plan,
                       const GpuRates& rates) {
  return ModuleTimer(work, plan, rates).Modules(layer, precision);
}

void TimeExchange(const LayerWork& layer, const ModelWork& work, const Candidate& plan, const GpuRates& rates,
                  LayerModules* modules) {
  if (modules->routed) ModuleTimer(work, plan, rates).TimeExchange(layer, modules);
}

Module HeadOf(const ModelWork& work, const Candidate& plan, const GpuRates& rates) {
  return ModuleTimer(work, plan, rates).Head();
}

Products JoinOf(const ModelWork& work, const Candidate& plan, const GpuRates& rates) {
  return ModuleTimer(work, plan, rates).Join();
}

double KernelUs(const Candidate& plan, const GpuRates& rates) {
  constexpr double kInGraph = 0.5;  // of it
  return rates.k.kernel_us * (plan.graphs == GraphImpl::kFullIteration ? kInGraph : 1);
}

}  // namespace flightplan
