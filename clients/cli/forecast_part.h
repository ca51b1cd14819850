// The forecast on a page: bars of the memory and of what the step's time goes to, and the memory of every stage.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

// A part of memory as it is read: "optimizer state" of optimizer_state.
std::string PartName(absl::string_view name);

// The worst stage's memory: a bar to scale, then the parts. The free rest is shaded.
std::string MemoryBar(const v1::Estimate& estimate, const Terminal& terminal);

// What the step's time goes to, and what communication costs.
std::string Walls(const v1::Estimate& estimate, const Terminal& terminal);

// Every stage, every part; a stage that lacks a part shows a gap.
std::string MemoryPart(const v1::Estimate& estimate, const Terminal& terminal);

}  // namespace flightplan::cli
