#include "resolver/stacks/spelling.h"

#include "resolver/stacks/verl/dialect.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {{.name = "verl-overrides", .arguments = ParseVerl}};
constexpr OutputDialect kDialects[] = {{"verl", RenderVerl}};

}  // namespace

extern const StackSpelling kVerlSpelling;
const StackSpelling kVerlSpelling = {.target = Target{6}, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
