// Loops of a Python program over what its text lists.
#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/stacks/megatron_bridge/python_interpreter.h"

namespace flightplan {
namespace {

constexpr size_t kMostRounds = 64;
constexpr int kMostDepth = 4;  // of targets within targets

// One pair of brackets is around all of the text.
bool IsBracketed(absl::string_view text) {
  if (text.size() < 2 || (text.front() != '(' && text.front() != '[')) return false;
  PythonCursor cursor(text);
  cursor.Step();
  while (!cursor.AtEnd() && cursor.depth() > 0) cursor.Step();
  return cursor.at() == text.size();
}

// What a tuple or a list that is written out holds. Empty: another expression.
std::vector<absl::string_view> ItemsOf(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const bool bracketed = IsBracketed(text);
  const bool list = bracketed && text.front() == '[';
  if (bracketed) text = text.substr(1, text.size() - 2);
  std::vector<absl::string_view> items = SplitPython(text, ',');
  const bool several = items.size() > 1;
  if (items.back().empty()) items.pop_back();
  if (!several && !list) return {};
  for (const absl::string_view item : items) {  // a comprehension; others' items among these
    if (absl::StrContains(item, " for ") || absl::StartsWith(item, "*") || absl::StrContains(item, "#")) return {};
  }
  return items;
}

}  // namespace

// Items that are written out, or a list that is known, round by round; any other body may be run or not.
void PythonInterpreter::For(absl::string_view head, size_t begin, size_t end) {
  const size_t in = head.find(" in ");
  const absl::string_view target = absl::StripAsciiWhitespace(head.substr(0, in));
  const absl::string_view text = in == absl::string_view::npos ? "" : head.substr(in + 4);
  Spend((end - begin) / kPythonNamesOfStep);
  const bool leaves = std::any_of(
      statements_.begin() + static_cast<std::ptrdiff_t>(begin), statements_.begin() + static_cast<std::ptrdiff_t>(end),
      [](const auto& statement) { return statement.text == "break" || statement.text == "continue"; });
  const std::vector<absl::string_view> items = ItemsOf(text);
  if (!items.empty() && items.size() <= kMostRounds && !leaves) {
    for (const absl::string_view item : items) {
      ItemTargets(target, item, 0);
      Body(begin, end);
      if (frames_.back().left || Exhausted()) return;
    }
    return;
  }
  PythonResult over;
  if (!text.empty()) over = ValueOf(EvaluatePython(text, this));
  if (!over.known() || !over.value.is_list() || over.value.list().size() > kMostRounds || leaves) {
    LoopTargets(target);
    return MaybeBody(begin, end);
  }
  for (const Value& item : over.value.list()) {
    Targets(target, PythonResult::Of(item));
    Body(begin, end);
    if (frames_.back().left || Exhausted()) return;
  }
}

// An item as it is written: (cfg.model, 4096) for two targets.
void PythonInterpreter::ItemTargets(absl::string_view target, absl::string_view item, int depth) {
  const absl::string_view inside = IsBracketed(target) ? target.substr(1, target.size() - 2) : target;
  const std::vector<absl::string_view> targets = SplitPython(inside, ',');
  const std::vector<absl::string_view> items = ItemsOf(item);
  if (depth < kMostDepth && targets.size() > 1 && targets.size() == items.size()) {
    for (size_t i = 0; i < targets.size(); ++i) ItemTargets(targets[i], items[i], depth + 1);
    return;
  }
  Targets(target, EvaluatePython(item, this));
}

// What the loop goes over is not known: it may be the parts of a configuration.
void PythonInterpreter::LoopTargets(absl::string_view target) {
  Targets(target, PythonResult());
  const absl::string_view inside = IsBracketed(target) ? target.substr(1, target.size() - 2) : target;
  for (const absl::string_view name : SplitPython(inside, ',')) {
    const auto bound = frames_.back().names.find(name);
    if (bound == frames_.back().names.end() || bound->second.kind != PythonResult::Kind::kReference) continue;
    objects_.Of(bound->second.object).any_part = bound->second.path.empty();
  }
}

}  // namespace flightplan
