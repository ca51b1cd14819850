#include "resolver/catalog/spellings.h"

#include "absl/strings/str_cat.h"
#include "resolver/catalog/bridge_fields.h"

namespace flightplan {

std::string SpellingOf(Knob knob, const Environment& env) {
  if (env.target == Target::kMegatronBridge) {
    const absl::string_view section = BridgeSectionOf(knob);
    return section.empty() ? "" : absl::StrCat(section, ".", FieldNameOf(knob));
  }
  const internal::FlagRow* const flag = FirstFlag(knob, NearestRelease(kCoreReleases, env.core_release));
  return flag == nullptr ? "" : std::string(flag->flag);
}

std::string TargetName(const Environment& env) {
  auto release = [](int minor) { return minor == kMain ? std::string("main") : absl::StrCat("0.", minor); };
  switch (env.target) {
    case Target::kMegatronLm:
      return absl::StrCat("megatron-lm ", release(env.core_release));
    case Target::kMegatronBridge:
      return absl::StrCat("megatron-bridge ", release(env.bridge_release));
    case Target::kLoongForge:
      return "loongforge main";
    case Target::kCore:
      return absl::StrCat("megatron-core ", release(env.core_release));
  }
  return "";
}

}  // namespace flightplan
