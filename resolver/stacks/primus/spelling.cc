#include "resolver/stacks/spelling.h"

#include "resolver/stacks/primus/dialect.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {{.name = "primus-overrides", .arguments = ParsePrimus},
                                    {.name = "primus-yaml", .file = ParsePrimusYaml, .place = PrimusPlace}};
constexpr OutputDialect kDialects[] = {{"primus", RenderPrimus}};

}  // namespace

extern const StackSpelling kPrimusSpelling;
const StackSpelling kPrimusSpelling = {.target = Target{10}, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
