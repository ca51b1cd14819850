// Answers as freedom_check compares them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::properties {

// Nothing: the question is refused.
std::optional<v1::ResolveConfigResponse> Answer(const v1::ResolveConfigRequest& request);

// Accepted, forecast, and within the GPU's memory by its point forecast.
bool Runs(const v1::ResolveConfigResponse& answer);

// As a plan of ours does where one can (kRoom of resolver/estimate/memory.h).
bool LeavesRoom(const v1::ResolveConfigResponse& answer);

// In microseconds.
double StepOf(const v1::ResolveConfigResponse& answer);

// Of a knob; null: none.
const v1::Decision* DecisionOf(const v1::ResolveConfigResponse& answer, absl::string_view name);

// By a measurement or by recipes, with nothing left to an A/B.
bool Settled(const v1::Decision& decision);

// "knob: value -> other value; ...", of what the second answer has otherwise, with the fullest stage's memory.
std::string Differences(const v1::ResolveConfigResponse& a, const v1::ResolveConfigResponse& b);

// What the step counts for where sizes are chosen: next to nobody runs some of them (planner/caution.h).
double RankedOf(const v1::ResolveConfigResponse& answer, const v1::ResolveConfigRequest& request, int64_t domain_gpus);

// Evidence, not the forecast, had the last word on an execution knob in which the two answers differ, or left it to an
// A/B whose conservative side was taken.
bool ByEvidence(const v1::ResolveConfigResponse& a, const v1::ResolveConfigResponse& b, int64_t domain_gpus);

// The parts of the answer that come after the run is correct.
std::set<std::string> LaterPartsOf(const v1::ResolveConfigResponse& answer);

}  // namespace flightplan::properties
