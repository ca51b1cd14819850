// Lines with a label in front, as the parts of a page have them.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

constexpr absl::string_view kPartGap = "     ";

std::string Label(absl::string_view label, const Terminal& terminal);

// Labelled lines of parts that stay whole.
std::string Lines(absl::string_view label, const std::vector<std::string>& parts, absl::string_view separator,
                  const Terminal& terminal);

// A labelled sentence; long text is wrapped and indented.
std::string Line(absl::string_view label, absl::string_view text, const Terminal& terminal);

// What a person adds to the launch: without it nothing starts, or something is lost. Empty: nothing.
std::string StillNeeded(const v1::Launch& launch, const Terminal& terminal);

}  // namespace flightplan::cli
