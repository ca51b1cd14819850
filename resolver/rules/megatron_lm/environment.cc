// Process environment: CUDA_DEVICE_MAX_CONNECTIONS and stream priorities.
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// Tensor or context parallelism before Blackwell, where one hardware queue keeps communication ahead of the GEMMs.
bool OneQueueArea(F f) {
  const bool parallel = f.num(K::tensor_model_parallel_size) > 1 || f.num(K::context_parallel_size) > 1;
  return parallel && ArchBelow(f, 10);
}
bool AnyFsdp(F f) { return f.on(K::use_torch_fsdp2) || f.on(K::use_megatron_fsdp); }
bool EpOverlapBesideOneQueue(F f) {
  return OneQueueArea(f) && !AnyFsdp(f) && f.on(K::overlap_moe_expert_parallel_comm);
}
// What the stack's own warning says to choose from.
bool OneOfTheTwo(F f) {
  const absl::string_view connections = f.var("CUDA_DEVICE_MAX_CONNECTIONS");
  return connections == "1" || connections == "32";
}

void AddStreamGroups(Editor& e) {
  const Facts& f = e.facts();
  const bool blackwell_fsdp = f.on(K::use_megatron_fsdp) && f.env().cc_major >= 10;
  if (!f.on(K::use_torch_fsdp2) && !blackwell_fsdp) return;
  AddStreamGroup(e, "dp_cp");
  if (f.num(K::expert_model_parallel_size) > 1) AddStreamGroup(e, "ep_dp");
}

const Rule kRules[] = {
    {.id = "mlm.msc-installed",
     .area = "env",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 160},
     .source = "Megatron-LM:megatron/training/arguments.py:160",
     .core = {.since = 18},  // before it was on where the package is there
     .reads = {K::enable_msc},
     .when =
         [](F f) {
           return f.given(K::enable_msc) && f.on(K::enable_msc) && f.env().packages.count("multi-storage-client") == 0;
         },
     .needs = "enable_msc stops the launch at once where the package multi-storage-client is not installed"},
    {.id = "mlm.cdmc-fsdp-warning",
     .area = "env",
     .kind = Kind::kWarning,
     .at = {Phase::kCliValidate, 1456},
     .source = "Megatron-LM:megatron/training/arguments.py:1456",
     .reads = {K::tensor_model_parallel_size, K::context_parallel_size, K::use_torch_fsdp2, K::use_megatron_fsdp},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS"},
     .when = [](F f) { return OneQueueArea(f) && AnyFsdp(f); },
     .needs = "before Blackwell, FSDP wants CUDA_DEVICE_MAX_CONNECTIONS above 1 while tensor or context parallelism "
              "wants 1"},
    {.id = "mlm.cdmc-ep-overlap-warning",
     .area = "env",
     .kind = Kind::kWarning,
     .at = {Phase::kCliValidate, 1466},
     .source = "Megatron-LM:megatron/training/arguments.py:1466",
     .reads = {K::tensor_model_parallel_size, K::context_parallel_size, K::overlap_moe_expert_parallel_comm},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS"},
     .when = [](F f) { return EpOverlapBesideOneQueue(f) && !OneOfTheTwo(f); },
     .needs = "before Blackwell, EP overlap wants CUDA_DEVICE_MAX_CONNECTIONS above 1 while tensor or context "
              "parallelism wants 1: choose 32 or 1"},
    {.id = "mlm.cdmc-ep-overlap-chosen",
     .area = "env",
     .kind = Kind::kInfo,
     .at = {Phase::kCliValidate, 1466, 1},
     .source = "Megatron-LM:megatron/training/arguments.py:1466",
     .reads = {K::tensor_model_parallel_size, K::context_parallel_size, K::overlap_moe_expert_parallel_comm},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS"},
     .when = [](F f) { return EpOverlapBesideOneQueue(f) && OneOfTheTwo(f); },
     .needs = "nothing: the stack prints a warning whatever is chosen of the two; 32 serves EP overlap, 1 tensor or "
              "context parallelism"},
    {.id = "mlm.cdmc-must-be-1",
     .area = "env",
     .at = {Phase::kCliValidate, 1477},
     .source = "Megatron-LM:megatron/training/arguments.py:1477",
     .reads = {K::tensor_model_parallel_size, K::context_parallel_size},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS", "gpu"},
     .when =
         [](F f) {
           return !f.fork() && OneQueueArea(f) && !AnyFsdp(f) && !f.on(K::overlap_moe_expert_parallel_comm) &&
                  f.var("CUDA_DEVICE_MAX_CONNECTIONS") != "1";
         },
     .needs = "tensor or context parallelism before Blackwell needs CUDA_DEVICE_MAX_CONNECTIONS=1",
     .fixes = {{{{}, "1", "CUDA_DEVICE_MAX_CONNECTIONS"}}}},
    {.id = "mlm.fsdp-priority-streams",
     .area = "env",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1484},
     .source = "Megatron-LM:megatron/training/arguments.py:1484",
     .reads = {K::high_priority_stream_groups},
     .change = [](Editor& e) { AddStreamGroups(e); }},
};

}  // namespace

RuleList MegatronLmEnvironmentRules() { return kRules; }

}  // namespace flightplan
