// What a judged launch runs, read from the configuration in the answer about it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

// The value of a knob as people type it; empty: it is not there or None.
std::string ConfigText(const v1::ValidateConfigResponse& launch, const std::string& name);
int64_t ConfigSize(const v1::ValidateConfigResponse& launch, const std::string& name, int64_t otherwise);

// Its sizes; the virtual stages only where there are several.
v1::Layout LayoutOf(const v1::ValidateConfigResponse& launch);

// As Workload.precision spells it: "bf16", "fp8_cs".
std::string PrecisionOf(const v1::ValidateConfigResponse& launch);

// The model that it builds, without a name. Errors are those of ModelFromKnobs.
absl::StatusOr<v1::ModelSpec> ModelOf(const v1::ValidateConfigResponse& launch);

}  // namespace flightplan::cli
