#include "clients/cli/labelled_lines.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "clients/cli/text.h"

namespace flightplan::cli {
namespace {

constexpr int kLabelWidth = 12;

}  // namespace

std::string Label(absl::string_view label, const Terminal& terminal) {
  const int room = kLabelWidth - DisplayWidth(label);
  return absl::StrCat(terminal.Paint(label, Style::kBold), std::string(static_cast<size_t>(std::max(1, room)), ' '));
}

std::string Lines(absl::string_view label, const std::vector<std::string>& parts, absl::string_view separator,
                  const Terminal& terminal) {
  std::string out;
  for (const std::string& line : WrapParts(parts, separator, terminal.width - kLabelWidth)) {
    absl::StrAppend(&out, out.empty() ? Label(label, terminal) : std::string(kLabelWidth, ' '), line, "\n");
  }
  return out;
}

std::string Line(absl::string_view label, absl::string_view text, const Terminal& terminal) {
  return Lines(label, {terminal.Shown(text)}, "", terminal);
}

std::string StillNeeded(const v1::Launch& launch, const Terminal& terminal) {
  std::vector<std::string> parts;
  for (const v1::RequiredInput& input : launch.required_inputs()) {
    std::string part = input.spelling();
    if (!input.without().empty()) absl::StrAppend(&part, " (without: ", input.without(), ")");
    parts.push_back(terminal.Shown(part));
  }
  return Lines("still needs", parts, kPartGap, terminal);
}

}  // namespace flightplan::cli
