#include "resolver/planner/execution.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace flightplan {

namespace {

// Selective recompute keeps more than full; the `moe` module contains others, so its sets stand apart, and so do what
// keeps everything, but on the host, and LoongForge's modules within the overlap.
enum FamilyKind : uint8_t { kSelective, kWholeMoe, kFull, kOnHost, kWithinOverlap, kKinds };

FamilyKind KindOf(const Recompute& recompute) {
  if ((recompute.modules & kDropWithinOverlap) != 0) return kWithinOverlap;
  if (recompute.offload_layers > 0) return kOnHost;
  if (recompute.mode == RecomputeMode::kFullUniform || recompute.mode == RecomputeMode::kFullBlock) return kFull;
  return (recompute.modules & kDropMoe) != 0 ? kWholeMoe : kSelective;
}

}  // namespace

std::vector<Family> FamiliesOf(const ExecutionSpace& execution) {
  std::vector<Family> families;
  for (float offload : execution.optimizer_offloads) {
    std::array<Family, kKinds> of_offload;
    for (size_t r = 0; r < execution.recomputes.size(); ++r) {
      const Recompute& recompute = execution.recomputes[r];
      Family& family = of_offload[KindOf(recompute)];
      family.offload = offload;
      family.sets.push_back(r);
      family.most.mode = std::max(family.most.mode, recompute.mode);
      family.most.modules = static_cast<uint16_t>(family.most.modules | recompute.modules);
      family.most.offload_layers = std::max(family.most.offload_layers, recompute.offload_layers);
      family.most.offload_tensors = static_cast<uint16_t>(family.most.offload_tensors | recompute.offload_tensors);
      if (!family.most.loss.has_value() || recompute.loss == LossKind::kUnfused) family.most.loss = recompute.loss;
    }
    for (Family& family : of_offload) {
      if (!family.sets.empty()) families.push_back(std::move(family));
    }
  }
  return families;
}

bool AddsToAny(const std::vector<Recompute>& sets, const Recompute& recompute) {
  return std::any_of(sets.begin(), sets.end(), [&](const Recompute& set) {
    return set.mode == recompute.mode && set.offload_layers == recompute.offload_layers &&
           (set.modules & recompute.modules) == set.modules &&
           (set.offload_tensors & recompute.offload_tensors) == set.offload_tensors &&
           (set.loss == recompute.loss || recompute.loss == LossKind::kUnfused);
  });
}

std::vector<Combination> CombinationsOf(const ExecutionSpace& execution) {
  std::vector<Combination> combinations;
  combinations.reserve(execution.exchanges.size() * execution.graphs.size());
  for (const Exchange& exchange : execution.exchanges) {
    for (const Graphs& graphs : execution.graphs) {
      combinations.push_back({&exchange, &graphs, {}, {}, {}});
      combinations.back().times.resize(execution.recomputes.size() + 1);  // and one without any
    }
  }
  return combinations;
}

bool Possible(const SearchQuestion& question, const LayoutSizes& sizes, const Combination& combination) {
  // Without expert parallelism there is no exchange to choose.
  const bool idle = sizes.ep == 1 && combination.exchange != &question.execution.exchanges.front();
  return !idle && Compatible(*question.shape, sizes, *combination.exchange, *combination.graphs);
}

Candidate CandidateAt(const SearchQuestion& question, const LayoutSizes& sizes, const StageLayout* stages) {
  Candidate c = question.base(sizes);
  c.stages = stages;
  c.gpus = question.layout.gpus;
  c.tp = sizes.tp, c.pp = sizes.pp, c.vpp = sizes.vpp, c.cp = sizes.cp, c.ep = sizes.ep, c.etp = sizes.etp;
  c.micro_batch_size = sizes.micro_batch_size;
  c.global_batch_size = question.layout.global_batch_size;
  c.seq_length = question.layout.seq_length;
  c.sequence_parallel = question.layout.sequence_parallel && c.tp > 1;
  return c;
}

void Use(const SearchQuestion& question, const Combination& combination, const GivenOffload& given, Candidate* c) {
  c->dispatcher = combination.exchange->dispatcher;
  c->ep_overlap = combination.exchange->ep_overlap;
  c->delay_wgrad = combination.exchange->delay_wgrad;
  const bool crosses_domain = c->ep * c->etp > question.rates.domain_gpus;
  c->num_sms = crosses_domain ? combination.exchange->network_sms : combination.exchange->num_sms;
  c->graphs = combination.graphs->impl;
  c->graph_modules = ModulesBeside(*combination.exchange, *combination.graphs);
  Use(*combination.exchange, {.loss = question.execution.recomputes.front().loss}, given, c);
  UseOffload(question.execution, kNoOffload, c);
}

void UseOffload(const ExecutionSpace& execution, float offload, Candidate* c) {
  c->optimizer_offload = offload;
  const std::optional<OptimizerState>& state = offload > 0 ? execution.on_host : execution.on_gpu;
  if (!state.has_value()) return;
  c->low_precision_weights = state->low_precision_weights;
  c->precision_aware = state->precision_aware;
  c->gradient_copy = state->gradient_copy;
  c->overlap_optimizer_copies = state->overlap_copies;
  c->main_param_bytes = state->main_param_bytes;
  c->moment1_bytes = state->moment1_bytes;
  c->moment2_bytes = state->moment2_bytes;
}

void Use(const Exchange& exchange, const Recompute& recompute, const GivenOffload& given, Candidate* c) {
  const bool recomputed = (recompute.modules & kDropSharedExperts) != 0;
  c->shared_expert_overlap = exchange.shared_expert != SharedExpert::kAlone && !recomputed;
  c->recompute = recompute.mode;
  c->recompute_modules = recompute.modules;
  c->offload_layers = recompute.offload_layers > 0 ? recompute.offload_layers : given.layers;
  c->offload_modules = static_cast<uint16_t>(given.modules | recompute.offload_tensors);
  if (recompute.loss.has_value()) c->loss = *recompute.loss;
}

}  // namespace flightplan
