#include "service/version.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/table.h"
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

}  // namespace

int RunVersion(Arguments args, Context& context) {
  const CommandLine command{.name = "version",
                            .usage = "flightplan version",
                            .summary = "this build and the framework releases it covers",
                            .example = "flightplan version"};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  const absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  if (!catalog.ok()) return Failed(command, catalog.status(), context);
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
