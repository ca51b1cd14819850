#include "resolver/estimate/step.h"

#include <algorithm>
#include <cmath>

#include "resolver/estimate/exchange.h"
#include "resolver/estimate/overlap.h"
#include "resolver/estimate/step_detail.h"

namespace flightplan {
namespace {

constexpr double kBf16Bytes = 2;

struct Module : ModuleTime {
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
  bool Run(const LayerTimes& times, StepForecast* out) const;

  // Pieces of it (estimate/step_detail.h).
  LayerParts PartsOfKind(int kind) const;
  LayerParts PartsOfHead() const;
  LayerParts PartsOfMtpProjection() const;
  LayerTime TimeOfRank(const RankContents& rank, const LayerTimes& layers) const;
  RankPace PaceOf(const LayerTime& stage) const;
  OnceAStep OnceOf(const RankContents& rank, const RankPace& pace, double microbatches) const;
  PipelineTransfer TransferOf(double microbatches) const {
    return PipelineTransferOf(rates_, static_cast<double>(plan_.gpus), local_ * h_ * kBf16Bytes, microbatches, plan_.pp,
                              std::max(1, plan_.vpp));
  }
  // Microseconds of a step in which whole layers' activations go to the host and nothing hides it.
  double OffloadUs(const RankPace& pace, double microbatches) const;

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
  // `parts`: what it is the sum of; null: nobody asks.
  LayerTime TimeOfLayer(const LayerWork& layer, size_t precision, LayerParts* parts) const;
  LayerTime TimeOfHead(LayerParts* parts) const;
  LayerTime TimeOfMtpProjection(LayerParts* parts) const;
  // Of the layers that a low-precision recipe keeps in bf16 every stage carries its share.
  double Bf16Share() const;
  // Parameters of a rank.
  struct Parameters {
    double dense = 0, expert = 0;
  };
  Parameters CountParameters(const RankContents& rank) const;
  double DataParallelUs(double parameters, double ranks, double stride, double bytes_per_parameter) const;
  DataParallelTimes DataParallel(const Parameters& own, double fwd_us, double bwd_us, double microbatches) const;
  void AddHidden(const LayerTime& stage, double microbatches, StepForecast* out) const;
  void AddKernelGaps(LayerParts* parts) const;

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

LayerTime Forecaster::TimeOfLayer(const LayerWork& layer, size_t precision, LayerParts* parts) const {
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
      if (parts != nullptr) parts->dense = dense;
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
      if (parts != nullptr) parts->nodes = nodes, parts->slow = slow, parts->paired = true;
    }
    if (parts != nullptr) {
      parts->router = route, parts->experts = experts, parts->shared = shared;
      parts->permute_before = exchange.permutes_before ? permute : 0;
      parts->permute_inside = mlp_extra_fwd;
      parts->permute_after = post;
      parts->permute_kernels = permute_kernels;
      parts->dispatch = exchange.dispatch_us;
      parts->combine = exchange.combine_us;
    }
  }
  if (parts != nullptr) parts->attention = attention;
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
LayerTime Forecaster::TimeOfHead(LayerParts* parts) const {
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
  if (parts != nullptr) {
    parts->dense.fwd = times.fwd;
    parts->dense.bwd = times.bwd;
    parts->dense.bwd.matmul = products.bwd;
    parts->dense.wgrad.matmul = products.wgrad;
  }
  return times;
}

// The projection of two hidden states to one, in front of an MTP depth.
LayerTime Forecaster::TimeOfMtpProjection(LayerParts* parts) const {
  LayerTime joined;
  const double rows = tokens_ / t_;
  const Products products = ProductsOf(rows, 2 * h_, h_, precision_, rows);
  joined.fwd.matmul = products.fwd;
  joined.bwd.matmul = products.bwd + products.wgrad;
  joined.pair = products.all();
  if (parts != nullptr) {
    parts->dense.fwd.matmul = products.fwd;
    parts->dense.bwd.matmul = products.bwd;
    parts->dense.wgrad.matmul = products.wgrad;
  }
  return joined;
}

LayerTime Forecaster::TimeOfRank(const RankContents& rank, const LayerTimes& layers) const {
  LayerTime sum;
  const double depths = rank.mtp_depths;
  for (int i = 0; i < work_.kind_count; ++i) {
    const auto at = static_cast<size_t>(i);
    const double count = rank.layers[at] + depths * work_.mtp_layers[at];
    if (count > 0) Accumulate(layers.kinds[at], count, &sum);
  }
  if (depths > 0) Accumulate(TimeOfMtpProjection(nullptr), depths, &sum);
  // Each depth's own pass through the output layer, too.
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

DataParallelTimes Forecaster::DataParallel(const Parameters& own, double fwd_us, double bwd_us,
                                           double microbatches) const {
  DataParallelTimes times;
  const double dense_ranks = static_cast<double>(plan_.gpus) / plan_.tp / plan_.pp;  // with context parallelism
  const double expert_ranks = static_cast<double>(plan_.gpus) / plan_.ep / plan_.etp / plan_.pp;
  const double expert_stride = static_cast<double>(plan_.ep) * plan_.etp;
  const auto both = [&](double bytes) {
    return DataParallelUs(own.dense, dense_ranks, t_, bytes) +
           DataParallelUs(own.expert, expert_ranks, expert_stride, bytes);
  };
  const double reduce = both(plan_.gradient_bytes), gather = both(plan_.low_precision_weights ? 1 : kBf16Bytes);
  if (plan_.shard_weights) {
    // Weights are gathered ahead of every forward and backward, gradients reduced after every backward, beside the
    // compute, which they slow down.
    const double traffic = microbatches * (2 * gather + reduce), window = microbatches * (fwd_us + bwd_us);
    const double left = std::max(0.0, traffic - window);
    times.every_pass = true;
    times.exposed = left + (k_.sharded_slowdown - 1) * std::min(window, traffic);
    times.hidden = traffic - left;
    const double gathered = traffic > 0 ? microbatches * 2 * gather / traffic : 0;
    times.gather_exposed = gathered * times.exposed;
    times.reduce_exposed = times.exposed - times.gather_exposed;
    times.gather_hidden = gathered * times.hidden;
    times.reduce_hidden = times.hidden - times.gather_hidden;
    return times;
  }
  const auto exposed_of = [&](double us, double window, bool overlapped) {
    const double beside = std::min(us, 0.8 * window);
    return overlapped ? std::max(0.0, us - 0.8 * window) + k_.data_parallel_exposed * beside : us;
  };
  times.reduce_exposed = exposed_of(reduce, bwd_us, plan_.overlap_grad_reduce);
  times.reduce_hidden = reduce - times.reduce_exposed;
  times.gather_exposed = exposed_of(gather, fwd_us, plan_.overlap_param_gather);
  times.gather_hidden = gather - times.gather_exposed;
  times.exposed = times.reduce_exposed + times.gather_exposed;
  times.hidden = times.reduce_hidden + times.gather_hidden;
  return times;
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

Forecaster::Parameters Forecaster::CountParameters(const RankContents& rank) const {
  Parameters own;
  const double expert_split = static_cast<double>(plan_.ep) * plan_.etp;
  for (int i = 0; i < work_.kind_count; ++i) {
    const auto at = static_cast<size_t>(i);
    const double count = rank.layers[at] + rank.mtp_depths * work_.mtp_layers[at];
    own.dense += count * (work_.kinds[at].split / t_ + work_.kinds[at].replicated);
    own.expert += count * work_.kinds[at].expert / expert_split;
  }
  own.dense += rank.vocabularies * work_.vocabulary * h_ / t_;
  return own;
}

double Forecaster::Bf16Share() const {
  double layer_count = 0;
  for (int i = 0; i < work_.kind_count; ++i) layer_count += work_.totals[static_cast<size_t>(i)];
  const bool mixed = plan_.bf16_layers > 0 && precision_ != 0 && layer_count > 0;
  return mixed ? std::min(1.0, plan_.bf16_layers / layer_count) : 0;
}

LayerTimes Forecaster::Layers() const {
  LayerTimes times;
  std::array<LayerTime, kMaxLayerKinds>& layers = times.kinds;
  const double bf16 = Bf16Share();
  for (int i = 0; i < work_.kind_count; ++i) {
    const auto at = static_cast<size_t>(i);
    layers[at] = TimeOfLayer(work_.kinds[at], precision_, nullptr);
    if (bf16 <= 0) continue;
    LayerTime mixed;
    Accumulate(layers[at], 1 - bf16, &mixed);
    Accumulate(TimeOfLayer(work_.kinds[at], 0, nullptr), bf16, &mixed);
    layers[at] = mixed;
  }
  times.head = TimeOfHead(nullptr);
  return times;
}

// One microbatch on one rank.
RankPace Forecaster::PaceOf(const LayerTime& s) const {
  RankPace pace;
  pace.fwd_gpu = s.fwd.gpu() + s.fwd.transfer + s.fwd_exchange;
  pace.bwd_gpu = s.bwd.gpu() + s.bwd.transfer + s.bwd_exchange + s.again.gpu() + s.again.transfer + s.again_exchange;
  pace.alone_fwd = SoftMax(pace.fwd_gpu, s.host_fwd);
  pace.alone_bwd = SoftMax(pace.bwd_gpu, s.host_bwd);
  // The host waits in the dispatch for the number of rows that arrive, unless surplus tokens are dropped.
  pace.gap = WholeIteration() || plan_.drop_pad ? 0 : k_.host_gap * (s.host_fwd + s.host_bwd);
  pace.alone = pace.alone_fwd + pace.alone_bwd + pace.gap;
  pace.paired = plan_.ep_overlap ? SoftMax(s.pair, s.host_fwd + s.host_bwd) + pace.gap : pace.alone;
  return pace;
}

double Forecaster::OffloadUs(const RankPace& pace, double microbatches) const {
  if (plan_.offload_layers <= 0) return 0;
  // About 34 bytes of a token's hidden state a layer leave and come back beside the compute.
  const double copy = tokens_ / t_ * h_ * 34 * plan_.offload_layers * rates_.host_link_us * microbatches;
  return std::max(0.0, copy - 0.8 * microbatches * pace.alone) + 0.04 * std::min(copy, microbatches * pace.alone);
}

OnceAStep Forecaster::OnceOf(const RankContents& rank, const RankPace& pace, double microbatches) const {
  OnceAStep once;
  const Parameters own = CountParameters(rank);
  once.data_parallel = DataParallel(own, pace.alone_fwd, pace.alone_bwd, microbatches);
  const double dense_ranks = static_cast<double>(plan_.gpus) / plan_.tp / plan_.pp;
  const double expert_ranks = std::max(1.0, static_cast<double>(plan_.gpus) / plan_.ep / plan_.etp / plan_.pp);
  const double owned = own.dense / dense_ranks + own.expert / expert_ranks;
  const double on_host = owned * plan_.optimizer_offload;
  once.fixed = k_.step_fixed_us;
  once.optimizer = (owned - on_host) * 34 * rates_.optimizer_us + once.fixed;
  if (on_host > 0) {
    const double copies = on_host * 8 * rates_.host_link_us, arithmetic = on_host * 28 / (k_.cpu_adam_gb * 1e3);
    once.optimizer += plan_.overlap_optimizer_copies ? std::max(copies, arithmetic) + 0.3 * std::min(copies, arithmetic)
                                                     : copies + arithmetic;
  }
  return once;
}

bool Forecaster::Run(const LayerTimes& times, StepForecast* out) const {
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
  const RankPace pace = PaceOf(s);
  const double fwd_gpu = pace.fwd_gpu, bwd_gpu = pace.bwd_gpu, alone = pace.alone, paired = pace.paired;

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

  const PipelineTransfer transfer = TransferOf(microbatches);
  parts.pipeline_transfer = transfer.exposed;
  out->hidden.pipeline_transfer = transfer.hidden;

  // ---- once a step
  const OnceAStep once = OnceOf(*slowest, pace, microbatches);
  parts.data_parallel += once.data_parallel.exposed;
  out->hidden.data_parallel += once.data_parallel.hidden;
  parts.optimizer = once.optimizer;
  parts.memory_bound += OffloadUs(pace, microbatches);

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

// Each kernel's ramp and gap, as a layer's loads have them.
void Forecaster::AddKernelGaps(LayerParts* parts) const {
  for (ModuleTime* module : {&parts->attention, &parts->dense, &parts->router, &parts->experts, &parts->shared}) {
    for (Load* load : {&module->fwd, &module->bwd, &module->wgrad}) load->memory += load->kernels * KernelUs();
  }
  parts->permute_before += parts->permute_kernels * KernelUs();
}

double WeightGradientOf(const LayerParts& parts) {
  double us = 0;
  for (const ModuleTime* module : {&parts.attention, &parts.dense, &parts.router, &parts.experts, &parts.shared}) {
    us += module->wgrad.gpu();
  }
  return us;
}

void AddScaled(const ModuleTime& module, double by, ModuleTime* to) {
  AddScaled(module.fwd, by, &to->fwd);
  AddScaled(module.bwd, by, &to->bwd);
  AddScaled(module.wgrad, by, &to->wgrad);
}

// The layer's nodes are those of the precision with the larger share.
void AddScaled(const LayerParts& parts, double by, LayerParts* to) {
  Accumulate(parts.time, by, &to->time);
  to->time.weight_gradient += by * parts.time.weight_gradient;
  AddScaled(parts.attention, by, &to->attention);
  AddScaled(parts.dense, by, &to->dense);
  AddScaled(parts.router, by, &to->router);
  AddScaled(parts.experts, by, &to->experts);
  AddScaled(parts.shared, by, &to->shared);
  to->permute_before += by * parts.permute_before;
  to->permute_inside += by * parts.permute_inside;
  to->permute_after += by * parts.permute_after;
  to->permute_kernels += by * parts.permute_kernels;
  to->dispatch += by * parts.dispatch;
  to->combine += by * parts.combine;
  if (by >= 0.5) to->nodes = parts.nodes, to->slow = parts.slow, to->paired = parts.paired;
}

LayerParts Forecaster::PartsOfKind(int kind) const {
  const LayerWork& layer = work_.kinds[static_cast<size_t>(kind)];
  const auto at_precision = [&](size_t precision) {
    LayerParts parts;
    static_cast<LayerTime&>(parts.time) = TimeOfLayer(layer, precision, &parts);
    AddKernelGaps(&parts);
    parts.time.weight_gradient = WeightGradientOf(parts);
    return parts;
  };
  const double bf16 = Bf16Share();
  if (bf16 <= 0) return at_precision(precision_);
  LayerParts mixed;
  AddScaled(at_precision(precision_), 1 - bf16, &mixed);
  AddScaled(at_precision(0), bf16, &mixed);
  return mixed;
}

LayerParts Forecaster::PartsOfHead() const {
  LayerParts parts;
  static_cast<LayerTime&>(parts.time) = TimeOfHead(&parts);
  parts.time.weight_gradient = WeightGradientOf(parts);
  return parts;
}

LayerParts Forecaster::PartsOfMtpProjection() const {
  LayerParts parts;
  static_cast<LayerTime&>(parts.time) = TimeOfMtpProjection(&parts);
  parts.time.weight_gradient = WeightGradientOf(parts);
  return parts;
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

namespace {

// Adds what a chunk holds to what its rank holds.
void AddChunk(const ChunkContents& chunk, RankContents* rank) {
  for (size_t i = 0; i < rank->layers.size(); ++i) {
    rank->layers[i] = static_cast<uint16_t>(rank->layers[i] + chunk.layers[i]);
  }
  rank->mtp_depths = static_cast<uint16_t>(rank->mtp_depths + chunk.mtp_depths);
  rank->losses = static_cast<uint16_t>(rank->losses + (chunk.loss ? 1 : 0));
  rank->vocabularies = static_cast<uint16_t>(rank->vocabularies + (chunk.loss || chunk.embedding ? 1 : 0));
}

}  // namespace

bool DetailStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, StepDetail* out) {
  if (!rates.known) return false;
  const Forecaster forecaster(work, plan, rates);
  const LayerTimes times = forecaster.Layers();
  if (!forecaster.Run(times, &out->forecast)) return false;
  const double dp = static_cast<double>(plan.gpus) / plan.tp / plan.cp / plan.pp;
  out->microbatches = static_cast<double>(plan.global_batch_size) / (dp * static_cast<double>(plan.micro_batch_size));
  out->stretch = rates.k.stack_overhead;
  out->kinds.clear();
  for (int i = 0; i < work.kind_count; ++i) out->kinds.push_back(forecaster.PartsOfKind(i));
  if (plan.pp > 1) {
    out->hop_us = forecaster.TransferOf(0).exposed / (2 * (plan.pp - 1));
    out->hop_hidden = out->hop_us > 0 ? forecaster.TransferOf(1).hidden / (2 * std::max(1, plan.vpp) * out->hop_us) : 0;
  }
  out->head = forecaster.PartsOfHead();
  out->mtp_projection = forecaster.PartsOfMtpProjection();
  const StageLayout& stages = *plan.stages;
  out->chunks.clear();
  for (const ChunkContents& chunk : stages.chunks) {
    RankContents contents;
    AddChunk(chunk, &contents);
    PieceTime& piece = out->chunks.emplace_back();
    static_cast<LayerTime&>(piece) = forecaster.TimeOfRank(contents, times);
    for (size_t i = 0; i < out->kinds.size(); ++i) {
      const double count = contents.layers[i] + contents.mtp_depths * work.mtp_layers[i];
      piece.weight_gradient += count * out->kinds[i].time.weight_gradient;
    }
    piece.weight_gradient += contents.mtp_depths * out->mtp_projection.time.weight_gradient +
                             (contents.mtp_depths + contents.losses) * out->head.time.weight_gradient;
  }
  out->ranks.clear();
  double heaviest_us = -1;
  for (int rank = 0; rank < stages.pp; ++rank) {
    RankContents contents;
    for (int chunk = 0; chunk < stages.vpp; ++chunk) AddChunk(stages.chunk(rank, chunk), &contents);
    RankDetail& detail = out->ranks.emplace_back();
    detail.time = forecaster.TimeOfRank(contents, times);
    detail.pace = forecaster.PaceOf(detail.time);
    detail.once = forecaster.OnceOf(contents, detail.pace, out->microbatches);
    detail.offload = forecaster.OffloadUs(detail.pace, out->microbatches);
    const double us = SoftMax(detail.time.pair, detail.time.host_fwd + detail.time.host_bwd);
    if (us > heaviest_us) heaviest_us = us, out->slowest = rank;
  }
  return true;
}

}  // namespace flightplan
