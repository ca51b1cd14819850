#include "service/probe_link.h"

#include <array>
#include <utility>

#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "service/local_gpus.h"

namespace flightplan::service {

absl::StatusOr<std::shared_ptr<ProfileStore>> OpenProfileStore(
    const std::string& folder, absl::Duration max_age, std::shared_ptr<const Catalog> catalog,
    const std::function<void(const std::string&)>& complain) {
  ProfileStoreOptions options;
  options.folder = folder;
  options.max_age = max_age;
  options.local = ReadLocalGpus();
  options.gpu_of = [catalog = std::move(catalog)](const std::string& device_name) -> std::string {
    for (const GpuSystem& gpu : catalog->gpus()) {
      if (!device_name.empty() && gpu.device_name == device_name) return gpu.name;
    }
    return "";
  };
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::unique_ptr<ProfileStore> store, ProfileStore::Open(std::move(options), complain));
  return std::shared_ptr<ProfileStore>(std::move(store));
}

ProbeLink::ProbeLink(const Settings& settings, const ResolverBackend& backend, Metrics* metrics)
    : store_(backend.profiles()) {
  if (store_ == nullptr) store_ = *ProfileStore::Open({}, [](const std::string&) {});  // in memory: cannot fail
  desk_.enabled = settings.probe;
  desk_.worker = settings.probe_worker;
  desk_.fake = settings.probe_fake;
  desk_.store = store_.get();
  desk_.pool = &probe_pool_;
  std::array<Metrics::Counter*, kProbeResults> series{};
  for (size_t i = 0; i < series.size(); ++i)
    series[i] = &metrics->ProbeRuns(ProbeResultName(static_cast<ProbeResult>(i)));
  desk_.count = [series](ProbeResult result) { series[static_cast<size_t>(result)]->Increment(); };
}

}  // namespace flightplan::service
