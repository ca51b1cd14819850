#include "resolver/judge/recognise_stack.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "resolver/base/path.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/input_format.h"

namespace flightplan {
namespace {

// Those whose marks tell more come first.
std::vector<const Stack*> ByMarks() {
  std::vector<const Stack*> stacks(AllStacks().begin(), AllStacks().end());
  std::stable_sort(stacks.begin(), stacks.end(),
                   [](const Stack* a, const Stack* b) { return a->marks.order < b->marks.order; });
  return stacks;
}

// The command line whose own program this is, with its own flags behind it; null: none.
const Stack* OwnerOf(const std::string& path, absl::Span<const Argument> args) {
  const absl::string_view file = FileName(path);
  for (const Stack* stack : AllStacks()) {
    const absl::Span<const absl::string_view> own = stack->entry_scripts;
    if (!stack->command_line || std::find(own.begin(), own.end(), file) == own.end()) continue;
    if (stack->marks.launch != nullptr && stack->marks.launch(path, args)) return stack;
  }
  return nullptr;
}

}  // namespace

std::optional<Target> RecogniseStack(absl::string_view script, absl::Span<const Argument> args) {
  static const auto* const kStacks = new std::vector<const Stack*>(ByMarks());
  const std::string path = absl::AsciiStrToLower(script);
  for (const Stack* stack : *kStacks) {
    if (stack->marks.launch == nullptr || !stack->marks.launch(path, args)) continue;
    // One word that looks like a section's makes no container of a command line: its parser refuses the word.
    const Stack* const owner = stack->container ? OwnerOf(path, args) : nullptr;
    return owner != nullptr ? owner->target : stack->target;
  }
  return std::nullopt;
}

std::optional<Target> RecogniseYaml(absl::string_view text) {
  for (const Stack* stack : AllStacks()) {
    if (!stack->marks.yaml.empty() && absl::StrContains(text, stack->marks.yaml)) return stack->target;
  }
  for (const NamedFormat& format : InputFormats()) {
    if (format.format->keys != nullptr && format.format->keys(text)) return format.target;
  }
  return std::nullopt;
}

}  // namespace flightplan
