// Writes the overrides that both commands of Bridge share. Internal to its folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// What has to be written, each where Bridge does not overwrite it; the precision recipe apart.
std::vector<std::pair<Knob, Value>> KnobsToWrite(const RenderInput& input, std::vector<Knob>* unspelled);
std::vector<std::string> WritePrecision(const Config& config, std::vector<std::pair<Knob, Value>>* knobs);
std::vector<std::string> WriteOverrides(const std::vector<std::pair<Knob, Value>>& knobs);
// Makes the objects whose fields are overridden, where a recipe may not have them.
void MakeObjects(const Config& config, std::vector<std::string>* overrides);

// The launch for a shell: exports, then the command, one override or flag a line.
std::string LaunchText(const EnvVars& vars, absl::string_view command, absl::Span<const std::string> argv);

}  // namespace flightplan
