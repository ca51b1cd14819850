#include "clients/cli/observe/observation.h"

#include <string>
#include <utility>

#include "clients/cli/observe/observe_page.h"
#include "gtest/gtest.h"
#include "resolver/base/bytes.h"

namespace flightplan::cli {
namespace {

RunLog RunOf(double step_ms, int count) {
  RunLog log;
  for (int i = 0; i < count; ++i) {
    StepSample sample;
    sample.iteration = i + 1;
    sample.since_start = static_cast<uint32_t>(i);
    sample.step_ms = static_cast<float>(i == 0 ? 10 * step_ms : step_ms);
    sample.tflops = 100;
    sample.global_batch = 64;
    log.steps.push_back(sample);
  }
  log.reports = count;
  return log;
}

void AddConfig(const std::string& name, int64_t value, v1::ValidateConfigResponse* answer) {
  v1::ConfigEntry* const entry = answer->add_config();
  entry->set_name(name);
  entry->mutable_value()->set_int_value(value);
  entry->set_origin(v1::CONFIG_ORIGIN_CALLER);
}

void SetRange(double value, v1::Range* range) {
  range->set_value(value);
  range->set_low(0.9 * value);
  range->set_high(1.1 * value);
}

// Two stages on 8 GPUs; a step of 1 s, 800 TFLOP.
v1::ValidateConfigResponse Launch() {
  v1::ValidateConfigResponse answer;
  answer.set_target("megatron-lm main");
  answer.set_accepted_by_stack(true);
  answer.set_will_run(true);
  AddConfig("pipeline_model_parallel_size", 2, &answer);
  AddConfig("global_batch_size", 64, &answer);
  AddConfig("seq_length", 1024, &answer);
  AddConfig("num_layers", 24, &answer);
  v1::Estimate& estimate = *answer.mutable_estimate();
  SetRange(1e6, estimate.mutable_step_time_us());
  estimate.set_step_flops(800e12);
  for (int stage = 0; stage < 2; ++stage) {
    v1::StageMemory& memory = *estimate.add_stages();
    memory.set_stage(stage);
    memory.set_last_stage_index(stage);
    SetRange((40 - 10 * stage) * kGib, memory.mutable_allocated_bytes());
    SetRange((44 - 10 * stage) * kGib, memory.mutable_total_bytes());
    SetRange((48 - 10 * stage) * kGib, memory.mutable_device_bytes());
    v1::MemoryPart& part = *memory.add_parts();
    part.set_name("parameters");
    part.set_part_bytes(static_cast<int64_t>(20 * kGib));
  }
  return answer;
}

const ComparedFigure& Find(const Observation& o, const std::string& name) {
  for (const ComparedFigure& figure : o.figures) {
    if (figure.name == name) return figure;
  }
  ADD_FAILURE() << name;
  return o.figures.front();
}

TEST(Observation, SaysWhetherTheStepIsInside) {
  const v1::ValidateConfigResponse launch = Launch();
  EXPECT_EQ(Find(Observe(RunOf(1050, 9), &launch, 8), "step_time_us").inside(), Inside::kInside);
  EXPECT_EQ(Find(Observe(RunOf(1150, 9), &launch, 8), "step_time_us").inside(), Inside::kAbove);
  EXPECT_EQ(Find(Observe(RunOf(850, 9), &launch, 8), "step_time_us").inside(), Inside::kBelow);
  EXPECT_NEAR(*Find(Observe(RunOf(1000, 9), &launch, 8), "tokens_per_second_per_gpu").measured, 64 * 1024 / 8.0, 0.1);
}

TEST(Observation, HoldsMemoryAgainstTheStageOfItsRank) {
  const v1::ValidateConfigResponse launch = Launch();
  RunLog log = RunOf(1000, 9);
  MemoryReport report;
  report.rank = 5;
  report.iterations = 2;
  report.allocated = 20 * kGib;
  report.max_allocated = 35 * kGib;
  log.ranks[5] = report;
  const Observation o = Observe(std::move(log), &launch, 8);
  const ComparedFigure& allocated = Find(o, "allocated_bytes");
  EXPECT_EQ(allocated.stage, 1);
  EXPECT_EQ(allocated.inside(), Inside::kAbove);
  ASSERT_EQ(o.causes.size(), 1U);
  EXPECT_NE(o.causes[0].find("activations"), std::string::npos) << o.causes[0];
}

// A server that does not know the device's figure says what the GPU must have.
TEST(Observation, HoldsADevicesReadingAgainstWhatItWillShow) {
  v1::ValidateConfigResponse launch = Launch();
  RunLog log = RunOf(1000, 9);
  log.gpus[0].used = 52 * kGib;
  EXPECT_EQ(Find(Observe(RunLog(log), &launch, 8), "device_bytes").inside(), Inside::kInside);
  for (v1::StageMemory& stage : *launch.mutable_estimate()->mutable_stages()) stage.clear_device_bytes();
  EXPECT_EQ(Find(Observe(std::move(log), &launch, 8), "device_bytes").inside(), Inside::kAbove);
}

TEST(Observation, TakesAReportOfTheFirstIterationForALeastValue) {
  const v1::ValidateConfigResponse launch = Launch();
  RunLog log = RunOf(1000, 9);
  MemoryReport report;
  report.rank = 0;
  report.iterations = 1;
  report.allocated = report.max_allocated = 20 * kGib;
  log.ranks[0] = report;
  const Observation o = Observe(std::move(log), &launch, 8);
  EXPECT_TRUE(Find(o, "allocated_bytes").at_least);
  EXPECT_EQ(Find(o, "allocated_bytes").inside(), Inside::kUnknown);
  EXPECT_TRUE(o.causes.empty());
}

TEST(Observation, KnowsAnotherRunByItsArgumentsItsBatchAndItsWork) {
  const v1::ValidateConfigResponse launch = Launch();
  RunLog layers = RunOf(1000, 9);
  layers.arguments = {{"num_layers", "48"}, {"global_batch_size", "64"}};
  EXPECT_FALSE(Observe(std::move(layers), &launch, 8).MatchesLaunch());
  RunLog batch = RunOf(1000, 9);
  for (StepSample& sample : batch.steps) sample.global_batch = 128;
  EXPECT_FALSE(Observe(std::move(batch), &launch, 8).MatchesLaunch());
  EXPECT_FALSE(Observe(RunOf(2000, 9), &launch, 8).MatchesLaunch());  // 1,600 TFLOP a step
  const Observation same = Observe(RunOf(1100, 9), &launch, 8);
  EXPECT_TRUE(same.MatchesLaunch());
}

TEST(Observation, SaysUnknownWhereNothingSaysWhy) {
  const v1::ValidateConfigResponse launch = Launch();
  const Observation o = Observe(RunOf(1020, 9), &launch, 8);
  EXPECT_TRUE(o.causes.empty());
  const Observation slow = Observe(RunOf(1250, 9), &launch, 8);
  const std::string page = RenderObservePage({.observation = slow, .input = "run.log", .launch = "run.sh"}, Terminal());
  EXPECT_NE(page.find("slower than the forecast"), std::string::npos) << page;
}

TEST(Observation, SaysWhichPartOfTheStepIsSlower) {
  v1::ValidateConfigResponse launch = Launch();
  (*launch.mutable_estimate()->mutable_wall_ratios())["optimizer"] = 0.1;
  RunLog log = RunOf(1200, 9);
  log.optimizer_ms = {290, 300, 310};
  const Observation o = Observe(std::move(log), &launch, 8);
  EXPECT_DOUBLE_EQ(*Find(o, "optimizer_us").measured, 300e3);
  ASSERT_FALSE(o.causes.empty());
  EXPECT_NE(o.causes.back().find("is in the optimizer, by the run's timers"), std::string::npos) << o.causes.back();
}

TEST(Observation, SurvivesARunWithoutAnything) {
  const Observation o = Observe(RunLog(), nullptr, 0);
  const std::string page = RenderObservePage({.observation = o, .input = "empty.log"}, Terminal());
  EXPECT_NE(page.find("no report of a training loop"), std::string::npos) << page;
  EXPECT_NE(RenderObserveJson({.observation = o, .input = "x"}).find("\"used_reports\": 0"), std::string::npos);
}

}  // namespace
}  // namespace flightplan::cli
