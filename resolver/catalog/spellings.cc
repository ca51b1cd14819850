#include "resolver/catalog/spellings.h"

#include "absl/strings/str_cat.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/plan/stack.h"

namespace flightplan {

std::string SpellingOf(Knob knob, const Environment& env) {
  if (StackOf(env).container) {
    const absl::string_view section = BridgeSectionOf(knob);
    return section.empty() ? "" : absl::StrCat(section, ".", FieldNameOf(knob));
  }
  if (const Stack& stack = StackOf(env); !stack.vocabulary.empty()) {
    const absl::string_view word = WordFor(knob, stack.vocabulary);
    return word.empty() ? "" : absl::StrCat(stack.before_word, word);
  }
  const internal::FlagRow* const flag = FirstFlag(knob, NearestRelease(kCoreReleases, env.core_release));
  return flag == nullptr ? "" : std::string(flag->flag);
}

std::string TargetName(const Environment& env) {
  const Stack& stack = StackOf(env);
  // A program over Megatron-Core is numbered by that; its own newest code comes with one of them.
  const bool newest = stack.release == &Environment::core_release && env.core_release == stack.core_release(kMain);
  const int release = stack.releases.size() == 1 ? stack.releases[0] : newest ? kMain : env.*stack.release;
  return absl::StrCat(stack.name, " ", ReleaseText(release));
}

}  // namespace flightplan
