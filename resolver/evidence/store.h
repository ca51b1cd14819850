// Where measurements are kept: an append-only table with a revision that counts its changes. Implementations are at
// the edge (service/sqlite_evidence_store, service/postgres_evidence_store); the resolver only ever sees a snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace flightplan {

struct EvidenceRecord {
  std::string id;       // chosen by the reporter, unique in the store
  std::string digest;   // of what was reported, without what the server added
  std::string content;  // a serialized flightplan.v1.Measurement, with what the server added but its revision
  std::string gpu, model, metric, tenant;
  int64_t received_us = 0;  // since the epoch
  int64_t revision = 0;     // set by the store
};

enum class AddResult {
  kAdded,
  kSame,      // the id is there with the same digest: nothing to do
  kConflict,  // the id is there with another
};
struct AddOutcome {
  AddResult result = AddResult::kAdded;
  int64_t revision = 0;    // that added the entry of this id, now or before
  bool taken_out = false;  // of kSame and kConflict: by Prune, since
};

// What lies between a revision and now.
struct EvidenceChanges {
  int64_t revision = 0;                 // now
  bool reset = false;                   // entries went away: the records are all there are, not what was added
  std::vector<EvidenceRecord> records;  // by revision; empty where they were handed over one by one
};

// All conditions that are set must hold.
struct PruneFilter {
  int64_t received_before_us = 0;  // 0: any time
  std::vector<std::string> ids;    // empty: any
  std::string gpu, model, tenant;  // empty: any
};

// One connection: for one thread at a time. Every error is UNAVAILABLE (the store does not answer) or
// FAILED_PRECONDITION (it answers, and is not to be used: another program's file, a newer schema).
class EvidenceStore {
 public:
  virtual ~EvidenceStore() = default;

  // The calls that follow end within this, all together, with UNAVAILABLE where this kind of store can be slow.
  virtual void EndWithin(absl::Duration /*most*/) {}

  // All in one transaction, durable when it returns. An error acknowledges nothing; asking again is safe.
  virtual absl::StatusOr<std::vector<AddOutcome>> Add(absl::Span<const EvidenceRecord> records) = 0;
  // Hands over each record as it is read, by revision, all of one state of the store: many are never in memory at once.
  // After an error what was handed over counts for nothing.
  using Each = std::function<void(EvidenceRecord)>;
  virtual absl::StatusOr<EvidenceChanges> ReadChanges(int64_t revision, const Each& each) = 0;
  absl::StatusOr<EvidenceChanges> ChangesSince(int64_t revision) {
    std::vector<EvidenceRecord> records;
    auto changes = ReadChanges(revision, [&](EvidenceRecord record) { records.push_back(std::move(record)); });
    if (changes.ok()) changes->records = std::move(records);
    return changes;
  }
  // Everything there was at a revision of the past. FAILED_PRECONDITION: not reached yet, or erased since.
  virtual absl::StatusOr<std::vector<EvidenceRecord>> AsOf(int64_t revision) = 0;
  // Takes entries out of all later snapshots, in one new revision; AsOf still has them. The number taken out.
  virtual absl::StatusOr<int64_t> Prune(const PruneFilter& filter) = 0;
  // Deletes for good what Prune took out and `filter` matches. Revisions that had it can no longer be asked for.
  virtual absl::StatusOr<int64_t> Erase(const PruneFilter& filter) = 0;
  // Returns when something may have changed, or after `most`.
  virtual absl::Status WaitForChange(absl::Duration most) = 0;
};

}  // namespace flightplan
