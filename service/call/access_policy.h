// Loads tokens.yaml (who may call) and quotas.yaml (how much), and holds the version of each that is currently in use.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "service/call/access.h"
#include "service/call/tenant.h"
#include "service/observe/metrics.h"
#include "service/settings/settings.h"

namespace flightplan::service {

class AccessPolicy {
 public:
  // `usual_concurrent`: calls at once of a tenant whose quota does not say. `metrics` must outlive this object.
  AccessPolicy(const Settings& settings, int64_t usual_concurrent, Metrics* metrics);

  // Reads both files and puts them in force. An error leaves the file that is bad as it was in force, and says file,
  // line and column; a good file beside a bad one is taken. Counts failures.
  absl::Status Load(const SettingsSources& sources);

  const Access* access() const { return &access_; }

 private:
  absl::Status LoadTokens(const SettingsSources& sources);
  absl::Status LoadQuotas(const SettingsSources& sources);

  const std::string token_file_;
  const std::string quota_file_;
  Metrics* const metrics_;
  Tenants tenants_;
  Access access_;
};

}  // namespace flightplan::service
