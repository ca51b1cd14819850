#include "resolver/estimate/layer_time.h"

#include <algorithm>
#include <cmath>

namespace flightplan {
namespace {

// Chosen, none of them measured alone.
constexpr double kCheckpointKernels = 6;  // a checkpoint's own host work, in kernels
constexpr double kCoreAttentionKernels = 3, kActivationKernels = 2;
constexpr double kAutogradLaunch = 0.8;  // autograd's engine launches from C++: of a forward kernel's host time
constexpr double kGraphLaunch = 0.1;     // of a captured kernel's host time, where the whole iteration is one graph

// One candidate's way to compute again and to overlap, over modules that are timed.
class Assembler {
 public:
  Assembler(const Candidate& plan, const GpuRates& rates)
      : plan_(plan), rates_(rates), k_(rates.k), kernel_us_(KernelUs(plan, rates)), full_(FullRecompute()) {}

  LayerTime Layer(const LayerModules& m, PairedLayer* paired = nullptr) const;
  LayerTime Head(const Module& head) const;

 private:
  // With the ramp, the tail and the gap of each kernel.
  double GpuUs(const Load& load) const { return load.gpu() + load.kernels * kernel_us_; }
  bool WholeIteration() const { return plan_.graphs == GraphImpl::kFullIteration; }
  bool Again(unsigned module) const {
    return plan_.recompute == RecomputeMode::kSelective && (plan_.recompute_modules & module) != 0;
  }
  // What recomputing costs: the module's forward again, and the checkpoint's own host work.
  void Again(unsigned module, const Load& load, LayerTime* times) const {
    if (!Again(module)) return;
    times->again += load;
    times->again.kernels += kCheckpointKernels;
  }
  // All layers of a stage again; block recompute of some layers counts as their share.
  double FullRecompute() const {
    if (plan_.recompute == RecomputeMode::kFullUniform) return 1;
    if (plan_.recompute != RecomputeMode::kFullBlock || plan_.stages == nullptr) return 0;
    const int layers = std::max(1, plan_.stages->chunks.front().Layers());
    return std::min(1.0, static_cast<double>(plan_.recompute_layers) / layers);
  }
  void AddSelective(const LayerModules& m, LayerTime* times) const;
  void AddExpertsAgain(const LayerModules& m, LayerTime* times) const;
  PairedLayer NodesOf(const LayerModules& m, const LayerTime& times) const;
  PairedLayer Pair(const LayerModules& m, LayerTime* times) const;
  void AddHost(const LayerModules& m, LayerTime* times) const;

  const Candidate& plan_;
  const GpuRates& rates_;
  const StepCoefficients& k_;
  const double kernel_us_;
  const double full_;  // share of the layers that are computed again whole
};

void Assembler::AddSelective(const LayerModules& m, LayerTime* times) const {
  if (plan_.recompute != RecomputeMode::kSelective) return;
  const double attention_us = m.attention.fwd.attention;
  if (attention_us > 0) Again(kDropCoreAttn, {0, attention_us, 0, 0, kCoreAttentionKernels}, times);
  if (m.mla_up.kernels > 0) Again(kDropMlaUpProj, m.mla_up, times);
  Again(kDropOverlapAttention, m.attention.fwd, times);
  Again(kDropLayernorm, m.norms, times);
  if (m.streams.kernels > 0) Again(kDropMhc, m.streams, times);
  if (m.routed) {
    AddExpertsAgain(m, times);
  } else if (m.mlp.fwd.kernels > 0) {
    Again(kDropMlp, m.mlp.fwd, times);
  }
}

void Assembler::AddExpertsAgain(const LayerModules& m, LayerTime* times) const {
  Again(kDropMoeAct, {0, 0, m.activation_us, 0, kActivationKernels}, times);
  if (m.shared.fwd.kernels > 0) Again(kDropSharedExperts, m.shared.fwd, times);
  Again(kDropOverlapPostAttention, m.pre, times);
  if (Again(kDropOverlapExperts)) {
    Load computed = m.experts.fwd;
    computed += m.shared.fwd;
    Again(kDropOverlapExperts, computed, times);
  }
  if (!Again(kDropMoe)) return;
  Load whole = m.experts.fwd;
  whole += m.pre;
  whole += m.shared.fwd;
  whole.memory += m.beside_experts_us + m.on_exchange_us;
  whole.kernels += m.permute_kernels;
  Again(kDropMoe, whole, times);
  times->again_exchange += m.exchange.dispatch_us + m.exchange.combine_us;
}

PairedLayer Assembler::NodesOf(const LayerModules& m, const LayerTime& times) const {
  LayerNodes nodes;
  nodes.pre_fwd =
      GpuUs(m.attention.fwd) + m.attention.fwd.transfer + GpuUs(m.pre) + GpuUs(m.shared.fwd) + m.shared.fwd.transfer;
  nodes.pre_bwd = GpuUs(m.attention.bwd) + m.attention.bwd.transfer + GpuUs(m.pre_bwd) + GpuUs(m.shared.bwd) +
                  m.shared.bwd.transfer + GpuUs(times.again);
  nodes.pre_wgrad = GpuUs(m.attention.wgrad) + GpuUs(m.shared.wgrad) + GpuUs(m.pre_wgrad);
  nodes.mlp_fwd = GpuUs(m.experts.fwd) + m.beside_experts_us;
  nodes.mlp_bwd = GpuUs(m.experts.bwd) + m.beside_experts_us;
  nodes.mlp_wgrad = GpuUs(m.experts.wgrad);
  nodes.dispatch_fwd = nodes.dispatch_bwd = m.exchange.dispatch_us;
  nodes.combine_fwd = nodes.combine_bwd = m.exchange.combine_us + m.on_exchange_us;
  const double sms = ExchangeSms(plan_, m.exchange.inside_share < 1);
  const double left = rates_.sm_count / (rates_.sm_count - sms);
  const CorunSlowdown slow = {k_.corun_compute * left, 1 + (k_.corun_communication - 1) * m.exchange.inside_share};
  return {nodes, slow};
}

// A forward beside a backward, under the overlap of the exchange.
PairedLayer Assembler::Pair(const LayerModules& m, LayerTime* times) const {
  const PairedLayer paired = NodesOf(m, *times);
  const PairTime pair = WalkPair(paired.nodes, paired.slow, plan_.delay_wgrad, plan_.early_attn_release);
  times->pair = pair.us;
  times->pair_hidden = pair.hidden;
  times->pair_exposed = pair.exposed;
  return paired;
}

void Assembler::AddHost(const LayerModules& m, LayerTime* times) const {
  const double residue = k_.host_graph_residue;
  const double fwd_kernels = times->fwd.kernels - (1 - residue) * std::min(m.captured_fwd, times->fwd.kernels);
  const double bwd_kernels = times->bwd.kernels - (1 - residue) * std::min(m.captured_bwd, times->bwd.kernels);
  const double overlap = plan_.ep_overlap ? k_.host_overlap : 1.0;
  const double host = rates_.host_us * overlap * (WholeIteration() ? kGraphLaunch * residue : 1.0);
  times->host_fwd = fwd_kernels * host;
  times->host_bwd = kAutogradLaunch * (bwd_kernels + times->again.kernels) * host;
}

LayerTime Assembler::Layer(const LayerModules& m, PairedLayer* paired) const {
  LayerTime times;
  times.fwd = m.fwd;
  times.bwd = m.bwd;
  if (m.routed) {
    times.fwd_exchange = m.exchange.dispatch_us + m.exchange.combine_us - m.shared_hidden_us;
    times.shared_hidden = m.shared_hidden_us;
    times.bwd_exchange = m.exchange.dispatch_us + m.exchange.combine_us;
  }
  AddSelective(m, &times);
  if (IsPaired(m, plan_)) {
    const PairedLayer pair = Pair(m, &times);
    if (paired != nullptr) *paired = pair;
  }
  if (full_ > 0) {
    times.again = Load();
    AddScaled(times.fwd, full_, &times.again);
    times.again_exchange = full_ * times.fwd_exchange;
  }
  if (plan_.reference_forward) {
    times.fwd += m.fwd;
    times.fwd_exchange *= 2;
  }
  for (Load* load : {&times.fwd, &times.bwd, &times.again}) load->memory += load->kernels * kernel_us_;
  AddHost(m, &times);
  if (times.pair == 0) {
    times.pair = times.fwd.gpu() + times.fwd.transfer + times.bwd.gpu() + times.bwd.transfer + times.again.gpu() +
                 times.again.transfer + times.fwd_exchange + times.bwd_exchange + times.again_exchange;
    times.pair_exposed = times.fwd_exchange + times.bwd_exchange + times.again_exchange;
  }
  return times;
}

LayerTime Assembler::Head(const Module& head) const {
  LayerTime times;
  times.fwd = head.fwd;
  if (plan_.reference_forward) times.fwd += head.fwd;
  times.bwd = head.bwd;
  times.bwd += head.wgrad;
  times.pair = times.fwd.gpu() + times.bwd.gpu();
  const double host = rates_.host_us * (WholeIteration() ? kGraphLaunch * k_.host_graph_residue : 1.0);
  times.host_fwd = times.fwd.kernels * host;
  times.host_bwd = times.bwd.kernels * host;
  return times;
}

LayerTime Mixed(const LayerTime& times, const LayerTime& in_bf16, double share) {
  LayerTime mixed;
  Accumulate(times, 1 - share, &mixed);
  Accumulate(in_bf16, share, &mixed);
  return mixed;
}

}  // namespace

LayerTime TimeLayer(const LayerModules& modules, const Candidate& plan, const GpuRates& rates, PairedLayer* paired) {
  return Assembler(plan, rates).Layer(modules, paired);
}

LayerTime TimeHead(const Module& head, const Candidate& plan, const GpuRates& rates) {
  return Assembler(plan, rates).Head(head);
}

LayerTime TimeJoin(const Products& join) {
  LayerTime times;
  times.fwd.matmul = join.fwd;
  times.bwd.matmul = join.bwd + join.wgrad;
  times.pair = join.all();
  return times;
}

double Bf16Share(const ModelWork& work, const Candidate& plan, const GpuRates& rates) {
  double layers = 0;
  for (int i = 0; i < work.kind_count; ++i) layers += work.totals[static_cast<size_t>(i)];
  if (plan.bf16_layers == 0 || Microbatch(plan, rates).precision == 0 || layers <= 0) return 0;
  return std::min(1.0, plan.bf16_layers / layers);
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

LayerTimes TimeLayers(const ModelWork& work, const Candidate& plan, const GpuRates& rates) {
  const Assembler assembler(plan, rates);
  const size_t precision = Microbatch(plan, rates).precision;
  const double share = Bf16Share(work, plan, rates);
  LayerTimes times;
  for (size_t i = 0; i < static_cast<size_t>(work.kind_count); ++i) {
    LayerTime& time = times.kinds.emplace_back(assembler.Layer(ModulesOf(work.kinds[i], precision, work, plan, rates)));
    if (share <= 0) continue;
    time = Mixed(time, assembler.Layer(ModulesOf(work.kinds[i], 0, work, plan, rates)), share);
  }
  times.head = assembler.Head(HeadOf(work, plan, rates));
  times.join = JoinOf(work, plan, rates);
  return times;
}

LayerTimer::LayerTimer(const ModelWork& work, const Candidate& plan, const GpuRates& rates)
    : work_(work),
      rates_(rates),
      bf16_share_(Bf16Share(work, plan, rates)),
      loss_(plan.loss),
      join_(JoinOf(work, plan, rates)) {
  const auto kinds = static_cast<size_t>(work.kind_count);
  const size_t precision = Microbatch(plan, rates).precision;
  modules_.reserve(kinds);
  for (size_t i = 0; i < kinds; ++i) modules_.push_back(ModulesOf(work.kinds[i], precision, work, plan, rates));
  for (size_t i = 0; bf16_share_ > 0 && i < kinds; ++i) {
    in_bf16_.push_back(ModulesOf(work.kinds[i], 0, work, plan, rates));
  }
  head_ = Assembler(plan, rates).Head(HeadOf(work, plan, rates));
}

LayerTimes LayerTimer::Time(const Candidate& plan) const { return Assembled(plan, rates_, modules_, in_bf16_); }

LayerTimes LayerTimer::TimeExchanging(const Candidate& plan, const GpuRates& rates) const {
  std::vector<LayerModules> modules = modules_, in_bf16 = in_bf16_;
  for (std::vector<LayerModules>* of : {&modules, &in_bf16}) {
    for (size_t i = 0; i < of->size(); ++i) TimeExchange(work_.kinds[i], work_, plan, rates, &(*of)[i]);
  }
  return Assembled(plan, rates, modules, in_bf16);
}

LayerTimes LayerTimer::Assembled(const Candidate& plan, const GpuRates& rates, const std::vector<LayerModules>& modules,
                                 const std::vector<LayerModules>& in_bf16) const {
  const Assembler assembler(plan, rates);
  LayerTimes times;
  for (size_t i = 0; i < modules.size(); ++i) {
    LayerTime& time = times.kinds.emplace_back(assembler.Layer(modules[i]));
    if (!in_bf16.empty()) time = Mixed(time, assembler.Layer(in_bf16[i]), bf16_share_);
  }
  times.head = plan.loss == loss_ ? head_ : assembler.Head(HeadOf(work_, plan, rates));
  times.join = join_;
  return times;
}

}  // namespace flightplan
