#include "resolver/estimate/step.h"

#include <algorithm>
#include <cmath>

#include "resolver/estimate/exchange.h"
#include "resolver/estimate/overlap.h"

namespace flightplan {
namespace {

constexpr double kBf16Bytes = 2;

// A module: its forward, its backward without and with the weight gradients' part.
struct Module {
  Load fwd, bwd, wgrad;
  double captured_kernels = 0;  // of fwd: inside a CUDA graph
};

void AddScaled(const Load& load, double by, Load* to) {
  to->matmul += by * load.matmul;
  to->attention += by * load.attention;
  to->memory += by * load.memory;
  to->transfer += by * load.transfer;
  to->kernels += by * load.kernels;
  to->context += by * load.context;
  to->hidden_tensor += by * load.hidden_tensor;
  to->hidden_context += by * load.hidden_context;
}

Load Scaled(const Load& load, double by) {
  Load scaled;
  AddScaled(load, by, &scaled);
  return scaled;
}

// Larger of two, rounded where they meet: some of a layer's kernels wait for the host and others for the GPU, and each
// wait for the number of rows that arrive drains what the host had launched ahead.
double SoftMax(double a, double b) { return std::sqrt(a * a + b * b); }

class Forecaster {
 public:
  Forecaster(const ModelWork& work, const Candidate& plan, const GpuRates& rates)
      : work_(work), plan_(plan), rates_(rates), k_(rates.k), t_(plan.tp), h_(work.hidden) {
    tokens_ = static_cast<double>(plan.micro_batch_size) * static_cast<double>(plan.seq_length) / plan.cp;
    local_ = plan.sequence_parallel ? tokens_ / t_ : tokens_;
    precision_ = static_cast<size_t>(plan.precision);
    if (rates.gemm_us[precision_] <= 0) precision_ = 0;
    quantize_us_ = rates.quantize_bytes[precision_] * rates.memory_us;
    written_ = std::max<double>(plan.gradient_bytes, kBf16Bytes) / kBf16Bytes;
    weight_gradient_ = 1 / k_.gemm_weight_gradient;
  }

  LayerTimes Layers() const;
  bool Run(const LayerTimes& times, StepForecast* out);

 private:
  // Matrix products of one layer, of `rows` rows in all: forward, input gradient, weight gradient.
  struct Products {
    double fwd = 0, bwd = 0, wgrad = 0;
    double all() const { return fwd + bwd + wgrad; }
  };
  // What a product loses at its edges: operands are read once for all output columns, and each output is written after
  // `in` products have been added to it, which the next tile does not hide. A weight gradient adds the rows of one
  // weight, `summed`, to the gradient buffer, which it reads and writes. `few`: lost besides, by an expert's few rows.
  Products ProductsOf(double rows, double in, double out, size_t precision, double summed, double few = 0) const {
    const double columns = k_.gemm_half_out * rates_.ridge[precision],
                 depth = k_.gemm_half_in * rates_.ridge[precision];
    const double us = 2 * rows * in * out * rates_.gemm_us[precision], by_in = 1 / in, by_out = 1 / out;
    return {us * (1 + few + columns * by_out + depth * by_in), us * (1 + few + columns * by_in + depth * by_out),
            us * (1 + columns * by_out + depth * written_ / summed) * weight_gradient_};
  }

  // One linear layer: forward, input gradient, weight gradient, and the casts in front of them.
  void AddLinear(const Linear& linear, size_t precision, Module* module) const {
    const double in = linear.split == Linear::Split::kRow ? linear.in / t_ : linear.in;
    const double out = linear.split == Linear::Split::kColumn ? linear.out / t_ : linear.out;
    const double rows = linear.split == Linear::Split::kWhole ? local_ : tokens_;
    const Products products = ProductsOf(rows, in, out, precision, rows);
    module->fwd.matmul += products.fwd;
    module->bwd.matmul += products.bwd;
    module->wgrad.matmul += products.wgrad;
    if (precision != 0) {
      module->fwd.memory += rows * in * quantize_us_;
      module->bwd.memory += rows * out * quantize_us_;
      module->fwd.kernels += 1.5;
      module->bwd.kernels += 1.5;
    }
    module->fwd.kernels += 1;
    module->bwd.kernels += 1;
    module->wgrad.kernels += 1;
  }

  // Gather before the column-parallel layer and reduction after the row-parallel one (or two all-reduces).
  void AddTensorParallel(Module* module) const {
    if (t_ <= 1) return;
    // What a low-precision product is fed is gathered as it feeds it (Transformer Engine, quantized all-gather); sums
    // are reduced in bf16.
    const double values = tokens_ * h_ * (t_ - 1) / t_;
    const double us = (OperandBytes() + kBf16Bytes) * values * LinkUs(plan_.tp) +
                      (plan_.tp_overlap ? 0 : 2 * k_.collective_latency_us);
    const double exposed = plan_.tp_overlap ? k_.tensor_overlap_exposed : 1.0;
    module->fwd.transfer += us * exposed;
    // The backward gathers the input once more for the weight gradient; that gather hides behind the input gradient.
    module->bwd.transfer += us * exposed * 1.15;
    module->fwd.hidden_tensor += us * (1 - exposed);
    const double again = OperandBytes() * values * LinkUs(plan_.tp);
    module->bwd.hidden_tensor += std::max(0.0, us + again - us * exposed * 1.15);
    module->fwd.kernels += 2;
    module->bwd.kernels += 3;
  }

  double OperandBytes() const {
    switch (static_cast<GemmPrecision>(precision_)) {
      case GemmPrecision::kBf16:
      case GemmPrecision::kFp16:
      case GemmPrecision::kFp32:
        return kBf16Bytes;
      case GemmPrecision::kFp8Delayed:
      case GemmPrecision::kFp8Tensorwise:
      case GemmPrecision::kFp8Blockwise:
        return 1;
      case GemmPrecision::kMxfp8:
        return 1 + 1.0 / 32;
      case GemmPrecision::kNvfp4:
        return 0.5 + 1.0 / 16;
    }
    return kBf16Bytes;
  }

  // Ring (p2p): keys and values pass every rank beside the blocks' attention. All-to-all: heads are spread instead,
  // once there and once back, before and after the kernel. Both: all-to-all inside the NVLink domain, the ring between
  // domains.
  void AddContextParallel(const AttentionWork& work, Module* module) const {
    const double cp = plan_.cp, sizes = work.qk_size + work.v_size;
    const double keys = kBf16Bytes * tokens_ * work.groups * sizes / t_;
    const double queries = kBf16Bytes * tokens_ * work.heads * sizes / t_;
    const double inside = std::clamp(std::floor(rates_.domain_gpus / t_), 1.0, cp);
    double spread = 1, ring = cp;  // ranks of the all-to-all and of the ring
    if (plan_.cp_comm == CpComm::kAllToAll) spread = cp, ring = 1;
    if (plan_.cp_comm == CpComm::kAllToAllP2p) spread = inside, ring = cp / inside;
    const double first = 2 * k_.collective_latency_us;
    const double exchange = spread > 1 ? first + (keys + queries) * (spread - 1) / spread * LinkUs(t_ * spread) : 0;
    const double passing = keys / spread * (ring - 1) * LinkUs(t_ * cp);
    const auto add = [&](double times, Load* load) {
      const double beside = plan_.cp_comm == CpComm::kAllGather ? 0.3 : 0.8;
      const double left = std::max(0.0, times * passing - beside * load->attention);
      const double exposed = exchange + (ring > 1 ? first + left : 0);
      load->transfer += exposed;
      load->context += exposed;
      load->hidden_context += times * passing - left;
    };
    add(1, &module->fwd);
    add(2, &module->bwd);
  }

  double LinkUs(double span) const {
    return span <= rates_.domain_gpus ? rates_.collective_nvlink_us : rates_.collective_network_us;
  }

  void AddMemory(double fwd_bytes, double bwd_bytes, Module* module) const {
    module->fwd.memory += fwd_bytes * rates_.memory_us;
    module->bwd.memory += bwd_bytes * rates_.memory_us;
  }

  Module AttentionModule(const LayerWork& layer, size_t precision) const;
  Module DenseModule(const LayerWork& layer, double width, size_t precision) const;
  LayerTime TimeOfLayer(const LayerWork& layer, size_t precision) const;
  LayerTime TimeOfRank(const RankContents& rank, const LayerTimes& layers) const;
  LayerTime TimeOfHead() const;
  double DataParallelUs(double parameters, double ranks, double stride, double bytes_per_parameter) const;
  void AddDataParallel(double fwd_us, double bwd_us, double microbatches, StepForecast* out) const;
  void AddHidden(const LayerTime& stage, double microbatches, StepForecast* out) const;
  void CountParameters(const RankContents& rank);

  // With the ramp, the tail and the gap of each kernel.
  double GpuUs(const Load& load) const { return load.gpu() + load.kernels * KernelUs(); }
  // A graph's nodes follow each other without a launch between them.
  double KernelUs() const { return k_.kernel_us * (WholeIteration() ? 0.5 : 1); }

  bool Again(unsigned module) const {
    return plan_.recompute == RecomputeMode::kSelective && (plan_.recompute_modules & module) != 0;
  }
  // All layers of a stage again; block recompute of some layers counts as their share.
  double FullRecompute() const {
    if (plan_.recompute == RecomputeMode::kFullUniform) return 1;
    if (plan_.recompute != RecomputeMode::kFullBlock || plan_.stages == nullptr) return 0;
    const int layers = std::max(1, plan_.stages->chunks.front().Layers());
    return std::min(1.0, static_cast<double>(plan_.recompute_layers) / layers);
  }
  bool HasUnmeasuredAttention() const {
    for (int i = 0; i < work_.kind_count; ++i) {
      const LayerWork& layer = work_.kinds[static_cast<size_t>(i)];
      if (layer.attention.scan_state > 0 || layer.attention.unmeasured) return true;
    }
    return false;
  }
  bool WholeIteration() const { return plan_.graphs == GraphImpl::kFullIteration; }
  bool Captured(unsigned module) const {
    if (plan_.graphs != GraphImpl::kLocal && plan_.graphs != GraphImpl::kTransformerEngine) return false;
    return plan_.graph_modules == 0 || (plan_.graph_modules & module) != 0;
  }

  const ModelWork& work_;
  const Candidate& plan_;
  const GpuRates& rates_;
  const StepCoefficients& k_;
  double t_, h_;
  double tokens_ = 0, local_ = 0;  // of a microbatch: on a TP group's ranks, and where sequence parallelism splits them
  size_t precision_ = 0;
  double quantize_us_ = 0;
  double written_ = 1, weight_gradient_ = 1;
  double dense_parameters_ = 0, expert_parameters_ = 0;  // of the slowest stage's rank
};

Module Forecaster::AttentionModule(const LayerWork& layer, size_t precision) const {
  Module module;
  const AttentionWork& work = layer.attention;
  if (work.linear_count == 0) return module;
  for (int i = 0; i < work.linear_count; ++i) AddLinear(work.linears[static_cast<size_t>(i)], precision, &module);
  AddTensorParallel(&module);

  if (work.heads > 0) {
    const double seq = static_cast<double>(plan_.seq_length);
    double context = seq / 2;
    // A window's kernel computes whole tiles: one more than the window asks for.
    if (work.window > 0) context = std::min(context, work.window + 128);
    const double flops = 2 * tokens_ * work.heads / t_ * (work.qk_size + work.v_size) * context;
    const double blocks = work.heads / t_ * static_cast<double>(plan_.micro_batch_size) * seq / 4096 / plan_.cp;
    const double gain = plan_.fp8_attention ? 1 / k_.attention_fp8 : 1.0;
    const double wide = work.qk_size > 128 ? 1.2 : 1.0;  // measured_rates.yaml: 192-wide heads in the backward pass
    // Small heads spend more exponentials on each product: the kernel waits for them.
    const double small =
        work.v_size < 128 ? std::sqrt(std::sqrt(128 / work.v_size)) * std::sqrt(128 / work.v_size) : 1.0;
    // Tiles on the diagonal are computed whole and the first ones have little to stream; less so in the backward pass.
    const double sequence = k_.attention_half_sequence / (2 * context);
    module.fwd.attention =
        flops * rates_.attention_forward_us * gain * small * (1 + sequence) * (1 + k_.attention_half_work / blocks);
    module.bwd.attention = 2.5 * flops * rates_.attention_backward_us * gain * wide * small * (1 + 0.6 * sequence) *
                           (1 + 0.3 * k_.attention_half_work / blocks);
    if (plan_.fp8_attention) {
      // Queries, keys and values are cast on the way in, the output's gradient on the way back: read in 16 bits,
      // written in 8 (measured forward gains do not hold it: their kernels are fed in FP8).
      const double queries = tokens_ * work.heads / t_, keys = tokens_ * work.groups / t_;
      constexpr double kCastBytes = 3;
      AddMemory(kCastBytes * (queries * work.qk_size + keys * (work.qk_size + work.v_size)),
                kCastBytes * queries * work.v_size, &module);
      module.fwd.kernels += 1;
      module.bwd.kernels += 1;
    }
    if (plan_.cp > 1) AddContextParallel(work, &module);
  }
  if (work.scan_state > 0) {
    const double us = tokens_ * work.scan_state / t_ * rates_.scan_us;
    module.fwd.attention += us;
    module.bwd.attention += k_.scan_backward * us;
  }
  const double norm_bytes = 10 * h_ * local_ * (layer.norms > 2 ? 1.4 : 1.0);
  const double bytes = work.split_bytes * tokens_ / t_ + work.replicated_bytes * local_ + norm_bytes;
  AddMemory(bytes, 1.6 * bytes, &module);
  module.fwd.kernels += work.kernels - work.linear_count;
  module.bwd.kernels += 1.5 * work.kernels;
  if (Captured(kGraphAttn | kGraphMamba)) module.captured_kernels = module.fwd.kernels;
  return module;
}

Module Forecaster::DenseModule(const LayerWork& layer, double width, size_t precision) const {
  Module module;
  const double first = layer.mlp.gated ? 2 * width : width;
  AddLinear({h_, first, Linear::Split::kColumn}, precision, &module);
  AddLinear({width, h_, Linear::Split::kRow}, precision, &module);
  AddTensorParallel(&module);
  const double activation =
      kBf16Bytes * (first + width) * tokens_ / t_ * (layer.mlp.plain_activation ? 1.0 : k_.activation_unfused);
  AddMemory(activation, activation * 5 / 3, &module);
  module.fwd.kernels += 1;
  module.bwd.kernels += 2;
  return module;
}

LayerTime Forecaster::TimeOfLayer(const LayerWork& layer, size_t precision) const {
  LayerTime times;
  const MlpWork& mlp = layer.mlp;
  Module attention = AttentionModule(layer, precision);
  times.fwd = attention.fwd;
  times.bwd = attention.bwd;
  times.bwd += attention.wgrad;
  double captured = attention.captured_kernels;
  double captured_bwd = Captured(kGraphAttn | kGraphMamba) ? attention.bwd.kernels + attention.wgrad.kernels : 0;
  const double norm_bytes = 10 * h_ * local_;

  // What recomputing costs: the module's forward again, and the checkpoint's own host work.
  const double checkpoint_kernels = 6;
  const auto again = [&](unsigned module, const Load& load) {
    if (!Again(module)) return;
    times.again += load;
    times.again.kernels += checkpoint_kernels;
  };
  if (attention.fwd.attention > 0) again(kDropCoreAttn, {0, attention.fwd.attention, 0, 0, 3});
  if (layer.attention.latent && Again(kDropMlaUpProj)) {
    Module up;
    for (int i = 0; i < layer.attention.linear_count; ++i) {
      const Linear& linear = layer.attention.linears[static_cast<size_t>(i)];
      if (linear.split == Linear::Split::kColumn) AddLinear(linear, precision, &up);
    }
    up.fwd.memory += layer.attention.up_projection_bytes * tokens_ / t_ * rates_.memory_us;
    up.fwd.kernels += 8;
    again(kDropMlaUpProj, up.fwd);
  }
  again(kDropOverlapAttention, attention.fwd);
  again(kDropLayernorm, {0, 0, 4 * h_ * local_ * layer.norms * rates_.memory_us, 0, layer.norms});

  if (mlp.experts <= 0) {
    if (mlp.width > 0) {
      Module dense = DenseModule(layer, mlp.width, precision);
      AddMemory(norm_bytes, 1.6 * norm_bytes, &dense);
      dense.fwd.kernels += 2;
      dense.bwd.kernels += 3;
      times.fwd += dense.fwd;
      times.bwd += dense.bwd;
      times.bwd += dense.wgrad;
      if (Captured(kGraphMlp)) {
        captured += dense.fwd.kernels;
        captured_bwd += dense.bwd.kernels + dense.wgrad.kernels;
      }
      again(kDropMlp, dense.fwd);
    }
  } else {
    // ---- routed experts
    const double q = plan_.etp, local_experts = std::max(1.0, mlp.experts / plan_.ep);
    const double in = mlp.latent > 0 ? mlp.latent : h_;
    const double imbalance =
        plan_.imbalance <= 1 || plan_.ep == 1 ? 1.0 : 1 + k_.natural_imbalance * std::sqrt(2 * std::log(plan_.ep));
    const double sent = local_ * mlp.topk;     // rows that leave this rank
    const double rows = sent * q * imbalance;  // rows this rank computes
    const double per_expert = std::max(1.0, rows / local_experts);
    const double first = (mlp.gated ? 2 : 1) * mlp.expert_width / q, second = mlp.expert_width / q;
    Module experts;
    const double few = k_.gemm_half_rows_grouped * rates_.ridge[precision] / per_expert, grouped = 1 / k_.gemm_grouped;
    const Products up = ProductsOf(rows, in, first, precision, per_expert, few);
    const Products down = ProductsOf(rows, second, in, precision, per_expert, few);
    experts.fwd.matmul = (up.fwd + down.fwd) * grouped;
    experts.bwd.matmul = (up.bwd + down.bwd) * grouped;
    experts.wgrad.matmul = (up.wgrad + down.wgrad) * grouped;
    // The fused grouped MLP has every gated activation in its own kernel, forward; the backward pass of one that is not
    // plain stays with the framework's operators.
    const double once = kBf16Bytes * (first + second) * rows,
                 unfused = mlp.plain_activation ? 1 : k_.activation_unfused;
    const double bias = mlp.bias ? kBf16Bytes * (first + in) * rows : 0;
    const double activation = once * (plan_.fused_grouped_mlp ? 1 : unfused) + bias;
    AddMemory(activation, (once * unfused + bias) * 5 / 3, &experts);
    const double fused = plan_.fused_grouped_mlp ? k_.fused_quantize : 1.0;
    if (precision != 0) {
      experts.fwd.memory += rows * (in + second) * quantize_us_ * fused;
      experts.bwd.memory += rows * (in + first) * quantize_us_ * fused;
    }
    // A library call per expert costs less host time than a framework operator.
    const double calls = plan_.fused_grouped_mlp ? 4 : 4 + 0.4 * 2 * local_experts * (precision != 0 ? 2 : 1);
    experts.fwd.kernels = calls;
    experts.bwd.kernels = calls;
    experts.wgrad.kernels = plan_.fused_grouped_mlp ? 2 : 0.4 * 2 * local_experts;

    // ---- router, permutation
    Module route;
    const Products router = ProductsOf(local_, h_, mlp.experts, 0, local_);
    route.fwd.matmul = router.fwd;
    route.bwd.matmul = router.bwd;
    route.wgrad.matmul = router.wgrad;
    AddMemory(norm_bytes + 14 * local_ * mlp.experts, 1.6 * norm_bytes + 10 * local_ * mlp.experts, &route);
    const double router_kernels = plan_.router_fusion ? 8 : 18;
    route.fwd.kernels = 3 + router_kernels;
    route.bwd.kernels = 5 + router_kernels;
    if (mlp.latent > 0) {
      AddLinear({h_, mlp.latent, Linear::Split::kWhole}, precision, &route);
      AddLinear({mlp.latent, h_, Linear::Split::kWhole}, precision, &route);
    }
    const ExchangeWork exchange = ExchangeOf(plan_, rates_, local_, mlp, in, rows);
    const double permute = exchange.permute_bytes * rates_.permute_us * (plan_.permute_fusion ? 1 : 2.5);
    const double unpermute = exchange.unpermute_bytes * rates_.permute_us * (plan_.permute_fusion ? 1 : 2.5);
    Load pre = route.fwd, pre_bwd = route.bwd;
    double mlp_extra_fwd = 0, mlp_extra_bwd = 0;
    if (exchange.permutes_before) {
      pre.memory += permute;
      pre_bwd.memory += permute;
    } else {
      mlp_extra_fwd += permute;
      mlp_extra_bwd += permute;
    }
    if (plan_.dispatcher == Dispatcher::kDeepEp) {
      mlp_extra_fwd += unpermute;
      mlp_extra_bwd += unpermute;
    }
    const double post = plan_.dispatcher == Dispatcher::kAllToAll ? unpermute : 0;  // on the exchange's stream
    const double permute_kernels = exchange.kernels * (plan_.permute_fusion ? 1 : 2);
    if (Captured(kGraphMoeRouter)) captured += 3 + router_kernels, captured_bwd += 5 + router_kernels;
    if (Captured(kGraphMoePreprocess)) captured += exchange.preprocess_kernels;

    // ---- shared experts
    Module shared;
    double shared_hidden = 0;
    if (mlp.shared_width > 0) {
      shared = DenseModule(layer, mlp.shared_width, precision);
      if (plan_.shared_expert_overlap && !plan_.ep_overlap) {
        shared_hidden = std::min(0.7 * shared.fwd.gpu(), 0.8 * (exchange.dispatch_us + exchange.combine_us));
      }
    }
    times.fwd += experts.fwd;
    times.fwd += pre;
    times.fwd += shared.fwd;
    times.fwd.memory += mlp_extra_fwd + post;
    times.fwd.kernels += permute_kernels;
    times.bwd += experts.bwd;
    times.bwd += experts.wgrad;
    times.bwd += pre_bwd;
    times.bwd += route.wgrad;
    times.bwd += shared.bwd;
    times.bwd += shared.wgrad;
    times.bwd.memory += mlp_extra_bwd + post;
    times.bwd.kernels += permute_kernels;
    times.fwd_exchange = exchange.dispatch_us + exchange.combine_us - shared_hidden;
    times.shared_hidden = shared_hidden;
    times.bwd_exchange = exchange.dispatch_us + exchange.combine_us;

    again(kDropMoeAct, {0, 0, activation * rates_.memory_us, 0, 2});
    if (mlp.shared_width > 0) again(kDropSharedExperts, shared.fwd);
    again(kDropOverlapPostAttention, pre);
    if (Again(kDropOverlapExperts)) {
      Load computed = experts.fwd;
      computed += shared.fwd;
      again(kDropOverlapExperts, computed);
    }
    if (Again(kDropMoe)) {
      Load whole = experts.fwd;
      whole += pre;
      whole += shared.fwd;
      whole.memory += mlp_extra_fwd + post;
      whole.kernels += permute_kernels;
      again(kDropMoe, whole);
      times.again_exchange += exchange.dispatch_us + exchange.combine_us;
    }
    if (plan_.ep_overlap) {
      LayerNodes nodes;
      nodes.pre_fwd =
          GpuUs(attention.fwd) + attention.fwd.transfer + GpuUs(pre) + GpuUs(shared.fwd) + shared.fwd.transfer;
      nodes.pre_bwd = GpuUs(attention.bwd) + attention.bwd.transfer + GpuUs(pre_bwd) + GpuUs(shared.bwd) +
                      shared.bwd.transfer + GpuUs(times.again);
      nodes.pre_wgrad = GpuUs(attention.wgrad) + GpuUs(shared.wgrad) + GpuUs(route.wgrad);
      nodes.mlp_fwd = GpuUs(experts.fwd) + mlp_extra_fwd;
      nodes.mlp_bwd = GpuUs(experts.bwd) + mlp_extra_bwd;
      nodes.mlp_wgrad = GpuUs(experts.wgrad);
      nodes.dispatch_fwd = nodes.dispatch_bwd = exchange.dispatch_us;
      nodes.combine_fwd = nodes.combine_bwd = exchange.combine_us + post;
      const double left = rates_.sm_count / (rates_.sm_count - ExchangeSms(plan_));
      const CorunSlowdown slow = {k_.corun_compute * left, 1 + (k_.corun_communication - 1) * exchange.inside_share};
      const PairTime pair = WalkPair(nodes, slow, plan_.delay_wgrad, plan_.early_attn_release);
      times.pair = pair.us;
      times.pair_hidden = pair.hidden;
      times.pair_exposed = pair.exposed;
    }
  }
  if (const double share = FullRecompute(); share > 0) {
    times.again = Scaled(times.fwd, share);
    times.again_exchange = share * times.fwd_exchange;
  }
  for (Load* load : {&times.fwd, &times.bwd, &times.again}) load->memory += load->kernels * KernelUs();
  const double residue = k_.host_graph_residue;
  const bool whole = WholeIteration();
  const double fwd_kernels = times.fwd.kernels - (1 - residue) * std::min(captured, times.fwd.kernels);
  const double bwd_kernels = times.bwd.kernels - (1 - residue) * std::min(captured_bwd, times.bwd.kernels);
  const double overlap = plan_.ep_overlap ? k_.host_overlap : 1.0;
  const double host = rates_.host_us * overlap * (whole ? 0.1 * residue : 1.0);
  times.host_fwd = fwd_kernels * host;
  // Autograd's engine launches from C++.
  times.host_bwd = 0.8 * (bwd_kernels + times.again.kernels) * host;
  if (times.pair == 0) {
    times.pair = times.fwd.gpu() + times.fwd.transfer + times.bwd.gpu() + times.bwd.transfer + times.again.gpu() +
                 times.again.transfer + times.fwd_exchange + times.bwd_exchange + times.again_exchange;
    times.pair_exposed = times.fwd_exchange + times.bwd_exchange + times.again_exchange;
  }
  return times;
}

void Accumulate(const LayerTime& times, double count, LayerTime* sum) {
  AddScaled(times.fwd, count, &sum->fwd);
  AddScaled(times.bwd, count, &sum->bwd);
  AddScaled(times.again, count, &sum->again);
  sum->fwd_exchange += count * times.fwd_exchange;
  sum->bwd_exchange += count * times.bwd_exchange;
  sum->again_exchange += count * times.again_exchange;
  sum->shared_hidden += count * times.shared_hidden;
  sum->pair += count * times.pair;
  sum->pair_hidden += count * times.pair_hidden;
  sum->pair_exposed += count * times.pair_exposed;
  sum->host_fwd += count * times.host_fwd;
  sum->host_bwd += count * times.host_bwd;
}

// Output layer and loss, for the main head and each MTP depth: products in bf16 unless fp8_output_proj asks for the
// other layers' precision, with its casts of the hidden state and of the logits' gradient, and a vocabulary-parallel
// cross entropy.
LayerTime Forecaster::TimeOfHead() const {
  LayerTime times;
  const double v = work_.vocabulary / t_;
  const size_t precision = plan_.low_precision_head ? precision_ : 0;
  const Products products = ProductsOf(tokens_, h_, v, precision, tokens_);
  times.fwd.matmul = products.fwd;
  times.bwd.matmul = products.bwd + products.wgrad;
  times.fwd.memory = tokens_ * v * 6 * rates_.memory_us;
  times.bwd.memory = tokens_ * v * 6 * rates_.memory_us;
  if (precision != 0) {
    times.fwd.memory += tokens_ * h_ * quantize_us_;
    times.bwd.memory += tokens_ * v * quantize_us_;
  }
  times.fwd.kernels = 12;
  times.bwd.kernels = 8;
  times.pair = times.fwd.gpu() + times.bwd.gpu();
  const double host = rates_.host_us * (WholeIteration() ? 0.1 * k_.host_graph_residue : 1.0);
  times.host_fwd = times.fwd.kernels * host;
  times.host_bwd = times.bwd.kernels * host;
  return times;
}

LayerTime Forecaster::TimeOfRank(const RankContents& rank, const LayerTimes& layers) const {
  LayerTime sum;
  const double depths = rank.mtp_depths;
  for (int i = 0; i < work_.kind_count; ++i) {
    const auto at = static_cast<size_t>(i);
    const double count = rank.layers[at] + depths * work_.mtp_layers[at];
    if (count > 0) Accumulate(layers.kinds[at], count, &sum);
  }
  if (depths > 0) {
    // The projection of two hidden states to one, and each depth's own pass through the output layer.
    LayerTime joined;
    const double rows = tokens_ / t_;
    const Products products = ProductsOf(rows, 2 * h_, h_, precision_, rows);
    joined.fwd.matmul = products.fwd;
    joined.bwd.matmul = products.bwd + products.wgrad;
    joined.pair = products.all();
    Accumulate(joined, depths, &sum);
  }
  const double heads = depths + rank.losses;
  if (heads > 0) Accumulate(layers.head, heads, &sum);
  return sum;
}

// One reduce-scatter or all-gather of a group of `ranks`, whose neighbours are `stride` GPUs apart.
double Forecaster::DataParallelUs(double parameters, double ranks, double stride, double bytes_per_parameter) const {
  if (ranks <= 1) return 0;
  const double bytes = parameters * bytes_per_parameter * (ranks - 1) / ranks;
  if (ranks * stride <= rates_.domain_gpus) return bytes * rates_.collective_nvlink_us;
  // Each rank of a node drives its own network card.
  const double lanes = std::max(1.0, rates_.domain_gpus / stride);
  return bytes * std::max(rates_.collective_nvlink_us, rates_.collective_network_us / std::min(lanes, ranks));
}

void Forecaster::AddDataParallel(double fwd_us, double bwd_us, double microbatches, StepForecast* out) const {
  const double dense_ranks = static_cast<double>(plan_.gpus) / plan_.tp / plan_.pp;  // with context parallelism
  const double expert_ranks = static_cast<double>(plan_.gpus) / plan_.ep / plan_.etp / plan_.pp;
  const double expert_stride = static_cast<double>(plan_.ep) * plan_.etp;
  const auto both = [&](double bytes) {
    return DataParallelUs(dense_parameters_, dense_ranks, t_, bytes) +
           DataParallelUs(expert_parameters_, expert_ranks, expert_stride, bytes);
  };
  const double reduce = both(plan_.gradient_bytes), gather = both(plan_.low_precision_weights ? 1 : kBf16Bytes);
  if (plan_.shard_weights) {
    // Weights are gathered ahead of every forward and backward, gradients reduced after every backward, beside the
    // compute, which they slow down.
    const double traffic = microbatches * (2 * gather + reduce), window = microbatches * (fwd_us + bwd_us);
    const double left = std::max(0.0, traffic - window);
    out->parts.data_parallel += left + (k_.sharded_slowdown - 1) * std::min(window, traffic);
    out->hidden.data_parallel += traffic - left;
    return;
  }
  const auto add = [&](double us, double window, bool overlapped) {
    const double beside = std::min(us, 0.8 * window);
    const double exposed = overlapped ? std::max(0.0, us - 0.8 * window) + k_.data_parallel_exposed * beside : us;
    out->parts.data_parallel += exposed;
    out->hidden.data_parallel += us - exposed;
  };
  add(reduce, bwd_us, plan_.overlap_grad_reduce);
  add(gather, fwd_us, plan_.overlap_param_gather);
}

// Context parallelism is a part of the transfers that were counted as tensor parallelism; and what runs beside compute.
void Forecaster::AddHidden(const LayerTime& stage, double microbatches, StepForecast* out) const {
  const double context = microbatches * (stage.fwd.context + stage.bwd.context + stage.again.context);
  out->parts.context_parallel += context;
  out->parts.tensor_parallel -= context;
  out->hidden.expert_exchange += out->hidden_exchange_us + microbatches * stage.shared_hidden;
  out->hidden.tensor_parallel +=
      microbatches * (stage.fwd.hidden_tensor + stage.bwd.hidden_tensor + stage.again.hidden_tensor);
  out->hidden.context_parallel +=
      microbatches * (stage.fwd.hidden_context + stage.bwd.hidden_context + stage.again.hidden_context);
}

void Forecaster::CountParameters(const RankContents& rank) {
  const double expert_split = static_cast<double>(plan_.ep) * plan_.etp;
  for (int i = 0; i < work_.kind_count; ++i) {
    const auto at = static_cast<size_t>(i);
    const double count = rank.layers[at] + rank.mtp_depths * work_.mtp_layers[at];
    dense_parameters_ += count * (work_.kinds[at].split / t_ + work_.kinds[at].replicated);
    expert_parameters_ += count * work_.kinds[at].expert / expert_split;
  }
  dense_parameters_ += rank.vocabularies * work_.vocabulary * h_ / t_;
}

LayerTimes Forecaster::Layers() const {
  LayerTimes times;
  std::array<LayerTime, kMaxLayerKinds>& layers = times.kinds;
  double layer_count = 0;
  for (int i = 0; i < work_.kind_count; ++i) {
    const auto at = static_cast<size_t>(i);
    layers[at] = TimeOfLayer(work_.kinds[at], precision_);
    layer_count += work_.totals[at];
  }
  if (plan_.bf16_layers > 0 && precision_ != 0 && layer_count > 0) {
    // Every stage carries its share of the layers that stay in bf16.
    const double share = std::min(1.0, plan_.bf16_layers / layer_count);
    for (int i = 0; i < work_.kind_count; ++i) {
      const auto at = static_cast<size_t>(i);
      LayerTime mixed;
      Accumulate(layers[at], 1 - share, &mixed);
      Accumulate(TimeOfLayer(work_.kinds[at], 0), share, &mixed);
      layers[at] = mixed;
    }
  }
  times.head = TimeOfHead();
  return times;
}

bool Forecaster::Run(const LayerTimes& times, StepForecast* out) {
  *out = StepForecast();
  const double dp = static_cast<double>(plan_.gpus) / plan_.tp / plan_.cp / plan_.pp;
  const double microbatches =
      dp > 0 ? static_cast<double>(plan_.global_batch_size) / (dp * static_cast<double>(plan_.micro_batch_size)) : 0;
  const bool stages_known = plan_.stages != nullptr && !plan_.stages->contents.empty();
  if (!rates_.known || !stages_known || microbatches <= 0 || tokens_ <= 0) return false;

  const StageLayout& stages = *plan_.stages;
  LayerTime heaviest;
  double heaviest_us = -1, sum_us = 0;
  const RankContents* slowest = nullptr;
  for (const RankContents& rank : stages.contents) {
    const LayerTime stage = TimeOfRank(rank, times);
    const double us = SoftMax(stage.pair, stage.host_fwd + stage.host_bwd);
    sum_us += us * rank.ranks_alike;
    if (slowest == nullptr || !(us <= heaviest_us)) heaviest_us = us, heaviest = stage, slowest = &rank;
  }
  const double mean_us = sum_us / stages.pp;

  // ---- one microbatch on the slowest stage
  const LayerTime& s = heaviest;
  const double fwd_gpu = s.fwd.gpu() + s.fwd.transfer + s.fwd_exchange;
  const double bwd_gpu =
      s.bwd.gpu() + s.bwd.transfer + s.bwd_exchange + s.again.gpu() + s.again.transfer + s.again_exchange;
  const double alone_fwd = SoftMax(fwd_gpu, s.host_fwd), alone_bwd = SoftMax(bwd_gpu, s.host_bwd);
  // The host waits in the dispatch for the number of rows that arrive, unless surplus tokens are dropped.
  const double gap = WholeIteration() || plan_.drop_pad ? 0 : k_.host_gap * (s.host_fwd + s.host_bwd);
  const double alone = alone_fwd + alone_bwd + gap;
  const double paired = plan_.ep_overlap ? SoftMax(s.pair, s.host_fwd + s.host_bwd) + gap : alone;

  const double p = plan_.pp, v = std::max(1, plan_.vpp);
  const double unpaired = plan_.ep_overlap ? std::min(microbatches, 1.0 / v) : 0;
  const double steady = (microbatches - unpaired) * paired + unpaired * alone;
  StepParts& parts = out->parts;
  // The pipeline fills and drains at the mean stage's pace.
  parts.bubble = (p - 1) / v * alone * (heaviest_us > 0 ? mean_us / heaviest_us : 1.0);

  // ---- what the steady part is made of
  parts.matmul = microbatches * (s.fwd.matmul + s.bwd.matmul);
  parts.attention = microbatches * (s.fwd.attention + s.bwd.attention);
  parts.memory_bound = microbatches * (s.fwd.memory + s.bwd.memory);
  parts.recompute = microbatches * s.again.gpu();
  parts.tensor_parallel = microbatches * (s.fwd.transfer + s.bwd.transfer + s.again.transfer);
  if (plan_.ep_overlap) {
    out->hidden_exchange_us = (microbatches - unpaired) * s.pair_hidden;
    parts.expert_exchange = (microbatches - unpaired) * s.pair_exposed + unpaired * (s.fwd_exchange + s.bwd_exchange);
    // What running beside the exchange costs the compute stays with the exchange.
    const double rest =
        (microbatches - unpaired) * s.pair + unpaired * (fwd_gpu + bwd_gpu) - parts.compute() - parts.communication();
    parts.expert_exchange = std::max(0.0, parts.expert_exchange + rest);
  } else {
    parts.expert_exchange = microbatches * (s.fwd_exchange + s.bwd_exchange + s.again_exchange);
  }
  parts.host = std::max(0.0, steady - parts.compute() - parts.communication());

  AddHidden(s, microbatches, out);

  const PipelineTransfer transfer =
      PipelineTransferOf(rates_, static_cast<double>(plan_.gpus), local_ * h_ * kBf16Bytes, microbatches, p, v);
  parts.pipeline_transfer = transfer.exposed;
  out->hidden.pipeline_transfer = transfer.hidden;

  // ---- once a step
  CountParameters(*slowest);
  AddDataParallel(alone_fwd, alone_bwd, microbatches, out);
  const double dense_ranks = static_cast<double>(plan_.gpus) / plan_.tp / plan_.pp;
  const double expert_ranks = std::max(1.0, static_cast<double>(plan_.gpus) / plan_.ep / plan_.etp / plan_.pp);
  const double owned = dense_parameters_ / dense_ranks + expert_parameters_ / expert_ranks;
  const double on_host = owned * plan_.optimizer_offload;
  parts.optimizer = (owned - on_host) * 34 * rates_.optimizer_us + k_.step_fixed_us;
  if (on_host > 0) {
    const double copies = on_host * 8 * rates_.host_link_us, arithmetic = on_host * 28 / (k_.cpu_adam_gb * 1e3);
    parts.optimizer += plan_.overlap_optimizer_copies
                           ? std::max(copies, arithmetic) + 0.3 * std::min(copies, arithmetic)
                           : copies + arithmetic;
  }
  if (plan_.offload_layers > 0) {
    // About 34 bytes of a token's hidden state a layer leave and come back beside the compute.
    const double copy = tokens_ / t_ * h_ * 34 * plan_.offload_layers * rates_.host_link_us * microbatches;
    parts.memory_bound +=
        std::max(0.0, copy - 0.8 * microbatches * alone) + 0.04 * std::min(copy, microbatches * alone);
  }

  // Jitter between ranks and gaps between kernels stretch what the GPUs do.
  const double stretch = k_.stack_overhead;
  parts.matmul *= stretch;
  parts.attention *= stretch;
  parts.memory_bound *= stretch;
  parts.recompute *= stretch;
  parts.expert_exchange *= stretch;
  parts.tensor_parallel *= stretch;
  parts.context_parallel *= stretch;
  parts.host *= stretch;
  parts.bubble *= stretch;

  out->us = parts.total();
  out->model_flops = FlopsPerToken(work_, static_cast<double>(plan_.seq_length)) *
                     static_cast<double>(plan_.global_batch_size) * static_cast<double>(plan_.seq_length);
  // Every rate's error, as a sum: they need not cancel. How far the sum stands from what unseen model families show is
  // measured (interval_scale).
  constexpr double kModelError = 0.03;
  // Scans are timed forward alone, and compressed attention not at all; natural routing's skew is the router's.
  constexpr double kUnmeasured = 0.25;
  const RateErrors& e = rates_.error;
  const bool natural = plan_.imbalance > 1 && plan_.ep > 1;
  const double attention = HasUnmeasuredAttention() ? std::max(kUnmeasured, e.attention) : e.attention;
  const double skew = natural ? kUnmeasured * (parts.expert_exchange + 0.5 * parts.compute()) : 0;
  const double error = e.gemm[precision_] * (parts.matmul + parts.recompute + parts.bubble) +
                       attention * parts.attention + e.memory * parts.memory_bound +
                       e.exchange * (parts.expert_exchange + 0.5 * out->hidden_exchange_us) +
                       e.collective * (parts.communication() - parts.expert_exchange) + (e.host + 0.1) * parts.host +
                       e.optimizer * parts.optimizer + skew + kModelError * out->us;
  const double half = out->us > 0 ? k_.interval_scale * error / out->us : 0;
  out->low_us = out->us * std::exp(-half);
  out->high_us = out->us * std::exp(half);
  return out->is_finite();
}

}  // namespace

bool ForecastStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, StepForecast* out) {
  return ForecastStep(work, plan, rates, rates.known ? TimeLayers(work, plan, rates) : LayerTimes(), out);
}

LayerTimes TimeLayers(const ModelWork& work, const Candidate& plan, const GpuRates& rates) {
  return Forecaster(work, plan, rates).Layers();
}

bool ForecastStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, const LayerTimes& layers,
                  StepForecast* out) {
  return Forecaster(work, plan, rates).Run(layers, out);
}

PipelineTransfer PipelineTransferOf(const GpuRates& rates, double gpus, double stage_bytes, double microbatches,
                                    double pp, double vpp) {
  if (pp <= 1) return {};
  const bool near = gpus <= rates.domain_gpus;
  const double hop = stage_bytes * (near ? rates.collective_nvlink_us : rates.collective_network_us) +
                     0.5 * rates.k.collective_latency_us;
  const double steady = 2 * microbatches * vpp * hop, left = vpp > 1 ? 0.35 : 0.8;
  return {steady * left + 2 * (pp - 1) * hop, steady * (1 - left)};
}

double PipelineTransferUs(const GpuRates& rates, double gpus, double stage_bytes, double microbatches, double pp,
                          double vpp) {
  return PipelineTransferOf(rates, gpus, stage_bytes, microbatches, pp, vpp).exposed;
}

double StepLowerBoundUs(const ModelWork& work, const Candidate& plan, const GpuRates& rates) {
  if (!rates.known) return 0;
  double fastest = rates.peak_us[0];
  const double own = rates.peak_us[static_cast<size_t>(plan.precision)];
  if (own > 0) fastest = std::min(fastest, own);
  const double flops = FlopsPerToken(work, static_cast<double>(plan.seq_length)) *
                       static_cast<double>(plan.global_batch_size) * static_cast<double>(plan.seq_length);
  const double compute = flops / static_cast<double>(plan.gpus) * fastest;
  const double dp = static_cast<double>(plan.gpus) / plan.tp / plan.cp / plan.pp;
  const double microbatches =
      std::max(1.0, static_cast<double>(plan.global_batch_size) / (dp * static_cast<double>(plan.micro_batch_size)));
  return compute * (1 + (plan.pp - 1) / (std::max(1, plan.vpp) * microbatches));
}

}  // namespace flightplan
