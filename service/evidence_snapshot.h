// From the store's records to what the resolver reads.
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

// Reads the store's records. Runs of one configuration have one forecast, which is worked out once. For one thread at a
// time.
class RecordReader {
 public:
  explicit RecordReader(MeasurementReader reader) : reader_(std::move(reader)) {}
  // An error: this catalogue cannot make sense of it.
  absl::StatusOr<std::shared_ptr<const Measurement>> Read(const EvidenceRecord& record);
  // The reader answers otherwise from now on.
  void Forget() { known_.clear(); }

 private:
  const MeasurementReader reader_;
  absl::flat_hash_map<std::string, Measurement> known_;  // by what the forecast depends on
};

EvidenceSnapshot::EntryPtr EntryOf(const EvidenceRecord& record, std::shared_ptr<const Measurement> read);

// What was not understood is listed and not used.
std::shared_ptr<const EvidenceSnapshot> SnapshotOf(int64_t revision, bool stale,
                                                   const std::vector<EvidenceRecord>& records, RecordReader* reader);

}  // namespace service
}  // namespace flightplan
