#include "service/call/access_policy.h"

#include <memory>
#include <utility>

#include "resolver/base/status_macros.h"

namespace flightplan::service {

AccessPolicy::AccessPolicy(const Settings& settings, int64_t usual_concurrent, Metrics* metrics)
    : token_file_(settings.token_file),
      quota_file_(settings.quota_file),
      metrics_(metrics),
      tenants_(metrics, usual_concurrent) {}

absl::Status AccessPolicy::LoadTokens(const SettingsSources& sources) {
  if (token_file_.empty()) return absl::OkStatus();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, sources.file(token_file_));
  FLIGHTPLAN_ASSIGN_OR_RETURN(AccessTable table, AccessTable::Parse(token_file_, text, &tenants_));
  access_.Replace(std::make_shared<const AccessTable>(std::move(table)));
  return absl::OkStatus();
}

absl::Status AccessPolicy::LoadQuotas(const SettingsSources& sources) {
  if (quota_file_.empty()) return absl::OkStatus();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, sources.file(quota_file_));
  FLIGHTPLAN_ASSIGN_OR_RETURN(QuotaTable table, QuotaTable::Parse(quota_file_, text));
  tenants_.SetQuotas(std::move(table));
  return absl::OkStatus();
}

absl::Status AccessPolicy::Load(const SettingsSources& sources) {
  const absl::Status quotas = LoadQuotas(sources);
  if (!quotas.ok()) metrics_->quota_reload_failures->Increment();
  const absl::Status tokens = LoadTokens(sources);
  if (!tokens.ok()) metrics_->token_reload_failures->Increment();
  return tokens.ok() ? quotas : tokens;
}

}  // namespace flightplan::service
