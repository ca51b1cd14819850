// The interleaved pipeline schedule's entry checks.
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/derive/batch.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/core/fix_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Interleaved(F f) { return f.num(K::virtual_pipeline_model_parallel_size) > 0; }
std::optional<int64_t> Count(F f) { return StepMicrobatches(f.config(), f.env()); }
// Microbatches that run in a row on one virtual stage; the pipeline size unless given.
int64_t Group(F f) {
  return f.set(K::microbatch_group_size_per_vp_stage) ? f.num(K::microbatch_group_size_per_vp_stage) : Pp(f);
}
std::string CountText(F f) { return absl::StrCat(Count(f).value_or(0), " microbatches"); }
bool OutOfRange(F f) {
  const std::optional<int64_t> count = Count(f);
  return Interleaved(f) && count.has_value() && (Group(f) > *count || Group(f) < Pp(f));
}
// Of the layers over as many ranks, the first that may.
std::vector<Patch> SplitsWithoutInterleaving(F f) {
  constexpr K kLayout = K::pipeline_model_parallel_layout;
  if (f.none(kLayout)) return {{Assign(kLayout, Value())}};
  if (f.origin(kLayout) == Origin::kDecided) return {WithoutLayout(f)};  // a plan makes its own anew
  std::vector<Patch> splits = SpreadLayers(f, Pp(f));
  if (splits.size() > 1) splits.erase(splits.begin(), splits.end() - 1);  // the layout: the one that is here goes
  splits.push_back(EvenRanks(f));
  return splits;
}
std::vector<Patch> GroupInRange(F f) {
  const std::optional<int64_t> count = Count(f);
  Patch off = {Assign(K::virtual_pipeline_model_parallel_size, Value()),
               Assign(K::num_virtual_stages_per_pipeline_rank, Value()),
               Assign(K::num_layers_per_virtual_pipeline_stage, Value()),
               Assign(K::microbatch_group_size_per_vp_stage, Value())};
  std::vector<Patch> patches;
  if (count.has_value() && *count >= Pp(f) && FloorMod(*count, Pp(f)) == 0) {
    patches.push_back({Assign(K::microbatch_group_size_per_vp_stage, Pp(f))});
  }
  for (const Patch& split : SplitsWithoutInterleaving(f)) {
    // The split first: on a command line to have no virtual stages takes a layout away that nothing gave before.
    Patch patch = split;
    std::copy_if(off.begin(), off.end(), std::back_inserter(patch), [&](const Assignment& one) {
      return std::none_of(split.begin(), split.end(), [&](const Assignment& of) { return of.knob == one.knob; });
    });
    patches.push_back(std::move(patch));
  }
  return patches;
}

// Asked for in Bridge's comm_overlap section, it comes from there.
std::vector<Patch> NoP2pOverlap(F f) {
  Patch patch = {Assign(K::overlap_p2p_comm, false)};
  if (f.set(K::comm_overlap_overlap_p2p_comm)) patch.push_back(Assign(K::comm_overlap_overlap_p2p_comm, false));
  if (f.on(K::overlap_p2p_comm_warmup_flush)) patch.push_back(Assign(K::overlap_p2p_comm_warmup_flush, false));
  return {patch};
}

const Rule kRules[] = {
    {.id = "sched.p2p-overlap-vs-batch",
     .area = "pipeline",
     .at = {Phase::kSchedule, 1087},
     .source = "Megatron-LM:megatron/core/pipeline_parallel/schedules.py:1087",
     .reads = {K::overlap_p2p_comm, K::batch_p2p_comm},
     .when = [](F f) { return Interleaved(f) && f.on(K::overlap_p2p_comm) && f.on(K::batch_p2p_comm); },
     .needs = "the interleaved schedule excludes overlapped and batched point-to-point communication together",
     .fixes = {{{K::batch_p2p_comm, false}}, {{K::overlap_p2p_comm, false}}}},
    {.id = "sched.vp-group-range",
     .area = "pipeline",
     .at = {Phase::kSchedule, 1168},
     .source = "Megatron-LM:megatron/core/pipeline_parallel/schedules.py:1168",
     .reads = {K::microbatch_group_size_per_vp_stage, K::pipeline_model_parallel_size,
               K::virtual_pipeline_model_parallel_size},
     .when = [](F f) { return OutOfRange(f); },
     .needs = "the interleaved schedule needs pp <= microbatch_group_size_per_vp_stage <= number of microbatches",
     .fix = GroupInRange,
     .detail = CountText},
    {.id = "sched.vp-group-remainder",
     .area = "pipeline",
     .at = {Phase::kSchedule, 1180},
     .source = "Megatron-LM:megatron/core/pipeline_parallel/schedules.py:1180",
     .reads = {K::microbatch_group_size_per_vp_stage, K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           const std::optional<int64_t> count = Count(f);
           if (!Interleaved(f) || !count.has_value() || OutOfRange(f)) return false;
           const int64_t rest = FloorMod(*count, Group(f));
           return rest > 0 && rest < Pp(f);
         },
     .needs = "the last group of microbatches must be empty or at least as large as the pipeline",
     .fix = GroupInRange,
     .detail = CountText},
    {.id = "sched.p2p-overlap-needs-interleaving",
     .area = "pipeline",
     .at = {Phase::kSchedule, 2181},
     .source = "Megatron-LM:megatron/core/pipeline_parallel/schedules.py:2181",
     .reads = {K::overlap_p2p_comm, K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_size},
     .when = [](F f) { return Pp(f) > 1 && !Interleaved(f) && f.on(K::overlap_p2p_comm); },
     .needs =
         "point-to-point communication is overlapped by the interleaved schedule alone; without virtual stages the "
         "first step stops",
     .fix = NoP2pOverlap},
};

}  // namespace

RuleList CoreScheduleRules() { return kRules; }

}  // namespace flightplan
