#include "resolver/stacks/megatron_lm/program.h"

#include <iterator>

#include "resolver/plan/environment.h"
#include "resolver/render/launch.h"

namespace flightplan {
namespace {

constexpr MegatronProgram kOfOneKind = {"pretrain_gpt.py"};
constexpr struct {
  int until;  // the last release of Megatron-Core that has it so
  MegatronProgram program;
} kOfAPattern[] = {
    // mamba_builders.py:24 and hybrid_builders.py:25 of their days; later pretrain_hybrid.py has a default.
    {17, {"pretrain_mamba.py", "megatron.core.models.mamba.mamba_layer_specs", "mamba_stack_spec"}},
    {18, {"pretrain_hybrid.py", "megatron.core.models.hybrid.hybrid_layer_specs", "hybrid_stack_spec"}},
    {kMain, {"pretrain_hybrid.py"}},
};

}  // namespace

bool HasLayerPattern(const Config& config) {
  return config.Get(Knob::hybrid_layer_pattern).truthy() || config.Get(Knob::hybrid_override_pattern).truthy() ||
         config.Get(Knob::is_hybrid_model).truthy();
}

const MegatronProgram& MegatronProgramFor(bool pattern, int core_release) {
  if (!pattern) return kOfOneKind;
  const auto* row = std::begin(kOfAPattern);
  while (row->until < core_release) ++row;
  return row->program;
}

std::optional<Config> ToldLayers(const Config& config, const MegatronProgram& program) {
  if (program.layers_module.empty() || !config.Get(Knob::spec).is_none() || !IsWhole(config)) return std::nullopt;
  Config told = config;
  told.Set(Knob::spec, Value(Value::List{Value(program.layers_module), Value(program.layers_name)}), Origin::kDecided);
  return told;
}

}  // namespace flightplan
