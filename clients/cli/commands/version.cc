#include "service/version.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "resolver/catalog/catalog.h"
#include "resolver/plan/knob.h"

namespace flightplan::cli {
namespace {

template <class Releases>
std::string ReleaseText(const Releases& releases) {
  std::vector<std::string> names;
  names.reserve(releases.size());
  for (const int release : releases) names.push_back(release == kMain ? "main" : absl::StrCat("0.", release));
  return absl::StrJoin(names, ", ");
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
                  "Megatron-Core    ", ReleaseText(kCoreReleases), "\n",             //
                  "Megatron-Bridge  ", ReleaseText(kBridgeReleases), "\n");
  return kExitOk;
}

}  // namespace flightplan::cli
