#include "clients/cli/log_part.h"

#include "absl/strings/str_cat.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "clients/cli/words.h"
#include "resolver/catalog/log_lines.h"

namespace flightplan::cli {
namespace {

std::string Told(const LogLine& line) {
  switch (line.kind) {
    case LogLine::Kind::kLog:
      return absl::StrCat("prints \"", line.text, "\"");
    case LogLine::Kind::kUndone:
      return absl::StrCat("is off where the log has \"", line.text, "\"");
    case LogLine::Kind::kTrace:
      return absl::StrCat("prints nothing; a trace has ", line.text);
  }
  return "";
}

bool IsOn(const v1::ConfigEntry& entry, absl::string_view wanted) {
  const v1::KnobValue& value = entry.value();
  if (!wanted.empty()) return value.string_value() == wanted;
  return value.bool_value() || (!value.string_value().empty() && value.string_value() != "none");
}

bool Holds(const LogLine& line, const v1::ResolveConfigResponse& plan, absl::string_view stack) {
  if (!line.stack.empty() && line.stack != stack) return false;
  for (const v1::ConfigEntry& entry : plan.config()) {
    if (entry.name() == line.knob) return IsOn(entry, line.value);
  }
  return false;
}

}  // namespace

std::string LogPart(const v1::ResolveConfigResponse& plan, absl::string_view stack, const Terminal& terminal) {
  Table table({{}, {.max_lines = 4, .shrink = true}, {.max_lines = 3, .shrink = true}});
  const auto head = [](absl::string_view text) { return Cell(text, Style::kDim); };
  table.Row({head("on"), head("how a run shows it"), head("source")});
  bool any = false;
  for (const LogLine& line : LogLines()) {
    if (!Holds(line, plan, stack)) continue;
    any = true;
    table.Row({std::string(line.knob), Told(line), std::string(line.source)});
  }
  return any ? table.Render(terminal) : "nothing is on of which a line or a trace is known\n";
}

std::vector<std::string> LogTexts(absl::string_view knob) {
  std::vector<std::string> texts;
  for (const LogLine& line : LogLines()) {
    if (line.knob != knob) continue;
    texts.push_back(absl::StrCat(line.value, line.value.empty() ? "" : " ", line.stack.empty() ? "" : "on ", line.stack,
                                 line.stack.empty() ? "" : " ", Told(line), "  [", line.source, "]"));
  }
  return texts;
}

}  // namespace flightplan::cli
