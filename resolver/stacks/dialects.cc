#include "resolver/stacks/dialects.h"

#include "resolver/render/plan_dialect.h"
#include "resolver/stacks/spelling.h"

namespace flightplan {
namespace {

// Of no stack: the plan itself as a file.
constexpr OutputDialect kPlanDialects[] = {{"yaml", RenderPlanYaml}, {"json", RenderPlanJson}};

const std::vector<OutputDialect>& AllDialects() {
  static const auto* const kAll = [] {
    auto* all = new std::vector<OutputDialect>();
    for (const StackSpelling* stack : AllSpellings()) {
      all->insert(all->end(), stack->dialects.begin(), stack->dialects.end());
    }
    all->insert(all->end(), std::begin(kPlanDialects), std::end(kPlanDialects));
    return all;
  }();
  return *kAll;
}

}  // namespace

absl::string_view OwnDialect(Target target) { return SpellingsOf(target).dialects.front().name; }

Launch RenderDialect(absl::string_view name, const RenderInput& input) {
  for (const OutputDialect& dialect : AllDialects()) {
    if (dialect.name != name) continue;
    Launch launch = dialect.render(input);
    launch.dialect = dialect.name;
    return launch;
  }
  return {};
}

ParseResult ParseOwnDialect(absl::Span<const Argument> args, const Environment& env) {
  return SpellingsOf(env.target).formats.front().arguments(args, env);
}

absl::Span<const StackSpelling* const> AllSpellings() {
  static const auto* const kAll = [] {
    auto* all = new std::vector<const StackSpelling*>();
    for (const Stack* stack : AllStacks()) {
      for (const StackSpelling* spelling : RegisteredSpellings()) {
        if (spelling->target == stack->target) all->push_back(spelling);
      }
    }
    return all;
  }();
  return *kAll;
}

const StackSpelling& SpellingsOf(Target target) {
  for (const StackSpelling* spelling : AllSpellings()) {
    if (spelling->target == target) return *spelling;
  }
  return *AllSpellings().front();
}

}  // namespace flightplan
