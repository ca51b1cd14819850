#include "resolver/stacks/spelling.h"

#include "resolver/stacks/ms_swift/dialect.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {{.name = "argv", .arguments = ParseMsSwift}};
constexpr OutputDialect kDialects[] = {{"ms-swift", RenderMsSwift}};

}  // namespace

extern const StackSpelling kMsSwiftSpelling;
const StackSpelling kMsSwiftSpelling = {.target = Target{5}, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
