#include "service/evidence/evidence_location.h"

#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "service/evidence/libpq.h"
#include "service/evidence/postgres_evidence_store.h"
#include "service/evidence/sqlite_evidence_store.h"

namespace flightplan::service {
namespace {

bool IsPostgres(absl::string_view location) {
  return absl::StartsWith(location, "postgresql://") || absl::StartsWith(location, "postgres://");
}

// Of the user's part; empty: none. Points into `location`.
absl::string_view PasswordIn(absl::string_view location) {
  location = location.substr(0, location.find('?'));
  const size_t user = location.find("://") + 3;
  const size_t at = location.substr(0, location.find('/', user)).rfind('@');
  if (at == absl::string_view::npos) return {};
  const size_t colon = location.substr(0, at).find(':', user);
  return colon == absl::string_view::npos ? absl::string_view() : location.substr(colon + 1, at - colon - 1);
}

}  // namespace

absl::Status CheckEvidenceLocation(absl::string_view location) {
  if (location == "off" || location == "auto" || IsPostgres(location)) return absl::OkStatus();
  if (absl::StartsWith(location, "sqlite:/")) return absl::OkStatus();
  return absl::InvalidArgumentError("auto, off, sqlite:/PATH or postgresql://USER@HOST/DATABASE");
}

std::string ResolveEvidenceLocation(const std::string& location) {
  if (location != "auto") return location;
  if (::access(kEvidenceFolder, W_OK | X_OK) != 0) return "off";
  return absl::StrCat("sqlite:", kEvidenceFolder, "/evidence.db");
}

bool HasPassword(absl::string_view location) {
  return IsPostgres(location) && (!PasswordIn(location).empty() || absl::StrContains(location, "password="));
}

std::string ShownEvidenceLocation(absl::string_view location) {
  if (!IsPostgres(location)) return std::string(location);
  const absl::string_view password = PasswordIn(location);
  location = location.substr(0, location.find('?'));
  if (password.empty()) return std::string(location);
  const size_t begin = static_cast<size_t>(password.data() - location.data());
  return absl::StrCat(location.substr(0, begin), "***", location.substr(begin + password.size()));
}

absl::Status CanOpenEvidence(absl::string_view location) {
  return IsPostgres(location) ? LoadLibpq() : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<EvidenceStore>> OpenEvidenceStore(const std::string& location, IfMissing missing) {
  absl::string_view path = location;
  if (absl::ConsumePrefix(&path, "sqlite:")) return OpenSqliteEvidenceStore(std::string(path), missing);
  if (IsPostgres(location)) return OpenPostgresEvidenceStore(location);
  return absl::FailedPreconditionError(
      absl::StrCat("'", location, "' is no evidence store: sqlite:PATH or postgresql://USER@HOST/DATABASE is one"));
}

}  // namespace flightplan::service
