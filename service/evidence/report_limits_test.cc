#include "service/evidence/report_limits.h"

#include "absl/strings/str_cat.h"
#include "flightplan/v1/evidence.pb.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "resolver/base/reason.h"
#include "resolver/plan/knob.h"
#include "service/evidence/evidence_registry.h"
#include "service/evidence/evidence_snapshot.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

std::string WrongField(const absl::Status& status) {
  google::rpc::BadRequest bad;
  const google::rpc::Status wire = ToRpcStatus(status, "");
  for (const auto& any : wire.details()) {
    if (any.UnpackTo(&bad)) return bad.field_violations(0).field();
  }
  return "";
}

TEST(CheckReportSize, NamesTheFieldThatIsTooLarge) {
  v1::Measurement report;
  report.set_id("job-1");
  EXPECT_TRUE(CheckReportSize(report).ok());
  v1::Measurement packages = report, knobs = report, text = report;
  for (int i = 0; i < 200; ++i)
    (*packages.mutable_software()->mutable_packages())[absl::StrCat("p", i)] = std::string(90, 'x');
  packages.mutable_software()->set_te_version("2.12.0");
  EXPECT_EQ(WrongField(CheckReportSize(packages)), "measurement.software.packages");
  for (int i = 0; i < 1000; ++i) knobs.add_knobs()->set_name(std::string(30, 'k'));
  EXPECT_EQ(WrongField(CheckReportSize(knobs)), "measurement.knobs");
  text.mutable_from()->set_string_value(std::string(20'000, 'v'));
  const absl::Status status = CheckReportSize(text);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WrongField(status), "measurement.from.string_value");
  EXPECT_NE(status.message().find("16384"), std::string::npos) << status;
}

TEST(CheckReportSize, ItsLimitIsInclusive) {
  v1::Measurement report;
  report.set_varied_knob(std::string(kMaxReportBytes - 3, 'k'));  // tag, and two bytes of length
  ASSERT_EQ(report.ByteSizeLong(), kMaxReportBytes);
  EXPECT_TRUE(CheckReportSize(report).ok());
  report.set_varied_knob(report.varied_knob() + "k");
  EXPECT_FALSE(CheckReportSize(report).ok());
}

TEST(CheckReportSize, AReportOfAWholeLaunchFits) {
  v1::Measurement report;
  for (int i = 0; i < 300; ++i) {
    v1::KnobSetting* setting = report.add_knobs();
    setting->set_name(std::string(Name(static_cast<Knob>(i))));
    setting->mutable_value()->set_int_value(4096);
  }
  for (int i = 0; i < 50; ++i)
    (*report.mutable_software()->mutable_packages())[absl::StrCat("a-package-", i)] = "2.12.0";
  EXPECT_TRUE(CheckReportSize(report).ok()) << report.ByteSizeLong() << " bytes";
}

// `entries` reports of `bytes` each.
EvidenceSnapshot Holding(int64_t entries, size_t bytes, const std::string& tenant) {
  std::vector<EvidenceSnapshot::EntryPtr> all;
  for (int64_t i = 0; i < entries; ++i) {
    auto entry = std::make_shared<EvidenceSnapshot::Entry>();
    entry->content = std::string(bytes, 'c');
    entry->report.id = absl::StrCat(tenant, i);
    entry->report.tenant = tenant;
    all.push_back(std::move(entry));
  }
  return EvidenceSnapshot(entries + 1, false, std::move(all));
}

TEST(CheckRoom, ATenantHasAShareOfThePlaces) {
  const Reporter research{"research", false};
  EXPECT_TRUE(CheckRoom(Holding(kMaxMeasurements / kTenantShare - 1, 1, "research"), research).ok());
  const EvidenceSnapshot full = Holding(kMaxMeasurements / kTenantShare, 1, "research");
  const absl::Status refused = CheckRoom(full, research);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(refused), "QUOTA_EXCEEDED");
  EXPECT_NE(refused.message().find("prune --tenant research"), std::string::npos) << refused;
  EXPECT_EQ(RetryDelay(refused), absl::ZeroDuration()) << "asking again helps nobody";
  EXPECT_TRUE(CheckRoom(full, {"other", false}).ok());
  EXPECT_TRUE(CheckRoom(full, {"research", true}).ok()) << "an operator's";
  EXPECT_TRUE(CheckRoom(Holding(kMaxMeasurements / kTenantShare, 1, ""), {"", false}).ok()) << "without credentials";
}

TEST(CheckRoom, AndOfTheBytes) {
  const int64_t entries = kMaxEvidenceBytes / kTenantShare / static_cast<int64_t>(kMaxReportBytes);
  EXPECT_TRUE(CheckRoom(Holding(entries - 1, kMaxReportBytes, "research"), {"research", false}).ok());
  EXPECT_EQ(ReasonOf(CheckRoom(Holding(entries, kMaxReportBytes, "research"), {"research", false})), "QUOTA_EXCEEDED");
}

TEST(CheckRoom, NobodyOutgrowsTheStore) {
  const EvidenceSnapshot full = Holding(kMaxMeasurements, 1, "research");
  EXPECT_EQ(ReasonOf(CheckRoom(full, {"other", true})), "EVIDENCE_FULL");
  EXPECT_EQ(ReasonOf(CheckRoom(full, {"research", false})), "EVIDENCE_FULL");
}

}  // namespace
}  // namespace flightplan::service
