// Of an array what is known where only a run would know how many items it has, and its items that have names.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/base/work.h"
#include "resolver/shell/state.h"

namespace flightplan {

bool ShellState::IsUnknownAsAWhole(absl::string_view name, const ShellWords& items) {
  if (items.empty() || !items.front().value.unknown()) return false;
  absl::string_view text = items.front().value.text;
  if (StandsForMany(items.front().value)) return true;  // all of another such array
  return absl::ConsumePrefix(&text, "$") && text == name;
}

size_t ShellState::KnownItems(absl::string_view name, const ShellWords& items) {
  Work::Spend(items.size());
  if (IsUnknownAsAWhole(name, items)) return 0;
  const auto many = [](const ShellWord& item) { return StandsForMany(item.value); };
  return static_cast<size_t>(std::find_if(items.begin(), items.end(), many) - items.begin());
}

// "${NAME[@]}", be it cut or respelled, and with what is written in front and behind; not how many there are. Or $(...)
// by itself.
bool ShellState::StandsForMany(const TracedText& word) {
  return word.many ||
         std::any_of(word.unknown_parts.begin(), word.unknown_parts.end(), [&word](const TracedText::Part& part) {
           const absl::string_view text = absl::string_view(word.text).substr(part.begin, part.end - part.begin);
           return absl::StartsWith(text, "${") && !absl::StartsWith(text, "${#") && absl::StrContains(text, "[@]");
         });
}

void ShellState::ForgetItems(const std::string& name, int offset) {
  Work::Spend(variables_.size());
  const std::string begin = absl::StrCat(name, "[");
  std::vector<std::string> items;
  for (const auto& [known, unused] : variables_) {
    if (absl::StartsWith(known, begin)) items.push_back(known);
  }
  for (const std::string& item : items) {
    if (doubtful_) {
      SetUnknown(item, offset);
    } else {
      variables_.erase(item);
    }
  }
}

}  // namespace flightplan
