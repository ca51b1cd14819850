// The roles of callers. One table (role.cc) names the role that each rpc requires; a test holds it to the contract.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace flightplan::service {

enum class Role : uint8_t { kRead, kResolve, kEvidenceWrite, kProbeRun, kAdmin };
inline constexpr Role kRoles[] = {Role::kRead, Role::kResolve, Role::kEvidenceWrite, Role::kProbeRun, Role::kAdmin};

// "read", "resolve", "evidence.write", "probe.run", "admin".
absl::string_view RoleName(Role role);
std::optional<Role> RoleNamed(absl::string_view name);

class RoleSet {
 public:
  constexpr RoleSet() = default;
  static constexpr RoleSet All() { return RoleSet(0xff); }
  constexpr void Add(Role role) { bits_ = static_cast<uint8_t>(bits_ | (1u << static_cast<unsigned>(role))); }
  // An admin may do everything.
  constexpr bool Has(Role role) const { return HasItself(role) || HasItself(Role::kAdmin); }

 private:
  explicit constexpr RoleSet(uint8_t bits) : bits_(bits) {}
  constexpr bool HasItself(Role role) const { return (bits_ & (1u << static_cast<unsigned>(role))) != 0; }
  uint8_t bits_ = 0;
};

// The role that a method of flightplan.v1 asks for: "ResolverService", "ResolveConfig". Admin for a method that the
// table does not know, so that a new rpc is closed until somebody has decided.
Role RequiredRole(absl::string_view service, absl::string_view method);
// True when the method stands in the table.
bool HasRoleRow(absl::string_view service, absl::string_view method);

}  // namespace flightplan::service
