// A flag of a launcher's (torchrun, srun, numactl), as --flag VALUE or --flag=VALUE.
#pragma once

#include <initializer_list>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/shell/words.h"

namespace flightplan {

struct LauncherFlag {
  absl::string_view text;             // of the value; views the word
  const TracedText* value = nullptr;  // the word that holds it
};

// The one that words[0] is, under one of its names (an empty one is none), if it has a value there or in words[1].
std::optional<LauncherFlag> LauncherFlagAt(WordSpan words, absl::Span<const absl::string_view> names);

// The first that is written under one of its names and has a value.
std::optional<LauncherFlag> FindLauncherFlag(WordSpan words, std::initializer_list<absl::string_view> names);

}  // namespace flightplan
