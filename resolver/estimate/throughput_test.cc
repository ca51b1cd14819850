#include "resolver/estimate/throughput.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "resolver/catalog/catalog.h"
#include "resolver/catalog/defaults.h"

namespace flightplan {
namespace {

ModelShape ShapeOf(const std::string& name) {
  const Catalog catalog = *Catalog::Builtin();
  return *MakeShape(**catalog.FindModel(name), DefaultsFor(Target::kCore, kMain, kMain, false));
}

// GFLOP of one token by num_floating_point_operations of NVIDIA/Megatron-LM@d98e8a64dd, called with each model's
// arguments and its vocabulary unpadded.
TEST(LoggedFlops, AreMegatronLmsOwn) {
  struct Row {
    const char* model;
    double seq, gflops;
  };
  constexpr Row kRows[] = {
      {"deepseek-v3", 4096, 259.993},
      {"deepseek-v2-lite", 4096, 16.386},
      {"qwen3-235b-a22b", 4096, 148.035},
      {"qwen3-30b-a3b", 8192, 27.838},
      {"mixtral-8x7b", 4096, 79.706},
      {"gpt-oss-120b", 4096, 34.331},
      {"gpt-oss-20b", 131072, 98.939},
      {"glm-4.5", 4096, 231.834},
      {"kimi-k2", 4096, 204.477},
      {"qwen3-next-80b-a3b", 4096, 22.740},
      {"nemotron-3-nano-30b-a3b", 8192, 22.278},
      {"llama-3.1-70b", 8192, 449.223},
      {"deepseek-v3.2", 4096, 259.993},
  };
  for (const Row& row : kRows) {
    const double counted = LoggedFlopsPerToken(ShapeOf(row.model), Target::kMegatronLm, row.seq) / 1e9;
    EXPECT_NEAR(counted / row.gflops, 1, 2e-3) << row.model << " " << counted;
  }
}

// The published tables of Megatron-Bridge 26.08: TFLOP/s over tokens/s.
TEST(LoggedFlops, AreMegatronBridgesOwn) {
  EXPECT_NEAR(LoggedFlopsPerToken(ShapeOf("gpt-oss-120b"), Target::kMegatronBridge, 4096) / 1e9, 32.61, 0.1);
  EXPECT_NEAR(LoggedFlopsPerToken(ShapeOf("qwen3-235b-a22b"), Target::kMegatronBridge, 4096) / 1e9, 148.1, 0.3);
  EXPECT_GT(LoggedFlopsPerToken(ShapeOf("gpt-oss-120b"), Target::kMegatronLm, 4096),
            LoggedFlopsPerToken(ShapeOf("gpt-oss-120b"), Target::kMegatronBridge, 4096));
}

// GFLOP of one token by num_floating_point_operations of NVIDIA-NeMo/Megatron-Bridge@067f987df, called with each
// model's provider.
TEST(LoggedFlops, OfSparseAttentionAreMegatronBridgesOwn) {
  struct Row {
    const char* model;
    double seq;
    IndexerLoss loss;
    double gflops;
  };
  constexpr Row kRows[] = {
      {"deepseek-v3.2", 4096, IndexerLoss::kNone, 312.203},
      {"deepseek-v3.2", 131072, IndexerLoss::kNone, 402.881},
      {"deepseek-v3.2", 131072, IndexerLoss::kChosen, 427.350},
      {"deepseek-v3.2", 131072, IndexerLoss::kAll, 1137.950},
      {"glm-5", 4096, IndexerLoss::kChosen, 315.044},
      {"deepseek-v4-flash", 4096, IndexerLoss::kNone, 90.781},
      {"deepseek-v4-flash", 131072, IndexerLoss::kNone, 128.472},
      {"deepseek-v4-flash", 1048576, IndexerLoss::kNone, 393.447},
  };
  for (const Row& row : kRows) {
    const double counted = LoggedFlopsPerToken(ShapeOf(row.model), Target::kMegatronBridge, row.seq, row.loss) / 1e9;
    EXPECT_NEAR(counted / row.gflops, 1, 5e-3) << row.model << " " << row.seq << " " << counted;
  }
}

struct Job {
  NormalizedIntent intent;
  Config config = DefaultsFor(Target::kCore, kMain, kMain, false);
  Job() {
    const Catalog catalog = *Catalog::Builtin();
    intent.model = **catalog.FindModel("qwen3-30b-a3b");
    intent.gpu = **catalog.FindGpu("h100");
    intent.env.world_size = 64;
    Set(Knob::tensor_model_parallel_size, Value(2));
    Set(Knob::pipeline_model_parallel_size, Value(2));
    Set(Knob::context_parallel_size, Value(2));
    Set(Knob::expert_model_parallel_size, Value(16));
    Set(Knob::expert_tensor_parallel_size, Value(1));
    Set(Knob::sequence_parallel, Value(true));
    Set(Knob::seq_length, Value(8192));
    Set(Knob::micro_batch_size, Value(1));
    Set(Knob::global_batch_size, Value(512));
    Set(Knob::moe_token_dispatcher_type, Value("alltoall"));
    Set(Knob::use_distributed_optimizer, Value(true));
    Set(Knob::overlap_grad_reduce, Value(true));
    Set(Knob::overlap_param_gather, Value(true));
  }
  void Set(Knob knob, Value value) { config.Set(knob, std::move(value), Origin::kCaller); }
  Throughput Ask(const std::optional<MeasuredProfile>& profile, StepForecast* forecast, StepOutlook* outlook) const {
    const auto model = StepModel::Make(intent, *MakeShape(intent.model, config));
    const StageLayout stages = model->Stages(config);
    *forecast = *model->Forecast(config, intent.env, stages);
    *outlook = OutlookOf(*forecast, profile);
    return ThroughputOf(*model, CandidateOf(config, intent.env, model->shape(), stages), Target::kMegatronLm, *forecast,
                        *outlook);
  }
};

double ExposedOf(const Throughput& throughput) {
  double sum = 0;
  for (const CommunicationPath& path : throughput.communication) sum += path.exposed_us;
  return sum;
}

double Wall(const StepOutlook& outlook, absl::string_view name) {
  for (const WallShare& share : outlook.walls) {
    if (share.name == name) return share.ratio;
  }
  return -1;
}

TEST(Throughput, TheFiguresAgreeWithEachOtherAndWithTheStep) {
  StepForecast forecast;
  StepOutlook outlook;
  const Throughput t = Job().Ask(std::nullopt, &forecast, &outlook);
  EXPECT_DOUBLE_EQ(t.tokens_per_second * outlook.us / 1e6, 512.0 * 8192);
  EXPECT_DOUBLE_EQ(t.tokens_per_second_per_gpu * 64, t.tokens_per_second);
  EXPECT_NEAR(t.flops_per_second_per_gpu * 64 * outlook.us / 1e6 / t.step_flops, 1, 1e-12);
  EXPECT_DOUBLE_EQ(t.computed_flops, t.step_flops);
  EXPECT_DOUBLE_EQ(t.mfu * t.peak_flops_per_second, t.flops_per_second_per_gpu);
  EXPECT_GT(t.mfu, 0.02);
  EXPECT_LT(t.mfu, 1);
}

// Megatron-LM's log charges a layer with a window for the whole sequence, which no GPU computes.
TEST(Throughput, UtilizationIsOfWhatTheStepComputes) {
  StepForecast forecast;
  StepOutlook outlook;
  Job job;
  const Catalog catalog = *Catalog::Builtin();
  job.intent.model = **catalog.FindModel("gpt-oss-20b");
  job.Set(Knob::seq_length, Value(131072));
  const Throughput t = job.Ask(std::nullopt, &forecast, &outlook);
  EXPECT_LT(t.computed_flops, 0.7 * t.step_flops);
  EXPECT_NEAR(t.mfu * t.peak_flops_per_second * 64 * outlook.us / 1e6 / t.computed_flops, 1, 1e-9);
}

TEST(LeastStep, FrozenWeightsHaveNoGradients) {
  const Job job;
  const auto model = StepModel::Make(job.intent, *MakeShape(job.intent.model, job.config));
  Candidate plan;
  plan.gpus = 64;
  plan.global_batch_size = 512;
  plan.seq_length = 8192;
  const double whole = LeastStepUs(*model, plan);
  plan.adapters.rank = 16;
  EXPECT_NEAR(LeastStepUs(*model, plan) / whole, 2.0 / 3, 1e-9);
}

TEST(Throughput, ThePathsAddUpToTheCommunicationWall) {
  StepForecast forecast;
  StepOutlook outlook;
  const Throughput t = Job().Ask(std::nullopt, &forecast, &outlook);
  EXPECT_NEAR(ExposedOf(t) / (Wall(outlook, "communication") * outlook.us), 1, 1e-9);
  EXPECT_NEAR(ExposedOf(t) / forecast.parts.communication(), 1, 1e-9);
  for (const CommunicationPath& path : t.communication) {
    EXPECT_GT(path.exposed_us, 0) << path.name;  // the layout has all five
    EXPECT_GE(path.hidden_us, 0) << path.name;
  }
  MeasuredProfile profile;
  profile.step_time_us = 2 * forecast.us;
  profile.exposed_communication_ratio = 0.25;
  const Throughput measured = Job().Ask(profile, &forecast, &outlook);
  EXPECT_NEAR(ExposedOf(measured) / (0.25 * 2 * forecast.us), 1, 1e-9);
  EXPECT_NEAR(measured.tokens_per_second * 2, t.tokens_per_second, 1e-6 * t.tokens_per_second);
}

TEST(Throughput, WhatOverlapsIsHiddenAndWhatDoesNotIsNot) {
  StepForecast forecast;
  StepOutlook outlook;
  Job job;
  const Throughput on = job.Ask(std::nullopt, &forecast, &outlook);
  job.Set(Knob::overlap_grad_reduce, Value(false));
  job.Set(Knob::overlap_param_gather, Value(false));
  const Throughput off = job.Ask(std::nullopt, &forecast, &outlook);
  const CommunicationPath &with = on.communication[4], &without = off.communication[4];
  EXPECT_EQ(with.name, "data_parallel");
  EXPECT_GT(with.hidden_us, 0);
  EXPECT_EQ(without.hidden_us, 0);
  EXPECT_NEAR((with.exposed_us + with.hidden_us) / without.exposed_us, 1, 1e-9);
  job.Set(Knob::overlap_moe_expert_parallel_comm, Value(true));
  const Throughput overlapped = job.Ask(std::nullopt, &forecast, &outlook);
  EXPECT_GT(overlapped.communication[0].hidden_us, off.communication[0].hidden_us);
  EXPECT_LT(overlapped.communication[0].exposed_us, off.communication[0].exposed_us);
}

}  // namespace
}  // namespace flightplan
