#include "resolver/estimate/step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "resolver/catalog/catalog.h"
#include "resolver/derive/pipeline.h"
#include "resolver/derive/steady_passes.h"
#include "resolver/estimate/effect.h"
#include "resolver/estimate/exchange.h"
#include "resolver/estimate/layer_modules.h"
#include "resolver/estimate/schedule.h"
#include "resolver/estimate/step_test_util.h"

namespace flightplan {
namespace {

// Published model FLOPs per token: TFLOP/s over tokens/s of Megatron-Bridge's performance summary (26.08).
TEST(FlopsPerToken, MatchesThePublishedRatios) {
  const auto gigaflops = [](const char* model, double seq) {
    return FlopsPerToken(WorkOf(*MakeShape(**TheCatalog().FindModel(model))), seq) / 1e9;
  };
  EXPECT_NEAR(gigaflops("qwen3-30b-a3b", 4096), 23.10, 0.005 * 23.10);
  EXPECT_NEAR(gigaflops("gpt-oss-120b", 4096), 32.61, 0.005 * 32.61);
  ModelSpec deepseek = **TheCatalog().FindModel("deepseek-v3");
  deepseek.mtp_num_layers = 1;
  EXPECT_NEAR(FlopsPerToken(WorkOf(*MakeShape(deepseek)), 4096) / 1e9, 260.02, 0.005 * 260.02);
}

TEST(ForecastStep, PartsAddUpAndTheIntervalHoldsTheValue) {
  Case c("qwen3-30b-a3b", "h100", 16);
  c.plan.ep = 16;
  const StepForecast forecast = c.Forecast();
  EXPECT_NEAR(forecast.us, forecast.parts.total(), 1e-6 * forecast.us);
  EXPECT_LT(forecast.low_us, forecast.us);
  EXPECT_GT(forecast.high_us, forecast.us);
  EXPECT_GT(forecast.parts.expert_exchange, 0);
  EXPECT_EQ(forecast.parts.bubble, 0);
}

// No candidate with these sizes can be faster: its model FLOPs at the data sheet's peak, and the pipeline's bubble.
double StepLowerBoundUs(const ModelWork& work, const Candidate& plan, const GpuRates& rates) {
  if (!rates.known) return 0;
  double fastest = rates.peak_us[0];
  const double own = rates.peak_us[static_cast<size_t>(plan.precision)];
  if (own > 0) fastest = std::min(fastest, own);
  const double flops = FlopsPerToken(work, static_cast<double>(plan.seq_length)) *
                       static_cast<double>(plan.global_batch_size) * static_cast<double>(plan.seq_length);
  const double compute = flops * ComputedShare(plan) / static_cast<double>(plan.gpus) * fastest;
  const double microbatches = std::max(1.0, MicrobatchesOf(plan));
  return compute * (1 + (plan.pp - 1) / (std::max(1, plan.vpp) * microbatches));
}

TEST(ForecastStep, NeverBeatsItsLowerBound) {
  for (const char* model : {"qwen3-30b-a3b", "llama-3.1-70b", "mixtral-8x22b", "deepseek-v3", "qwen3-next-80b-a3b"}) {
    for (const char* gpu : {"h100", "b200", "gb300"}) {
      for (int pp : {1, 4}) {
        for (GemmPrecision precision : {GemmPrecision::kBf16, GemmPrecision::kFp8Tensorwise, GemmPrecision::kMxfp8}) {
          Case c(model, gpu, 64, pp);
          c.plan.precision = precision;
          if (c.shape.is_moe()) c.plan.ep = 8;
          const StepForecast forecast = c.Forecast();
          EXPECT_GE(forecast.us, StepLowerBoundUs(c.work, c.plan, c.rates)) << model << " " << gpu << " PP" << pp;
        }
      }
    }
  }
}

// Published pair: 945 -> 930 TFLOP/s (arXiv:2603.07685, table 5).
TEST(ForecastStep, ModulesOnTheHostCostWhatWasPublished) {
  Case c("deepseek-v3", "gb200", 256, 8, 4);
  c.plan.ep = 32;
  c.plan.global_batch_size = 8192;
  c.plan.precision = GemmPrecision::kMxfp8;
  const double without = c.Forecast().us;
  c.plan.offload_modules = kOffloadExpertFc1;
  EXPECT_NEAR(c.Forecast().us / without, 945.0 / 930, 0.003);
}

TEST(ForecastStep, ModulesOnTheHostCostMoreOverASlowerLinkAndForMoreOfThem) {
  const auto longer = [](const char* gpu, unsigned modules, RecomputeMode recompute) {
    Case c("qwen3-235b-a22b", gpu, 256, 8);
    c.plan.ep = 32;
    c.plan.recompute = recompute;
    const double without = c.Forecast().us;
    c.plan.offload_modules = static_cast<uint16_t>(modules);
    return c.Forecast().us / without - 1;
  };
  const double c2c = longer("gb200", kOffloadExpertFc1, RecomputeMode::kNone);
  const double pcie = longer("b200", kOffloadExpertFc1, RecomputeMode::kNone);
  EXPECT_GT(c2c, 0.001);
  EXPECT_GT(pcie, 1.5 * c2c);
  EXPECT_GT(longer("gb200", kOffloadExpertFc1 | kOffloadMoeAct, RecomputeMode::kNone), c2c);
  EXPECT_EQ(longer("gb200", kOffloadExpertFc1, RecomputeMode::kFullUniform), 0) << "nothing is kept but inputs";
}

// Loops of PyTorch's operators take the place of a scan's kernels; dense layers have wider bands.
TEST(ForecastStep, DeterministicModeLoopsOverADeltaRule) {
  for (const auto& [model, slower] : {std::pair{"qwen3-next-80b-a3b", 3.0}, {"llama-3.1-70b", 1.0}}) {
    Case c(model, "gb200", 64);
    if (c.shape.is_moe()) c.plan.ep = 8;
    const StepForecast usual = c.Forecast();
    c.plan.deterministic = true;
    const StepForecast in_order = c.Forecast();
    EXPECT_GE(in_order.us, slower * usual.us) << model;
    EXPECT_GT(in_order.high_us / in_order.us, 1.2 * usual.high_us / usual.us) << model;
  }
}

// A pass of three: forward, and backward for two of it.
TEST(ForecastStep, AReferenceModelTakesOneForwardPassMore) {
  Case c("llama-3.1-70b", "h100", 64, 4);
  const StepForecast alone = c.Forecast();
  c.plan.reference_forward = true;
  const StepForecast beside = c.Forecast();
  EXPECT_NEAR(beside.us / alone.us, 4.0 / 3, 0.05);
  EXPECT_NEAR(beside.parts.matmul / alone.parts.matmul, 4.0 / 3, 0.02);
}

TEST(ForecastStep, MoreVirtualStagesShrinkTheBubble) {
  const double plain = Case("llama-3.1-70b", "h100", 64, 4).Forecast().parts.bubble;
  const double interleaved = Case("llama-3.1-70b", "h100", 64, 4, 5).Forecast().parts.bubble;
  EXPECT_NEAR(interleaved, plain / 5, 0.02 * plain);
}

TEST(ForecastStep, OverlapHidesExchangeOverTheNetwork) {
  Case c("qwen3-30b-a3b", "h100", 16);
  c.plan.ep = 16;
  c.plan.dispatcher = Dispatcher::kHybridEp;
  const StepForecast off = c.Forecast();
  c.plan.ep_overlap = true;
  const StepForecast on = c.Forecast();
  EXPECT_LT(on.us, off.us);
  EXPECT_GT(on.hidden_exchange_us, 0);
  EXPECT_LT(EffectOf(off, on).change, 0);
}

// Whichever dispatcher it is: each row is written once for each of its experts, and read back.
TEST(ForecastStep, ExpertsOnOneRankMoveTheirRowsAllTheSame) {
  Case c("qwen3-30b-a3b", "h100", 16);
  const auto fwd_bytes_us = [&](Dispatcher dispatcher) {
    c.plan.dispatcher = dispatcher;
    return ModulesOf(c.work.kinds[0], 0, c.work, c.plan, c.rates).fwd.memory;
  };
  EXPECT_NEAR(fwd_bytes_us(Dispatcher::kHybridEp), fwd_bytes_us(Dispatcher::kAllToAll), 1e-6);
}

// Both of a layer's modules, 8,192 tokens, 4,096 values and 4 streams on GB200: 395 us (ai-dynamo/aiconfigurator).
TEST(ForecastStep, HyperConnectionsMoveEveryResidualStream) {
  Case c("deepseek-v4-flash", "gb200", 128);
  c.plan.ep = 64;
  c.plan.micro_batch_size = 2;
  const double residual = 2 * 6 * 4096.0 * 8192 * c.rates.memory_us;
  EXPECT_NEAR(ModulesOf(c.work.kinds[0], 0, c.work, c.plan, c.rates).streams.memory + residual, 395, 0.15 * 395);
  const StepForecast kept = c.Forecast();
  c.plan.recompute = RecomputeMode::kSelective;
  c.plan.recompute_modules = kDropMhc;
  EXPECT_GT(c.Forecast().us, 1.02 * kept.us);
  for (LayerWork& layer : c.work.kinds) layer.streams = 1;
  EXPECT_LT(c.Forecast().us, 0.97 * kept.us);
}

// Kernels that nobody has published may take twice as long.
TEST(ForecastStep, SparseAttentionWidensTheInterval) {
  Case c("deepseek-v4-flash", "gb200", 128);
  c.plan.ep = 64;
  const StepForecast sparse = c.Forecast();
  for (LayerWork& layer : c.work.kinds) layer.attention.unmeasured = false;
  const StepForecast dense = c.Forecast();
  EXPECT_DOUBLE_EQ(sparse.us, dense.us);
  EXPECT_GT(sparse.high_us / dense.high_us, 1 + 0.8 * sparse.parts.attention / sparse.us);
}

TEST(ForecastStep, RecomputeCostsTime) {
  Case c("deepseek-v3", "h100", 256, 8);
  c.plan.ep = 32;
  const double none = c.Forecast().us;
  c.plan.recompute = RecomputeMode::kSelective;
  c.plan.recompute_modules = kDropMlaUpProj;
  const double selective = c.Forecast().us;
  c.plan.recompute = RecomputeMode::kFullUniform;
  const double full = c.Forecast().us;
  EXPECT_LT(none, selective);
  EXPECT_LT(selective, full);
}

// Which rank is the slowest may change with it: what comes once a step is of the rank with the most of it all the same.
TEST(ForecastStep, RecomputeNeverMakesAStepShorter) {
  for (const char* model : {"ernie-4.5-300b-a47b", "deepseek-v3", "gpt-oss-120b", "llama-3.1-405b"}) {
    for (const char* gpu : {"gb200-nvl16-or-partial", "h100", "l40s"}) {
      for (const int pp : {1, 2, 4, 8}) {
        for (const int vpp : {1, 2, 4}) {
          if (pp == 1 && vpp > 1) continue;
          Case c(model, gpu, 256, pp);
          c.stages = StagesOfSizes(c.shape, pp, vpp, BalancedStages(c.shape.num_layers, 0, int64_t{pp} * vpp));
          KeepSteadyPasses(&c.stages);
          c.plan.vpp = vpp;
          c.plan.ep = c.shape.is_moe() ? 4 : 1;
          c.plan.dispatcher = Dispatcher::kHybridEp;
          c.plan.graphs = GraphImpl::kTransformerEngine;
          c.plan.graph_modules = kGraphAttn | kGraphMoeRouter | kGraphMoePreprocess;
          c.plan.global_batch_size = 256;
          const double plain_us = c.Forecast().us;
          for (unsigned modules = 0; modules < 1u << 14; modules = modules == 0 ? 1 : modules * 2) {
            c.plan.recompute = modules == 0 ? RecomputeMode::kFullUniform : RecomputeMode::kSelective;
            c.plan.recompute_modules = static_cast<uint16_t>(modules);
            EXPECT_GE(c.Forecast().us, plain_us * (1 - 1e-9))
                << model << " on " << gpu << ", PP" << pp << " VPP" << vpp << ", modules " << modules;
          }
        }
      }
    }
  }
}

TEST(ForecastStep, GraphsTakeTheHostOffAHostBoundStep) {
  Case c("qwen3-30b-a3b", "gb200", 16, 2);
  c.plan.tp = 2;
  c.plan.sequence_parallel = true;
  c.plan.ep = 4;
  const StepForecast eager = c.Forecast();
  EXPECT_GT(eager.parts.host, 0.1 * eager.us);
  c.plan.graphs = GraphImpl::kTransformerEngine;
  c.plan.graph_modules = kGraphAttn | kGraphMoeRouter | kGraphMoePreprocess;
  EXPECT_LT(c.Forecast().us, 0.95 * eager.us);
}

// With latent attention every head has keys of its own, too many for a ring over the network; grouped heads have few.
TEST(ForecastStep, LatentAttentionOverNodesWantsTheAllToAllInside) {
  Case c("deepseek-v3", "h100", 256);
  c.plan.ep = 32;
  c.plan.seq_length = 131072;
  c.plan.global_batch_size = 32;
  c.plan.cp = 32;
  const double ring = c.Forecast().parts.context_parallel;
  c.plan.cp_comm = CpComm::kAllToAllP2p;
  EXPECT_LT(c.Forecast().parts.context_parallel, 0.5 * ring);
  EXPECT_EQ(c.Forecast().parts.tensor_parallel, 0);
}

// Sixty-four ranks of 64 tokens each, in one NVLink domain: the bytes of a step take a quarter of a microsecond, its
// transfer fifteen.
TEST(ForecastStep, AStepOfTheRingCostsWhateverItCarries) {
  Case c("qwen3-30b-a3b", "gb200", 64);
  c.plan.ep = 8;
  c.plan.cp = 64;
  c.plan.global_batch_size = 1;
  const StepForecast ring = c.Forecast();
  constexpr double kLayers = 48, kPasses = 2, kSteps = 63;
  EXPECT_GT(ring.parts.context_parallel + ring.hidden.context_parallel, kLayers * kPasses * kSteps * 14);
  c.plan.cp_comm = CpComm::kAllGather;  // of as many bytes
  const StepForecast gathered = c.Forecast();
  EXPECT_GT(ring.parts.context_parallel, 3 * gathered.parts.context_parallel);
}

// A kernel of a long ring sees few keys, and its rate is that of a short sequence.
TEST(ForecastStep, KernelsOfALongRingAreSlow) {
  Case c("qwen3-30b-a3b", "gb200", 64);
  c.plan.ep = 8;
  c.plan.cp = 64;
  c.plan.micro_batch_size = c.plan.global_batch_size = 64;
  const double ring = c.Forecast().parts.attention;
  c.plan.cp_comm = CpComm::kAllGather;  // which has all keys at hand
  EXPECT_GT(ring, 2 * c.Forecast().parts.attention);
}

// Four groups of keys divide by four ranks: rings of sixteen, not of the eight that the domain would leave.
TEST(ForecastStep, RingsAreAsLongAsTheAllToAllLeavesThem) {
  Case c("qwen3-30b-a3b", "h100", 64);
  c.plan.ep = 8;
  c.plan.cp = 64;
  c.plan.cp_comm = CpComm::kAllToAllP2p;
  const double by_domain = c.Forecast().parts.context_parallel;
  c.plan.cp_inside = 4;
  EXPECT_GT(c.Forecast().parts.context_parallel, 1.5 * by_domain);
}

// Of a Mamba layer five tensors go out and one comes back: more than the keys and values of few attention layers.
TEST(ForecastStep, AScanExchangesTheSequenceForHeads) {
  Case c("nemotron-h-8b", "h100", 64);
  c.plan.cp = 4;
  const double hybrid = c.Forecast().parts.context_parallel;
  Case dense("llama-3.1-8b", "h100", 64);
  dense.plan.cp = 4;
  EXPECT_GT(hybrid, 2 * dense.Forecast().parts.context_parallel);
}

TEST(ForecastStep, SaysNothingForAGpuWithoutRates) {
  Case c("qwen3-30b-a3b", "vr200", 8);
  c.plan.stages = &c.stages;
  StepForecast forecast;
  EXPECT_FALSE(ForecastStep(c.work, c.plan, c.rates, &forecast));
}

TEST(EffectOf, AnIdenticalStepNeedsAnAb) {
  const StepForecast forecast = Case("qwen3-30b-a3b", "h100", 16).Forecast();
  const StepEffect effect = EffectOf(forecast, forecast);
  EXPECT_EQ(effect.change, 0);
  EXPECT_TRUE(effect.needs_ab());
}

// Whatever part a step gains in: nothing above it is certain, and what the least uncertain part gains below it is.
TEST(EffectOf, NothingIsCertainAboveTheLeast) {
  const WallTimes from = {100, 50, 20, 10, 15, 5};
  const auto certain = [&](const WallTimes& to, double errors) {
    const StepEffect effect = EffectOf(from, to);
    return effect.change + errors * (effect.high - effect.change) < 0;
  };
  for (const double errors : {0.5, 1.0, 1.5, 2.0}) {
    const double least = LeastCertain(errors);
    ASSERT_LT(least, 0);
    for (double WallTimes::*part : {&WallTimes::compute, &WallTimes::communication, &WallTimes::host,
                                    &WallTimes::bubble, &WallTimes::optimizer}) {
      for (const double beside : {-2.0, 0.0, 2.0}) {  // lost or gained elsewhere
        WallTimes to = from;
        const double change = 100 * (least + 1e-6);
        to.us += change;
        to.*part += change - beside;
        to.communication += beside;
        EXPECT_FALSE(certain(to, errors)) << errors;
      }
    }
    WallTimes to = from;
    to.us += 100 * (least - 1e-6);
    to.bubble += 100 * (least - 1e-6);
    EXPECT_TRUE(certain(to, errors)) << errors;
  }
}

// Balanced routing of eight experts out of 256: nearly every one of eight groups is met less than eight times.
TEST(DistinctGroups, CountsGroupsOnce) {
  EXPECT_NEAR(DistinctGroups(256, 256, 8), 8, 1e-9);
  EXPECT_NEAR(DistinctGroups(1, 256, 8), 1, 1e-9);
  EXPECT_NEAR(DistinctGroups(8, 256, 8), 5.3, 0.1);
}

TEST(ForecastStep, TrainsAdaptersWithoutTheWeightsGradients) {
  Case whole("llama-3.1-70b", "h100", 8, 4, 20), adapters = whole;
  whole.plan.tp = adapters.plan.tp = 2;
  whole.plan.global_batch_size = adapters.plan.global_batch_size = 32;
  adapters.plan.adapters.rank = 16;
  adapters.plan.adapters.targets = kAdaptQkv;
  const StepForecast all = whole.Forecast(), few = adapters.Forecast();
  EXPECT_NEAR(few.parts.matmul / all.parts.matmul, 2.0 / 3, 0.03);
  EXPECT_EQ(few.parts.attention, all.parts.attention);
  EXPECT_GT(few.parts.memory_bound, all.parts.memory_bound);
  EXPECT_LT(few.parts.optimizer, all.parts.optimizer);
  EXPECT_LE(StepLowerBoundUs(adapters.work, adapters.plan, adapters.rates), few.us);
  EXPECT_EQ(few.model_flops, all.model_flops) << "as Megatron-Bridge counts them";
  adapters.plan.adapters.targets = kAdaptQkv | kAdaptProj | kAdaptFc1 | kAdaptFc2;
  EXPECT_GT(adapters.Forecast().us, few.us);
}

}  // namespace
}  // namespace flightplan
