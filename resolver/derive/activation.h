// The activation of a model's MLPs, as its kernels see it.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "resolver/plan/config.h"

namespace flightplan {

// By what its kernels are, fused or not.
enum class Activation : uint8_t {
  kSwiGlu,
  kGeGlu,         // and its like, each with a gate of two products
  kClampedGeGlu,  // quick, with both halves clamped
  kSquaredRelu,
  kPlain,  // GELU, ReLU: not gated
};

// Of a model by its name there.
Activation ActivationOf(absl::string_view name);

// Whether the stack computes it in one kernel with what stands beside it (a bias, an expert's routing weight), where it
// has such a kernel.
bool FusesActivation(const Config& config, Activation activation);

}  // namespace flightplan
