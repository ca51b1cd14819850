#include "resolver/estimate/step_model.h"

#include <gtest/gtest.h>

#include "resolver/catalog/catalog.h"
#include "resolver/catalog/defaults.h"

namespace flightplan {
namespace {

struct Job {
  NormalizedIntent intent;
  Config config;
  Job() {
    const Catalog catalog = *Catalog::Builtin();
    intent.model = **catalog.FindModel("qwen3-30b-a3b");
    intent.gpu = **catalog.FindGpu("h100");
    intent.env.world_size = 16;
    config = DefaultsFor(Target::kCore, kMain, kMain, false);
    Set(Knob::expert_model_parallel_size, Value(16));
    Set(Knob::expert_tensor_parallel_size, Value(1));
    Set(Knob::seq_length, Value(4096));
    Set(Knob::micro_batch_size, Value(1));
    Set(Knob::global_batch_size, Value(1024));
    Set(Knob::moe_token_dispatcher_type, Value("alltoall"));
  }
  void Set(Knob knob, Value value) { config.Set(knob, std::move(value), Origin::kCaller); }
  std::optional<StepForecast> Forecast() const {
    const auto model = StepModel::Make(intent, *MakeShape(intent.model, config));
    return model.has_value() ? model->Forecast(config, intent.env, model->Stages(config)) : std::nullopt;
  }
};

TEST(StepModel, ReadsAConfiguration) {
  Job job;
  const auto alltoall = job.Forecast();
  ASSERT_TRUE(alltoall.has_value());
  job.Set(Knob::moe_token_dispatcher_type, Value("flex"));
  job.Set(Knob::moe_flex_dispatcher_backend, Value("hybridep"));
  const auto hybridep = job.Forecast();
  ASSERT_TRUE(hybridep.has_value());
  // Two nodes: hybridep sends a token once to a node, alltoall once per expert.
  EXPECT_LT(hybridep->parts.expert_exchange, 0.7 * alltoall->parts.expert_exchange);
}

TEST(StepModel, AnotherNetworkMakesTheExchangeDearer) {
  Job job;
  const double infiniband = job.Forecast()->parts.expert_exchange;
  job.intent.transport = "efa";
  EXPECT_GT(job.Forecast()->parts.expert_exchange, infiniband);
}

// No published step ran over sockets: what is said of one is less sure, and its reason has a name.
TEST(StepModel, ANetworkWithoutRdmaWidensTheInterval) {
  Job job;
  job.intent.gpu_count = 16;
  const StepForecast infiniband = *job.Forecast();
  job.intent.transport = "tcp";
  const StepForecast tcp = *job.Forecast();
  EXPECT_GT(tcp.high_us / tcp.us, 1.1 * infiniband.high_us / infiniband.us);
  // An exchange inside the NVLink domain is as sure as ever.
  const double across = tcp.high_us / tcp.us;
  job.Set(Knob::expert_model_parallel_size, Value(8));
  EXPECT_LT(job.Forecast()->high_us / job.Forecast()->us, 0.9 * across);
  job.Set(Knob::expert_model_parallel_size, Value(16));
  job.intent.gpu_count = 8;  // one NVLink domain
  EXPECT_EQ(job.Forecast()->high_us / job.Forecast()->us, infiniband.high_us / infiniband.us);
}

TEST(StepModel, SaysNothingWithoutABatchOrWhereSizesDoNotDivide) {
  Job job;
  job.Set(Knob::global_batch_size, Value());
  EXPECT_FALSE(job.Forecast().has_value());
  job.Set(Knob::global_batch_size, Value(1024));
  job.Set(Knob::tensor_model_parallel_size, Value(3));
  EXPECT_FALSE(job.Forecast().has_value());
}

TEST(OutlookOf, AProfileStandsInPlaceOfTheForecast) {
  const StepForecast forecast = *Job().Forecast();
  const StepOutlook alone = OutlookOf(forecast, std::nullopt);
  EXPECT_FALSE(alone.measured);
  EXPECT_EQ(alone.us, forecast.us);

  MeasuredProfile profile;
  profile.step_time_us = 5e6;
  profile.host_gap_ratio = 0.6;
  const StepOutlook seen = OutlookOf(forecast, profile);
  EXPECT_TRUE(seen.measured);
  EXPECT_EQ(seen.us, 5e6);
  EXPECT_EQ(seen.walls.front().name, "host");
  double sum = 0;
  for (const WallShare& wall : seen.walls) sum += wall.ratio;
  EXPECT_NEAR(sum, 1, 1e-9);
}

}  // namespace
}  // namespace flightplan
