#include "resolver/normalize/layout_message.h"

#include <cstdint>

#include "flightplan/v1/parallelism.pb.h"

namespace flightplan {

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
