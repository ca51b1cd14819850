// What LoggerConfig and ProfilingConfig refuse when ConfigContainer.validate finalizes them. Lines are those of
// NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/config.py.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr int kLogger = 1403;
constexpr int kProfiling = 1408;

constexpr Place At(int line, int sub) { return {Phase::kContainer, line, sub}; }

bool StepsSaid(F f) { return f.given(K::profile_step_start) || f.given(K::profile_step_end); }

const Rule kRules[] = {
    {.id = "bridge-logger.mlflow-named",
     .area = "misc",
     .at = At(kLogger, 687),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:686",
     .reads = {K::mlflow_experiment, K::mlflow_run_name},
     .when = [](F f) { return !f.text(K::mlflow_experiment).empty() && f.text(K::mlflow_run_name).empty(); },
     .needs = "an experiment of MLflow needs the run's name: logger.mlflow_run_name",
     .fixes = {{{K::mlflow_experiment, kUnset}}}},
    {.id = "bridge-logger.comet-named",
     .area = "misc",
     .at = At(kLogger, 711),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:710",
     .reads = {K::comet_project, K::comet_experiment_name},
     .when = [](F f) { return !f.text(K::comet_project).empty() && f.text(K::comet_experiment_name).empty(); },
     .needs = "a project of Comet needs the experiment's name: logger.comet_experiment_name",
     .fixes = {{{K::comet_project, kUnset}}}},
    {.id = "bridge-profiling.one-profiler",
     .area = "misc",
     .at = At(kProfiling, 757),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:757",
     .reads = {K::use_pytorch_profiler, K::use_nsys_profiler},
     .when = [](F f) { return f.on(K::use_pytorch_profiler) && f.on(K::use_nsys_profiler); },
     .needs = "one profiler at a time: PyTorch's or Nsight Systems",
     .fixes = {{{K::use_nsys_profiler, false}}, {{K::use_pytorch_profiler, false}}}},
    {.id = "bridge-profiling.steps",
     .area = "misc",
     .at = At(kProfiling, 762),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:762",
     .reads = {K::profile_step_start, K::profile_step_end},
     .when =
         [](F f) {
           const bool negative = f.num(K::profile_step_start) < 0 || f.num(K::profile_step_end) < 0;
           return StepsSaid(f) && (negative || f.num(K::profile_step_end) < f.num(K::profile_step_start));
         },
     .needs = "profiling starts at step 0 or later and ends no sooner than it starts",
     .fix =
         [](F f) {
           const int64_t start = f.num(K::profile_step_start) < 0 ? 0 : f.num(K::profile_step_start);
           return std::vector<Patch>{{Assign(K::profile_step_start, start), Assign(K::profile_step_end, start + 2)}};
         }},
};

}  // namespace

RuleList BridgeLoggingRules() { return kRules; }

}  // namespace flightplan
