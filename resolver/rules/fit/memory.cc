// Whether the static memory fits: parameters, gradients and optimizer state by closed formulas. Activations are not
// counted, so these rules say "does not fit" only where nothing could make it fit, and warn where little is left.
#include "absl/strings/str_format.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// Share of the memory that static state may take before activations are likely to be squeezed out: a rule of thumb for
// as long as activations are not counted, hence only a warning.
constexpr double kTightShare = 0.75;

bool Over(F f, double share) {
  return f.env.static_memory_bytes.has_value() && f.env.usable_memory_bytes.has_value() &&
         static_cast<double>(*f.env.static_memory_bytes) > share * static_cast<double>(*f.env.usable_memory_bytes);
}

std::string Bytes(F f) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  return absl::StrFormat(
      "parameters, gradients and optimizer state take %.1f GiB of %.1f GiB per GPU, activations not counted",
      static_cast<double>(f.env.static_memory_bytes.value_or(0)) / kGib,
      static_cast<double>(f.env.usable_memory_bytes.value_or(0)) / kGib);
}

// More pipeline stages, where the layers allow them, shrink every part.
std::vector<Patch> MoreStages(F f) {
  std::vector<Patch> patches;
  if (!f.on(K::use_distributed_optimizer)) patches.push_back({Assign(K::use_distributed_optimizer, true)});
  const int64_t stages = f.num(K::pipeline_model_parallel_size);
  if (stages >= 1 && stages < 1024) patches.push_back({Assign(K::pipeline_model_parallel_size, stages * 2)});
  return patches;
}

const Rule kRules[] = {
    {.id = "fit.static-memory",
     .area = "fit",
     .at = {Phase::kHardware, 10'000},
     .source = "closed formulas of resolver/derive/fit",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::expert_model_parallel_size,
               K::use_distributed_optimizer},
     .when = [](F f) { return Over(f, 1.0); },
     .needs = "parameters, gradients and optimizer state must fit in one GPU's memory",
     .fix = MoreStages,
     .detail = Bytes},
    {.id = "fit.static-memory-tight",
     .area = "fit",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 10'001},
     .source = "closed formulas of resolver/derive/fit",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::expert_model_parallel_size},
     .when = [](F f) { return Over(f, kTightShare) && !Over(f, 1.0); },
     .needs = "leave a quarter of the memory for activations, dispatch buffers and the allocator",
     .fix = MoreStages,
     .detail = Bytes},
};

}  // namespace

RuleList FitMemoryRules() { return kRules; }

}  // namespace flightplan
