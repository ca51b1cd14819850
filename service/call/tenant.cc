#include "service/call/tenant.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/yaml.h"

namespace flightplan::service {
namespace {

// A call in two weeks: nanoseconds between calls have room in 64 bits.
constexpr double kMinRate = 1e-6, kMaxRate = 1e6;
constexpr int64_t kMaxConcurrent = 1'000'000;

absl::StatusOr<Quota> ReadQuota(const YamlDocument& document, const YamlNode& node, absl::string_view field) {
  Quota quota;
  if (const YamlNode* rate = node.Find("calls_per_second"); rate != nullptr) {
    if (rate->kind != YamlNode::Kind::kScalar || !absl::SimpleAtod(rate->text, &quota.calls_per_second) ||
        !(quota.calls_per_second >= kMinRate && quota.calls_per_second <= kMaxRate)) {
      return document.Error(
          *rate, absl::StrCat(field, ".calls_per_second"),
          absl::StrCat("is ", rate->Describe(), ", must be a number from ", kMinRate, " to ", kMaxRate));
    }
  }
  if (const YamlNode* count = node.Find("concurrent"); count != nullptr) {
    if (count->kind != YamlNode::Kind::kScalar || !absl::SimpleAtoi(count->text, &quota.concurrent) ||
        quota.concurrent < 1 || quota.concurrent > kMaxConcurrent) {
      return document.Error(
          *count, absl::StrCat(field, ".concurrent"),
          absl::StrCat("is ", count->Describe(), ", must be a whole number from 1 to ", kMaxConcurrent));
    }
  }
  return quota;
}

}  // namespace

absl::StatusOr<QuotaTable> QuotaTable::Parse(absl::string_view file, absl::string_view text) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const YamlDocument document, ParseYaml(file, text));
  QuotaTable table;
  if (document.root.kind == YamlNode::Kind::kNull) return table;
  if (document.root.kind != YamlNode::Kind::kMap) {
    return document.Error(document.root, "(file)", "must be a map with `default` and `tenants`");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(document.CheckKeys(document.root, "", {"default", "tenants"}));
  if (const YamlNode* usual = document.root.Find("default"); usual != nullptr) {
    FLIGHTPLAN_RETURN_IF_ERROR(document.CheckKeys(*usual, "default", {"calls_per_second", "concurrent"}));
    FLIGHTPLAN_ASSIGN_OR_RETURN(table.usual, ReadQuota(document, *usual, "default"));
  }
  const YamlNode* tenants = document.root.Find("tenants");
  if (tenants == nullptr) return table;
  if (tenants->kind != YamlNode::Kind::kList) {
    return document.Error(*tenants, "tenants", "must be a list such as `- {name: research, calls_per_second: 2000}`");
  }
  for (const YamlNode& item : tenants->items) {
    FLIGHTPLAN_RETURN_IF_ERROR(document.CheckKeys(item, "tenants", {"name", "calls_per_second", "concurrent"}));
    const YamlNode* name = item.Find("name");
    if (name == nullptr || name->kind != YamlNode::Kind::kScalar || name->text.empty()) {
      return document.Error(item, "tenants.name", "is required: the tenant's name");
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(const Quota quota, ReadQuota(document, item, "tenants"));
    if (!table.by_tenant.emplace(name->text, quota).second) {
      return document.Error(*name, "tenants.name", absl::StrCat("'", name->text, "' stands here twice"));
    }
  }
  return table;
}

const Quota& QuotaTable::For(absl::string_view tenant) const {
  const auto found = by_tenant.find(tenant);
  return found == by_tenant.end() ? usual : found->second;
}

void Tenant::SetQuota(const Quota& quota, int64_t usual_concurrent) {
  interval_ns_.store(quota.calls_per_second > 0
                         ? std::max<int64_t>(1, static_cast<int64_t>(std::llround(1e9 / quota.calls_per_second)))
                         : 0,
                     std::memory_order_relaxed);
  concurrent_.store(quota.concurrent > 0 ? quota.concurrent : usual_concurrent, std::memory_order_relaxed);
}

double Tenant::calls_per_second() const {
  const int64_t interval = interval_ns_.load(std::memory_order_relaxed);
  return interval == 0 ? 0 : 1e9 / static_cast<double>(interval);
}

std::optional<absl::Duration> Tenant::Take(absl::Duration now) {
  const int64_t interval = interval_ns_.load(std::memory_order_relaxed);
  if (interval == 0) return std::nullopt;
  // A rate below one call in two seconds still lets one through.
  const int64_t burst = std::max(absl::ToInt64Nanoseconds(kQuotaBurst), interval);
  const int64_t now_ns = absl::ToInt64Nanoseconds(now);
  int64_t full_at = full_at_ns_.load(std::memory_order_relaxed);
  for (;;) {
    const int64_t next = std::max(full_at, now_ns) + interval;
    if (next - now_ns > burst) return absl::Nanoseconds(next - now_ns - burst);
    if (full_at_ns_.compare_exchange_weak(full_at, next, std::memory_order_relaxed)) return std::nullopt;
  }
}

void Tenant::Charge(absl::Duration work, absl::Duration now) {
  const int64_t interval = interval_ns_.load(std::memory_order_relaxed);
  const int64_t more =
      (work - absl::Nanoseconds(1)) / kWorkOfACall;  // of the calls it counts for, the first is counted
  if (interval == 0 || more <= 0) return;
  const int64_t now_ns = absl::ToInt64Nanoseconds(now);
  const int64_t most = now_ns + std::max(absl::ToInt64Nanoseconds(kLongestDebt), 2 * interval);
  int64_t full_at = full_at_ns_.load(std::memory_order_relaxed);
  int64_t next = 0;
  do {
    const int64_t from = std::max(full_at, now_ns);
    next = std::max(from, more > (most - from) / interval ? most : from + more * interval);
  } while (!full_at_ns_.compare_exchange_weak(full_at, next, std::memory_order_relaxed));
}

void Tenant::Charge(absl::Duration work) {
  if (work > kWorkOfACall) Charge(work, SteadyNow());
}

bool Tenant::Enter() {
  const int64_t limit = concurrent_.load(std::memory_order_relaxed);
  if (at_once_.fetch_add(1, std::memory_order_relaxed) < (limit == 0 ? std::numeric_limits<int64_t>::max() : limit)) {
    return true;
  }
  Leave();
  return false;
}

Tenant* Tenants::Get(absl::string_view name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = tenants_.find(name);
  if (found == tenants_.end()) {
    auto tenant = std::make_unique<Tenant>(std::string(name), &metrics_.TenantShed(name));
    tenant->SetQuota(quotas_.For(name), usual_concurrent_);
    found = tenants_.emplace(std::string(name), std::move(tenant)).first;
  }
  return found->second.get();
}

void Tenants::SetQuotas(QuotaTable quotas) {
  const std::lock_guard<std::mutex> lock(mutex_);
  quotas_ = std::move(quotas);
  for (auto& [name, tenant] : tenants_) tenant->SetQuota(quotas_.For(name), usual_concurrent_);
}

}  // namespace flightplan::service
