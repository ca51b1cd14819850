#include "service/evidence/evidence_link.h"

#include <utility>

#include "flightplan/v1/evidence.pb.h"
#include "service/evidence/evidence_location.h"
#include "service/evidence/evidence_snapshot.h"

namespace flightplan::service {
namespace {

EvidenceSnapshot::EntryPtr EntryOfRecord(const EvidenceRecord& record, RecordReader* reader, Log* log) {
  auto read = reader->Read(record);
  if (read.ok()) return EntryOf(record, *std::move(read));
  log->Write(LogLevel::kWarning, "measurement not understood; it is listed but not used",
             {{"id", record.id}, {"why", read.status().message()}});
  return EntryOf(record, std::nullopt);
}

}  // namespace

EvidenceLink::EvidenceLink(const std::string& location, const ResolverBackend* backend, Metrics* metrics, Log* log)
    : reader_(std::make_shared<RecordReader>([backend](const v1::Measurement& m, std::optional<int64_t> now_us) {
        return backend->ReadMeasurement(m, now_us);
      })) {
  const std::string where = ResolveEvidenceLocation(location);
  const std::string shown = ShownEvidenceLocation(where);
  log->Write(LogLevel::kInfo, "evidence store", {{"location", shown}});
  metrics->evidence_up->Set(where == "off" ? 1 : 0);
  if (where == "off") return;
  serving_ = false;
  EvidenceRegistry::Hooks hooks;
  hooks.open = [where] { return OpenEvidenceStore(where); };
  hooks.entry = [this, log](const EvidenceRecord& record) { return EntryOfRecord(record, reader_.get(), log); };
  hooks.observed = [metrics](const char* op, double seconds, bool ok) {
    const Metrics::StoreOp& series = metrics->ForStoreOp(op);
    series.seconds->Observe(seconds);
    if (!ok) series.errors->Increment();
  };
  hooks.changed = [this, metrics, log, shown](const absl::Status& why) {
    metrics->evidence_up->Set(why.ok() ? 1 : 0);
    if (why.ok()) {
      log->Write(LogLevel::kInfo, "evidence store answers", {{"location", shown}});
    } else {
      log->Write(LogLevel::kError, "evidence store down; resolving goes on from the last snapshot",
                 {{"location", shown}, {"why", why.message()}});
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    serving_ = why.ok();
    if (set_health_) set_health_(serving_);
  };
  registry_ = std::make_unique<EvidenceRegistry>(std::move(hooks));
}

void EvidenceLink::CatalogChanged() {
  if (registry_ != nullptr) registry_->ReadAgain([this] { reader_->Forget(); });
}

void EvidenceLink::OnHealth(std::function<void(bool)> set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  set_health_ = std::move(set);
  if (set_health_) set_health_(serving_);
}

}  // namespace flightplan::service
