#include "resolver/layouts/virtual_stages.h"

#include <optional>

#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/layout_search.h"

namespace flightplan {
namespace {

using K = Knob;

// Each goes through the whole pipeline, whose decisions may settle one otherwise than the search would.
constexpr size_t kMostTried = 8;

bool Open(const NormalizedIntent& intent) {
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

// The other sizes as a question without a search has them.
NormalizedIntent WithGivenSizes(NormalizedIntent intent) {
  LayoutWish& layout = intent.layout;
  const auto close = [&](std::optional<int64_t>* size, Knob knob) {
    if (!size->has_value() && !PinOf(intent, knob).has_value()) *size = 1;
  };
  close(&layout.context_parallel_size, K::context_parallel_size);
  close(&layout.micro_batch_size, K::micro_batch_size);
  if (intent.model.is_moe()) close(&layout.expert_tensor_parallel_size, K::expert_tensor_parallel_size);
  return intent;
}

}  // namespace

std::vector<int64_t> VirtualStagesFor(const NormalizedIntent& intent) {
  if (!Open(intent)) return {};
  LayoutSearch search;
  if (!PrepareSearch(WithGivenSizes(intent), &search).ok() || !search.question.rates.known) return {};
  search.question.keep = kMostTried;
  std::vector<int64_t> counts;
  for (const double room : kRooms) {
    search.question.room = room;
    for (const FoundPlan& plan : Search(search.question).plans) counts.push_back(plan.sizes.vpp);
    if (!counts.empty()) break;
  }
  return counts;
}

}  // namespace flightplan
