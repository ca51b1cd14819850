#include "resolver/stacks/spelling.h"

#include "resolver/stacks/flagscale/dialect.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {
    {.name = "flagscale-overrides", .arguments = ParseFlagScale},
    {.name = "flagscale-yaml", .file = ParseFlagScaleYaml, .no_training = FlagScaleTask}};
constexpr OutputDialect kDialects[] = {{"flagscale", RenderFlagScale}};

}  // namespace

extern const StackSpelling kFlagscaleSpelling;
const StackSpelling kFlagscaleSpelling = {.target = Target{11}, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
