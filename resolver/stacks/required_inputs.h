// The inputs that a rendered launch still needs, as data and as placeholders. A shell stops at a placeholder that is
// not filled in, and says what belongs there: "${LR:?the highest learning rate}".
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/render/launch.h"

namespace flightplan {

// "torchrun --nnodes 2 --nproc-per-node 8 --node-rank ... --master-addr ..." for the GPUs of `env`; "torchrun" where
// their number is not known.
std::string TorchrunWords(const Environment& env);
// That rank and address are asked for, where there is more than one node.
void AskForNodes(const Environment& env, Launch* launch);

// Puts words behind a launch: into its arguments and its text.
void Append(absl::Span<const absl::string_view> words, Launch* launch);
// Asks for an input; `placeholder` goes into the text, and may be empty.
void Ask(RequiredInput input, absl::string_view placeholder, Launch* launch);

}  // namespace flightplan
