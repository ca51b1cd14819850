#include "resolver/answer/spellings.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/wire_writer.h"
#include "resolver/catalog/bridge_fields.h"

namespace flightplan {
namespace {

std::string BridgeSpelling(Knob knob) {
  const absl::string_view section = BridgeSectionOf(knob);
  return section.empty() ? "" : absl::StrCat(section, ".", FieldNameOf(knob));
}

std::string FlagSpelling(Knob knob, int core_release) {
  const internal::FlagRow* flag = FirstFlag(knob, core_release);
  return flag == nullptr ? "" : std::string(flag->flag);
}

}  // namespace

template <class SpellingOfKnob>
Spellings::Spellings(SpellingOfKnob spelling) {
  using M = v1::ConfigEntry;
  WireWriter w(size_t{128} << 10);
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    const std::string text = spelling(knob);
    const size_t begin = w.size();
    w.Text(M::kNameFieldNumber, Name(knob));
    const size_t middle = w.size();
    w.Text(M::kSpellingFieldNumber, text);
    places_.push_back({static_cast<uint32_t>(begin), static_cast<uint16_t>(middle - begin),
                       static_cast<uint16_t>(w.size() - middle), static_cast<uint16_t>(text.size())});
  }
  bytes_ = std::string(w.bytes());
}

const Spellings& Spellings::Of(const Environment& env) {
  static const auto* const kBridge = new Spellings(BridgeSpelling);
  static const auto* const kFlags = [] {
    auto* flags = new std::map<int, Spellings>();
    for (int release : kCoreReleases) {
      flags->emplace(release, Spellings([release](Knob knob) { return FlagSpelling(knob, release); }));
    }
    return flags;
  }();
  if (env.target == Target::kMegatronBridge) return *kBridge;
  return kFlags->at(NearestRelease(kCoreReleases, env.core_release));
}

}  // namespace flightplan
