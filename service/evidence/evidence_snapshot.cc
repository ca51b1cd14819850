#include "service/evidence/evidence_snapshot.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/evidence.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/measurement_message.h"
#include "service/observe/replay_record.h"

namespace flightplan::service {

namespace {

constexpr size_t kMaxKnown = 10'000;

// A digest of the configuration of a run, without what is particular to the report.
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
  return FastSha256Hex(m.SerializeAsString());
}

// Without what a report may have much of, and with names cut: for lists.
std::string Shortened(const std::string& content) {
  v1::Measurement m;
  if (!m.ParseFromString(content)) return "";
  m.clear_software();
  m.clear_knobs();
  m.clear_source();
  m.clear_workload();
  m.clear_target();
  m.clear_layout();
  m.clear_from();
  m.clear_to();
  m.DiscardUnknownFields();
  for (std::string* text :
       {m.mutable_id(), m.mutable_metric(), m.mutable_model(), m.mutable_gpu(), m.mutable_varied_knob(),
        m.mutable_quality(), m.mutable_cluster(), m.mutable_tenant(), m.mutable_trust(), m.mutable_trust_reason()}) {
    *text = std::string(Utf8Prefix(*text, 256));
  }
  return m.SerializeAsString();
}

}  // namespace

absl::StatusOr<Measurement> RecordReader::Read(const EvidenceRecord& record) {
  if (TooLarge(record)) {
    return absl::OutOfRangeError(absl::StrCat(record.content.size(), " bytes; a report has at most ", kMaxReportBytes));
  }
  v1::Measurement message;
  if (!message.ParseFromString(record.content)) return absl::DataLossError("the bytes are no measurement");
  message.set_revision(record.revision);
  std::string configuration = ConfigurationOf(message);
  const auto found = known_.find(configuration);
  if (found == known_.end()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Measurement read, reader_(message, std::nullopt));
    if (known_.size() >= kMaxKnown) known_.clear();
    known_.emplace(std::move(configuration), read.run);
    return read;
  }
  Measurement read;
  FillReport(message, &read);
  read.run = found->second;
  return read;
}

EvidenceSnapshot::EntryPtr EntryOf(const EvidenceRecord& record, std::optional<Measurement> read) {
  auto entry = std::make_shared<EvidenceSnapshot::Entry>();
  entry->content = TooLarge(record) ? Shortened(record.content) : record.content;
  entry->content.shrink_to_fit();
  entry->understood = read.has_value();
  if (read.has_value()) {
    entry->report = *std::move(read);
    return entry;
  }
  MeasuredRun run;
  run.gpu = record.gpu;
  run.model = record.model;
  entry->report.id = record.id;
  entry->report.revision = record.revision;
  entry->report.tenant = record.tenant;
  entry->report.run = std::make_shared<const MeasuredRun>(std::move(run));
  return entry;
}

std::shared_ptr<const EvidenceSnapshot> SnapshotOf(int64_t revision, bool stale,
                                                   const std::vector<EvidenceRecord>& records, RecordReader* reader) {
  std::vector<EvidenceSnapshot::EntryPtr> entries;
  entries.reserve(records.size());
  for (const EvidenceRecord& record : records) {
    auto read = reader->Read(record);
    entries.push_back(EntryOf(record, read.ok() ? std::make_optional(*std::move(read)) : std::nullopt));
  }
  return std::make_shared<const EvidenceSnapshot>(revision, stale, std::move(entries));
}

}  // namespace flightplan::service
