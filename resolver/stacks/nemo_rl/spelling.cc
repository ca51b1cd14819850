#include "resolver/stacks/spelling.h"

#include "resolver/stacks/nemo_rl/dialect.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {
    {.name = "nemo-rl-overrides", .arguments = ParseNemoRl},
    {.name = "nemo-rl-yaml", .file = ParseNemoRlYaml, .keys = IsNemoRlChild, .place = NemoRlPlace}};
constexpr OutputDialect kDialects[] = {{"nemo-rl", RenderNemoRl}};

}  // namespace

extern const StackSpelling kNemoRlSpelling;
const StackSpelling kNemoRlSpelling = {.target = Target{7}, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
