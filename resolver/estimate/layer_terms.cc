#include "resolver/estimate/layer_terms.h"

#include <cmath>

#include "resolver/derive/layer_bytes.h"

namespace flightplan {
namespace {

// Chosen by what the modules launch; none of them is measured alone. The measured coefficients are rows of
// step_rates.yaml.
constexpr double kCastKernels = 1.5;  // in front of a low-precision product
constexpr double kLinearKernels = 1;
constexpr double kTensorKernels = 2, kTensorKernelsBack = 3;  // of tensor parallelism
constexpr double kTensorBack = 1.15;                          // of the forward's transfers, what the backward waits for
// Of an adapter's output in 16 bits: scaled (read and written) and added (two read, one written); and backward the same
// of what flows to its input. Dropout writes a copy and a mask.
constexpr double kAdapterPasses = 5 * kBf16Bytes, kDropoutBytes = 2 * kBf16Bytes + 1;
constexpr double kAdapterKernels = 4, kAdapterKernelsBack = 4, kAdapterWeightKernels = 2;
// DoRA: of a weight, the adapter's product (written, read), the sum (read, written) and its norm (read); of an output,
// the scaling (read, written) and backward two products and a sum. Kernels: scale, product, sum, norm, quotient,
// scaling; two products and a sum.
constexpr double kNormOfWeightBytes = 5 * kBf16Bytes, kScaleBytes = 2 * kBf16Bytes, kScaleBytesBack = 6 * kBf16Bytes;
constexpr double kMagnitudeKernels = 6, kMagnitudeKernelsBack = 3;
constexpr double kRingReach = 2.0 / 3;  // harmonic mean of half a rank's keys and all of them
constexpr double kWindowTile = 128;     // tokens that a window's kernel computes more than it asks for
constexpr double kHeadSize = 128;       // that the rates are of
constexpr double kAttentionBack = 2.5;  // five products for two
// Scores that are a tensor: written, read and written by the softmax, read; and backward their gradient is written,
// read and written beside the softmax's output, and each read by its products.
constexpr double kScorePasses = 4, kScorePassesBack = 7;
// The delta rule of deterministic mode, by PyTorch's operators in FP32 (NVIDIA/Megatron-LM@d98e8a64dd
// megatron/core/ssm/gated_delta_net/gdn.py:422): a loop over the rows of each chunk's inverse, and one over the chunks.
// Launches of a turn and bytes of a token and head, for a value of the inverse and for one of keys and values, counted
// in the code: the backward pass makes a tensor as large as the whole for each slice of one. None of it is measured.
constexpr double kDeltaChunk = 64;
constexpr double kInverseKernels = 6, kInverseKernelsBack = 17, kTurnKernels = 22, kTurnKernelsBack = 55;
constexpr double kInverseBytes = 7, kInverseBytesBack = 58, kTurnBytes = 60, kTurnBytesBack = 150, kSliceBytesBack = 40;
constexpr double kCastBytes = 3;  // read in 16 bits, written in 8
// Share of the blocks' attention that context parallelism's transfers run beside.
constexpr double kBesideAllGather = 0.3, kBesideRing = 0.8;
// A further step of the ring. Transformer Engine's AttnFuncWithCPAndKVP2P launches six kernels in it, and eight
// backward, but out of one function, where the host's time of a kernel (host_us) has a module around it: published
// steps with context parallelism are met by one.
constexpr double kRingKernels = 1;

}  // namespace

Microbatch::Microbatch(const Candidate& plan, const GpuRates& rates)
    : tokens(static_cast<double>(plan.micro_batch_size) * static_cast<double>(plan.seq_length) / plan.cp),
      local(plan.sequence_parallel ? tokens / plan.tp : tokens),
      precision(static_cast<size_t>(plan.precision)) {
  if (rates.gemm_us[precision] <= 0) precision = 0;
}

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

LayerTerms::LayerTerms(const ModelWork& work, const Candidate& plan, const GpuRates& rates)
    : work_(work),
      plan_(plan),
      rates_(rates),
      k_(rates.k),
      t_(plan.tp),
      h_(work.hidden),
      batch_(plan, rates),
      tokens_(batch_.tokens),
      local_(batch_.local),
      quantize_us_(rates.quantize_bytes[batch_.precision] * rates.memory_us),
      written_(std::max<double>(plan.gradient_bytes, kBf16Bytes) / kBf16Bytes),
      weight_gradient_(1 / k_.gemm_weight_gradient) {}

void LayerTerms::AddLinear(const Linear& linear, size_t precision, Module* module) const {
  const double in = linear.split == Linear::Split::kRow ? linear.in / t_ : linear.in;
  const double out = linear.split == Linear::Split::kColumn ? linear.out / t_ : linear.out;
  const double rows = linear.split == Linear::Split::kWhole ? local_ : tokens_;
  const Products products = ProductsOf(rows, in, out, precision, rows);
  module->fwd.matmul += products.fwd;
  module->bwd.matmul += products.bwd;
  if (!Frozen()) module->wgrad.matmul += products.wgrad;
  if (precision != 0) {
    module->fwd.memory += rows * in * quantize_us_;
    module->bwd.memory += rows * out * quantize_us_;
    module->fwd.kernels += kCastKernels;
    module->bwd.kernels += kCastKernels;
  }
  module->fwd.kernels += kLinearKernels;
  module->bwd.kernels += kLinearKernels;
  if (!Frozen()) module->wgrad.kernels += kLinearKernels;
}

void LayerTerms::AddAdapter(double rows, double in, double out, double first_inner, double second_inner,
                            double per_expert, Module* module) const {
  const double summed = per_expert > 0 ? per_expert : rows;
  const double few = per_expert > 0 ? k_.gemm_half_rows_grouped * rates_.ridge[0] / per_expert : 0;
  for (const Products& products :
       {ProductsOf(rows, in, first_inner, 0, summed, few), ProductsOf(rows, second_inner, out, 0, summed, few)}) {
    module->fwd.matmul += products.fwd;
    module->bwd.matmul += products.bwd;
    module->wgrad.matmul += products.wgrad;
  }
  AddMemory(kAdapterPasses * rows * out, kAdapterPasses * rows * in, module);
  if (plan_.adapters.dropout) AddMemory(kDropoutBytes * rows * in, kDropoutBytes * rows * in, module);
  module->fwd.kernels += kAdapterKernels + (plan_.adapters.dropout ? 1 : 0);
  module->bwd.kernels += kAdapterKernelsBack + (plan_.adapters.dropout ? 1 : 0);
  module->wgrad.kernels += kAdapterWeightKernels;
}

// The norm of the weight with the adapter in it, in each forward pass: a product over the rank, a sum with the weight
// and the norm of its rows, of which no gradient is taken. Then the sum of both outputs times a scale, whose gradient
// sums over the tokens; with dropout the frozen layer runs once more, on what dropout took (peft/dora_layers.py:113,
// :135-170).
void LayerTerms::AddMagnitude(const AdapterSite& site, Module* module) const {
  const double in = site.row ? site.in / t_ : site.in, out = site.row ? site.out : site.out / t_;
  const double rows = site.row ? local_ : tokens_, rank = plan_.adapters.rank;
  // Whole on each rank beside a row-parallel layer, whose output matrix is gathered.
  module->fwd.matmul += ProductsOf(out, rank, in, 0, out).fwd;
  module->fwd.memory += kNormOfWeightBytes * in * out * rates_.memory_us;
  AddMemory(kScaleBytes * rows * out, kScaleBytesBack * rows * out, module);
  module->fwd.kernels += kMagnitudeKernels;
  module->bwd.kernels += kMagnitudeKernelsBack;
  if (t_ > 1) {
    const double gathered = rank * (site.row ? out : in) * (t_ - 1) / t_;
    module->fwd.transfer += k_.collective_latency_us + kBf16Bytes * gathered * LinkUs(plan_.tp);
  }
  if (!plan_.adapters.dropout) return;
  AddLinear({site.in, site.out, site.row ? Linear::Split::kRow : Linear::Split::kColumn}, batch_.precision, module);
  AddMemory(kScaleBytes * rows * out, kScaleBytesBack * rows * out, module);
}

// Both of an adapter's matrices are split: what lies between them is gathered beside a column-parallel layer, and
// reduced beside a row-parallel one, whose output is gathered (peft/utils.py:996-1045).
void LayerTerms::AddAdapters(const AdapterSites& sites, unsigned targets, Module* module) const {
  for (int i = 0; i < sites.count; ++i) {
    const AdapterSite& site = sites.all[static_cast<size_t>(i)];
    if (!plan_.adapters.at(site.target & targets)) continue;
    const double rank = plan_.adapters.rank;
    const double first = site.row || plan_.adapters.inner_whole ? rank : rank / t_;
    const int parts = PartsOf(site.target, plan_.adapters);
    for (int part = 0; part < parts; ++part) {
      AddAdapter(tokens_, site.row ? site.in / t_ : site.in, site.out / t_ / parts, first, rank, 0, module);
    }
    if (plan_.adapters.magnitudes) AddMagnitude(site, module);
    if (t_ <= 1) continue;
    const double share = (t_ - 1) / t_, between = (site.row ? 2 : 1) * rank * parts, output = site.row ? site.out : 0;
    const double bytes = kBf16Bytes * tokens_ * share * (between + output);
    const double us = 2 * parts * k_.collective_latency_us + bytes * LinkUs(plan_.tp);
    module->fwd.transfer += us;
    module->bwd.transfer += us;
    if (plan_.adapters.regather && !site.row) {
      module->bwd.hidden_tensor += kBf16Bytes * tokens_ * share * site.in * LinkUs(plan_.tp);
    }
  }
}

void LayerTerms::AddTensorParallel(Module* module) const {
  if (t_ <= 1) return;
  // What a low-precision product is fed is gathered as it feeds it (Transformer Engine, quantized all-gather); sums
  // are reduced in bf16.
  const double values = tokens_ * h_ * (t_ - 1) / t_;
  const double us =
      (OperandBytes() + kBf16Bytes) * values * LinkUs(plan_.tp) + (plan_.tp_overlap ? 0 : 2 * k_.collective_latency_us);
  const double exposed = plan_.tp_overlap ? k_.tensor_overlap_exposed : 1.0;
  module->fwd.transfer += us * exposed;
  // The backward gathers the input once more for the weight gradient; that gather hides behind the input gradient.
  module->bwd.transfer += us * exposed * kTensorBack;
  module->fwd.hidden_tensor += us * (1 - exposed);
  const double again = OperandBytes() * values * LinkUs(plan_.tp);
  module->bwd.hidden_tensor += std::max(0.0, us + again - us * exposed * kTensorBack);
  module->fwd.kernels += kTensorKernels;
  module->bwd.kernels += kTensorKernelsBack;
}

double LayerTerms::OperandBytes() const {
  switch (static_cast<GemmPrecision>(batch_.precision)) {
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

// Of all keys, which are masked behind the product.
void LayerTerms::AddScores(const AttentionWork& work, Module* module) const {
  const double scores = tokens_ * work.heads / t_ * static_cast<double>(plan_.seq_length);
  const size_t precision = plan_.low_precision() ? 0 : batch_.precision;
  const double products = 2 * scores * (work.qk_size + work.v_size) * rates_.gemm_us[precision];
  const double pass = StreamBytes(plan_) * scores * rates_.memory_us;
  module->fwd.attention = products + kScorePasses * pass;
  module->bwd.attention = 2 * products + kScorePassesBack * pass;
}

void LayerTerms::AddSoftmax(const AttentionWork& work, Module* module) const {
  if (plan_.writes_scores()) {
    AddScores(work, module);
    if (plan_.cp > 1) AddContextParallel(work, module);
    return;
  }
  const double seq = static_cast<double>(plan_.seq_length);
  double context = seq / 2;
  // A window's kernel computes whole tiles: one more than the window asks for.
  if (work.window > 0) context = std::min(context, work.window + kWindowTile);
  const double flops = 2 * tokens_ * work.heads / t_ * (work.qk_size + work.v_size) * context;
  const double blocks =
      work.heads / t_ * static_cast<double>(plan_.micro_batch_size) * seq / kAttentionBlockTokens / plan_.cp;
  const double gain = plan_.fp8_attention ? 1 / k_.attention_fp8 : 1.0;
  // A kernel of the ring sees one rank's keys: all of them with half of its queries, or half of them with all.
  const double ring = RingRanks();
  const double reach = ring > 1 ? std::min(context, kRingReach * seq / ring) : context;
  const auto grown = [&](const AttentionCurve& curve) {
    const double wide = work.qk_size > kHeadSize ? curve.wide : 1.0;
    const double small = work.v_size < kHeadSize ? std::pow(kHeadSize / work.v_size, curve.small) : 1.0;
    return wide * small * (1 + curve.sequence / (2 * reach));
  };
  module->fwd.attention = flops * rates_.attention_forward_us * gain * grown(rates_.attention_forward) *
                          (1 + k_.attention_half_work / blocks);
  module->bwd.attention = kAttentionBack * flops * rates_.attention_backward_us * gain *
                          grown(rates_.attention_backward) * (1 + kAttentionWorkBack * k_.attention_half_work / blocks);
  if (plan_.fp8_attention) AddCasts(work, module);
  if (plan_.cp > 1) AddContextParallel(work, module);
}

// Queries, keys and values are cast on the way in, the output's gradient on the way back (measured forward gains do not
// hold it: their kernels are fed in FP8).
void LayerTerms::AddCasts(const AttentionWork& work, Module* module) const {
  const double queries = tokens_ * work.heads / t_, keys = tokens_ * work.groups / t_;
  AddMemory(kCastBytes * (queries * work.qk_size + keys * (work.qk_size + work.v_size)),
            kCastBytes * queries * work.v_size, module);
  module->fwd.kernels += 1;
  module->bwd.kernels += 1;
}

double LayerTerms::RingRanks() const {
  switch (plan_.cp_comm) {
    case CpComm::kAllToAll:
    case CpComm::kAllGather:
      return 1;
    case CpComm::kAllToAllP2p:
      return plan_.cp / RanksInside();
    case CpComm::kP2p:
      return plan_.cp;
  }
  return 1;
}

void LayerTerms::AddContextParallel(const AttentionWork& work, Module* module) const {
  const double cp = plan_.cp, sizes = work.qk_size + work.v_size;
  const double keys = kBf16Bytes * tokens_ * work.groups * sizes / t_;
  const double queries = kBf16Bytes * tokens_ * work.heads * sizes / t_;
  double spread = 1;  // ranks of the all-to-all
  if (plan_.cp_comm == CpComm::kAllToAll) spread = cp;
  if (plan_.cp_comm == CpComm::kAllToAllP2p) spread = RanksInside();
  const bool gather = plan_.cp_comm == CpComm::kAllGather;
  const double passed = cp / spread - 1;  // by the ring or the gather
  const double first = 2 * k_.collective_latency_us;
  const double exchange = spread > 1 ? first + (keys + queries) * (spread - 1) / spread * LinkUs(t_ * spread) : 0;
  const double bytes_us = keys / spread * passed * LinkUs(t_ * cp);
  // Every step of a ring waits for its own keys, however few they are.
  const double steps = std::max(0.0, RingRanks() - 1);
  const double hops_us = steps * (t_ * cp <= rates_.domain_gpus ? k_.ring_hop_us : k_.collective_latency_us);
  const auto add = [&](double times, Load* load) {
    const double passing = times * bytes_us + hops_us;
    const double left = std::max(0.0, passing - (gather ? kBesideAllGather : kBesideRing) * load->attention);
    const double exposed = exchange + (passed > 0 ? first + left : 0);
    load->transfer += exposed;
    load->context += exposed;
    load->hidden_context += passing - left;
  };
  add(1, &module->fwd);
  add(2, &module->bwd);
  module->fwd.kernels += steps * kRingKernels;
  module->bwd.kernels += steps * kRingKernels;
}

void LayerTerms::AddScan(const AttentionWork& work, Module* module) const {
  if (!plan_.deterministic || work.delta_heads <= 0) {
    const double us = tokens_ * work.scan_state / t_ * rates_.scan_us;
    module->fwd.attention += us;
    module->bwd.attention += k_.scan_backward * us;
    return;
  }
  const double rows = tokens_ * work.delta_heads / t_ * rates_.memory_us;
  const double turns = static_cast<double>(plan_.seq_length) / kDeltaChunk;
  const double inverse = kDeltaChunk * kDeltaChunk, width = 2 * std::sqrt(work.scan_state / work.delta_heads);
  module->fwd.attention += rows * (kInverseBytes * inverse + kTurnBytes * width);
  module->bwd.attention += rows * (kInverseBytesBack * inverse + (kTurnBytesBack + kSliceBytesBack * turns) * width);
  module->fwd.kernels += kInverseKernels * kDeltaChunk + kTurnKernels * turns;
  module->bwd.kernels += kInverseKernelsBack * kDeltaChunk + kTurnKernelsBack * turns;
}

void LayerTerms::AddScanExchange(const AttentionWork& work, Module* module) const {
  const double cp = plan_.cp;
  const double bytes = kBf16Bytes * tokens_ * work.exchanged / t_;
  const double us = work.exchanges * k_.collective_latency_us + bytes * (cp - 1) / cp * LinkUs(t_ * cp);
  for (Load* const load : {&module->fwd, &module->bwd}) load->transfer += us, load->context += us;
  // Joined, and put in the sequence's own order, which attention's balance has changed: two copies, read and written.
  AddMemory(4 * bytes, 4 * bytes, module);
}

}  // namespace flightplan
