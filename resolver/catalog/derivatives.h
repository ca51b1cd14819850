// Programs built on Megatron-LM whose parsers take flags of their own besides its flags. What such a launch says in
// them cannot be read here, and what its program does otherwise than Megatron-LM is not known.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"

namespace flightplan {

struct Derivative {
  absl::string_view name;
  absl::Span<const absl::string_view> flags;  // that its parsers add and no release of Megatron-LM has, sorted
  absl::string_view fork_of;                  // the derivative whose flags it has besides these; or empty
};
absl::Span<const Derivative> Derivatives();  // derivatives.yaml

// The derivative whose own flag is among the arguments; empty: none is known. Of several the first written one counts,
// but a fork of it where a flag of the fork's own is there, too. `asked`: the stack that the launch is read as, whose
// flags count before others' where it is a derivative itself.
absl::string_view DerivativeOf(absl::Span<const Argument> args, absl::string_view asked = "");

// Whether the derivative of this name has the other one's flags besides its own.
bool IsForkOf(absl::string_view fork, absl::string_view name);

}  // namespace flightplan
