#include "resolver/evidence/calibration.h"

#include <cmath>
#include <deque>

#include "gtest/gtest.h"
#include "resolver/evidence/plausible.h"
#include "resolver/evidence/snapshot.h"

namespace flightplan {
namespace {

template <class Edit>
void Change(Measurement* m, Edit edit) {
  MeasuredRun run = *m->run;
  edit(&run);
  m->run = std::make_shared<const MeasuredRun>(std::move(run));
}

// Reported runs with a forecast of 100 that may be 20 % off.
class Reports {
 public:
  Measurement& Add(double ratio, const std::string& model = "m", int64_t tp = 1) {
    Measurement& m = all_.emplace_back();
    m.id = "r" + std::to_string(all_.size());
    m.revision = static_cast<int64_t>(all_.size()) + 1;
    m.quality = Quality::kMatched;
    MeasuredRun run;
    run.gpu = "gpu";
    run.model = run.model_class = model;
    run.layout.tp = tp;
    run.gpu_count = 8;
    run.has_forecast = true;
    run.forecast = 100 + static_cast<double>(tp);
    run.forecast_low = run.forecast / 1.2;
    run.forecast_high = run.forecast * 1.2;
    m.value = run.forecast * ratio;
    m.run = std::make_shared<const MeasuredRun>(run);
    return m;
  }
  RunTable Table(Metric metric = Metric::kStepTime) const { return RunTable(metric, pointers()); }
  std::vector<const Measurement*> pointers() const {
    std::vector<const Measurement*> out;
    for (const Measurement& m : all_) out.push_back(&m);
    return out;
  }
  EvidenceSnapshot Snapshot() const {
    std::vector<EvidenceSnapshot::EntryPtr> entries;
    for (const Measurement& m : all_) {
      auto entry = std::make_shared<EvidenceSnapshot::Entry>();
      entry->content = std::string(100, 'c');
      entry->report = m;
      entry->understood = true;
      entries.push_back(std::move(entry));
    }
    return EvidenceSnapshot(static_cast<int64_t>(all_.size()) + 1, false, std::move(entries));
  }

 private:
  std::deque<Measurement> all_;
};

CalibrationQuestion Question(const std::string& model = "m", int64_t tp = 1) {
  CalibrationQuestion question;
  question.model_class = model;
  question.layout.tp = tp;
  question.gpu_count = 8;
  question.forecast = 100;
  question.low = 100 / 1.2;
  question.high = 100 * 1.2;
  return question;
}

double Width(const Calibration& c) { return std::log(c.high / c.low); }

TEST(Calibrate, WithoutRunsNothingChanges) {
  const Calibration c = Calibrate(Question(), Reports().Table());
  EXPECT_EQ(c.runs, 0);
  EXPECT_EQ(c.factor, 1);
}

TEST(Calibrate, TheSameRunSettlesItsForecast) {
  Reports reports;
  reports.Add(1.10);
  const Calibration c = Calibrate(Question(), reports.Table());
  EXPECT_NEAR(c.factor, 1.10, 0.01);
  EXPECT_LT(Width(c), 0.2 * std::log(1.2 * 1.2)) << "the band is a fifth of what it was";
  EXPECT_LT(c.low, c.factor);
  EXPECT_GT(c.high, c.factor);
  ASSERT_EQ(c.from.size(), 1u);
  EXPECT_EQ(c.from[0]->id, "r1");
}

// A report names the knobs that its writer thought of: one whose forecast is another is of another run.
TEST(Calibrate, ARunWithOtherKnobsIsNotTheSame) {
  Reports same, other;
  same.Add(1.10);
  Measurement& m = other.Add(1.10);
  Change(&m, [](MeasuredRun* run) { run->forecast = 130; });
  m.value = 143;
  const Calibration settled = Calibrate(Question(), same.Table()), near = Calibrate(Question(), other.Table());
  EXPECT_LT(near.factor, settled.factor);
  EXPECT_GT(Width(near), 2 * Width(settled));
}

TEST(Calibrate, AnotherModelSaysLessThanTheSameModel) {
  Reports same_model, other_model;
  same_model.Add(1.10, "m", 2);
  other_model.Add(1.10, "other", 2);
  const Calibration near = Calibrate(Question(), same_model.Table());
  const Calibration far = Calibrate(Question(), other_model.Table());
  EXPECT_GT(near.factor, far.factor);
  EXPECT_GT(far.factor, 1.02);
  EXPECT_LT(Width(near), Width(far));
  EXPECT_LT(Width(far), std::log(1.2 * 1.2));
}

TEST(Calibrate, RepeatsSayNoMoreThanOneRun) {
  Reports one, many;
  one.Add(1.10, "other", 2);
  for (int i = 0; i < 500; ++i) many.Add(1.10, "other", 2);
  EXPECT_DOUBLE_EQ(Calibrate(Question(), one.Table()).factor, Calibrate(Question(), many.Table()).factor);
  EXPECT_DOUBLE_EQ(Width(Calibrate(Question(), one.Table())), Width(Calibrate(Question(), many.Table())));
}

TEST(Calibrate, ManyModelsLeaveWhatIsParticularToThisOne) {
  Reports reports;
  for (int i = 0; i < 60; ++i) reports.Add(1.10, "other" + std::to_string(i));
  const Calibration c = Calibrate(Question(), reports.Table());
  EXPECT_EQ(static_cast<size_t>(c.runs), kMaxCalibrationRuns);
  EXPECT_EQ(c.from.size(), 5u);
  EXPECT_GT(Width(c), 0.3 * std::log(1.2 * 1.2)) << "what models and layouts do not share stays unknown";
}

TEST(Calibrate, OnlyTheMetricThatIsAskedFor) {
  Reports reports;
  Change(&reports.Add(1.10), [](MeasuredRun* run) { run->metric = Metric::kMemoryPeak; });
  EXPECT_EQ(Calibrate(Question(), reports.Table()).runs, 0);
  EXPECT_EQ(Calibrate(Question(), reports.Table(Metric::kMemoryPeak)).runs, 1);
}

TEST(Calibrate, AnErrorThatTheReportStatesCounts) {
  Reports sure, unsure;
  sure.Add(1.10);
  unsure.Add(1.10).error = 40;
  EXPECT_LT(Calibrate(Question(), unsure.Table()).factor, Calibrate(Question(), sure.Table()).factor);
}

TEST(Snapshot, QuarantinedAndUnmatchedReportsDoNotCount) {
  Reports reports;
  reports.Add(1.1);
  reports.Add(1.1).trust = Trust::kQuarantined;
  reports.Add(1.1).quality = Quality::kDirectional;
  const EvidenceSnapshot snapshot = reports.Snapshot();
  const auto& runs = snapshot.ForGpu("gpu").Of(Metric::kStepTime).runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].newest->id, "r1");
  EXPECT_EQ(runs[0].repeats, 1);
  EXPECT_TRUE(snapshot.ForGpu("another").Of(Metric::kStepTime).runs().empty());
  EXPECT_NE(snapshot.Find("r2"), nullptr) << "it is still listed";
}

TEST(Snapshot, KnowsWhatEachTenantHolds) {
  Reports reports;
  reports.Add(1.1).tenant = "a";
  reports.Add(1.2).tenant = "a";
  reports.Add(1.2).tenant = "b";
  const EvidenceSnapshot snapshot = reports.Snapshot();
  EXPECT_EQ(snapshot.held().entries, 3);
  EXPECT_EQ(snapshot.held().bytes, 300);
  EXPECT_EQ(snapshot.HeldBy("a").entries, 2);
  EXPECT_EQ(snapshot.HeldBy("a").bytes, 200);
  EXPECT_EQ(snapshot.HeldBy("c").entries, 0);
}

TEST(Implausible, ARunFarFromItsForecast) {
  Reports reports;
  const EvidenceSnapshot none;
  EXPECT_EQ(ImplausibleBecause(reports.Add(1.3), none), "");
  EXPECT_EQ(ImplausibleBecause(reports.Add(1 / 1.3), none), "");
  EXPECT_NE(ImplausibleBecause(reports.Add(3), none), "");
  EXPECT_NE(ImplausibleBecause(reports.Add(1.0 / 3), none), "");
}

TEST(Implausible, OthersMoveTheLineOneselfDoesNot) {
  Reports own, others;
  for (int i = 0; i < 10; ++i) own.Add(1.7).tenant = "a";
  for (const char* tenant : {"b", "c", "d"}) others.Add(1.7).tenant = tenant;
  Reports next;
  Measurement& report = next.Add(1.9);
  report.tenant = "a";
  EXPECT_NE(ImplausibleBecause(report, own.Snapshot()), "");
  EXPECT_EQ(ImplausibleBecause(report, others.Snapshot()), "");
}

TEST(Implausible, AnEffectFarFromItsForecast) {
  Reports reports;
  Measurement& pair = reports.Add(1);
  Change(&pair, [](MeasuredRun* run) {
    run->metric = Metric::kAbChange;
    run->forecast = -0.05;
    run->forecast_low = -0.10;
    run->forecast_high = 0;
  });
  pair.value = -0.20;
  EXPECT_EQ(ImplausibleBecause(pair, EvidenceSnapshot()), "");
  pair.value = -0.60;
  EXPECT_NE(ImplausibleBecause(pair, EvidenceSnapshot()), "");
}

}  // namespace
}  // namespace flightplan
