#include "resolver/stacks/megatron_lm/program.h"

#include <iterator>

#include "resolver/plan/environment.h"

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

const MegatronProgram& MegatronProgramFor(bool hybrid, int core_release) {
  if (!hybrid) return kOfOneKind;
  const auto* row = std::begin(kOfAPattern);
  while (row->until < core_release) ++row;
  return row->program;
}

}  // namespace flightplan
