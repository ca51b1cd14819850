#include "service/evidence_snapshot.h"

#include <utility>

#include "flightplan/v1/evidence.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/normalize/measurement_message.h"

namespace flightplan::service {

namespace {

constexpr size_t kMaxKnown = 10'000;

// The configuration of a run, without what is particular to the report.
std::string ConfigurationOf(v1::Measurement m) {
  m.clear_id();
  m.clear_value();
  m.clear_error();
  m.clear_quality();
  m.clear_source();
  m.clear_measure_time();
  m.clear_cluster();
  m.clear_tenant();
  m.clear_trust();
  m.clear_trust_reason();
  m.clear_revision();
  m.clear_receive_time();
  return m.SerializeAsString();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Measurement>> RecordReader::Read(const EvidenceRecord& record) {
  v1::Measurement message;
  if (!message.ParseFromString(record.content)) return absl::DataLossError("the bytes are no measurement");
  message.set_revision(record.revision);
  const std::string configuration = ConfigurationOf(message);
  const auto found = known_.find(configuration);
  if (found == known_.end()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Measurement read, reader_(message, std::nullopt));
    if (known_.size() >= kMaxKnown) known_.clear();
    known_.emplace(configuration, read);
    return std::make_shared<const Measurement>(std::move(read));
  }
  auto read = std::make_shared<Measurement>(found->second);
  FillReport(message, read.get());
  return read;
}

EvidenceSnapshot::EntryPtr EntryOf(const EvidenceRecord& record, std::shared_ptr<const Measurement> read) {
  auto entry = std::make_shared<EvidenceSnapshot::Entry>();
  entry->id = record.id;
  entry->revision = record.revision;
  entry->content = record.content;
  entry->gpu = record.gpu;
  entry->model = record.model;
  entry->read = std::move(read);
  return entry;
}

std::shared_ptr<const EvidenceSnapshot> SnapshotOf(int64_t revision, bool stale,
                                                   const std::vector<EvidenceRecord>& records, RecordReader* reader) {
  std::vector<EvidenceSnapshot::EntryPtr> entries;
  entries.reserve(records.size());
  for (const EvidenceRecord& record : records) {
    entries.push_back(EntryOf(record, reader->Read(record).value_or(nullptr)));
  }
  return std::make_shared<const EvidenceSnapshot>(revision, stale, std::move(entries));
}

}  // namespace flightplan::service
