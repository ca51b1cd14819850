#include "resolver/shell/arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace flightplan {
namespace {

constexpr absl::string_view kAll = "@", kCount = "#";
constexpr absl::string_view kNumbers[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9"};

}  // namespace

void SetShellArguments(WordSpan words, ShellState* state) {
  state->set_doubtful(false);
  // Behind an array of unknown size it is not known which one a word is.
  const auto many = [](const ShellWord& word) { return ShellState::StandsForMany(word.value); };
  const auto known = static_cast<size_t>(std::find_if(words.begin(), words.end(), many) - words.begin());
  for (size_t i = 0; i < std::size(kNumbers); ++i) {
    if (i >= known && known < words.size()) {
      state->SetUnknown(std::string(kNumbers[i]), -1);
    } else {
      state->Set(std::string(kNumbers[i]), {i < words.size() ? words[i] : ShellWord{}}, -1);
    }
  }
  state->Set(std::string(kAll), ShellWords(words.begin(), words.end()), -1);
  if (known < words.size()) return state->SetUnknown(std::string(kCount), -1);
  state->Set(std::string(kCount), {{TracedText::FromOutside(absl::StrCat(words.size())), -1}}, -1);
}

ShellCallArguments::ShellCallArguments(WordSpan words, ShellState* state) : state_(*state) {
  state_.EnterScope();
  state_.Localize(std::string(kAll));
  state_.Localize(std::string(kCount));
  for (const absl::string_view name : kNumbers) state_.Localize(std::string(name));
  ShellWords own(words.begin(), words.end());
  for (ShellWord& word : own) word.value.many = false;  // f $(nproc) 8: commonly one word
  SetShellArguments(own, state);
}

}  // namespace flightplan
