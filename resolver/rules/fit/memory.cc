// Whether it fits: parameters, gradients and optimizer state by closed formulas, and the forecast of everything on the
// GPU with its band. Above the GPU's memory with its point it does not fit; with the upper end of its band alone it is
// marginal.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "resolver/base/bytes.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Over(F f, int64_t FoundMemory::*part, std::optional<int64_t> FoundMemory::*limit = &FoundMemory::usable) {
  const std::optional<FoundMemory>& memory = f.found().memory;
  return memory.has_value() && ((*memory).*limit).has_value() && (*memory).*part > *((*memory).*limit);
}
bool StaticOver(F f) { return Over(f, &FoundMemory::static_part); }

double Gib(int64_t bytes) { return static_cast<double>(bytes) / kGib; }

std::string Others(const FoundMemory& memory) {
  return memory.reserved > 0 ? absl::StrFormat(" (others hold %.1f GiB)", Gib(memory.reserved)) : "";
}

// A door shows this finding, and not the one that names the runs (pipeline/apply_evidence.h).
std::string ByRuns(const FoundMemory& memory) {
  if (memory.reported_runs == 0) return "";
  return absl::StrFormat(", moved by %d reported run%s", memory.reported_runs, memory.reported_runs == 1 ? "" : "s");
}

std::string Forecast(F f) {
  const FoundMemory memory = f.found().memory.value_or(FoundMemory{});
  return absl::StrFormat("about %.1f GiB (%.1f to %.1f) of %.1f GiB per GPU%s%s", Gib(memory.value), Gib(memory.low),
                         Gib(memory.high), Gib(memory.usable.value_or(0)), Others(memory), ByRuns(memory));
}

std::string Bytes(F f) {
  const FoundMemory memory = f.found().memory.value_or(FoundMemory{});
  return absl::StrFormat(
      "parameters, gradients and optimizer state take %s%.1f GiB of %.1f GiB per GPU%s, activations not counted",
      memory.at_least ? "at least " : "", Gib(memory.static_part), Gib(memory.usable.value_or(0)), Others(memory));
}

// More pipeline stages, where the layers allow them, shrink every part.
std::vector<Patch> MoreStages(F f) {
  std::vector<Patch> patches;
  if (!f.on(K::use_distributed_optimizer)) patches.push_back({Assign(K::use_distributed_optimizer, true)});
  const int64_t stages = f.num(K::pipeline_model_parallel_size);
  if (stages >= 1 && stages < 1024) patches.push_back({Assign(K::pipeline_model_parallel_size, stages * 2)});
  return patches;
}

// Computing activations again comes before another layout.
std::vector<Patch> LessMemory(F f) {
  std::vector<Patch> patches;
  if (!f.is(K::recompute_granularity, "full") && !f.on(K::overlap_moe_expert_parallel_comm)) {
    patches.push_back({Assign(K::recompute_granularity, "full"), Assign(K::recompute_method, "uniform"),
                       Assign(K::recompute_num_layers, 1)});
  }
  for (Patch& patch : MoreStages(f)) patches.push_back(std::move(patch));
  return patches;
}

constexpr absl::string_view kHostState =
    "Megatron-LM@d98e8a64dd megatron/core/optimizer/cpu_offloading/hybrid_optimizer.py: FP32 copies of parameters and "
    "gradients, pinned, and two moments";

bool HostOver(F f, int64_t FoundMemory::*part) { return Over(f, part, &FoundMemory::host_usable); }

std::string HostForecast(F f) {
  const FoundMemory memory = f.found().memory.value_or(FoundMemory{});
  return absl::StrFormat("the optimizer keeps about %.0f GiB (%.0f to %.0f) in the %.0f GiB of a node's main memory",
                         Gib(memory.host), Gib(memory.host_low), Gib(memory.host_high),
                         Gib(memory.host_usable.value_or(0)));
}

// As much as the node has room for, in quarters, or none.
std::vector<Patch> LessOnHost(F f) {
  const FoundMemory memory = f.found().memory.value_or(FoundMemory{});
  const int64_t usable = memory.host_usable.value_or(0);
  const auto taken = static_cast<double>(memory.host > usable ? memory.host : memory.host_high);
  const double quarters =
      std::floor(4 * f.real(K::optimizer_offload_fraction) * static_cast<double>(usable) / std::max(1.0, taken));
  std::vector<Patch> patches;
  // With the switch, since a share alone leaves it open.
  if (quarters >= 1) {
    patches.push_back({Assign(K::optimizer_cpu_offload, true), Assign(K::optimizer_offload_fraction, quarters / 4)});
  }
  patches.push_back({Assign(K::optimizer_cpu_offload, false)});
  return patches;
}

const Rule kRules[] = {
    {.id = "fit.static-memory",
     .area = "fit",
     .at = {Phase::kHardware, 10'000},
     .source = "closed formulas of resolver/derive/memory",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::expert_model_parallel_size,
               K::use_distributed_optimizer},
     .when = [](F f) { return StaticOver(f); },
     .needs = "parameters, gradients and optimizer state must fit in one GPU's memory",
     .fix = MoreStages,
     .detail = Bytes},
    {.id = "fit.memory",
     .area = "fit",
     .at = {Phase::kHardware, 10'001},
     .source = "forecast of resolver/estimate/memory",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::expert_model_parallel_size,
               K::micro_batch_size, K::recompute_granularity},
     .when = [](F f) { return Over(f, &FoundMemory::value) && !StaticOver(f); },
     .needs = "the forecast must not lie above one GPU's memory",
     .fix = LessMemory,
     .detail = Forecast},
    {.id = "fit.memory-marginal",
     .formerly = "fit.static-memory-tight",
     .area = "fit",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 10'002},
     .source = "forecast of resolver/estimate/memory",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::expert_model_parallel_size,
               K::micro_batch_size, K::recompute_granularity},
     .when = [](F f) { return Over(f, &FoundMemory::high) && !Over(f, &FoundMemory::value) && !StaticOver(f); },
     .needs = "leave room for the upper end of the forecast's band",
     .fix = LessMemory,
     .detail = Forecast},
    {.id = "fit.host-memory",
     .area = "fit",
     .at = {Phase::kHardware, 10'003},
     .source = kHostState,
     .reads = {K::optimizer_cpu_offload, K::optimizer_offload_fraction},
     .when = [](F f) { return HostOver(f, &FoundMemory::host); },
     .needs = "what is offloaded must fit in a node's main memory, beside its processes and data loaders",
     .fix = LessOnHost,
     .detail = HostForecast},
    {.id = "fit.host-memory-marginal",
     .area = "fit",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 10'004},
     .source = kHostState,
     .reads = {K::optimizer_cpu_offload, K::optimizer_offload_fraction},
     .when = [](F f) { return HostOver(f, &FoundMemory::host_high) && !HostOver(f, &FoundMemory::host); },
     .needs = "leave room in a node's main memory for its processes and data loaders, which are not counted",
     .fix = LessOnHost,
     .detail = HostForecast},
};

}  // namespace

RuleList FitMemoryRules() { return kRules; }

}  // namespace flightplan
