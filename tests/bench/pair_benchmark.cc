// What the estimator pays for one evaluation of the fitted model: a layer pair, a curve, a transfer. Nothing in it
// allocates; the counter says so.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "probe/fit/alpha_beta.h"
#include "probe/fit/pair.h"
#include "probe/fit/saturating.h"
#include "tests/bench/allocations.h"

namespace flightplan::fit {
namespace {

template <class Body>
void Count(benchmark::State& state, Body&& body) {
  const int64_t before = bench::Allocations();
  for (auto unused : state) body();
  state.counters["allocations"] = benchmark::Counter(static_cast<double>(bench::Allocations() - before));
}

void Pair(benchmark::State& state) {
  PairParts parts;
  for (size_t i = 0; i < kPairNodes; ++i) {
    parts.us[i] = 100 + 17 * static_cast<double>(i);
    parts.beside[i] = {1.15, 1.4};
  }
  const PairSchedule schedule{state.range(0) != 0, state.range(0) == 2, false};
  Count(state, [&] {
    benchmark::DoNotOptimize(parts.us[0]);
    benchmark::DoNotOptimize(ForecastPair(parts, schedule).us);
  });
}
BENCHMARK(Pair)->Arg(0)->Arg(1)->Arg(2)->ArgName("schedule");

void Bandwidth(benchmark::State& state) {
  const SaturatingCurve curve{45e9, 4.1e12, 5, 0, 1, 132};
  double sms = 20;
  Count(state, [&] {
    benchmark::DoNotOptimize(sms);
    benchmark::DoNotOptimize(curve.At(sms));
  });
}
BENCHMARK(Bandwidth);

void Transfer(benchmark::State& state) {
  AlphaBeta fit;
  fit.small = {5, 1e-5};
  fit.large = {20, 2.5e-6};
  fit.split_bytes = 1 << 20;
  double bytes = 3e6;
  Count(state, [&] {
    benchmark::DoNotOptimize(bytes);
    benchmark::DoNotOptimize(fit.Us(bytes));
  });
}
BENCHMARK(Transfer);

}  // namespace
}  // namespace flightplan::fit

BENCHMARK_MAIN();
