#include "tests/properties/freedom_answers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/estimate/memory.h"
#include "resolver/planner/caution.h"
#include "tests/support/requests.h"

namespace flightplan::properties {
namespace {

constexpr double kGib = 1 << 30;
constexpr const char* kExecution[] = {
    "moe_token_dispatcher_type", "moe_flex_dispatcher_backend", "overlap_moe_expert_parallel_comm",
    "recompute_granularity",     "recompute_modules",           "cuda_graph_impl",
    "cuda_graph_modules"};

// What the decisions leave out of a bring-up, where that starts.
constexpr const char* kLaterParts[] = {"overlap_moe_expert_parallel_comm",
                                       "moe_shared_expert_overlap",
                                       "moe_permute_fusion",
                                       "overlap_grad_reduce",
                                       "overlap_param_gather",
                                       "tp_comm_overlap"};

double MostMemory(const v1::ResolveConfigResponse& answer) {
  double most = 0;
  for (const v1::StageMemory& stage : answer.estimate().stages()) most = std::max(most, stage.total_bytes().value());
  return most;
}

double UsableOf(const v1::ResolveConfigResponse& answer) {
  return static_cast<double>(answer.estimate().usable_bytes());
}

int64_t SizeOf(const v1::ResolveConfigResponse& answer, absl::string_view knob) {
  for (const v1::ConfigEntry& entry : answer.config()) {
    if (entry.name() == knob) return entry.value().int_value();
  }
  return 0;
}

// HybridEP would gather a larger routing map over the network than any that is published; the published recipe of that
// size has deepep (kMaxNetworkRoutingMap of rules/decide/evidence.h).
bool MapIsBeyondPublished(const v1::ResolveConfigResponse& answer, int64_t domain_gpus) {
  constexpr int64_t kLargestPublished = int64_t{64} * 256;
  const int64_t ep = SizeOf(answer, "expert_model_parallel_size");
  return ep > domain_gpus && ep * SizeOf(answer, "num_moe_experts") > kLargestPublished;
}

const v1::KnobValue* ValueOf(const v1::ResolveConfigResponse& answer, absl::string_view knob) {
  for (const v1::ConfigEntry& entry : answer.config()) {
    if (entry.name() == knob) return &entry.value();
  }
  return nullptr;
}

// What is computed again, as far as planner/caution.h tells it apart.
Candidate RecomputeOf(const v1::ResolveConfigResponse& answer) {
  Candidate executed;
  const v1::KnobValue* const granularity = ValueOf(answer, "recompute_granularity");
  const v1::KnobValue* const modules = ValueOf(answer, "recompute_modules");
  if (granularity == nullptr || granularity->string_value().empty()) return executed;
  const bool selective = granularity->string_value() == "selective";
  executed.recompute = selective ? RecomputeMode::kSelective : RecomputeMode::kFullUniform;
  if (modules == nullptr) return executed;
  for (const v1::KnobValue& name : modules->list_value().values()) {
    const std::string& module = name.string_value();
    executed.recompute_modules |= module == "moe_act" ? kDropMoeAct : module == "layernorm" ? kDropLayernorm : kDropMoe;
  }
  return executed;
}

}  // namespace

std::optional<v1::ResolveConfigResponse> Answer(const v1::ResolveConfigRequest& request) {
  v1::ResolveConfigResponse response;
  if (!testing::TestResolver().ResolveConfig(request, &response).ok()) return std::nullopt;
  return response;
}

bool Runs(const v1::ResolveConfigResponse& answer) {
  return answer.outcome() == v1::OUTCOME_RESOLVED && answer.estimate().step_time_us().value() > 0 &&
         answer.estimate().fit() != v1::FIT_VERDICT_DOES_NOT_FIT;
}

bool LeavesRoom(const v1::ResolveConfigResponse& answer) { return MostMemory(answer) <= kRoom * UsableOf(answer); }

double StepOf(const v1::ResolveConfigResponse& answer) { return answer.estimate().step_time_us().value(); }

const v1::Decision* DecisionOf(const v1::ResolveConfigResponse& answer, absl::string_view name) {
  for (const v1::Decision& decision : answer.decisions()) {
    if (decision.name() == name) return &decision;
  }
  return nullptr;
}

bool Settled(const v1::Decision& decision) {
  return !decision.needs_ab() && (decision.basis() == v1::BASIS_MEASURED || decision.basis() == v1::BASIS_RECIPES);
}

std::string Differences(const v1::ResolveConfigResponse& a, const v1::ResolveConfigResponse& b) {
  const auto text = [](const v1::KnobValue* value) {
    return value == nullptr ? std::string("-") : value->ShortDebugString();
  };
  std::string all = absl::StrFormat("%.4g of %.4g -> %.4g of %.4g GiB", MostMemory(a) / kGib, UsableOf(a) / kGib,
                                    MostMemory(b) / kGib, UsableOf(b) / kGib);
  for (const v1::ConfigEntry& entry : b.config()) {
    const std::string one = text(ValueOf(a, entry.name())), other = text(&entry.value());
    if (one != other) absl::StrAppend(&all, "; ", entry.name(), ": ", one, " -> ", other);
  }
  for (const v1::ConfigEntry& entry : a.config()) {
    if (ValueOf(b, entry.name()) == nullptr)
      absl::StrAppend(&all, "; ", entry.name(), ": ", text(&entry.value()), " -> -");
  }
  return all;
}

double RankedOf(const v1::ResolveConfigResponse& answer, const v1::ResolveConfigRequest& request, int64_t domain_gpus) {
  const auto size = [&](absl::string_view knob) {
    return static_cast<int32_t>(std::max<int64_t>(1, SizeOf(answer, knob)));
  };
  const LayoutSizes sizes{size("tensor_model_parallel_size"),
                          size("pipeline_model_parallel_size"),
                          size("virtual_pipeline_model_parallel_size"),
                          size("context_parallel_size"),
                          size("expert_model_parallel_size"),
                          size("expert_tensor_parallel_size"),
                          size("micro_batch_size")};
  const CautionContext context{SizeOf(answer, "num_moe_experts") > 0, request.hardware().gpu_count(),
                               request.workload().seq_length(), static_cast<int>(domain_gpus),
                               MemoryCaution(MostMemory(answer) / UsableOf(answer))};
  return StepOf(answer) * (1 + CautionsOf(sizes, RecomputeOf(answer), context).ratio());
}

bool ByEvidence(const v1::ResolveConfigResponse& a, const v1::ResolveConfigResponse& b, int64_t domain_gpus) {
  // Only one of the backends is published with a map of this size. A backend that is pinned is no decision.
  const auto is = [](const v1::ResolveConfigResponse& answer, const char* knob, const char* value) {
    const v1::KnobValue* const given = ValueOf(answer, knob);
    return given != nullptr && given->string_value() == value;
  };
  const bool both_flex = is(a, kExecution[0], "flex") && is(b, kExecution[0], "flex");
  const bool other_backend = both_flex && is(a, kExecution[1], "deepep") != is(b, kExecution[1], "deepep");
  if (other_backend && MapIsBeyondPublished(a, domain_gpus)) return true;
  for (const char* name : kExecution) {
    const v1::Decision* const one = DecisionOf(a, name);
    const v1::Decision* const other = DecisionOf(b, name);
    if (one == nullptr || other == nullptr) continue;
    if (one->value().SerializeAsString() == other->value().SerializeAsString()) continue;
    // The backend goes with its dispatcher. Recipes name each of the backends, so between these only a measurement has
    // the last word, and the map above.
    const bool backend = name == kExecution[1];
    for (const v1::ResolveConfigResponse* answer : {&a, &b}) {
      const v1::Decision* const decision = DecisionOf(*answer, backend ? kExecution[0] : name);
      if (decision == nullptr) continue;
      if (backend ? decision->basis() == v1::BASIS_MEASURED : Settled(*decision) || decision->needs_ab()) return true;
    }
  }
  return false;
}

std::set<std::string> LaterPartsOf(const v1::ResolveConfigResponse& answer) {
  std::set<std::string> parts;
  if (SizeOf(answer, "virtual_pipeline_model_parallel_size") > 1) parts.insert("virtual stages");
  const v1::KnobValue* const dispatcher = ValueOf(answer, "moe_token_dispatcher_type");
  if (dispatcher != nullptr && dispatcher->string_value() == "flex") parts.insert("flex dispatcher");
  const v1::KnobValue* const graphs = ValueOf(answer, "cuda_graph_impl");
  if (graphs != nullptr && !graphs->string_value().empty() && graphs->string_value() != "none") parts.insert("graphs");
  for (const char* knob : kLaterParts) {
    const v1::KnobValue* const value = ValueOf(answer, knob);
    if (value != nullptr && value->bool_value()) parts.insert(knob);
  }
  return parts;
}

}  // namespace flightplan::properties
