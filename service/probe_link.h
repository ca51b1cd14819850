// A server's side of the probe: the profiles, and what RunProbe's calls share.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "service/handlers/run_probe.h"
#include "service/metrics.h"
#include "service/profile_store.h"
#include "service/resolver_backend.h"
#include "service/settings.h"
#include "service/worker_pool.h"

namespace flightplan {
class Catalog;
}  // namespace flightplan

namespace flightplan::service {

// --profile_dir with the catalogue's names for devices. `complain` is told of files that are no profile.
absl::StatusOr<std::shared_ptr<ProfileStore>> OpenProfileStore(const std::string& folder, absl::Duration max_age,
                                                               std::shared_ptr<const Catalog> catalog,
                                                               const std::function<void(const std::string&)>& complain);

class ProbeLink {
 public:
  // The backend's profiles, or none but those of this run where it has no store.
  ProbeLink(const Settings& settings, const ResolverBackend& backend, Metrics* metrics);

  ProbeDesk* desk() { return &desk_; }
  WorkerPool* store_pool() { return &store_pool_; }  // for writes: a probe may hold its own thread for half a minute

 private:
  std::shared_ptr<ProfileStore> store_;
  ProbeDesk desk_;
  WorkerPool probe_pool_{1};
  WorkerPool store_pool_{1};
};

}  // namespace flightplan::service
