#include "service/version.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/output.h"
#include "clients/cli/table.h"
#include "google/protobuf/struct.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/stack.h"

namespace flightplan::cli {
namespace {

// "0.15 (config classes alone), 0.16, main": what of each was read; "main, on Megatron-Core 0.16": what it is judged
// over.
std::string ReleasesText(const Stack& stack) {
  std::string text = absl::StrJoin(stack.releases, ", ", [&](std::string* out, int release) {
    absl::StrAppend(out, ReleaseText(release),
                    RunsMegatronLm(stack) && release < kFirstCommandLine ? " (config classes alone)" : "");
  });
  const int core = stack.core_release(kMain);
  if (core != kMain) absl::StrAppend(&text, ", on Megatron-Core ", ReleaseText(core));
  return text;
}

std::string VersionJson(const Catalog& catalog) {
  google::protobuf::Struct page;
  auto& fields = *page.mutable_fields();
  fields["version"].set_string_value(service::kVersion);
  fields["catalog_revision"].set_string_value(catalog.revision());
  fields["models"].set_number_value(static_cast<double>(catalog.models().size()));
  fields["gpus"].set_number_value(static_cast<double>(catalog.gpus().size()));
  fields["knobs"].set_number_value(kKnobCount);
  auto& stacks = *fields["stacks"].mutable_struct_value()->mutable_fields();
  for (const Stack* stack : AllStacks()) {
    if (!stack->by_name) continue;
    auto* releases = stacks[std::string(stack->name)].mutable_list_value();
    for (const int release : stack->releases) releases->add_values()->set_string_value(ReleaseText(release));
  }
  return ToJson(page);
}

}  // namespace

int RunVersion(Arguments args, Context& context) {
  std::string format = "table";
  const CommandLine command{
      .name = "version",
      .usage = "flightplan version [--format table|json]",
      .summary = "this build and the framework releases it covers",
      .example = "flightplan version",
      .groups = {{"print", {{"--format", "F", "table (default), json", ToChoice(&format, {"table", "json"})}}}}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  const absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  if (!catalog.ok()) return Failed(command, catalog.status(), context);
  if (format == "json") {
    context.out += VersionJson(*catalog);
    return kExitOk;
  }
  absl::StrAppend(&context.out, "flightplan ", service::kVersion, "\n",  //
                  "catalogue        ", catalog->revision().substr(0, 12), ", ", catalog->models().size(),
                  " models, ",  //
                  catalog->gpus().size(), " GPU systems, ", kKnobCount, " knobs\n");
  Table table({{}, {.min_width = 20, .max_lines = 0, .shrink = true}}, 0);
  for (const Stack* stack : AllStacks()) {
    if (stack->by_name) table.Row({Cell(stack->name), Cell(ReleasesText(*stack))});
  }
  context.out += table.Render(context.terminal);
  return kExitOk;
}

}  // namespace flightplan::cli
