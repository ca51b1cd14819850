// How long the memory forecast itself takes: the fullest stage with its band and verdict, the static bound alone, and
// the schedule's replay.
#include <benchmark/benchmark.h>

#include "resolver/catalog/catalog.h"
#include "resolver/estimate/memory.h"

namespace flightplan {
namespace {

struct Setting {
  ModelShape shape;
  StageLayout stages;
  Candidate plan;
};

Setting Make(const char* model, int pp, const char* layout, int ep) {
  const Catalog catalog = *Catalog::Builtin();
  Setting s{*MakeShape(**catalog.FindModel(model)), {}, {}};
  Config config;
  config.Set(Knob::pipeline_model_parallel_size, Value(pp), Origin::kCaller);
  if (layout != nullptr) config.Set(Knob::pipeline_model_parallel_layout, Value(layout), Origin::kCaller);
  s.stages = StagesOf(s.shape, config);
  s.plan.gpus = 1024;
  s.plan.pp = s.stages.pp;
  s.plan.vpp = s.stages.vpp;
  s.plan.ep = ep;
  s.plan.tp = 2;
  s.plan.sequence_parallel = true;
  s.plan.distributed_optimizer = true;
  s.plan.seq_length = 4096;
  s.plan.global_batch_size = 8192;
  s.plan.recompute = RecomputeMode::kSelective;
  s.plan.recompute_modules = kDropMlaUpProj | kDropMlp;
  return s;
}

void Forecast(benchmark::State& state, const char* model, int pp, const char* layout, int ep) {
  Setting s = Make(model, pp, layout, ep);
  s.plan.stages = &s.stages;
  const GpuMemory gpu{85e9, {9, 8}};
  MemoryForecast forecast;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(s.plan);
    ForecastMemory(s.shape, s.plan, gpu, &forecast);
    benchmark::DoNotOptimize(forecast);
  }
}
BENCHMARK_CAPTURE(Forecast, deepseek_v3_pp8_vpp4, "deepseek-v3", 8, "Et|(tt|)*30mL", 64);
BENCHMARK_CAPTURE(Forecast, deepseek_v3_pp8, "deepseek-v3", 8, nullptr, 64);
BENCHMARK_CAPTURE(Forecast, qwen3_30b_pp1, "qwen3-30b-a3b", 1, nullptr, 8);
BENCHMARK_CAPTURE(Forecast, llama_70b_pp4, "llama3-70b", 4, nullptr, 1);

void StaticBound(benchmark::State& state) {
  Setting s = Make("deepseek-v3", 8, "Et|(tt|)*30mL", 64);
  s.plan.stages = &s.stages;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(s.plan);
    benchmark::DoNotOptimize(MemoryLowerBound(s.shape, s.plan, {9, 8}));
  }
}
BENCHMARK(StaticBound);

void Replay(benchmark::State& state) {
  const Schedule schedule{.pp = 8, .vpp = 4, .microbatches = 128, .group = 8};
  const double bytes[] = {1, 2, 2, 3};
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(MostKept(schedule, 0, bytes));
}
BENCHMARK(Replay);

}  // namespace
}  // namespace flightplan

BENCHMARK_MAIN();
