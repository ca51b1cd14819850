#include "resolver/judge/recognise_stack.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
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

// The fork of the stack that the first comment of ours names; the stack itself where it names none.
const Stack& NamedFork(const Stack& stack, absl::string_view text) {
  for (size_t at = text.find(kStackComment); at != absl::string_view::npos; at = text.find(kStackComment, at + 1)) {
    const size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1: the first line
    if (!absl::StripAsciiWhitespace(text.substr(line, at - line)).empty()) continue;
    const absl::string_view words = text.substr(at, text.find('\n', at) - at);
    const std::vector<absl::string_view> flags = absl::StrSplit(words, absl::ByAnyChar(" =\t\r"), absl::SkipEmpty());
    const auto flag = std::find(flags.begin(), flags.end(), "--target");
    if (flags.end() - flag < 2) break;
    const Stack* const named = FindStack(flag[1].substr(0, flag[1].find('@')));
    return named != nullptr && named->marks.looks_like == stack.name ? *named : stack;
  }
  return stack;
}

}  // namespace

std::optional<Target> RecogniseStack(absl::string_view script, absl::Span<const Argument> args,
                                     absl::string_view text) {
  static const auto* const kStacks = new std::vector<const Stack*>(ByMarks());
  const std::string path = absl::AsciiStrToLower(script);
  for (const Stack* stack : *kStacks) {
    if (stack->marks.launch == nullptr || !stack->marks.launch(path, args)) continue;
    // One word that looks like a section's makes no container of a command line: its parser refuses the word.
    const Stack* const owner = stack->container ? OwnerOf(path, args) : nullptr;
    return owner != nullptr ? owner->target : NamedFork(*stack, text).target;
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
