// Everything the store held at one revision. Immutable, shared by all calls that started while it was current.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "resolver/evidence/measurement.h"
#include "resolver/evidence/reported_runs.h"

namespace flightplan {

// The revision of a store that holds nothing: what is built in counts as the first.
inline constexpr int64_t kEmptyEvidenceRevision = 1;

class EvidenceSnapshot {
 public:
  struct Entry {
    std::string content;  // a serialized flightplan.v1.Measurement
    // Where this catalogue makes no sense of it any more: id, revision and tenant, and of the run the names it was
    // stored under.
    Measurement report;
    bool understood = false;

    const std::string& id() const { return report.id; }
    int64_t revision() const { return report.revision; }
  };
  using EntryPtr = std::shared_ptr<const Entry>;

  EvidenceSnapshot() = default;
  // `entries` by revision, ids unique. `stale`: the store did not answer, there may be newer evidence. `reading`: how
  // often this process has read all of it anew, since a revision then says other things than before.
  EvidenceSnapshot(int64_t revision, bool stale, std::vector<EntryPtr> entries, int64_t reading = 0);

  static const EvidenceSnapshot& Empty();

  int64_t revision() const { return revision_; }
  bool stale() const { return stale_; }
  int64_t reading() const { return reading_; }
  // What an answer depends on, in a few characters, for this process: "57", "57-stale", "57.1".
  const std::string& version() const { return version_; }
  const std::vector<EntryPtr>& entries() const { return entries_; }
  // Null: no such id.
  const Entry* Find(absl::string_view id) const;
  // What counts (Measurement::counts) on a GPU system.
  const ReportedRuns& ForGpu(absl::string_view gpu) const;

  struct Held {
    int64_t entries = 0;
    int64_t bytes = 0;  // of their contents
  };
  const Held& held() const { return held_; }
  Held HeldBy(absl::string_view tenant) const;

 private:
  int64_t revision_ = kEmptyEvidenceRevision;
  bool stale_ = false;
  int64_t reading_ = 0;
  std::string version_ = "1";
  std::vector<EntryPtr> entries_;
  Held held_;
  // Keys live in the entries.
  absl::flat_hash_map<absl::string_view, const Entry*> by_id_;
  absl::flat_hash_map<absl::string_view, std::unique_ptr<const ReportedRuns>> by_gpu_;
  absl::flat_hash_map<absl::string_view, Held> by_tenant_;
};

}  // namespace flightplan
