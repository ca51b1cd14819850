#include "clients/cli/observe/launch_config.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "clients/cli/findings.h"
#include "resolver/base/status_macros.h"
#include "resolver/derive/model_from_knobs.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/model_message.h"
#include "resolver/plan/config.h"
#include "resolver/plan/knob.h"

namespace flightplan::cli {

namespace {

// Null: the configuration has no such knob.
const v1::ConfigEntry* FindEntry(const v1::ValidateConfigResponse& launch, const std::string& name) {
  const auto& config = launch.config();
  const auto entry =
      std::find_if(config.begin(), config.end(), [&name](const v1::ConfigEntry& e) { return e.name() == name; });
  return entry == config.end() ? nullptr : &*entry;
}

}  // namespace

std::string ConfigText(const v1::ValidateConfigResponse& launch, const std::string& name) {
  const v1::ConfigEntry* const entry = FindEntry(launch, name);
  return entry == nullptr || !entry->has_value() ? std::string() : ValueText(entry->value());
}

int64_t ConfigSize(const v1::ValidateConfigResponse& launch, const std::string& name, int64_t otherwise) {
  int64_t size = 0;
  return absl::SimpleAtoi(ConfigText(launch, name), &size) && size > 0 ? size : otherwise;
}

v1::Layout LayoutOf(const v1::ValidateConfigResponse& launch) {
  v1::Layout layout;
  const auto size = [&launch](const char* name) { return static_cast<int32_t>(ConfigSize(launch, name, 1)); };
  layout.set_tensor_model_parallel_size(size("tensor_model_parallel_size"));
  layout.set_pipeline_model_parallel_size(size("pipeline_model_parallel_size"));
  layout.set_context_parallel_size(size("context_parallel_size"));
  layout.set_expert_model_parallel_size(size("expert_model_parallel_size"));
  layout.set_expert_tensor_parallel_size(size("expert_tensor_parallel_size"));
  layout.set_micro_batch_size(size("micro_batch_size"));
  const int32_t virtual_stages = size("virtual_pipeline_model_parallel_size");
  if (virtual_stages > 1) layout.set_virtual_pipeline_model_parallel_size(virtual_stages);
  return layout;
}

std::string PrecisionOf(const v1::ValidateConfigResponse& launch) {
  if (!ConfigText(launch, "fp4").empty()) return "nvfp4";
  if (ConfigText(launch, "fp8").empty()) return ConfigText(launch, "fp16") == "true" ? "fp16" : "bf16";
  const std::string recipe = ConfigText(launch, "fp8_recipe");
  if (recipe == "tensorwise") return "fp8_cs";
  if (recipe == "blockwise") return "fp8_block";
  return recipe == "mxfp8" ? "mxfp8" : "fp8_ds";
}

absl::StatusOr<v1::ModelSpec> ModelOf(const v1::ValidateConfigResponse& launch) {
  Config config;
  Violations violations;  // an answer's values have none
  for (const v1::ConfigEntry& entry : launch.config()) {
    const std::optional<Knob> knob = FindKnob(entry.name());
    if (!knob.has_value()) continue;
    config.Set(*knob, ValueFromMessage(entry.value(), entry.name(), &violations), Origin::kCaller);
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ModelSpec model, ModelFromKnobs(config));
  v1::ModelSpec message;
  ModelToMessage(model, &message);
  return message;
}

}  // namespace flightplan::cli
