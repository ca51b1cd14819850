#include "service/call/tenant.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace flightplan::service {
namespace {

class TenantTest : public ::testing::Test {
 protected:
  Metrics metrics_{"test", "test"};
  Tenants tenants_{&metrics_, /*usual_concurrent=*/0};
};

TEST_F(TenantTest, GivesTheBurstThenTheRate) {
  Tenant tenant("t", &metrics_.TenantShed("t"));
  tenant.SetQuota({10, 0});
  const absl::Duration start = absl::Seconds(1000);
  int taken = 0;
  while (!tenant.Take(start).has_value()) ++taken;
  EXPECT_EQ(taken, 20) << "two seconds' worth";
  EXPECT_EQ(*tenant.Take(start), absl::Milliseconds(100));
  EXPECT_TRUE(tenant.Take(start + absl::Milliseconds(99)).has_value());
  EXPECT_FALSE(tenant.Take(start + absl::Milliseconds(100)).has_value());
  taken = 0;
  while (!tenant.Take(start + absl::Hours(1)).has_value()) ++taken;
  EXPECT_EQ(taken, 20) << "a long rest fills the bucket, no more";
}

TEST_F(TenantTest, ARateBelowTheBurstStillLetsOneThrough) {
  Tenant tenant("t", &metrics_.TenantShed("t"));
  tenant.SetQuota({0.1, 0});
  EXPECT_FALSE(tenant.Take(absl::Seconds(1000)).has_value());
  EXPECT_EQ(*tenant.Take(absl::Seconds(1000)), absl::Seconds(10));
}

TEST_F(TenantTest, ManyThreadsTakeNoMoreThanThereIs) {
  Tenant tenant("t", &metrics_.TenantShed("t"));
  tenant.SetQuota({5000, 0});
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n) taken += !tenant.Take(absl::Seconds(1000)).has_value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken.load(), 10'000);
}

TEST_F(TenantTest, WorkCountsAsTheCallsThatItCouldHaveBeen) {
  Tenant tenant("t", &metrics_.TenantShed("t"));
  tenant.Charge(absl::Hours(1), absl::Seconds(1000));
  EXPECT_FALSE(tenant.Take(absl::Seconds(1000)).has_value()) << "no quota, no charge";
  tenant.SetQuota({100, 0});  // two hundred at once
  EXPECT_FALSE(tenant.Take(absl::Seconds(1000)).has_value());
  tenant.Charge(absl::Milliseconds(1), absl::Seconds(1000));  // what a call may take
  EXPECT_FALSE(tenant.Take(absl::Seconds(1000)).has_value());
  tenant.Charge(absl::Milliseconds(198), absl::Seconds(1000));
  EXPECT_FALSE(tenant.Take(absl::Seconds(1000)).has_value());
  EXPECT_EQ(tenant.Take(absl::Seconds(1000)), absl::Milliseconds(10));
  // A search of an hour is paid within a minute, and so are any number of them.
  for (int i = 0; i < 3; ++i) tenant.Charge(absl::Hours(1), absl::Seconds(1000));
  EXPECT_TRUE(tenant.Take(absl::Seconds(1057)).has_value());
  EXPECT_FALSE(tenant.Take(absl::Seconds(1061)).has_value());
}

TEST_F(TenantTest, NobodyTakesAllPlacesWhereTheQuotaSaysNothing) {
  Tenants tenants(&metrics_, /*usual_concurrent=*/2);
  Tenant* const tenant = tenants.Get("t");
  EXPECT_EQ(tenant->concurrent(), 2);
  auto table = QuotaTable::Parse("quotas.yaml", "default: {concurrent: 3}\n");
  ASSERT_TRUE(table.ok()) << table.status();
  tenants.SetQuotas(*std::move(table));
  EXPECT_EQ(tenant->concurrent(), 3);
}

TEST_F(TenantTest, LimitsCallsAtOnce) {
  Tenant tenant("t", &metrics_.TenantShed("t"));
  EXPECT_TRUE(tenant.Enter()) << "no quota, no limit";
  tenant.SetQuota({0, 2});
  EXPECT_TRUE(tenant.Enter());
  EXPECT_FALSE(tenant.Enter());
  tenant.Leave();
  EXPECT_TRUE(tenant.Enter());
}

TEST_F(TenantTest, NewQuotasHoldForTenantsKnownAndToCome) {
  Tenant* known = tenants_.Get("research");
  EXPECT_EQ(known->concurrent(), 0);
  auto table = QuotaTable::Parse("quotas.yaml",
                                 "default: {concurrent: 3}\ntenants:\n  - {name: research, calls_per_second: 2.5}\n");
  ASSERT_TRUE(table.ok()) << table.status();
  tenants_.SetQuotas(*std::move(table));
  EXPECT_DOUBLE_EQ(known->calls_per_second(), 2.5);
  EXPECT_EQ(known->concurrent(), 0);
  EXPECT_EQ(tenants_.Get("other")->concurrent(), 3);
  EXPECT_EQ(tenants_.Get("research"), known);
}

TEST(QuotaTable, RefusesABadFileWithItsPlace) {
  const std::pair<const char*, const char*> kBad[] = {
      {"[]", "quotas.yaml:1:1"},
      {"defaults: {}\n", "default"},
      {"default: {calls_per_second: 0}\n", "quotas.yaml:1:29"},
      {"default: {calls_per_second: 1000001}\n", "to 1e+06"},
      {"default: {calls_per_second: 0.0000000001}\n", "from 1e-06"},
      {"default: {calls_per_second: nan}\n", "must be a number"},
      {"default: {concurrent: 1.5}\n", "whole number"},
      {"tenants: {a: {}}\n", "must be a list"},
      {"tenants: [{concurrent: 1}]\n", "tenants.name"},
      {"tenants: [{name: a}, {name: a}]\n", "twice"},
  };
  for (const auto& [text, part] : kBad) {
    const auto table = QuotaTable::Parse("quotas.yaml", text);
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_NE(table.status().message().find(part), absl::string_view::npos) << table.status();
  }
  EXPECT_TRUE(QuotaTable::Parse("quotas.yaml", "").ok());
}

}  // namespace
}  // namespace flightplan::service
