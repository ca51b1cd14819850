#include "service/wire/role.h"

#include <vector>

#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/evidence_service.pb.h"
#include "flightplan/v1/probe_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "flightplan/v1/timeline.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"

namespace flightplan::service {
namespace {

std::vector<const google::protobuf::MethodDescriptor*> RpcsOfTheContract() {
  std::vector<const google::protobuf::MethodDescriptor*> rpcs;
  for (const google::protobuf::FileDescriptor* file :
       {v1::ResolveConfigRequest::descriptor()->file(), v1::GetModelRequest::descriptor()->file(),
        v1::GetMeasurementRequest::descriptor()->file(), v1::RunProbeRequest::descriptor()->file(),
        v1::DescribeTimelineRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service(0)->method_count(); ++i) rpcs.push_back(file->service(0)->method(i));
  }
  return rpcs;
}

TEST(RoleTable, HasARowForEveryRpcOfTheContract) {
  for (const auto* rpc : RpcsOfTheContract()) {
    EXPECT_TRUE(HasRoleRow(rpc->service()->name(), rpc->name())) << rpc->full_name();
  }
}

// What clients may ask by GET, and repeat, is said once in the contract; what writes or runs something is not among it.
TEST(RoleTable, UnaryRpcsOfReadersAloneAreWithoutSideEffects) {
  for (const auto* rpc : RpcsOfTheContract()) {
    const Role role = RequiredRole(rpc->service()->name(), rpc->name());
    const bool unary = !rpc->client_streaming() && !rpc->server_streaming();
    EXPECT_EQ(rpc->options().idempotency_level() == google::protobuf::MethodOptions::NO_SIDE_EFFECTS,
              unary && (role == Role::kRead || role == Role::kResolve))
        << rpc->full_name();
  }
}

TEST(RoleTable, ClosesWhatItDoesNotKnow) {
  EXPECT_EQ(RequiredRole("ResolverService", "Other"), Role::kAdmin);
  EXPECT_FALSE(HasRoleRow("ResolverService", "Other"));
}

TEST(RoleSet, AdminHasEveryRoleAndNobodyElseHasMoreThanTheirs) {
  RoleSet admin;
  admin.Add(Role::kAdmin);
  RoleSet reader;
  reader.Add(Role::kRead);
  for (Role role : kRoles) {
    EXPECT_TRUE(admin.Has(role));
    EXPECT_EQ(reader.Has(role), role == Role::kRead) << RoleName(role);
    EXPECT_EQ(RoleNamed(RoleName(role)), role);
  }
  EXPECT_EQ(RoleNamed("root"), std::nullopt);
}

}  // namespace
}  // namespace flightplan::service
