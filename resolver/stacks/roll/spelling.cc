#include "resolver/stacks/spelling.h"

#include "resolver/stacks/roll/dialect.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {{.name = "roll-overrides", .arguments = ParseRoll},
                                    {.name = "roll-yaml", .file = ParseRollYaml, .place = RollPlace}};
constexpr OutputDialect kDialects[] = {{"roll", RenderRoll}};

}  // namespace

extern const StackSpelling kRollSpelling;
const StackSpelling kRollSpelling = {.target = Target{12}, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
