#include "service/net/listen_address.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace flightplan::service {
namespace {

constexpr int kMaxPort = 65535;

}  // namespace

std::optional<HostPort> SplitHostPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return std::nullopt;
  absl::string_view host = address.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[");
  if (bracketed != absl::ConsumeSuffix(&host, "]")) return std::nullopt;
  if (!bracketed && absl::StrContains(host, ':')) return std::nullopt;
  const absl::string_view port = address.substr(colon + 1);
  int number = 0;
  const bool digits = port.find_first_not_of("0123456789") == absl::string_view::npos;
  if (!port.empty() && !(digits && absl::SimpleAtoi(port, &number) && number <= kMaxPort)) return std::nullopt;
  return HostPort{std::string(host), std::string(port)};
}

bool IsLoopback(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) return true;
  const std::optional<HostPort> at = SplitHostPort(address);
  if (!at.has_value()) return false;
  // Digits only: "127.0.0.1.example.com" is a name that anyone may own.
  const bool v4 = absl::StartsWith(at->host, "127.") && at->host.find_first_not_of("0123456789.") == std::string::npos;
  return v4 || at->host == "localhost" || at->host == "::1";
}

}  // namespace flightplan::service
