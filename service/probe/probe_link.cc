#include "service/probe/probe_link.h"

#include <array>
#include <utility>

namespace flightplan::service {

ProbeLink::ProbeLink(const Settings& settings, const ResolverBackend& backend, const Current<Catalog>* catalog,
                     Metrics* metrics)
    : store_(backend.profiles()) {
  if (store_ == nullptr) store_ = *ProfileStore::Open({}, [](const std::string&) {});  // in memory: cannot fail
  context_.enabled = settings.probe;
  context_.worker = settings.probe_worker;
  context_.fake = settings.probe_fake;
  context_.catalog = catalog;
  context_.store = store_.get();
  context_.pool = &probe_pool_;
  std::array<Metrics::Counter*, kProbeResults> series{};
  for (size_t i = 0; i < series.size(); ++i)
    series[i] = &metrics->ProbeRuns(ProbeResultName(static_cast<ProbeResult>(i)));
  context_.count = [series](ProbeResult result) { series[static_cast<size_t>(result)]->Increment(); };
}

}  // namespace flightplan::service
