// The env_vars section: defaults for the process environment, applied before anything else of a Bridge launch.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/config.py.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr absl::string_view kConnections = "CUDA_DEVICE_MAX_CONNECTIONS";

// Megatron-LM's command line refuses this; nothing in Bridge does. Blackwell orders kernels without the single queue.
bool ManyQueues(F f) {
  const absl::string_view connections = f.var(kConnections);
  return !connections.empty() && connections != "1" && f.env().cc_major > 0 && f.env().cc_major < 10;
}
// What asks for several queues, or was measured to gain more by them than tensor parallelism loses.
bool WantsManyQueues(F f) {
  return f.on(K::use_megatron_fsdp) || f.on(K::use_torch_fsdp2) || f.on(K::overlap_moe_expert_parallel_comm);
}

const Rule kRules[] = {
    // The reader finds it: what was written is none of the values that a rule sees.
    {.id = "env.vars-scalar",
     .area = "env",
     .at = {Phase::kEnvVars, 1988},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1988",
     .bridge = {.since = 6},
     .when = FoundByReader,
     .needs = "a variable's value is text, a number or a switch; a variable that shall stay unset is left out"},
    {.id = "env.vars-setdefault",
     .area = "env",
     .kind = Kind::kChange,
     .at = {Phase::kEnvVars, 1989},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1989",
     .bridge = {.since = 6},
     .change =
         [](Editor& e) {
           const EnvVars defaults = e.env().recipe_vars;
           for (const auto& [name, value] : defaults) {
             if (!e.facts().var_set(name)) e.SetVar(name, value);
           }
         }},
    {.id = "bridge-env.tensor-overlap-queues",
     .area = "env",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 210},
     .source = "Megatron-LM:megatron/training/arguments.py:1477",
     .reads = {K::tensor_model_parallel_size, K::context_parallel_size},
     .reads_env = {kConnections, "gpu"},
     .when =
         [](F f) {
           const bool parallel = f.num(K::tensor_model_parallel_size) > 1 || f.num(K::context_parallel_size) > 1;
           return parallel && ManyQueues(f) && !WantsManyQueues(f);
         },
     .needs = "before Blackwell only CUDA_DEVICE_MAX_CONNECTIONS=1 starts the exchanges of tensor and context "
              "parallelism before the GEMMs that hide them; the forecast here counts them as hidden",
     .fixes = {{{.value = "1", .env_var = kConnections}}}},
};

}  // namespace

RuleList BridgeEnvironmentRules() { return kRules; }

}  // namespace flightplan
