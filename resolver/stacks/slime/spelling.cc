#include "resolver/stacks/spelling.h"

#include "resolver/stacks/slime/dialect.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {{.name = "argv", .arguments = ParseSlime}};
constexpr OutputDialect kDialects[] = {{"slime", RenderSlime}};

}  // namespace

extern const StackSpelling kSlimeSpelling;
const StackSpelling kSlimeSpelling = {.target = Target{4}, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
