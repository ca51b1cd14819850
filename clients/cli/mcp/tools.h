// The tools of `flightplan mcp`: each is a command of the terminal, its input schema made from that command's own table
// of flags.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "clients/cli/command.h"
#include "rapidjson/document.h"

namespace flightplan::cli {

// What a command takes beside flags.
enum class ToolSubject {
  kNothing,
  kLaunch,  // `text` (with `file_name`) or `arguments`
  kName,    // `name`
  kSides,   // `a` and `b`, each flags or a launch
};

// What of its answer is structured; the schemas are in answers.h.
enum class ToolAnswer { kVerdict, kPlans, kSides, kConversion, kEntry, kModels, kGpus, kReleases };

struct Tool {
  absl::string_view name;
  absl::string_view command;  // of the terminal
  absl::string_view title;
  absl::string_view description;
  ToolSubject subject = ToolSubject::kNothing;
  ToolAnswer answer = ToolAnswer::kVerdict;
  absl::string_view subject_help;             // of `name`
  std::vector<absl::string_view> required{};  // properties
  // A property whose text stands where this flag names a file.
  absl::string_view text_property{}, text_flag{}, text_help{};
};

absl::Span<const Tool> Tools();
const Tool* FindTool(absl::string_view name);

// {"type": "object", "properties": ...}: every flag of the command but those that name files, write, or choose who
// answers.
std::string InputSchema(const Tool& tool);

// A call as the command line that it stands for, and the texts that stand for the files on it.
struct ToolCommandLine {
  std::vector<std::string> args;
  std::map<std::string, std::string> files;
};
// INVALID_ARGUMENT: names the property and what would be right.
absl::StatusOr<ToolCommandLine> ToCommandLine(const Tool& tool, const rapidjson::Value& arguments);

// What a command says of its misuse, of properties instead of flags and without the command's usage.
std::string InProperties(const Tool& tool, absl::string_view complaint);

}  // namespace flightplan::cli
