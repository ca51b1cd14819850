// cuBLASLt's part of the worker on the emulated device: every product in double precision, scales read as the cuBLAS
// manual lays them out. For tests of what is made around the library.
#pragma once

#include <memory>

#include "probe/device/libraries.h"

namespace flightplan::probe {

// What it may do wrong.
enum class BlasFault { kNone, kNextRowsScales, kLeavesAColumnOut };

std::unique_ptr<BlasLt> MakeReferenceBlas(BlasFault fault = BlasFault::kNone);

}  // namespace flightplan::probe
