// The fields of GpuSystem as the catalogue files write them: people's units, converted here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/fields.h"
#include "resolver/plan/hardware.h"

namespace flightplan {

// Every field but the compute capability ("compute_capability": "9.0") and the memory to plan with, which follows.
absl::Span<const Field<GpuSystem>> GpuFields();

// Every figure that no machine has, by the name of its field, and what it must be.
std::vector<std::pair<absl::string_view, std::string>> GpuFaults(const GpuSystem& gpu);

// Fills hbm_bytes from what is known.
void DeriveGpuMemory(GpuSystem* gpu);

}  // namespace flightplan
