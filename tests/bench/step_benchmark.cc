// How long the step-time forecast itself takes: one layer pair of the two-stream walk, and one whole estimate.
#include <benchmark/benchmark.h>

#include "resolver/catalog/catalog.h"
#include "resolver/estimate/overlap.h"
#include "resolver/estimate/step.h"

namespace flightplan {
namespace {

void LayerPair(benchmark::State& state) {
  LayerNodes nodes;
  nodes.pre_fwd = 900, nodes.pre_bwd = 1100, nodes.pre_wgrad = 500, nodes.mlp_fwd = 1400, nodes.mlp_bwd = 1500;
  nodes.mlp_wgrad = 1300, nodes.dispatch_fwd = nodes.dispatch_bwd = 700, nodes.combine_fwd = nodes.combine_bwd = 800;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(nodes);
    benchmark::DoNotOptimize(WalkPair(nodes, {1.1, 1.6}, state.range(0) != 0, false));
  }
}
BENCHMARK(LayerPair)->ArgName("delay_wgrad")->Arg(0)->Arg(1);

void WholeEstimate(benchmark::State& state, const char* model_name, int pp, int vpp) {
  const Catalog catalog = *Catalog::Builtin();
  const ModelShape shape = *MakeShape(**catalog.FindModel(model_name));
  const ModelWork work = WorkOf(shape);
  const GpuRates rates = RatesOf(**catalog.FindGpu("h100"));
  Config config;
  config.Set(Knob::pipeline_model_parallel_size, Value(pp), Origin::kCaller);
  if (vpp > 1) config.Set(Knob::virtual_pipeline_model_parallel_size, Value(vpp), Origin::kCaller);
  const StageLayout stages = StagesOf(shape, config);
  Candidate plan;
  plan.stages = &stages;
  plan.gpus = 1024;
  plan.pp = pp, plan.vpp = stages.vpp;
  plan.ep = shape.is_moe() ? 64 : 1;
  plan.seq_length = 4096;
  plan.global_batch_size = 8192;
  plan.dispatcher = Dispatcher::kHybridEp;
  plan.ep_overlap = shape.is_moe();
  StepForecast forecast;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(plan);
    benchmark::DoNotOptimize(ForecastStep(work, plan, rates, &forecast));
  }
}
BENCHMARK_CAPTURE(WholeEstimate, deepseek_v3, "deepseek-v3", 8, 4);
BENCHMARK_CAPTURE(WholeEstimate, qwen3_235b, "qwen3-235b-a22b", 1, 1);
BENCHMARK_CAPTURE(WholeEstimate, llama_70b, "llama-3.1-70b", 4, 5);

}  // namespace
}  // namespace flightplan

BENCHMARK_MAIN();
