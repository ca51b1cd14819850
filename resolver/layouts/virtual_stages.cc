#include "resolver/layouts/virtual_stages.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/layout_search.h"
#include "resolver/layouts/search_work.h"
#include "resolver/rules/decide/features.h"

namespace flightplan {
namespace {

using K = Knob;

// Each may go through the whole pipeline, whose decisions may settle one otherwise than the search would.
constexpr size_t kMostFound = 24;

// The other sizes as a question without a search has them.
NormalizedIntent WithGivenSizes(NormalizedIntent intent) {
  LayoutWish& layout = intent.layout;
  const auto close = [&](std::optional<int64_t>* size, Knob knob, int64_t value = 1) {
    if (!size->has_value() && !PinOf(intent, knob).has_value()) *size = value;
  };
  const auto given = [&](const std::optional<int64_t>& size, Knob knob) {
    const std::optional<Value> pinned = PinOf(intent, knob);
    return size.value_or(pinned.has_value() ? pinned->integer() : 1);
  };
  close(&layout.context_parallel_size, K::context_parallel_size);
  close(&layout.micro_batch_size, K::micro_batch_size);
  if (intent.model.is_moe()) {
    const bool dense = given(layout.expert_model_parallel_size, K::expert_model_parallel_size) <= 1 &&
                       decide::SplitsExpertsAsDense(intent.env);
    close(&layout.expert_tensor_parallel_size, K::expert_tensor_parallel_size,
          dense ? given(layout.tensor_model_parallel_size, K::tensor_model_parallel_size) : 1);
  }
  return intent;
}

// The virtual stages of what fits, best first, in the first of the rooms that anything fits.
std::vector<int64_t> RankedIn(SearchQuestion* question) {
  std::vector<int64_t> counts;
  for (const double room : kRooms) {
    question->room = room;
    for (const FoundPlan& plan : Search(*question).plans) counts.push_back(plan.sizes.vpp);
    if (!counts.empty()) break;
  }
  return counts;
}

}  // namespace

bool VirtualStagesAreOpen(const NormalizedIntent& intent) {
  const LayoutWish& layout = intent.layout;
  const std::optional<Value> pinned = PinOf(intent, K::pipeline_model_parallel_size);
  const int64_t pp = layout.pipeline_model_parallel_size.value_or(pinned.has_value() ? pinned->integer() : 1);
  if (pp <= 1 || layout.virtual_pipeline_model_parallel_size.has_value() ||
      layout.pipeline_model_parallel_layout.has_value() || intent.model.hybrid_layer_pattern.has_value()) {
    return false;
  }
  for (Knob knob : {K::virtual_pipeline_model_parallel_size, K::num_layers_per_virtual_pipeline_stage,
                    K::num_virtual_stages_per_pipeline_rank, K::pipeline_model_parallel_layout}) {
    if (PinOf(intent, knob).has_value()) return false;
  }
  return true;
}

VirtualStageSearch::VirtualStageSearch(const NormalizedIntent& intent, bool open) {
  if (!open) return;
  open_ = PrepareSearch(WithGivenSizes(intent), &search_).ok() && search_.question.rates.known;
  search_.question.keep = kMostFound;
  search_.question.work_limit = kWorkLimit;
  // Once of each size, for all of the searches.
  search_.question.stages = [this, all = search_.question.stages](int pp, int vpp) {
    std::vector<std::shared_ptr<const StageLayout>>& known = stages_[{pp, vpp}];
    if (known.empty()) known = all(pp, vpp);
    return known;
  };
  exchanges_ = search_.question.execution.exchanges;
  recomputes_ = search_.question.execution.recomputes;
}

std::vector<int64_t> VirtualStageSearch::AsDecided() {
  if (!open_) return {};
  LayoutSizes given = search_.question.layout.wish;
  given.tp = std::max(1, given.tp);  // open where a fix of an open layout's plan is tried
  return Ranked(search_.question.base(given));
}

std::vector<int64_t> VirtualStageSearch::AsIn(const ResolvedPlan& plan) {
  if (!open_ || plan.step == nullptr) return {};
  return Ranked(PrepareAsIn(plan, /*dear=*/false));
}

ExecutionSpace* VirtualStageSearch::Open(const ResolvedPlan& plan) {
  if (!open_ || plan.step == nullptr) return nullptr;
  PrepareAsIn(plan, /*dear=*/true);
  search_.question.execution.exchanges = exchanges_;
  return &search_.question.execution;
}

std::vector<FoundPlan> VirtualStageSearch::Before(double limit_us, double room) {
  SearchQuestion question = search_.question;
  question.room = room;
  question.limit = limit_us;
  question.caution->memory = MemoryCaution(room);
  const std::vector<Exchange>& all = search_.question.execution.exchanges;
  std::vector<FoundPlan> found;
  // What the decisions leave out beside a flex dispatcher comes with the others.
  for (const bool flex : {false, true}) {
    std::vector<Exchange>& some = question.execution.exchanges;
    some.clear();
    std::copy_if(all.begin(), all.end(), std::back_inserter(some),
                 [flex](const Exchange& exchange) { return IsFlex(exchange.dispatcher) == flex; });
    if (some.empty()) continue;
    if (!flex && regained_tp_overlap_) {
      question.base = [this](const LayoutSizes& sizes) {
        Candidate c = search_.question.base(sizes);
        c.tp_overlap = true;
        return c;
      };
    } else {
      question.base = search_.question.base;
    }
    for (FoundPlan& plan : Search(question).plans) found.push_back(std::move(plan));
  }
  return found;
}

// Gives the question what goes with the plan's execution; the plan's candidate. `dear`: as ExecutionsOf takes it.
Candidate VirtualStageSearch::PrepareAsIn(const ResolvedPlan& plan, bool dear) {
  Candidate as = CandidateOf(plan.decided.config, plan.env, search_.shape, plan.step->stages);
  // What pays dearly for room is known of a whole plan alone.
  ExecutionSpace own = ExecutionsOf(search_.intent, search_.shape, search_.config, as, dear || PaysDearlyForRoom(as));
  ExecutionSpace& space = search_.question.execution;
  space.graphs = std::move(own.graphs);
  space.optimizer_offloads = std::move(own.optimizer_offloads);
  space.on_gpu = own.on_gpu;
  space.on_host = own.on_host;
  const bool within_overlap = (as.recompute_modules & kDropWithinOverlap) != 0;
  space.recomputes = within_overlap ? std::move(own.recomputes) : recomputes_;
  regained_tp_overlap_ = as.tp_overlap && !IsFlex(as.dispatcher);
  return as;
}

std::vector<int64_t> VirtualStageSearch::Ranked(const Candidate& as) {
  ExecutionSpace& space = search_.question.execution;
  const auto own = std::find_if(exchanges_.begin(), exchanges_.end(), [&](const Exchange& exchange) {
    return exchange.dispatcher == as.dispatcher && exchange.ep_overlap == as.ep_overlap;
  });
  const SharedExpert shared = own != exchanges_.end()    ? own->shared_expert
                              : as.shared_expert_overlap ? SharedExpert::kOverlapped
                                                         : SharedExpert::kAlone;
  space.exchanges = {{as.dispatcher, as.ep_overlap, as.delay_wgrad, 0, 0, shared, as.num_sms, as.num_sms}};
  // The buffers of the flex backends differ: a number may fit with the other one alone.
  std::copy_if(exchanges_.begin(), exchanges_.end(), std::back_inserter(space.exchanges), [&](const Exchange& other) {
    return IsFlex(as.dispatcher) && IsFlex(other.dispatcher) && other.dispatcher != as.dispatcher &&
           other.ep_overlap == as.ep_overlap;
  });
  space.graphs = {{as.graphs, as.graph_modules}};
  std::vector<int64_t> counts = RankedIn(&search_.question);
  // Where none fits with the plan's exchange, one may with another: the decisions weigh all of them for each number.
  if (counts.empty() && exchanges_.size() > space.exchanges.size()) {
    space.exchanges = exchanges_;
    counts = RankedIn(&search_.question);
  }
  return counts;
}

}  // namespace flightplan
