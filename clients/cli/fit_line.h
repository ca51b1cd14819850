// Whether it fits into the GPU's memory, on one line.
#pragma once

#include <string>
#include <vector>

#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

// "yes: 61.2 GiB of 79.1 (58.0..66.1), stage 0".
std::string FitLine(const v1::Estimate& estimate, const Terminal& terminal);
// Without a forecast: "unknown: say --set vocab_size=N", or what is wrong with the GPU's name.
std::string FitLine(const v1::ValidateConfigResponse& response, const Terminal& terminal);

// "no GPU named 'h1000' in the catalogue; nearest known: h100", of a question that names one that is not known.
std::string GpuFault(const v1::ValidateConfigResponse& response);

// "fits  yes: ..." and "step  6.9 s (6.2..7.7)": the parts of a line. The second only with a forecast of it.
std::vector<std::string> FitAndStep(const v1::Estimate& estimate, const Terminal& terminal);

// The stage that takes most; null: none is known.
const v1::StageMemory* WorstStage(const v1::Estimate& estimate);

}  // namespace flightplan::cli
