// What the construction of a model of several kinds of layers refuses (NVIDIA/Megatron-LM@d98e8a64dd unless a source
// says otherwise). What its command line says before is in megatron_lm/hybrid.cc.
#include <algorithm>

#include "absl/strings/match.h"
#include "resolver/base/integers.h"
#include "resolver/rules/core/fix_util.h"
#include "resolver/rules/core/hybrid_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool HasVirtualStages(F f) {
  return f.num(K::pipeline_model_parallel_size) > 1 && f.set(K::virtual_pipeline_model_parallel_size);
}

int64_t MambaHeads(F f) {
  if (f.set(K::mamba_num_heads)) return f.num(K::mamba_num_heads);
  const int64_t dim = f.num(K::mamba_head_dim);
  return dim > 0 ? 2 * f.num(K::hidden_size) / dim : 0;  // the layers are twice as wide as the model
}

bool MambaCutUnevenly(F f) {
  const int64_t tp = std::max<int64_t>(1, f.num(K::tensor_model_parallel_size));
  return IsHybridModel(f) && (!Divisible(MambaHeads(f), tp) || !Divisible(f.num(K::mamba_num_groups), tp));
}

bool MambaCutUnevenlyByCp(F f) {
  const int64_t tp = std::max<int64_t>(1, f.num(K::tensor_model_parallel_size)), cp = f.num(K::context_parallel_size);
  if (!IsHybridModel(f) || cp <= 1 || MambaCutUnevenly(f)) return false;
  const int64_t heads = MambaHeads(f) / tp, groups = f.num(K::mamba_num_groups) / tp;
  if (groups <= 0) return false;
  return !Divisible(heads, cp) || !Divisible(std::max(cp, groups), std::min(cp, groups));
}

bool HasMamba(F f) { return IsHybridModel(f) && (!HasPattern(f) || PatternNames(f, 'M')); }
bool GroupsOfUnequalHeads(F f) {
  const int64_t groups = f.num(K::mamba_num_groups);
  return HasMamba(f) && groups > 0 && MambaHeads(f) > 0 && !Divisible(MambaHeads(f), groups);
}
// What the input projection makes of a token: gate, values, keys and queries of each group, a step of each head.
bool OddMambaProjection(F f) {
  constexpr int64_t kAlign = 16;
  const auto rest = [&](K size) { return f.num(size) % kAlign; };
  const int64_t heads = MambaHeads(f) % kAlign;
  const int64_t inner = heads * rest(K::mamba_head_dim) + rest(K::mamba_num_groups) * rest(K::mamba_state_dim);
  return f.on(K::fp8) && HasMamba(f) && (2 * inner + heads) % kAlign != 0;
}

// The size halved until nothing is cut unevenly by it.
std::vector<Patch> NextSmaller(F f, Knob size, bool (*uneven)(int64_t heads, int64_t groups, int64_t by)) {
  const bool cp = size == K::context_parallel_size;
  const int64_t tp = cp ? std::max<int64_t>(1, f.num(K::tensor_model_parallel_size)) : 1;
  const int64_t heads = MambaHeads(f) / tp, groups = f.num(K::mamba_num_groups) / tp;
  for (int64_t by = std::min<int64_t>(f.num(size) / 2, 1 << 10); by >= 1; by /= 2) {
    if (!uneven(heads, groups, by)) return {{Assign(size, by)}};
  }
  return {};
}

std::vector<Patch> NoVirtualStages(F f) {
  Patch patch;
  for (const K knob : {K::virtual_pipeline_model_parallel_size, K::num_virtual_stages_per_pipeline_rank,
                       K::num_layers_per_virtual_pipeline_stage, K::pipeline_model_parallel_layout}) {
    if (f.set(knob)) patch.push_back(Assign(knob, Value()));
  }
  return {patch};
}

const Rule kRules[] = {
    {.id = "build.hybrid-no-virtual-stages",
     .area = "pipeline",
     .at = {Phase::kBuild, 20175},
     .source = "Megatron-LM@core_v0.16.0 megatron/core/ssm/mamba_block.py:175",
     .core = {0, 16},
     .reads = {K::is_hybrid_model, K::hybrid_layer_pattern, K::hybrid_override_pattern,
               K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_size},
     .when = [](F f) { return !f.container() && IsHybridModel(f) && HasVirtualStages(f); },
     .needs = "a stack of Mamba and attention layers has no virtual pipeline stages before Megatron-Core 0.17",
     .fix = NoVirtualStages},
    {.id = "build.hybrid-virtual-stages-need-bars",
     .area = "pipeline",
     .at = {Phase::kBuild, 20175},
     .source = "Megatron-LM:megatron/core/models/hybrid/hybrid_layer_allocation.py:387",
     .core = {.since = 17},
     .reads = {K::is_hybrid_model, K::hybrid_layer_pattern, K::hybrid_override_pattern,
               K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return !f.container() && IsHybridModel(f) && HasVirtualStages(f) &&
                  !absl::StrContains(f.text(K::hybrid_layer_pattern), '|');
         },
     .needs =
         "virtual pipeline stages of Mamba and attention layers are the | of their pattern, which this has none of",
     .fix = NoVirtualStages},
    {.id = "build.bridge-hybrid-no-virtual-stages",
     .area = "pipeline",
     .at = {Phase::kBuild, 20176},
     .source = "Megatron-Bridge:src/megatron/bridge/models/hybrid/hybrid_provider.py:291",
     .reads = {K::is_hybrid_model, K::virtual_pipeline_model_parallel_size},
     .when = [](F f) { return f.container() && IsHybridModel(f) && f.set(K::virtual_pipeline_model_parallel_size); },
     .needs = "Megatron-Bridge builds hybrid models without virtual pipeline stages",
     .fix = NoVirtualStages},
    {.id = "build.mamba-divisible-by-tp",
     .area = "divisibility",
     .at = {Phase::kBuild, 262},
     .source = "Megatron-LM:megatron/core/ssm/mamba_mixer.py:262",
     .reads = {K::is_hybrid_model, K::hybrid_layer_pattern, K::hybrid_override_pattern, K::tensor_model_parallel_size,
               K::mamba_num_heads, K::mamba_num_groups, K::mamba_head_dim, K::hidden_size},
     .when = MambaCutUnevenly,
     .needs = "tensor_model_parallel_size must divide the heads and the groups of the Mamba layers",
     .fix =
         [](F f) {
           return NextSmaller(f, K::tensor_model_parallel_size, [](int64_t heads, int64_t groups, int64_t by) {
             return !Divisible(heads, by) || !Divisible(groups, by);
           });
         }},
    {.id = "build.mamba-divisible-by-cp",
     .area = "divisibility",
     .at = {Phase::kBuild, 263},
     .source = "Megatron-LM:megatron/core/ssm/mamba_context_parallel.py:106",
     .reads = {K::is_hybrid_model, K::hybrid_layer_pattern, K::hybrid_override_pattern, K::tensor_model_parallel_size,
               K::context_parallel_size, K::mamba_num_heads, K::mamba_num_groups, K::mamba_head_dim, K::hidden_size},
     .when = MambaCutUnevenlyByCp,
     .needs = "context_parallel_size must divide a TP rank's Mamba heads, and divide its groups or be divided by them",
     .fix =
         [](F f) {
           return NextSmaller(f, K::context_parallel_size, [](int64_t heads, int64_t groups, int64_t by) {
             return !Divisible(heads, by) || !Divisible(std::max(by, groups), std::min(by, groups));
           });
         }},
    {.id = "build.mamba-heads-multiple-of-groups",
     .area = "divisibility",
     .at = {Phase::kBuild, 274},
     .source = "Megatron-LM:megatron/core/ssm/mamba_mixer.py:274",
     .reads = {K::is_hybrid_model, K::hybrid_layer_pattern, K::mamba_num_heads, K::mamba_num_groups, K::mamba_head_dim,
               K::hidden_size},
     .when = GroupsOfUnequalHeads,
     .needs = "every group of a Mamba layer has the same number of heads",
     .fix =
         [](F f) {
           int64_t groups = LargestDivisorUpTo(MambaHeads(f), f.num(K::mamba_num_groups));
           const int64_t tp = std::max<int64_t>(1, f.num(K::tensor_model_parallel_size));
           while (groups > 1 && !Divisible(groups, tp)) groups = LargestDivisorUpTo(MambaHeads(f), groups - 1);
           return std::vector<Patch>{{Assign(K::mamba_num_groups, groups)}};
         }},
    {.id = "build.mamba-fp8-projection",
     .area = "fp8",
     .at = {Phase::kBuild, 254},
     .source = "Megatron-LM:megatron/core/ssm/mamba_mixer.py:254",
     .reads = {K::fp8, K::is_hybrid_model, K::hybrid_layer_pattern, K::mamba_num_heads, K::mamba_head_dim,
               K::mamba_num_groups, K::mamba_state_dim, K::hidden_size},
     .when = OddMambaProjection,
     .needs = "FP8 needs a multiple of 16 outputs of a Mamba layer's input projection: "
              "2 x (heads x head_dim + groups x state_dim) + heads",
     .fix = [](F f) { return std::vector<Patch>{WithoutFp8(f)}; }},
    {.id = "build.hybrid-experts",
     .area = "moe",
     .at = {Phase::kBuild, 185},
     .source = "Megatron-LM:megatron/core/transformer/moe/moe_layer.py:186",
     .reads = {K::hybrid_layer_pattern, K::hybrid_override_pattern, K::num_moe_experts},
     .when = [](F f) { return PatternNames(f, 'E') && f.none(K::num_moe_experts); },
     .needs = "the E of a hybrid pattern is a layer of experts: num_moe_experts says how many"},
    // GPTModel alone builds the plan of one; HybridModel does in no release (Megatron-LM#4942 is to add it).
    {.id = "build.ep-overlap-hybrid-model",
     .area = "ep-overlap",
     .at = {Phase::kBuild, 20381},
     .source = "Megatron-LM:megatron/core/pipeline_parallel/combined_1f1b.py:381",
     .reads = {K::overlap_moe_expert_parallel_comm, K::is_hybrid_model, K::hybrid_layer_pattern},
     .when = [](F f) { return f.on(K::overlap_moe_expert_parallel_comm) && IsHybridModel(f); },
     .needs = "models of a hybrid layer pattern have no schedule that overlaps their all-to-all",
     .fixes = {{{K::overlap_moe_expert_parallel_comm, false}, {K::delay_wgrad_compute, false}}}},
};

}  // namespace

RuleList CoreHybridBuildRules() { return kRules; }

}  // namespace flightplan
