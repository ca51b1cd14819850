#include "service/version.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "resolver/catalog/catalog.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/stack.h"

namespace flightplan::cli {
namespace {

std::string ReleasesText(absl::Span<const int> releases) {
  return absl::StrJoin(releases, ", ",
                       [](std::string* out, int release) { absl::StrAppend(out, ReleaseText(release)); });
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
                  " models, ",                                                       //
                  catalog->gpus().size(), " GPU systems, ", kKnobCount, " knobs\n",  //
                  "Megatron-Core    ", ReleasesText(kCoreReleases), "\n",            //
                  "Megatron-Bridge  ", ReleasesText(kBridgeReleases), "\n");
  return kExitOk;
}

}  // namespace flightplan::cli
