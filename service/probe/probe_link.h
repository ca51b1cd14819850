// Connects a server to the probe: the profiles, and the state that RunProbe's calls share.
#pragma once

#include <memory>

#include "service/backend/current.h"
#include "service/backend/resolver_backend.h"
#include "service/local/profile_store.h"
#include "service/local/worker_pool.h"
#include "service/observe/metrics.h"
#include "service/probe/run_probe.h"
#include "service/settings/settings.h"

namespace flightplan::service {

class ProbeLink {
 public:
  // The backend's profiles, or none but those of this run where it has no store.
  ProbeLink(const Settings& settings, const ResolverBackend& backend, const Current<Catalog>* catalog,
            Metrics* metrics);

  ProbeContext* context() { return &context_; }
  WorkerPool* store_pool() { return &store_pool_; }  // for writes: a probe may hold its own thread for half a minute

 private:
  std::shared_ptr<ProfileStore> store_;
  ProbeContext context_;
  WorkerPool probe_pool_{1};
  WorkerPool store_pool_{1};
};

}  // namespace flightplan::service
