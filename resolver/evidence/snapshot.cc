#include "resolver/evidence/snapshot.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace flightplan {

EvidenceSnapshot::EvidenceSnapshot(int64_t revision, bool stale, std::vector<EntryPtr> entries, int64_t reading)
    : revision_(revision),
      stale_(stale),
      reading_(reading),
      version_(absl::StrCat(revision, reading > 0 ? absl::StrCat(".", reading) : "", stale ? "-stale" : "")),
      entries_(std::move(entries)) {
  by_id_.reserve(entries_.size());
  absl::flat_hash_map<absl::string_view, std::vector<const Measurement*>> by_gpu;
  for (const EntryPtr& entry : entries_) {
    const auto bytes = static_cast<int64_t>(entry->content.size());
    by_id_.emplace(entry->id(), entry.get());
    for (Held* held : {&held_, &by_tenant_[entry->report.tenant]}) {
      ++held->entries;
      held->bytes += bytes;
    }
    if (entry->understood && entry->report.counts()) by_gpu[entry->report.run->gpu].push_back(&entry->report);
  }
  for (const auto& [gpu, reports] : by_gpu) by_gpu_.emplace(gpu, std::make_unique<const ReportedRuns>(reports));
}

const EvidenceSnapshot& EvidenceSnapshot::Empty() {
  static const EvidenceSnapshot* const kEmpty = new EvidenceSnapshot();
  return *kEmpty;
}

const EvidenceSnapshot::Entry* EvidenceSnapshot::Find(absl::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

const ReportedRuns& EvidenceSnapshot::ForGpu(absl::string_view gpu) const {
  static const ReportedRuns* const kNone = new ReportedRuns({});
  const auto found = by_gpu_.find(gpu);
  return found == by_gpu_.end() ? *kNone : *found->second;
}

EvidenceSnapshot::Held EvidenceSnapshot::HeldBy(absl::string_view tenant) const {
  const auto found = by_tenant_.find(tenant);
  return found == by_tenant_.end() ? Held() : found->second;
}

}  // namespace flightplan
