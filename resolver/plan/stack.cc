#include "resolver/plan/stack.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/base/path.h"

namespace flightplan {

absl::Span<const Stack* const> AllStacks() {
  static const auto* const kAll = [] {
    const absl::Span<const Stack* const> registered = RegisteredStacks();
    auto* all = new std::vector<const Stack*>(registered.begin(), registered.end());
    std::sort(all->begin(), all->end(), [](const Stack* a, const Stack* b) { return a->rank < b->rank; });
    return all;
  }();
  return *kAll;
}

const Stack& StackOf(Target target) {
  static const auto* const kByTarget = [] {
    auto* table = new std::vector<const Stack*>();
    for (const Stack* stack : AllStacks()) {
      const auto place = static_cast<size_t>(stack->target);
      if (table->size() <= place) table->resize(place + 1);
      (*table)[place] = stack;
    }
    return table;
  }();
  return *(*kByTarget)[static_cast<size_t>(target)];
}

const Stack* FindStack(absl::string_view name) {
  for (const Stack* stack : AllStacks()) {
    if (stack->by_name && stack->name == name) return stack;
  }
  return nullptr;
}

bool IsEntryScript(absl::string_view path) {
  const absl::string_view file = FileName(path);
  return std::any_of(AllStacks().begin(), AllStacks().end(), [file, path](const Stack* stack) {
    const absl::Span<const absl::string_view> own = stack->entry_scripts, commands = stack->commands;
    return std::find(own.begin(), own.end(), file) != own.end() ||
           std::find(commands.begin(), commands.end(), path) != commands.end();
  });
}

bool IsEntryCommand(absl::string_view first, absl::string_view second) {
  const absl::string_view program = FileName(first);
  return std::any_of(AllStacks().begin(), AllStacks().end(), [&](const Stack* stack) {
    return std::any_of(stack->commands.begin(), stack->commands.end(), [&](absl::string_view command) {
      return absl::ConsumePrefix(&command, program) && absl::ConsumePrefix(&command, " ") && command == second;
    });
  });
}

std::string StackNames() {
  std::string names;
  absl::string_view last;
  for (const Stack* stack : AllStacks()) {
    if (!stack->by_name) continue;
    if (!last.empty()) absl::StrAppend(&names, names.empty() ? "" : ", ", last);
    last = stack->name;
  }
  return absl::StrCat(names, names.empty() ? "" : " or ", last);
}

int NearestRelease(const Stack& stack, int release) { return NearestRelease(stack.releases, release); }

int ReleaseOf(const Environment& env) {
  const Stack& stack = StackOf(env);
  if (stack.releases.size() == 1) return stack.releases[0];
  const bool newest = stack.release == &Environment::core_release && env.core_release == stack.core_release(kMain);
  return newest ? kMain : env.*stack.release;
}

std::string ReleaseText(int release) { return release == kMain ? "main" : absl::StrCat("0.", release); }

}  // namespace flightplan
