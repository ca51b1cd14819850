#include "resolver/derive/idle_knobs.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "resolver/catalog/bridge_fields.h"

namespace flightplan {
namespace {

using K = Knob;

bool Hybridep(const Config& c) { return c.Get(K::moe_flex_dispatcher_backend).text() == "hybridep"; }
bool Deepep(const Config& c) {
  return c.Get(K::moe_flex_dispatcher_backend).text() == "deepep" || c.Get(K::moe_enable_deepep).truthy();
}
bool Fsdp(const Config& c) { return c.Get(K::use_megatron_fsdp).truthy(); }
bool Fp8(const Config& c) { return c.Get(K::fp8).truthy(); }
bool EndsInBf16(const Config& c) { return c.Get(K::first_last_layers_bf16).truthy(); }
bool OptimizerOffload(const Config& c) { return c.Get(K::optimizer_cpu_offload).truthy(); }
bool Muon(const Config& c) { return absl::StrContains(c.Get(K::optimizer).text(), "muon"); }
bool RopeScaling(const Config& c) { return c.Get(K::use_rope_scaling).truthy() || c.Get(K::rope_scaling).truthy(); }
bool DeferredEmbedding(const Config& c) { return c.Get(K::defer_embedding_wgrad_compute).truthy(); }
bool Profile(const Config& c) { return c.Get(K::profile).truthy(); }
bool SignalHandler(const Config& c) { return c.Get(K::exit_signal_handler).truthy(); }
bool Graphs(const Config& c) {
  const Value& implementation = c.Get(K::cuda_graph_impl);
  return c.Get(K::enable_cuda_graph).truthy() || (implementation.is_text() && implementation.text() != "none");
}
bool Mamba(const Config& c) {
  return c.Get(K::hybrid_layer_pattern).truthy() || c.Get(K::hybrid_override_pattern).truthy();
}

// By a knob's name, or by how its name begins ("muon_", "peft.").
struct Switch {
  absl::string_view knob;
  bool (*on)(const Config& config);
};
constexpr Switch kSwitches[] = {
    {"data_parallel_sharding_strategy", Fsdp},
    {"megatron_fsdp_", Fsdp},
    {"fp8_recipe", Fp8},
    {"optimizer.fp8_recipe", Fp8},
    {"num_layers_at_start_in_bf16", EndsInBf16},
    {"num_layers_at_end_in_bf16", EndsInBf16},
    {"optimizer_offload_fraction", OptimizerOffload},
    {"muon_", Muon},
    {"rope_scaling_factor", RopeScaling},
    {"wgrad_deferral_limit", DeferredEmbedding},
    {"moe_deepep_", Deepep},
    {"moe_hybridep_", Hybridep},
    {"cuda_graph_use_single_mempool", Graphs},
    {"cuda_graph_scope", Graphs},
    {"cuda_graph_modules", Graphs},
    {"use_mamba_mem_eff_path", Mamba},
    {"peft.", AdaptersConfigured},
    {"profile_ranks", Profile},
    {"exit_signal", SignalHandler},
};

bool Covers(absl::string_view entry, absl::string_view name) {
  return absl::EndsWith(entry, "_") || absl::EndsWith(entry, ".") ? absl::StartsWith(name, entry) : name == entry;
}

}  // namespace

bool IsIdle(Knob knob, const Config& config) {
  const absl::string_view name = Name(knob);
  return std::any_of(std::begin(kSwitches), std::end(kSwitches),
                     [&](const Switch& row) { return Covers(row.knob, name) && !row.on(config); });
}

bool IsDense(const Config& config) { return !config.Get(K::num_moe_experts).truthy(); }

bool IsOfAnotherModel(Knob knob, const Config& config, bool dense) {
  const absl::string_view group = Row(knob).group;
  if (group == "mla") return !config.Get(K::multi_latent_attention).truthy();
  return dense && (group == "moe" || group == "dispatcher");
}

}  // namespace flightplan
