#include "resolver/render/plan_dialect.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

// What upstream derives itself is left out: it will derive it again.
bool IsWritten(Origin origin) {
  return origin == Origin::kModel || origin == Origin::kCaller || origin == Origin::kDecided;
}

using Entries = std::vector<std::pair<std::string, std::string>>;  // key -> JSON, which YAML reads too

Entries ConfigEntries(const Config& config) {
  Entries entries;
  config.ForEachNotDefault([&](Knob knob) {
    if (IsWritten(config.origin(knob))) entries.emplace_back(Name(knob), config.Get(knob).ToJson());
  });
  return entries;
}

Entries VarEntries(const EnvVars& vars) {
  Entries entries;
  for (const auto& [name, value] : vars) entries.emplace_back(name, Value(absl::string_view(value)).ToJson());
  return entries;
}

void AppendYaml(absl::string_view title, const Entries& entries, std::string* text) {
  absl::StrAppend(text, title, entries.empty() ? ": {}\n" : ":\n");
  for (const auto& [key, json] : entries) absl::StrAppend(text, "  ", key, ": ", json, "\n");
}

void AppendJson(absl::string_view title, const Entries& entries, std::string* text) {
  absl::StrAppend(text, ",\n  \"", title, "\": {");
  absl::string_view separator = "\n";
  for (const auto& [key, json] : entries) {
    absl::StrAppend(text, separator, "    \"", key, "\": ", json);
    separator = ",\n";
  }
  absl::StrAppend(text, entries.empty() ? "}" : "\n  }");
}

}  // namespace

Launch RenderPlanYaml(const RenderInput& input) {
  Launch launch;
  launch.dialect = "yaml";
  launch.env = input.vars;
  launch.text = absl::StrCat("target: \"", StackOf(input.env).name, "\"\nversion: \"",
                             ReleaseText(input.env.*StackOf(input.env).release), "\"\n");
  AppendYaml("config", ConfigEntries(input.config), &launch.text);
  AppendYaml("env", VarEntries(input.vars), &launch.text);
  return launch;
}

Launch RenderPlanJson(const RenderInput& input) {
  Launch launch;
  launch.dialect = "json";
  launch.env = input.vars;
  launch.text = absl::StrCat("{\n  \"target\": \"", StackOf(input.env).name, "\",\n  \"version\": \"",
                             ReleaseText(input.env.*StackOf(input.env).release), "\"");
  AppendJson("config", ConfigEntries(input.config), &launch.text);
  AppendJson("env", VarEntries(input.vars), &launch.text);
  absl::StrAppend(&launch.text, "\n}\n");
  return launch;
}

}  // namespace flightplan
