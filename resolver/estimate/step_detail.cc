#include "resolver/estimate/step_detail.h"

#include <algorithm>
#include <cstddef>

#include "resolver/estimate/schedule.h"

namespace flightplan {
namespace {

double WeightGradientOf(const LayerParts& parts) {
  double us = 0;
  for (const Module* module : {&parts.attention, &parts.dense, &parts.router, &parts.experts, &parts.shared}) {
    us += module->wgrad.gpu();
  }
  return us;
}

void AddScaled(const Module& module, double by, Module* to) {
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

// What layers, head and projection consist of.
class PartsTimer {
 public:
  PartsTimer(const ModelWork& work, const Candidate& plan, const GpuRates& rates)
      : work_(work), plan_(plan), rates_(rates), kernel_us_(KernelUs(plan, rates)) {}

  LayerParts Kind(size_t kind) const;
  LayerParts Head() const;
  LayerParts Join() const;

 private:
  LayerParts Layer(const LayerModules& modules) const;
  void AddKernelGaps(LayerParts* parts) const;

  const ModelWork& work_;
  const Candidate& plan_;
  const GpuRates& rates_;
  const double kernel_us_;
};

// Each kernel's ramp and gap, as a layer's loads have them.
void PartsTimer::AddKernelGaps(LayerParts* parts) const {
  for (Module* module : {&parts->attention, &parts->dense, &parts->router, &parts->experts, &parts->shared}) {
    for (Load* load : {&module->fwd, &module->bwd, &module->wgrad}) load->memory += load->kernels * kernel_us_;
  }
  parts->permute_before += parts->permute_kernels * kernel_us_;
}

LayerParts PartsTimer::Layer(const LayerModules& m) const {
  LayerParts parts;
  PairedLayer paired;
  static_cast<LayerTime&>(parts.time) = TimeLayer(m, plan_, rates_, &paired);
  parts.paired = IsPaired(m, plan_);
  if (parts.paired) parts.nodes = paired.nodes, parts.slow = paired.slow;
  parts.attention = m.attention;
  parts.dense = m.mlp;
  parts.experts = m.experts;
  parts.shared = m.shared;
  parts.router = {m.pre, m.pre_bwd, m.pre_wgrad};
  parts.router.fwd.memory -= m.permute_us;
  parts.router.bwd.memory -= m.permute_us;
  parts.permute_before = m.permute_us;
  parts.permute_inside = m.beside_experts_us;
  parts.permute_after = m.on_exchange_us;
  parts.permute_kernels = m.permute_kernels;
  parts.dispatch = m.exchange.dispatch_us;
  parts.combine = m.exchange.combine_us;
  AddKernelGaps(&parts);
  parts.time.weight_gradient = WeightGradientOf(parts);
  return parts;
}

LayerParts PartsTimer::Kind(size_t kind) const {
  const auto at = [&](size_t precision) {
    return Layer(ModulesOf(work_.kinds[kind], precision, work_, plan_, rates_));
  };
  const size_t precision = Microbatch(plan_, rates_).precision;
  const double bf16 = Bf16Share(work_, plan_, rates_);
  if (bf16 <= 0) return at(precision);
  LayerParts mixed;
  AddScaled(at(precision), 1 - bf16, &mixed);
  AddScaled(at(0), bf16, &mixed);
  return mixed;
}

LayerParts PartsTimer::Head() const {
  LayerParts parts;
  parts.dense = HeadOf(work_, plan_, rates_);
  static_cast<LayerTime&>(parts.time) = TimeHead(parts.dense, plan_, rates_);
  parts.time.weight_gradient = WeightGradientOf(parts);
  return parts;
}

LayerParts PartsTimer::Join() const {
  LayerParts parts;
  const Products products = JoinOf(work_, plan_, rates_);
  parts.dense.fwd.matmul = products.fwd;
  parts.dense.bwd.matmul = products.bwd;
  parts.dense.wgrad.matmul = products.wgrad;
  static_cast<LayerTime&>(parts.time) = TimeJoin(products);
  parts.time.weight_gradient = WeightGradientOf(parts);
  return parts;
}

// `kinds`, `head` and `mtp_projection` of the detail are there.
PieceTime DetailChunk(const RankContents& contents, const ModelWork& work, const Schedule& schedule,
                      const StepDetail& detail) {
  PieceTime piece;
  static_cast<LayerTime&>(piece) = schedule.TimeOf(contents);
  for (size_t i = 0; i < detail.kinds.size(); ++i) {
    const double count = contents.layers[i] + contents.mtp_depths * work.mtp_layers[i];
    piece.weight_gradient += count * detail.kinds[i].time.weight_gradient;
  }
  piece.weight_gradient += contents.mtp_depths * detail.mtp_projection.time.weight_gradient +
                           HeadsOf(work, contents) * detail.head.time.weight_gradient;
  return piece;
}

RankDetail DetailRank(const RankContents& contents, const Schedule& schedule) {
  RankDetail detail;
  detail.time = schedule.TimeOf(contents);
  detail.pace = schedule.MicrobatchPace(detail.time);
  detail.once = schedule.OnceOf(contents, detail.pace);
  detail.offload = schedule.OffloadUs(contents, detail.pace);
  return detail;
}

void DetailParts(const PartsTimer& parts, const ModelWork& work, StepDetail* out) {
  out->kinds.clear();
  for (int i = 0; i < work.kind_count; ++i) out->kinds.push_back(parts.Kind(static_cast<size_t>(i)));
  out->head = parts.Head();
  out->mtp_projection = parts.Join();
}

// The slowest rank is the forecast's: the first of those with the longest microbatch.
void DetailStages(const StageLayout& stages, const ModelWork& work, const Schedule& schedule, StepDetail* out) {
  out->chunks.clear();
  for (const ChunkContents& chunk : stages.chunks) {
    out->chunks.push_back(DetailChunk(ContentsOf(chunk), work, schedule, *out));
  }
  out->ranks.clear();
  double slowest_us = -1;
  for (int rank = 0; rank < stages.pp; ++rank) {
    const RankContents contents = ContentsOf(stages, rank);
    out->ranks.push_back(DetailRank(contents, schedule));
    if (const double us = schedule.PaceOf(contents).us; us > slowest_us) slowest_us = us, out->slowest = rank;
  }
}

void DetailTransfer(const Candidate& plan, const Schedule& schedule, StepDetail* out) {
  if (plan.pp <= 1) return;
  out->hop_us = schedule.TransferOf(0).exposed / (2 * (plan.pp - 1));
  out->hop_hidden = out->hop_us > 0 ? schedule.TransferOf(1).hidden / (2 * std::max(1, plan.vpp) * out->hop_us) : 0;
}

}  // namespace

bool DetailStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, StepDetail* out) {
  if (!rates.known) return false;
  const LayerTimes times = TimeLayers(work, plan, rates);
  Schedule schedule(work, plan, rates, times);
  if (!schedule.Run(&out->forecast)) return false;
  out->microbatches = schedule.microbatches();
  out->stretch = rates.k.stack_overhead;
  DetailParts(PartsTimer(work, plan, rates), work, out);
  DetailStages(*plan.stages, work, schedule, out);
  DetailTransfer(plan, schedule, out);
  return true;
}

}  // namespace flightplan
