#include "resolver/planner/bounds.h"

#include <algorithm>
#include <cmath>

#include "resolver/base/work.h"

namespace flightplan {
namespace {

constexpr size_t kWorkOfStaticRank = 64;

}  // namespace

Bounds::Bounds(const SearchQuestion& question)
    : q_(question),
      most_offload_(*std::max_element(question.execution.optimizer_offloads.begin(),
                                      question.execution.optimizer_offloads.end())) {}

Floor Bounds::ComputeFloorOf(const LayoutSizes& sizes) const {
  LayoutSizes flat = sizes;
  flat.pp = flat.vpp = 1;
  Candidate c = CandidateAt(q_, flat, nullptr);
  Floor floor;
  const auto kinds = static_cast<size_t>(q_.work->kind_count);
  std::fill_n(floor.compute.begin(), kinds, kNever);
  floor.compute.back() = kNever;
  unsigned seen = 0;
  for (const Exchange& exchange : q_.execution.exchanges) {
    const unsigned dispatcher = 1u << static_cast<unsigned>(exchange.dispatcher);
    if ((seen & dispatcher) != 0 || (sizes.ep == 1 && &exchange != &q_.execution.exchanges.front())) continue;
    seen |= dispatcher;
    Use(q_, {&exchange, &q_.execution.graphs.front(), {}, {}}, GivenOffloadOf(c), &c);
    c.ep_overlap = c.delay_wgrad = false;
    const LayerTimes times = TimeLayers(*q_.work, c, q_.rates);
    for (size_t k = 0; k < kinds; ++k) {
      const LayerTime& layer = times.kinds[k];
      const double us = layer.fwd.gpu() + layer.bwd.gpu() + layer.fwd.transfer + layer.bwd.transfer;
      floor.compute[k] = std::min(floor.compute[k], us);
    }
    floor.compute.back() = std::min(floor.compute.back(), times.head.pair);
  }
  for (size_t k = 0; k < kinds; ++k) {
    if (q_.work->totals[k] > 0) floor.all += q_.work->totals[k] * floor.compute[k];
  }
  floor.whole = floor.compute;
  return floor;
}

void Bounds::Complete(const LayoutSizes& sizes, Floor* floor) const {
  floor->complete = true;
  LayoutSizes flat = sizes;
  flat.pp = flat.vpp = 1;
  Candidate c = CandidateAt(q_, flat, nullptr);
  const auto kinds = static_cast<size_t>(q_.work->kind_count);
  RankLoad best{};
  std::fill_n(best.begin(), kinds, kNever);
  for (const Exchange& exchange : q_.execution.exchanges) {
    if (sizes.ep == 1 && &exchange != &q_.execution.exchanges.front()) continue;
    if (!Serves(exchange, int64_t{sizes.ep} * sizes.etp)) continue;
    Use(q_, {&exchange, &q_.execution.graphs.front(), {}, {}}, GivenOffloadOf(c), &c);
    const LayerTimes times = TimeLayers(*q_.work, c, q_.rates);
    for (size_t k = 0; k < kinds; ++k) best[k] = std::min(best[k], times.kinds[k].pair);
  }
  for (size_t k = 0; k < kinds; ++k) floor->whole[k] = best[k];
}

double Bounds::TimeUs(const LayoutSizes& sizes, double slowest_us, double all_us) const {
  const double microbatches = Microbatches(sizes), bubble = std::max(0.0, all_us - slowest_us) / sizes.vpp;
  const double transfers = PipelineTransferUs(q_.rates, static_cast<double>(q_.layout.gpus), HandedOnBytes(sizes),
                                              microbatches, sizes.pp, sizes.vpp);
  return (microbatches * slowest_us + bubble) * q_.rates.k.stack_overhead + transfers + q_.rates.k.step_fixed_us;
}

// What a stage hands on of a microbatch.
double Bounds::HandedOnBytes(const LayoutSizes& sizes) const {
  const double tokens = static_cast<double>(q_.layout.seq_length) * static_cast<double>(sizes.micro_batch_size) /
                        sizes.cp / (q_.layout.sequence_parallel ? sizes.tp : 1);
  return 2 * q_.work->hidden * tokens;
}

double Bounds::InputBytes(const LayoutSizes& sizes) const {
  // Uneven stages may give a rank a layer less in every chunk, and the first one its embedding.
  const double a_chunk = std::floor(static_cast<double>(q_.shape->num_layers) / sizes.pp / sizes.vpp) - 1;
  const double layers = std::max(0.0, a_chunk) * sizes.vpp;
  return std::min<double>(Microbatches(sizes), sizes.pp) * layers * HandedOnBytes(sizes);
}

double Bounds::StaticBytes(const LayoutSizes& sizes, const StageLayout& stages) const {
  Work::Spend(kWorkOfModel + kWorkOfStaticRank * stages.distinct_ranks.size());
  Candidate c = CandidateAt(q_, sizes, &stages);
  UseOffload(q_.execution, most_offload_, &c);
  return MemoryModel(*q_.shape, c, q_.memory.device).StaticBytes();
}

double Bounds::LeastBytes(const LayoutSizes& sizes, const StageLayout& stages, const Family& family,
                          const Combination* combination, double enough) const {
  Candidate c = CandidateAt(q_, sizes, &stages);
  const Combination plain = {&q_.execution.exchanges.front(), &q_.execution.graphs.front(), {}, {}, {}};
  const Combination& used = combination == nullptr ? plain : *combination;
  const GivenOffload given = GivenOffloadOf(c);
  Use(q_, used, given, &c);
  Use(*used.exchange, family.most, given, &c);
  UseOffload(q_.execution, family.offload, &c);
  Work::Spend(kWorkOfModel);
  const MemoryModel model(*q_.shape, c, q_.memory.device);
  double least = 0;
  for (const int rank : stages.distinct_ranks) {
    Work::Spend(WorkOfRank(stages));
    const StageBytes bytes = model.Stage(rank);
    const double passing = bytes[MemoryPart::kBackward] + bytes[MemoryPart::kGraphs] +
                           (combination == nullptr ? bytes[MemoryPart::kDispatch] : 0);
    least = std::max(least, bytes.Total() - passing);
    if (least > enough) break;
  }
  return least;
}

}  // namespace flightplan
