#include "resolver/normalize/layout_message.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flightplan/v1/parallelism.pb.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/plan/pipeline_layout.h"

namespace flightplan {
namespace {

std::optional<int64_t> ReadSize(bool present, int64_t value, absl::string_view name, Violations* violations) {
  if (!present) return std::nullopt;
  CheckRange(absl::StrCat("layout.", name), value, kMaxParallelSize, violations);
  return value;
}

}  // namespace

LayoutWish LayoutFromMessage(const v1::Layout& m, Violations* violations) {
  LayoutWish wish;
#define FLIGHTPLAN_READ_SIZE(name) wish.name = ReadSize(m.has_##name(), m.name(), #name, violations)
  FLIGHTPLAN_READ_SIZE(tensor_model_parallel_size);
  FLIGHTPLAN_READ_SIZE(pipeline_model_parallel_size);
  FLIGHTPLAN_READ_SIZE(virtual_pipeline_model_parallel_size);
  FLIGHTPLAN_READ_SIZE(context_parallel_size);
  FLIGHTPLAN_READ_SIZE(expert_model_parallel_size);
  FLIGHTPLAN_READ_SIZE(expert_tensor_parallel_size);
  FLIGHTPLAN_READ_SIZE(micro_batch_size);
#undef FLIGHTPLAN_READ_SIZE
  if (m.has_pipeline_model_parallel_layout()) {
    if (m.pipeline_model_parallel_layout().size() > kMaxValueBytes) {
      violations->Add("layout.pipeline_model_parallel_layout", "is longer than 64 KiB");
    }
    wish.pipeline_model_parallel_layout = m.pipeline_model_parallel_layout();
  }
  if (m.has_sequence_parallel()) wish.sequence_parallel = m.sequence_parallel();
  return wish;
}

void LeaveToPins(const std::vector<std::pair<Knob, Value>>& pins, LayoutWish* wish) {
  for (const auto& [knob, value] : pins) {
    for (const SizeWish& size : kSizeWishes) {
      if (size.knob == knob) (wish->*size.wish).reset();
    }
    if (knob == Knob::pipeline_model_parallel_layout) wish->pipeline_model_parallel_layout.reset();
    if (knob == Knob::sequence_parallel) wish->sequence_parallel.reset();
  }
}

void CheckStages(const LayoutWish& wish, Violations* violations) {
  if (!wish.pipeline_model_parallel_layout.has_value() || !wish.virtual_pipeline_model_parallel_size.has_value() ||
      !wish.pipeline_model_parallel_size.has_value())
    return;
  const int64_t stages = *wish.pipeline_model_parallel_size, chunks = *wish.virtual_pipeline_model_parallel_size;
  const PipelineLayout layout = ParsePipelineLayout(Value(*wish.pipeline_model_parallel_layout), stages);
  if (layout.fault != PipelineLayout::Fault::kNone || layout.virtual_size == chunks) return;
  violations->Add("layout.virtual_pipeline_model_parallel_size",
                  absl::StrCat("is ", chunks, " beside a pipeline_model_parallel_layout of ", layout.stages.size(),
                               " stages, which on ", stages, " pipeline ranks are ", layout.virtual_size,
                               ": leave it out, or give a layout of ", chunks * stages, " stages"));
}

void LayoutToMessage(const LayoutWish& wish, v1::Layout* message) {
#define FLIGHTPLAN_WRITE_SIZE(name) \
  if (wish.name.has_value()) message->set_##name(static_cast<int32_t>(*wish.name))
  FLIGHTPLAN_WRITE_SIZE(tensor_model_parallel_size);
  FLIGHTPLAN_WRITE_SIZE(pipeline_model_parallel_size);
  FLIGHTPLAN_WRITE_SIZE(virtual_pipeline_model_parallel_size);
  FLIGHTPLAN_WRITE_SIZE(context_parallel_size);
  FLIGHTPLAN_WRITE_SIZE(expert_model_parallel_size);
  FLIGHTPLAN_WRITE_SIZE(expert_tensor_parallel_size);
  FLIGHTPLAN_WRITE_SIZE(micro_batch_size);
#undef FLIGHTPLAN_WRITE_SIZE
  if (wish.pipeline_model_parallel_layout.has_value()) {
    message->set_pipeline_model_parallel_layout(*wish.pipeline_model_parallel_layout);
  }
  if (wish.sequence_parallel.has_value()) message->set_sequence_parallel(*wish.sequence_parallel);
}

}  // namespace flightplan
