// Speed of the layout search on one core: candidates a second, and what the bounds spared. Whole spaces of real
// questions; `space` counts candidates (layouts times ways to execute them).
#include <benchmark/benchmark.h>

#include <memory>
#include <utility>
#include <vector>

#include "resolver/catalog/catalog.h"
#include "resolver/derive/pipeline.h"
#include "resolver/derive/steady_passes.h"
#include "resolver/planner/search.h"

namespace flightplan {
namespace {

void WholeSpace(benchmark::State& state, const char* model, const char* gpu, int64_t gpus, int64_t batch) {
  const Catalog catalog = *Catalog::Builtin();
  const GpuSystem& system = **catalog.FindGpu(gpu);
  const ModelShape shape = *MakeShape(**catalog.FindModel(model));
  const ModelWork work = WorkOf(shape);
  SearchQuestion q;
  q.shape = &shape;
  q.work = &work;
  q.rates = RatesOf(system);
  q.memory = {static_cast<double>(system.hbm_bytes.value_or(0)),
              {system.cc_major, static_cast<int>(system.nvlink_domain_gpus)}};
  q.layout.gpus = gpus;
  q.layout.global_batch_size = batch;
  q.layout.seq_length = 4096;
  q.execution.exchanges = {{},
                           {Dispatcher::kAllToAll, true, false, 0},
                           {Dispatcher::kAllToAll, true, true, 0},
                           {Dispatcher::kDeepEp, false, false, 0},
                           {Dispatcher::kDeepEp, true, false, 0},
                           {Dispatcher::kDeepEp, true, true, 0},
                           {Dispatcher::kHybridEp, false, false, 0},
                           {Dispatcher::kHybridEp, true, false, 0},
                           {Dispatcher::kHybridEp, true, true, 0}};
  q.execution.graphs = {{},
                        {GraphImpl::kTransformerEngine, kGraphAttn},
                        {GraphImpl::kTransformerEngine, kGraphAttn | kGraphMoeRouter | kGraphMoePreprocess}};
  q.execution.recomputes = RecomputeSets(shape);
  q.execution.optimizer_offloads = {0};  // as the resolver asks where the host is behind PCIe
  q.base = [](const LayoutSizes& sizes) {
    Candidate c;
    c.distributed_optimizer = true;
    c.overlap_grad_reduce = c.overlap_param_gather = true;
    c.imbalance = sizes.ep >= 8 ? 1.25F : 1.0F;
    return c;
  };
  const double tail = TailLayers(work);
  q.stages = [&](int pp, int vpp) {
    std::vector<std::shared_ptr<const StageLayout>> splits;
    for (const std::vector<int64_t>& sizes : StageSplits(shape.num_layers, shape.mtp_depths, pp, vpp, tail)) {
      StageLayout split = StagesOfSizes(shape, pp, vpp, sizes);
      KeepSteadyPasses(&split);
      splits.push_back(std::make_shared<const StageLayout>(std::move(split)));
    }
    return splits;
  };
  SearchResult result;
  for ([[maybe_unused]] auto _ : state) {
    result = Search(q);
    benchmark::DoNotOptimize(result);
  }
  const SearchStatistics& s = result.statistics;
  const auto rate = [](int64_t n) {
    return benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["space"] = static_cast<double>(s.space);
  state.counters["layouts"] = static_cast<double>(s.layouts);
  state.counters["judged"] = static_cast<double>(s.judged);
  state.counters["judged/s"] = rate(s.judged);
  state.counters["space/s"] = rate(s.space);
  state.counters["memory_bound%"] = 100.0 * static_cast<double>(s.memory_bound) / static_cast<double>(s.space);
  state.counters["time_bound%"] = 100.0 * static_cast<double>(s.time_bound) / static_cast<double>(s.space);
  state.counters["best_ms"] = result.plans.empty() ? 0 : result.plans.front().step.us / 1000;
}
BENCHMARK_CAPTURE(WholeSpace, deepseek_v3_2048_h100, "deepseek-v3", "h100", 2048, 15360)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(WholeSpace, deepseek_v3_1024_h100, "deepseek-v3", "h100", 1024, 8192)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(WholeSpace, qwen3_235b_256_h100, "qwen3-235b-a22b", "h100", 256, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(WholeSpace, qwen3_30b_16_h100, "qwen3-30b-a3b", "h100", 16, 1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(WholeSpace, llama_405b_1024_h100, "llama-3.1-405b", "h100", 1024, 1536)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flightplan

BENCHMARK_MAIN();
