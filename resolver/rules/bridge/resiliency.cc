// Straggler detection, fault tolerance and restarts within the process: what NVRxStragglerDetectionConfig refuses when
// ConfigContainer.validate finalizes it, and what setting up the other two refuses. Lines are those of
// NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/config.py and of the files beside it.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr int kStraggler = 1410;
constexpr int kSetUp = 30000;  // after the model's own checks

constexpr Place At(int sub) { return {Phase::kContainer, kStraggler, sub}; }

bool Detects(F f) { return f.on(K::nvrx_straggler_enabled); }
bool IsShare(F f, K knob) { return f.real(knob) >= 0.0 && f.real(knob) <= 1.0; }
bool Restarts(F f) { return f.container() && f.on(K::inprocess_restart_enabled); }
double WatchdogSeconds(F f) { return 60 * f.real(K::distributed_timeout_minutes); }

const Rule kRules[] = {
    {.id = "bridge-straggler.some-score",
     .area = "misc",
     .at = At(887),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:886",
     .reads = {K::nvrx_straggler_enabled, K::nvrx_straggler_calc_relative_gpu_perf,
               K::nvrx_straggler_calc_individual_gpu_perf},
     .when =
         [](F f) {
           return Detects(f) && !f.on(K::nvrx_straggler_calc_relative_gpu_perf) &&
                  !f.on(K::nvrx_straggler_calc_individual_gpu_perf);
         },
     .needs = "stragglers are found by a score: calc_relative_gpu_perf, calc_individual_gpu_perf or both",
     .fixes = {{{K::nvrx_straggler_calc_relative_gpu_perf, true}}, {{K::nvrx_straggler_enabled, false}}}},
    {.id = "bridge-straggler.interval",
     .area = "misc",
     .at = At(892),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:891",
     .reads = {K::nvrx_straggler_enabled, K::nvrx_straggler_report_time_interval},
     .when = [](F f) { return Detects(f) && f.real(K::nvrx_straggler_report_time_interval) <= 0; },
     .needs = "some seconds lie between two reports of stragglers: report_time_interval above 0",
     .fixes = {{{K::nvrx_straggler_report_time_interval, 300}}, {{K::nvrx_straggler_enabled, false}}}},
    {.id = "bridge-straggler.thresholds",
     .area = "misc",
     .at = At(894),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:893",
     .reads = {K::nvrx_straggler_enabled, K::nvrx_straggler_gpu_relative_perf_threshold,
               K::nvrx_straggler_gpu_individual_perf_threshold},
     .when =
         [](F f) {
           return Detects(f) && (!IsShare(f, K::nvrx_straggler_gpu_relative_perf_threshold) ||
                                 !IsShare(f, K::nvrx_straggler_gpu_individual_perf_threshold));
         },
     .needs = "a straggler is told by a share of what a GPU can do: thresholds from 0.0 to 1.0",
     .fix =
         [](F f) {
           Patch patch;
           for (const K knob :
                {K::nvrx_straggler_gpu_relative_perf_threshold, K::nvrx_straggler_gpu_individual_perf_threshold}) {
             if (!IsShare(f, knob)) patch.push_back(Assign(knob, Value(0.7)));
           }
           return std::vector<Patch>{patch};
         }},
    // By the caller's own word: every recipe has a folder.
    {.id = "bridge-ft.needs-save",
     .area = "checkpoint",
     .at = {Phase::kBuild, kSetUp, 87},
     .source = "Megatron-Bridge:src/megatron/bridge/training/fault_tolerance.py:86",
     .reads = {K::ft_enable_ft_package, K::save},
     .when = [](F f) { return f.container() && f.on(K::ft_enable_ft_package) && f.given(K::save) && !f.on(K::save); },
     .needs = "fault tolerance keeps its timeouts beside the checkpoints: checkpoint.save=PATH",
     .fixes = {{{K::ft_enable_ft_package, false}}}},
    {.id = "bridge-inprocess.ranks",
     .area = "parallelism",
     .at = {Phase::kBuild, kSetUp, 96},
     .source = "Megatron-Bridge:src/megatron/bridge/training/inprocess_restart.py:96",
     .reads = {K::inprocess_restart_enabled, K::inprocess_restart_active_world_size},
     .reads_env = {"world_size"},
     .when =
         [](F f) {
           const K active = K::inprocess_restart_active_world_size;
           return Restarts(f) && f.set(active) && f.env().world_size.has_value() && f.num(active) > *f.env().world_size;
         },
     .needs = "a job that restarts within its processes has the ranks that train, and those in reserve: "
              "active_world_size at most all of them",
     .fixes = {{{K::inprocess_restart_active_world_size, kUnset}}},
     .detail = [](F f) { return absl::StrCat("ranks of the job: ", f.env().world_size.value_or(0)); }},
    {.id = "bridge-inprocess.watchdog",
     .area = "misc",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 211},
     .source = "Megatron-Bridge:docs/training/resiliency.md:168",
     .reads = {K::inprocess_restart_enabled, K::inprocess_restart_hard_timeout, K::distributed_timeout_minutes},
     .when = [](F f) { return Restarts(f) && f.real(K::inprocess_restart_hard_timeout) >= WatchdogSeconds(f); },
     .needs =
         "NCCL's watchdog ends the process first, which leaves nothing to restart: dist.distributed_timeout_minutes "
         "is longer than inprocess_restart.hard_timeout, which is in seconds",
     .fix =
         [](F f) {
           const auto minutes = static_cast<int64_t>(f.real(K::inprocess_restart_hard_timeout) / 60) + 1;
           return std::vector<Patch>{{Assign(K::distributed_timeout_minutes, minutes)}};
         }},
};

}  // namespace

RuleList BridgeResiliencyRules() { return kRules; }

}  // namespace flightplan
