#include "resolver/stacks/dialects.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "resolver/plan/stack.h"
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

// What the launch does not show to who judges it next: which of two stacks with the same words, and a release that is
// not the newest. Empty: it shows all.
std::string OwnWord(const Environment& env, absl::string_view dialect) {
  const Stack& stack = StackOf(env);
  const absl::Span<const OutputDialect> own = SpellingsOf(env.target).dialects;
  if (std::none_of(own.begin(), own.end(), [&](const OutputDialect& d) { return d.name == dialect; })) return "";
  const int release = ReleaseOf(env);
  if (release == kMain && stack.marks.looks_like.empty()) return "";
  return absl::StrCat(kStackComment, " --target ", stack.name, release == kMain ? "" : "@",
                      release == kMain ? "" : ReleaseText(release), "\n");
}

void PutFirst(absl::string_view line, Launch* launch) {
  launch->text.insert(0, line.data(), line.size());
  for (KnobWords& words : launch->words) words.text += line.size();
  if (launch->plan_end > 0) launch->plan_end += line.size();
}

}  // namespace

absl::string_view OwnDialect(Target target) { return SpellingsOf(target).dialects.front().name; }

Launch RenderDialect(absl::string_view name, const RenderInput& input) {
  for (const OutputDialect& dialect : AllDialects()) {
    if (dialect.name != name) continue;
    Launch launch = dialect.render(input);
    launch.dialect = dialect.name;
    if (IsWhole(input.config)) PutFirst(OwnWord(input.env, name), &launch);
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
