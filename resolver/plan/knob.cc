#include "resolver/plan/knob.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "resolver/base/nearest.h"

namespace flightplan {
namespace {

using NameMap = absl::flat_hash_map<absl::string_view, Knob>;

const NameMap& Names() {
  static const NameMap* const kNames = [] {
    auto* names = new NameMap();
    for (int i = 0; i < kKnobCount; ++i) {
      const Knob knob = static_cast<Knob>(i);
      names->emplace(Row(knob).name, knob);
      for (absl::string_view alias : absl::StrSplit(Row(knob).aliases, ',', absl::SkipEmpty())) {
        names->emplace(alias, knob);
      }
    }
    return names;
  }();
  return *kNames;
}

}  // namespace

const internal::FlagRow* FirstFlag(Knob knob, int core_release) {
  // A flag that another release gives to another knob stands apart from the other rows of that knob.
  static const auto* const kRowsOf = [] {
    auto* rows_of = new std::vector<std::vector<const internal::FlagRow*>>(kKnobCount);
    for (int i = 0; i < internal::kFlagRowCount; ++i) {
      (*rows_of)[static_cast<size_t>(internal::kFlagRows[i].knob)].push_back(&internal::kFlagRows[i]);
    }
    return rows_of;
  }();
  for (const internal::FlagRow* const row : (*kRowsOf)[static_cast<size_t>(knob)]) {
    if (row->releases.Contains(core_release)) return row;
  }
  return nullptr;
}

absl::string_view WordFor(Knob knob, absl::string_view vocabulary) {
  for (const internal::KnobWord& word : Row(knob).words) {
    if (word.vocabulary == vocabulary) return word.word;
  }
  return {};
}

std::optional<Knob> FindKnob(absl::string_view name) {
  auto it = Names().find(name);
  if (it == Names().end()) return std::nullopt;
  return it->second;
}

absl::string_view NearestKnobName(absl::string_view name) {
  static const auto* const kKnown = [] {
    auto* known = new std::vector<absl::string_view>();
    for (const auto& [text, knob] : Names()) known->push_back(text);
    return known;
  }();
  return NearestName(name, *kKnown, 3);
}

}  // namespace flightplan
