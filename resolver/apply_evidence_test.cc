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

namespace flightplan {
namespace {

const Resolver& TestResolver() {
  static const auto* const kResolver = new Resolver(std::make_shared<const Catalog>(*Catalog::Builtin()));
  return *kResolver;
}

// Qwen3-30B-A3B on 16 H100, EP16 alltoall: the overlap is decided by evidence, the delayed weight gradient needs an
// A/B.
v1::ResolveConfigRequest Question() {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(1024);
  request.mutable_workload()->set_precision("bf16");
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_software()->set_te_version("2.15.0");
  request.mutable_software()->set_torch_version("2.11.0");
  v1::Layout* layout = request.mutable_layout();
  layout->set_tensor_model_parallel_size(1);
  layout->set_pipeline_model_parallel_size(1);
  layout->set_expert_model_parallel_size(16);
  layout->set_micro_batch_size(1);
  return request;
}

v1::Measurement Report(const std::string& id, const std::string& metric, double value) {
  const v1::ResolveConfigRequest question = Question();
  v1::Measurement m;
  m.set_id(id);
  m.set_metric(metric);
  m.set_value(value);
  m.set_model(question.model().name());
  m.set_gpu(question.hardware().gpu());
  m.set_gpu_count(question.hardware().gpu_count());
  *m.mutable_layout() = question.layout();
  *m.mutable_workload() = question.workload();
  *m.mutable_target() = question.target();
  *m.mutable_software() = question.software();
  m.set_quality("matched");
  m.set_trust("tenant");
  return m;
}

v1::Measurement Pair(const std::string& id, const std::string& knob, bool from, bool to, double change) {
  v1::Measurement m = Report(id, "ab_relative_change", change);
  m.set_varied_knob(knob);
  m.mutable_from()->set_bool_value(from);
  m.mutable_to()->set_bool_value(to);
  m.set_error(0.01);
  return m;
}

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
  const absl::Status status = TestResolver().ResolveConfig(Question(), &response, evidence);
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

std::vector<std::string> WrongFields(const v1::Measurement& m, std::optional<int64_t> now = std::nullopt) {
  const auto read = TestResolver().ReadMeasurement(m, now);
  google::rpc::BadRequest bad;
  std::vector<std::string> fields;
  const auto payload = read.status().GetPayload(kBadRequestPayload);
  if (payload.has_value() && bad.ParseFromString(std::string(*payload))) {
    for (const auto& violation : bad.field_violations()) fields.push_back(violation.field());
  }
  return fields;
}

TEST(Evidence, AnEmptyStoreChangesNoByte) {
  v1::ResolveConfigResponse without;
  ASSERT_TRUE(TestResolver().ResolveConfig(Question(), &without).ok());
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
  v1::ValidateConfigRequest launch = testing::ScriptOf(Question(), plan);
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
    v1::ResolveConfigRequest question = Question();
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
    v1::ResolveConfigRequest question = Question();
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
  v1::ResolveConfigRequest question = Question();
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
  v1::ResolveConfigRequest request = Question();
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

TEST(ReadMeasurement, TakesAReportWithItsForecast) {
  const auto read = TestResolver().ReadMeasurement(Report("job/4711:step", "step_time_us", 2e7), std::nullopt);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->run->has_forecast);
  EXPECT_GT(read->run->forecast_high, read->run->forecast_low);
  EXPECT_EQ(read->run->layout.ep, 16);
}

TEST(ReadMeasurement, StillReadsWhatWasStoredWithAValueThatNobodyReads) {
  v1::Measurement m = Report("r", "step_time_us", 2e7);
  m.mutable_to()->set_double_value(std::nan(""));
  EXPECT_TRUE(TestResolver().ReadMeasurement(m, std::nullopt).ok());
}

TEST(ReadMeasurement, RefusesNonsenseWithTheFieldsNames) {
  using Fields = std::vector<std::string>;
  const auto with = [](auto change) {
    v1::Measurement m = Report("r", "step_time_us", 2e7);
    change(&m);
    return WrongFields(m, int64_t{1'800'000'000} * 1'000'000);
  };
  EXPECT_EQ(with([](v1::Measurement*) {}), Fields());
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_id(""); }), Fields{"measurement.id"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_id(std::string(128, 'a')); }), Fields());
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_id(std::string(129, 'a')); }), Fields{"measurement.id"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_metric("step_time_ms"); }), Fields{"measurement.metric"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_quality("good"); }), Fields{"measurement.quality"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_model("qwen3-30b-a3c"); }), Fields{"measurement.model"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_gpu("h1000"); }), Fields{"measurement.gpu"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_gpu_count(0); }), Fields{"measurement.gpu_count"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_gpu_count(17); }), Fields{"measurement.layout"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_workload()->set_seq_length(0); }),
            Fields{"measurement.workload.seq_length"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->add_knobs()->set_name("no_such_knob"); }),
            Fields{"measurement.knobs[0].name"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_varied_knob("bf16"); }), Fields{"measurement.varied_knob"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_from()->set_double_value(std::nan("")); }),
            Fields{"measurement.from"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_to()->set_double_value(std::nan("")); }),
            Fields{"measurement.to"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_value(std::nan("")); }), Fields{"measurement.value"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_value(2e4); }).size(), 2u) << "milliseconds: above peak, and far off";
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_value(2e10); }), Fields{"measurement.value"}) << "nanoseconds";
  EXPECT_EQ(with([](v1::Measurement* m) { m->set_error(-1); }), Fields{"measurement.error"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_measure_time()->set_seconds(1'800'000'200); }), Fields());
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_measure_time()->set_seconds(1'800'000'301); }),
            Fields{"measurement.measure_time"});
  EXPECT_EQ(with([](v1::Measurement* m) { m->mutable_measure_time()->set_seconds(1'000); }),
            Fields{"measurement.measure_time"});
  EXPECT_EQ(with([](v1::Measurement* m) {
              m->set_id("a b");
              m->set_cluster(std::string(129, 'c'));
              m->set_model("nothing");
            }).size(),
            3u)
      << "all at once";
}

TEST(ReadMeasurement, RefusesPeaksAndPairsThatMakeNoSense) {
  EXPECT_EQ(WrongFields(Report("r", "memory_high_water_bytes", 1e11)).size(), 1u) << "more than an H100 has";
  EXPECT_EQ(WrongFields(Report("r", "memory_high_water_bytes", 60)).size(), 1u) << "GiB are not bytes";
  EXPECT_EQ(WrongFields(Pair("r", "delay_wgrad_compute", true, true, 0)), std::vector<std::string>{"measurement.to"});
  EXPECT_EQ(WrongFields(Pair("r", "", true, false, 0)), std::vector<std::string>{"measurement.varied_knob"});
  EXPECT_EQ(WrongFields(Pair("r", "delay_wgrad_compute", true, false, -1)),
            std::vector<std::string>{"measurement.value"});
  v1::Measurement unlike = Pair("r", "delay_wgrad_compute", true, false, 0);
  unlike.mutable_to()->set_string_value("sometimes");
  EXPECT_EQ(WrongFields(unlike), std::vector<std::string>{"measurement.to"});
}

}  // namespace
}  // namespace flightplan
