#include "resolver/catalog/spellings.h"

#include "absl/strings/str_cat.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/plan/stack.h"

namespace flightplan {

std::string OwnSpelling(Knob knob, const Stack& stack) {
  const absl::string_view word = WordFor(knob, stack.vocabulary);
  if (!word.empty()) return absl::StrCat(stack.before_word, word);
  return stack.added_key == nullptr ? "" : stack.added_key(knob);
}

std::string SpellingOf(Knob knob, const Environment& env) {
  if (StackOf(env).container) {
    const absl::string_view section = BridgeSectionOf(knob);
    return section.empty() ? "" : absl::StrCat(section, ".", FieldNameOf(knob));
  }
  if (const Stack& stack = StackOf(env); !stack.vocabulary.empty()) return OwnSpelling(knob, stack);
  const internal::FlagRow* const flag = FirstFlag(knob, NearestRelease(kCoreReleases, env.core_release));
  return flag == nullptr ? "" : std::string(flag->flag);
}

std::string TargetName(const Environment& env) {
  return absl::StrCat(StackOf(env).name, " ", ReleaseText(ReleaseOf(env)));
}

}  // namespace flightplan
