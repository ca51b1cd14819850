#include "service/wire/role.h"

#include <iterator>

namespace flightplan::service {
namespace {

constexpr absl::string_view kNames[] = {"read", "resolve", "evidence.write", "probe.run", "admin"};

struct Row {
  absl::string_view service;
  absl::string_view method;
  Role role;
};

constexpr Row kTable[] = {
    {"ResolverService", "ResolveConfig", Role::kResolve},
    {"ResolverService", "ValidateConfig", Role::kResolve},
    {"ResolverService", "PlanLayouts", Role::kResolve},
    {"ResolverService", "BatchResolve", Role::kResolve},
    {"ResolverService", "ConvertConfig", Role::kResolve},
    {"TimelineService", "DescribeTimeline", Role::kResolve},
    {"FleetService", "SummarizeDecisions", Role::kAdmin},
    {"CatalogService", "GetModel", Role::kRead},
    {"CatalogService", "ListModels", Role::kRead},
    {"CatalogService", "GetGpu", Role::kRead},
    {"CatalogService", "ListGpus", Role::kRead},
    {"CatalogService", "GetKnob", Role::kRead},
    {"CatalogService", "ListKnobs", Role::kRead},
    {"CatalogService", "GetRule", Role::kRead},
    {"CatalogService", "ListRules", Role::kRead},
    {"CatalogService", "ImportModel", Role::kRead},  // computes, stores nothing
    {"EvidenceService", "ReportMeasurement", Role::kEvidenceWrite},
    {"EvidenceService", "GetMeasurement", Role::kRead},
    {"EvidenceService", "ListMeasurements", Role::kRead},
    {"ProbeService", "RunProbe", Role::kProbeRun},
    {"ProbeService", "GetProfile", Role::kRead},
    {"ProbeService", "ListProfiles", Role::kRead},
    {"ProbeService", "ImportProfile", Role::kEvidenceWrite},
};

const Row* Find(absl::string_view service, absl::string_view method) {
  for (const Row& row : kTable) {
    if (row.service == service && row.method == method) return &row;
  }
  return nullptr;
}

}  // namespace

absl::string_view RoleName(Role role) { return kNames[static_cast<size_t>(role)]; }

std::optional<Role> RoleNamed(absl::string_view name) {
  for (Role role : kRoles) {
    if (RoleName(role) == name) return role;
  }
  return std::nullopt;
}

Role RequiredRole(absl::string_view service, absl::string_view method) {
  const Row* row = Find(service, method);
  return row == nullptr ? Role::kAdmin : row->role;
}

bool HasRoleRow(absl::string_view service, absl::string_view method) { return Find(service, method) != nullptr; }

}  // namespace flightplan::service
