// How the configurations of one stack are read and written: the second half of its record (plan/stack.h), in
// resolver/stacks/<name>/spelling.cc.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/reading.h"
#include "resolver/plan/stack.h"
#include "resolver/render/launch.h"
#include "resolver/stacks/input_format.h"

namespace flightplan {

// A way to write a launch.
struct OutputDialect {
  absl::string_view name;  // in requests and answers
  Launch (*render)(const RenderInput& input) = nullptr;
};

struct StackSpelling {
  Target target{};
  absl::Span<const InputFormat> formats;  // its usual one for arguments first
  // Which of them the arguments have, by name. `script`: the Python file that a shell script runs, or empty. Null: the
  // first.
  absl::string_view (*recognise)(absl::Span<const Argument> args, absl::string_view script) = nullptr;
  absl::Span<const OutputDialect> dialects;  // the stack's own first
};

// In no order; generated from the folders.
absl::Span<const StackSpelling* const> RegisteredSpellings();
// Of the stacks that are asked for by name, in the order of AllStacks.
absl::Span<const StackSpelling* const> AllSpellings();
// Of a stack that is not asked for by name: Megatron-LM's.
const StackSpelling& SpellingsOf(Target target);

}  // namespace flightplan
