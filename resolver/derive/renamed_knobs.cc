#include "resolver/derive/renamed_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

// The same value under a new name. Sources: the deprecation notes in transformer_config.py and arguments.py of the
// release that brought the new name.
struct Rename {
  K before, after;
  int since;  // Megatron-Core minor release of the new name
  absl::string_view why;
};
constexpr Rename kRenames[] = {
    {K::moe_router_padding_for_fp8, K::moe_router_padding_for_quantization, 16, "renamed in Megatron-Core 0.16"},
    {K::cuda_graph_scope, K::cuda_graph_modules, 18, "renamed in Megatron-Core 0.18"},
    {K::cuda_graph_scope_deprecated, K::cuda_graph_modules, 18, "renamed in Megatron-Core 0.18"},
    {K::muon_use_nesterov, K::muon_nesterov, 18, "renamed in Megatron-Core 0.18"},
};

// The SM counts of the two dispatcher backends, one knob since 0.19.
constexpr int kOneSmKnob = 19;
constexpr int kFlexBackend = 16;

std::optional<RenamedKnob> SmCount(K knob, const Value& value, const Config& config, const Environment& env) {
  const bool hybridep = config.Get(K::moe_flex_dispatcher_backend).text() == "hybridep";
  const K old_name = hybridep ? K::moe_hybridep_num_sms : K::moe_deepep_num_sms;
  if (env.core_release >= kOneSmKnob && knob == old_name) {
    return RenamedKnob{K::moe_flex_dispatcher_num_sms, value,
                       "one knob for all flex backends since Megatron-Core 0.19"};
  }
  if (env.core_release < kOneSmKnob && knob == K::moe_flex_dispatcher_num_sms) {
    return RenamedKnob{old_name, value, "a knob of the backend's own until Megatron-Core 0.18"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<RenamedKnob> RenameFor(Knob knob, const Value& value, const Config& config, const Environment& env) {
  for (const Rename& row : kRenames) {
    if (knob == row.before && env.core_release >= row.since) return RenamedKnob{row.after, value, row.why};
    if (knob == row.after && env.core_release < row.since) return RenamedKnob{row.before, value, row.why};
  }
  if (knob == K::moe_enable_deepep && value.truthy() && env.core_release >= kFlexBackend) {
    return RenamedKnob{K::moe_flex_dispatcher_backend, Value("deepep"), "a backend by name since Megatron-Core 0.16"};
  }
  return SmCount(knob, value, config, env);
}

}  // namespace flightplan
