#include "resolver/plan/knob.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"

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

// Levenshtein distance with a cut-off, for names of at most 128 characters.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

const internal::FlagRow* FirstFlag(Knob knob, int core_release) {
  static const auto* const kFirst = [] {  // knob -> index of its first row; the rows of a knob stand together
    auto* first = new std::vector<int>(kKnobCount, -1);
    for (int i = internal::kFlagRowCount - 1; i >= 0; --i) {
      (*first)[static_cast<size_t>(internal::kFlagRows[i].knob)] = i;
    }
    return first;
  }();
  const int start = (*kFirst)[static_cast<size_t>(knob)];
  for (int i = start; i >= 0 && i < internal::kFlagRowCount && internal::kFlagRows[i].knob == knob; ++i) {
    if (internal::kFlagRows[i].releases.Contains(core_release)) return &internal::kFlagRows[i];
  }
  return nullptr;
}

std::optional<Knob> FindKnob(absl::string_view name) {
  auto it = Names().find(name);
  if (it == Names().end()) return std::nullopt;
  return it->second;
}

absl::string_view NearestKnobName(absl::string_view name) {
  if (name.size() > 128) return {};
  absl::string_view best;
  size_t best_distance = std::max<size_t>(3, name.size() / 3) + 1;
  for (const auto& [known, knob] : Names()) {
    const size_t distance = Distance(name, known);
    if (distance < best_distance || (distance == best_distance && !best.empty() && known < best)) {
      best_distance = distance;
      best = known;
    }
  }
  return best;
}

}  // namespace flightplan
