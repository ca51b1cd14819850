#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/report.h"
#include "clients/cli/text.h"
#include "resolver/stacks/input_format.h"

namespace flightplan::cli {
namespace {

struct Schema {
  absl::string_view name;
  std::string (*text)();
};

constexpr absl::string_view kServeConfig = "serve-config";
// No schema, and for no person: the page into which the Python package puts an answer.
constexpr absl::string_view kReportPage = "report-page";

// The YAML formats of --input-format, and the file of `flightplan serve`.
std::vector<Schema> Schemas() {
  std::vector<Schema> schemas;
  for (const auto& [target, format] : InputFormats()) {
    if (format->schema != nullptr) schemas.push_back({format->name, format->schema});
  }
  if (!ServeConfigSchema().empty()) schemas.push_back({kServeConfig, ServeConfigSchema});
  return schemas;
}

}  // namespace

int RunSchema(Arguments args, Context& context) {
  std::vector<absl::string_view> names;
  for (const Schema& schema : Schemas()) names.push_back(schema.name);
  const CommandLine command{
      .name = "schema",
      .usage = "flightplan schema NAME",
      .summary = "a JSON Schema (draft 2020-12) of a YAML format, by which an editor completes and checks",
      .example =
          "flightplan schema megatron-lm-yaml > megatron-lm.schema.json\n"
          "# in the first line of the YAML file:\n"
          "# yaml-language-server: $schema=megatron-lm.schema.json",
      .max_positional = 1,
      .positional = KnownWords(names)};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  const std::string known = absl::StrJoin(names, ", ");
  if (parsed.positional.empty()) return Misuse(command, absl::StrCat("wants one of ", known), context);
  if (parsed.positional[0] == kReportPage) {
    context.out += Unpacked(PackedReportPage());
    return kExitOk;
  }
  for (const Schema& schema : Schemas()) {
    if (schema.name != parsed.positional[0]) continue;
    context.out += schema.text();
    return kExitOk;
  }
  if (parsed.positional[0] == kServeConfig) return RunServe({}, context);  // says how to get a build that has it
  return Misuse(command, absl::StrCat("there is no ", Quoted(parsed.positional[0]), ", but ", known), context);
}

}  // namespace flightplan::cli
