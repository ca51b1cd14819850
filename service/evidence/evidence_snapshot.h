// Turns the store's records into the snapshot that the resolver reads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/evidence/store.h"

namespace flightplan {
namespace v1 {
class Measurement;
}

namespace service {

// See Resolver::ReadMeasurement.
using MeasurementReader =
    std::function<absl::StatusOr<Measurement>(const v1::Measurement& message, std::optional<int64_t> now_us)>;

// Of a report as it is sent. The largest of the published measurements has 1.4 KB, one with 300 knobs and 50 packages
// less than 16.
inline constexpr size_t kMaxReportBytes = size_t{16} << 10;
// Of a content that is kept: what the server adds is little.
inline constexpr size_t kMaxContentBytes = kMaxReportBytes + 1024;

// Reads the store's records. Runs of one configuration have one forecast, which is worked out once, and share it. For
// one thread at a time.
class RecordReader {
 public:
  explicit RecordReader(MeasurementReader reader) : reader_(std::move(reader)) {}
  // An error: this catalogue cannot make sense of it, or it is too large.
  absl::StatusOr<Measurement> Read(const EvidenceRecord& record);
  // The reader answers otherwise from now on.
  void Forget() { known_.clear(); }

 private:
  const MeasurementReader reader_;
  // By the digest of what the forecast depends on.
  absl::flat_hash_map<std::string, std::shared_ptr<const MeasuredRun>> known_;
};

// A content beyond kMaxContentBytes, which a store of an earlier release may have.
inline bool TooLarge(const EvidenceRecord& record) { return record.content.size() > kMaxContentBytes; }

// `read`: nothing where it is listed and not used. One that is too large is listed without its knobs, software and
// workload, and not used.
EvidenceSnapshot::EntryPtr EntryOf(const EvidenceRecord& record, std::optional<Measurement> read);

// What was not understood is listed and not used.
std::shared_ptr<const EvidenceSnapshot> SnapshotOf(int64_t revision, bool stale,
                                                   const std::vector<EvidenceRecord>& records, RecordReader* reader);

}  // namespace service
}  // namespace flightplan
