// Connects a server's evidence registry to its metrics, its log and the health of EvidenceService.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "service/backend/resolver_backend.h"
#include "service/evidence/evidence_registry.h"
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
  EvidenceRegistry* registry() const { return registry_.get(); }
  // Tells the registry that the backend reads measurements differently from now on.
  void CatalogChanged();
  // Calls `set` with whether EvidenceService can serve: now, and on every change.
  void OnHealth(std::function<void(bool serving)> set);
  // Stops the calls of `set`, when the server drains.
  void StopHealth() { OnHealth(nullptr); }

 private:
  const std::shared_ptr<RecordReader> reader_;
  std::mutex mutex_;
  std::function<void(bool)> set_health_;        // guarded by mutex_
  bool serving_ = true;                         // guarded by mutex_
  std::unique_ptr<EvidenceRegistry> registry_;  // last: its threads call back
};

}  // namespace flightplan::service
