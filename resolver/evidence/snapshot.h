// Everything the store held at one revision. Immutable, shared by all calls that started while it was current.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/evidence/measurement.h"

namespace flightplan {

// The revision of a store that holds nothing: what is built in counts as the first.
inline constexpr int64_t kEmptyEvidenceRevision = 1;

class EvidenceSnapshot {
 public:
  // An entry as the store holds it. `read` is null where this catalogue cannot make sense of it any more.
  struct Entry {
    std::string id;
    int64_t revision = 0;
    std::string content;  // a serialized flightplan.v1.Measurement
    std::string gpu, model;
    std::shared_ptr<const Measurement> read;
  };
  using EntryPtr = std::shared_ptr<const Entry>;

  EvidenceSnapshot() = default;
  // `entries` by revision, ids unique. `stale`: the store did not answer, there may be newer evidence.
  EvidenceSnapshot(int64_t revision, bool stale, std::vector<EntryPtr> entries);

  static const EvidenceSnapshot& Empty();

  int64_t revision() const { return revision_; }
  bool stale() const { return stale_; }
  // What an answer depends on, in a few characters: "57", "57-stale".
  const std::string& version() const { return version_; }
  const std::vector<EntryPtr>& entries() const { return entries_; }
  // Null: no such id.
  const Entry* Find(absl::string_view id) const;
  // What counts (Measurement::counts) on a GPU system, by revision.
  absl::Span<const Measurement* const> ForGpu(absl::string_view gpu) const;

 private:
  int64_t revision_ = kEmptyEvidenceRevision;
  bool stale_ = false;
  std::string version_ = "1";
  std::vector<EntryPtr> entries_;
  absl::flat_hash_map<absl::string_view, const Entry*> by_id_;  // keys live in the entries
  absl::flat_hash_map<absl::string_view, std::vector<const Measurement*>> by_gpu_;
};

}  // namespace flightplan
