#include "service/settings/unknown_variables.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "resolver/base/nearest.h"
#include "service/settings/settings.h"

namespace flightplan::service {
namespace {

constexpr absl::string_view kPrefix = "FLIGHTPLAN_";
// Of the clients and of the doors, without the prefix.
constexpr absl::string_view kOfClients[] = {
    "ALLOW_PLAINTEXT_TOKEN", "BINARY", "CA_FILE", "CERT_FILE", "FAIL_CLOSED", "KEY_FILE", "MODE",
    "PROFILE_DIR",           "SERVER", "TARGET",  "TOKEN"};
// Of deploy/haproxy; those that begin with FRONT or REPLICA are, too.
constexpr absl::string_view kOfFronts[] = {"A",        "ADDRESS",    "ADDRESS_LARGE", "ADDRESS_SEARCHES", "B",
                                           "BURST",    "C",          "CALLER",        "CLIENT_CA",        "CONNECTIONS",
                                           "CONNECTS", "IN_FLIGHT",  "LARGE",         "MODEST",           "OPEN",
                                           "QUEUE",    "REFLECTION", "SEARCHES",      "TAKEN_BACK"};

bool Holds(absl::Span<const absl::string_view> names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// FLIGHTPLAN_SERVICE_HOST, FLIGHTPLAN_WEBHOOK_PORT_443_TCP_ADDR, ...
bool IsOfKubernetes(absl::string_view name) {
  return absl::EndsWith(name, "SERVICE_HOST") || absl::StrContains(name, "SERVICE_PORT") || name == "PORT" ||
         absl::StartsWith(name, "PORT_") || absl::EndsWith(name, "_PORT") || absl::StrContains(name, "_PORT_");
}

}  // namespace

std::vector<UnknownVariable> UnknownVariables(absl::Span<const std::string> names) {
  const std::vector<SettingInfo> table = SettingsTable();
  std::vector<absl::string_view> settings;
  for (const SettingInfo& info : table) {
    if (info.in_file) settings.push_back(info.name);
  }
  std::vector<UnknownVariable> unknown;
  for (absl::string_view name : names) {
    const absl::string_view whole = name;
    if (!absl::ConsumePrefix(&name, kPrefix)) continue;
    const std::string setting = absl::AsciiStrToLower(name);
    if (Holds(settings, setting) || Holds(kOfClients, name) || Holds(kOfFronts, name) || IsOfKubernetes(name) ||
        absl::StartsWith(name, "FRONT") || absl::StartsWith(name, "REPLICA")) {
      continue;
    }
    const bool is_flag =
        std::any_of(table.begin(), table.end(), [&](const SettingInfo& i) { return i.name == setting; });
    const absl::string_view nearest = NearestName(setting, settings);
    unknown.push_back({std::string(whole), is_flag           ? absl::StrCat("--", setting)
                                           : nearest.empty() ? ""
                                                             : absl::StrCat(kPrefix, absl::AsciiStrToUpper(nearest))});
  }
  std::sort(unknown.begin(), unknown.end(),
            [](const UnknownVariable& a, const UnknownVariable& b) { return a.name < b.name; });
  return unknown;
}

}  // namespace flightplan::service
