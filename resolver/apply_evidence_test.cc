// What reported runs change in an answer, and what they must not.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "flightplan/v1/evidence.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/knob.h"
#include "resolver/resolver.h"
#include "tests/support/answers.h"
#include "tests/support/reported_runs.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Pair;
using testing::Report;
using testing::ReportedQuestion;
using testing::TestResolver;

EvidenceSnapshot Snapshot(const std::vector<v1::Measurement>& messages, bool stale = false) {
  std::vector<EvidenceSnapshot::EntryPtr> entries;
  int64_t revision = kEmptyEvidenceRevision;
  for (const v1::Measurement& message : messages) {
    auto entry = std::make_shared<EvidenceSnapshot::Entry>();
    auto read = TestResolver().ReadMeasurement(message, std::nullopt);
    EXPECT_TRUE(read.ok()) << read.status();
    if (read.ok()) {
      entry->report = *std::move(read);
      entry->report.revision = ++revision;
      entry->understood = true;
    }
    entries.push_back(std::move(entry));
  }
  return EvidenceSnapshot(revision, stale, std::move(entries));
}

v1::ResolveConfigResponse Resolve(const EvidenceSnapshot& evidence) {
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(ReportedQuestion(), &response, evidence);
  EXPECT_TRUE(status.ok()) << status;
  return response;
}

const v1::Decision* DecisionOf(const v1::ResolveConfigResponse& response, const std::string& knob) {
  for (const v1::Decision& decision : response.decisions()) {
    if (decision.name() == knob) return &decision;
  }
  return nullptr;
}

bool Cites(const v1::Decision& decision, const std::string& id) {
  for (const v1::Citation& citation : decision.citations()) {
    if (citation.text().find(id) != std::string::npos) return true;
  }
  return false;
}

const v1::Finding* FindingOf(const v1::ResolveConfigResponse& response, const std::string& id) {
  for (const v1::Finding& finding : response.findings()) {
    if (finding.rule_id() == id) return &finding;
  }
  return nullptr;
}

TEST(Evidence, AnEmptyStoreChangesNoByte) {
  v1::ResolveConfigResponse without;
  ASSERT_TRUE(TestResolver().ResolveConfig(ReportedQuestion(), &without).ok());
  EXPECT_TRUE(CanonicalBytes(without) == CanonicalBytes(Resolve(Snapshot({}))));
  EXPECT_EQ(without.evidence_revision(), 1);
}

TEST(Evidence, TheRevisionIsInTheDigest) {
  const EvidenceSnapshot later(2, false, {});
  EXPECT_NE(Resolve(later).digest(), Resolve(Snapshot({})).digest());
  EXPECT_EQ(Resolve(later).evidence_revision(), 2);
}

TEST(Evidence, AStaleSnapshotSaysSoAndNothingElseChanges) {
  v1::ResolveConfigResponse fresh = Resolve(Snapshot({})), stale = Resolve(Snapshot({}, true));
  ASSERT_NE(FindingOf(stale, "evidence.store-down"), nullptr);
  EXPECT_EQ(FindingOf(fresh, "evidence.store-down"), nullptr);
  EXPECT_NE(stale.digest(), fresh.digest());
  EXPECT_EQ(stale.findings_size(), fresh.findings_size() + 1);
  stale.clear_findings();
  fresh.clear_findings();
  stale.clear_digest();
  fresh.clear_digest();
  EXPECT_TRUE(CanonicalBytes(stale) == CanonicalBytes(fresh));
}

TEST(Evidence, AReportedStepTimeMovesTheForecastAndIsNamed) {
  const v1::ResolveConfigResponse plan = Resolve(Snapshot({}));
  const v1::Range before = plan.estimate().step_time_us();
  const double measured = before.value() * 1.08;
  v1::Measurement report = Report("job-1", "step_time_us", measured);
  for (const v1::Decision& decision : plan.decisions()) {
    if (FindKnob(decision.name()).has_value()) testing::Set(decision.name(), decision.value(), report.add_knobs());
  }
  const v1::ResolveConfigResponse after = Resolve(Snapshot({report}));
  // Nearer to the report than to what was forecast.
  const double moved = after.estimate().step_time_us().value();
  EXPECT_LT(std::abs(measured - moved), moved - before.value());
  EXPECT_LT(after.estimate().step_time_us().high() - after.estimate().step_time_us().low(),
            0.7 * (before.high() - before.low()));
  const v1::Finding* finding = FindingOf(after, "evidence.step-calibrated");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->needs().find("job-1"), std::string::npos) << finding->needs();
}

TEST(Evidence, AReportedPeakMovesTheBandsAndIsNamed) {
  const double before = testing::MostBytes(Resolve(Snapshot({})));
  const v1::ResolveConfigResponse after =
      Resolve(Snapshot({Report("job-2", "memory_high_water_bytes", before * 1.03)}));
  EXPECT_NEAR(testing::MostBytes(after) / before, 1.03, 0.01);
  const v1::Finding* finding = FindingOf(after, "evidence.memory-calibrated");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->needs().find("job-2"), std::string::npos) << finding->needs();
}

v1::ValidateConfigResponse Judged(const v1::ResolveConfigResponse& plan, const EvidenceSnapshot& evidence,
                                  double hbm_bytes = 0) {
  v1::ValidateConfigRequest launch = testing::ScriptOf(ReportedQuestion(), plan);
  if (hbm_bytes > 0) launch.mutable_hardware()->mutable_fabric()->set_hbm_bytes(static_cast<int64_t>(hbm_bytes));
  v1::ValidateConfigResponse response;
  const absl::Status status = TestResolver().ValidateConfig(launch, &response, evidence);
  EXPECT_TRUE(status.ok()) << status;
  return response;
}

// Who resolves, and then has the launch admitted, is told one story.
TEST(Evidence, ALaunchIsMovedAsItsPlanIs) {
  const EvidenceSnapshot none = Snapshot({});
  const v1::ResolveConfigResponse before = Resolve(none);
  const EvidenceSnapshot evidence =
      Snapshot({Report("job-1", "step_time_us", 1.08 * before.estimate().step_time_us().value()),
                Report("job-2", "memory_high_water_bytes", 1.05 * testing::MostBytes(before))});
  const v1::ResolveConfigResponse plan = Resolve(evidence);
  const v1::ValidateConfigResponse unmoved = Judged(plan, none), judged = Judged(plan, evidence);
  EXPECT_GT(judged.estimate().step_time_us().value(), 1.03 * unmoved.estimate().step_time_us().value());
  EXPECT_NEAR(judged.estimate().step_time_us().value() / plan.estimate().step_time_us().value(), 1, 0.002);
  EXPECT_NEAR(judged.estimate().step_time_us().high() / plan.estimate().step_time_us().high(), 1, 0.002);
  EXPECT_GT(testing::MostBytes(judged), 1.03 * testing::MostBytes(unmoved));
  EXPECT_NEAR(testing::MostBytes(judged) / testing::MostBytes(plan), 1, 0.002);
  EXPECT_EQ(judged.memory().fit(), plan.estimate().fit());
  EXPECT_NE(judged.digest(), unmoved.digest());
  std::string named;
  for (const v1::Finding& finding : judged.findings()) {
    if (finding.area() == "evidence") named += finding.rule_id() + " " + finding.needs() + "\n";
  }
  EXPECT_NE(named.find("evidence.step-calibrated the step time rests on measurements job-1"), std::string::npos);
  EXPECT_NE(named.find("evidence.memory-calibrated the memory forecast rests on measurements job-2"),
            std::string::npos);
  EXPECT_EQ(named.find("store-down"), std::string::npos);
}

// What a door says of memory says that runs moved it, since it leaves out the note that names them.
TEST(Evidence, AMovedMemoryFindingSaysSo) {
  const v1::ResolveConfigResponse plan = Resolve(Snapshot({}));
  const double bytes = testing::MostBytes(plan);
  const EvidenceSnapshot none = Snapshot({}), evidence = Snapshot({Report("job-1", "memory_high_water_bytes", bytes)});
  for (const double room : {0.95, 1.01}) {
    for (const bool moved : {false, true}) {
      const v1::ValidateConfigResponse judged = Judged(plan, moved ? evidence : none, room * bytes);
      const v1::Finding* const lacks = testing::FindFinding(judged.findings(), "fit.memory");
      const v1::Finding* const tight = testing::FindFinding(judged.findings(), "fit.memory-marginal");
      const v1::Finding* const finding = lacks != nullptr ? lacks : tight;
      ASSERT_NE(finding, nullptr) << room << moved;
      EXPECT_EQ(absl::StrContains(finding->seen(), ", moved by 1 reported run"), moved) << finding->seen();
    }
  }
}

TEST(Evidence, AMeasuredPeakDecidesWhetherMemoryIsTheNextWall) {
  const auto asked = [](double gib) {
    v1::ResolveConfigRequest question = ReportedQuestion();
    question.mutable_profile()->set_memory_high_water_bytes(static_cast<int64_t>(gib * (1 << 30)));
    v1::ResolveConfigResponse response;
    EXPECT_TRUE(TestResolver().ResolveConfig(question, &response, Snapshot({})).ok());
    return response;
  };
  const auto wall = [](const v1::ResolveConfigResponse& response) {
    const v1::Finding* next = FindingOf(response, "next-step");
    for (const v1::Finding& finding : response.findings()) {
      if (finding.area() == "next-step") next = &finding;
    }
    return next != nullptr ? next->seen() : std::string();
  };
  const v1::ResolveConfigResponse full = asked(79), roomy = asked(40);
  EXPECT_NE(FindingOf(full, "evidence.memory-measured"), nullptr);
  EXPECT_EQ(wall(full).rfind("memory is the first wall", 0), 0u) << wall(full);
  EXPECT_EQ(wall(roomy).rfind("memory", 0), std::string::npos) << wall(roomy);
  EXPECT_EQ(FindingOf(Resolve(Snapshot({})), "evidence.memory-measured"), nullptr);
}

TEST(Evidence, AStepThatNoGpuComputesIsLeftOut) {
  const auto asked = [](double us) {
    v1::ResolveConfigRequest question = ReportedQuestion();
    question.mutable_profile()->set_step_time_us(us);
    v1::ResolveConfigResponse response;
    EXPECT_TRUE(TestResolver().ResolveConfig(question, &response, Snapshot({})).ok());
    return response;
  };
  const v1::ResolveConfigResponse open = Resolve(Snapshot({}));
  const double forecast = open.estimate().step_time_us().value();
  const v1::ResolveConfigResponse wrong = asked(1000), right = asked(0.9 * forecast);
  const v1::Finding* finding = FindingOf(wrong, "evidence.step-beyond-peak");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->seen().rfind("profile.step_time_us (--profile-step-ms) is 1 ms", 0), 0u) << finding->seen();
  EXPECT_EQ(wrong.estimate().step_time_us().value(), forecast);
  EXPECT_LT(wrong.estimate().mfu_ratio(), 1);
  EXPECT_EQ(FindingOf(right, "evidence.step-beyond-peak"), nullptr);
  EXPECT_NEAR(right.estimate().step_time_us().value() / forecast, 0.9, 1e-6);
}

TEST(Evidence, APeakAboveTheCardIsRefused) {
  v1::ResolveConfigRequest question = ReportedQuestion();
  question.mutable_profile()->set_memory_high_water_bytes(int64_t{500} << 30);
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(question, &response, Snapshot({}));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("profile.memory_high_water_bytes: is 500 GiB; one h100-sxm has 79"),
            absl::string_view::npos)
      << status;
}

TEST(Evidence, AMatchedPairSettlesWhatNeededAnAb) {
  const v1::ResolveConfigResponse open = Resolve(Snapshot({}));
  const v1::Decision* undecided = DecisionOf(open, "delay_wgrad_compute");
  ASSERT_NE(undecided, nullptr);
  ASSERT_TRUE(undecided->needs_ab()) << undecided->reason();
  ASSERT_FALSE(undecided->value().bool_value());

  const auto faster = Resolve(Snapshot({Pair("ab-1", "delay_wgrad_compute", false, true, -0.06)}));
  const v1::Decision* on = DecisionOf(faster, "delay_wgrad_compute");
  ASSERT_NE(on, nullptr);
  EXPECT_TRUE(on->value().bool_value()) << on->reason();
  EXPECT_FALSE(on->needs_ab());
  EXPECT_TRUE(Cites(*on, "ab-1"));
  for (const auto& ab : faster.ab_suggestions()) EXPECT_NE(ab.knob(), "delay_wgrad_compute");

  // The other way round, reported from on to off.
  const auto slower = Resolve(Snapshot({Pair("ab-2", "delay_wgrad_compute", true, false, -0.06)}));
  const v1::Decision* off = DecisionOf(slower, "delay_wgrad_compute");
  EXPECT_FALSE(off->value().bool_value());
  EXPECT_FALSE(off->needs_ab());
  EXPECT_TRUE(Cites(*off, "ab-2"));
}

TEST(Evidence, APairWithinItsErrorSettlesNothing) {
  const auto response = Resolve(Snapshot({Pair("ab-1", "delay_wgrad_compute", false, true, -0.005)}));
  const v1::Decision* decision = DecisionOf(response, "delay_wgrad_compute");
  EXPECT_FALSE(decision->value().bool_value());
  EXPECT_TRUE(decision->needs_ab());
  EXPECT_TRUE(Cites(*decision, "ab-1"));
}

TEST(Evidence, APairOfAnotherLayoutGpuOrQualityIsNotThisOne) {
  const std::string before = CanonicalBytes(Resolve(EvidenceSnapshot(2, false, {})));
  v1::Measurement layout = Pair("ab-1", "delay_wgrad_compute", false, true, -0.06);
  layout.mutable_layout()->set_expert_model_parallel_size(8);
  v1::Measurement gpu = Pair("ab-1", "delay_wgrad_compute", false, true, -0.06);
  gpu.set_gpu("b200-sxm");
  v1::Measurement quality = Pair("ab-1", "delay_wgrad_compute", false, true, -0.06);
  quality.set_quality("confounded");
  v1::Measurement doubted = Pair("ab-1", "delay_wgrad_compute", false, true, -0.06);
  doubted.set_trust("quarantined");
  for (const v1::Measurement& m : {layout, gpu, quality, doubted}) {
    EXPECT_TRUE(CanonicalBytes(Resolve(Snapshot({m}))) == before) << m.ShortDebugString();
  }
}

TEST(Evidence, APinnedKnobStands) {
  v1::ResolveConfigRequest request = ReportedQuestion();
  v1::KnobSetting* pin = request.add_pinned_knobs();
  pin->set_name("delay_wgrad_compute");
  pin->mutable_value()->set_bool_value(false);
  v1::ResolveConfigResponse response;
  const EvidenceSnapshot evidence = Snapshot({Pair("ab-1", "delay_wgrad_compute", false, true, -0.06)});
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response, evidence).ok());
  for (const auto& entry : response.config()) {
    if (entry.name() == "delay_wgrad_compute") {
      EXPECT_FALSE(entry.value().bool_value());
    }
  }
}

}  // namespace
}  // namespace flightplan
