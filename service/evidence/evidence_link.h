// A server's side of the evidence: its keeper, with metrics, log lines and the health of EvidenceService.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "service/backend/resolver_backend.h"
#include "service/evidence/evidence_keeper.h"
#include "service/evidence/evidence_snapshot.h"
#include "service/observe/log.h"
#include "service/observe/metrics.h"

namespace flightplan::service {

class EvidenceLink {
 public:
  // `location`: --evidence_store. Returns once there is a first snapshot, or the store did not answer in
  // kFirstSnapshotLimit. All pointers must outlive this object.
  EvidenceLink(const std::string& location, const ResolverBackend* backend, Metrics* metrics, Log* log);

  // Null: evidence is off.
  EvidenceKeeper* keeper() const { return keeper_.get(); }
  // The backend reads measurements otherwise from now on.
  void CatalogChanged();
  // From now on, `set` is told whether EvidenceService can serve: at once, and on every change.
  void OnHealth(std::function<void(bool serving)> set);
  // No more of that: the server drains.
  void StopHealth() { OnHealth(nullptr); }

 private:
  const std::shared_ptr<RecordReader> reader_;
  std::mutex mutex_;
  std::function<void(bool)> set_health_;    // guarded by mutex_
  bool serving_ = true;                     // guarded by mutex_
  std::unique_ptr<EvidenceKeeper> keeper_;  // last: its threads call back
};

}  // namespace flightplan::service
