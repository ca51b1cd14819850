#include "resolver/stacks/dialects.h"

#include "resolver/plan/stack.h"
#include "resolver/render/plan_dialect.h"
#include "resolver/stacks/loongforge/dialect.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_lm/dialect.h"

namespace flightplan {
namespace {

struct Dialect {
  absl::string_view name;
  Launch (*render)(const RenderInput&);
};

constexpr Dialect kDialects[] = {
#define FLIGHTPLAN_DIALECT(name, render) {name, render},
#include "resolver/stacks/dialects.def"
#undef FLIGHTPLAN_DIALECT
};

constexpr absl::string_view kNames[] = {
#define FLIGHTPLAN_DIALECT(name, render) name,
#include "resolver/stacks/dialects.def"
#undef FLIGHTPLAN_DIALECT
};

}  // namespace

absl::string_view OwnDialect(Target target) {
  const Stack& stack = StackOf(target);
  return stack.by_name ? stack.name : StackOf(Target()).name;
}

absl::Span<const absl::string_view> DialectNames() { return kNames; }

Launch RenderDialect(absl::string_view name, const RenderInput& input) {
  for (const Dialect& dialect : kDialects) {
    if (dialect.name != name) continue;
    Launch launch = dialect.render(input);
    launch.dialect = dialect.name;
    return launch;
  }
  return {};
}

ParseResult ParseOwnDialect(absl::Span<const Argument> args, const Environment& env) {
  switch (env.target) {
    case Target::kMegatronBridge:
      return ParseBridge(args, env);
    case Target::kLoongForge:
      return ParseLoongForge(args, env);
    case Target::kMegatronLm:
    case Target::kCore:
      break;
  }
  return ParseMegatronLm(args, env);
}

}  // namespace flightplan
