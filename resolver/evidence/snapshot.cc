#include "resolver/evidence/snapshot.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace flightplan {

EvidenceSnapshot::EvidenceSnapshot(int64_t revision, bool stale, std::vector<EntryPtr> entries)
    : revision_(revision),
      stale_(stale),
      version_(absl::StrCat(revision, stale ? "-stale" : "")),
      entries_(std::move(entries)) {
  for (const EntryPtr& entry : entries_) {
    by_id_.emplace(entry->id, entry.get());
    if (entry->read != nullptr && entry->read->counts()) by_gpu_[entry->read->gpu].push_back(entry->read.get());
  }
}

const EvidenceSnapshot& EvidenceSnapshot::Empty() {
  static const EvidenceSnapshot* const kEmpty = new EvidenceSnapshot();
  return *kEmpty;
}

const EvidenceSnapshot::Entry* EvidenceSnapshot::Find(absl::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

absl::Span<const Measurement* const> EvidenceSnapshot::ForGpu(absl::string_view gpu) const {
  const auto found = by_gpu_.find(gpu);
  if (found == by_gpu_.end()) return {};
  return found->second;
}

}  // namespace flightplan
