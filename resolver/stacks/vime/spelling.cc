#include "resolver/stacks/spelling.h"

#include "resolver/stacks/vime/dialect.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {{.name = "argv", .arguments = ParseVime}};
constexpr OutputDialect kDialects[] = {{"vime", RenderVime}};

}  // namespace

extern const StackSpelling kVimeSpelling;
const StackSpelling kVimeSpelling = {.target = Target{9}, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
