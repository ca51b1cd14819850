// How knobs name the modules that are computed again, moved to the host or captured, and the bits of a candidate that
// stand for them.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "resolver/plan/value.h"

namespace flightplan {

// The bit of a name in recompute_modules (RecomputeModule); 0: nothing is known of it.
uint16_t DropBitOf(absl::string_view recompute_module);
// Those of the names in a value of recompute_modules.
uint16_t DropBitsOf(const Value& recompute_modules);
// The value of recompute_modules that has these bits. Of kDropLinearAttention, which several names have, it says none.
Value RecomputeModulesOf(unsigned bits);

// Bits of OffloadModule.
uint16_t OffloadBitsOf(const Value& offload_modules, const Value& offload_tensors);
// The value of offload_tensors that has these bits.
Value OffloadTensorsOf(unsigned bits);

// Bits of GraphModule: of cuda_graph_modules, or of the scope that it is called in older releases.
uint8_t GraphBitsOf(const Value& modules);

}  // namespace flightplan
