#include "resolver/stacks/spelling.h"

#include "resolver/stacks/miles/dialect.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {{.name = "argv", .arguments = ParseMiles}};
constexpr OutputDialect kDialects[] = {{"miles", RenderMiles}};

}  // namespace

extern const StackSpelling kMilesSpelling;
const StackSpelling kMilesSpelling = {.target = Target{8}, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
