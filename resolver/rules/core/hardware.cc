// Gates of the GPU and of the libraries where upstream has none, or says so only when the first kernel runs.
#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/derive/fp8_recipes.h"
#include "resolver/rules/core/fix_util.h"
#include "resolver/rules/flex_dispatcher.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Fp8(F f, absl::string_view recipe) { return f.on(K::fp8) && f.is(K::fp8_recipe, recipe); }
constexpr int64_t kMostTokens = int64_t{1} << 30;
bool KnownGpu(F f) { return f.env().cc_major > 0; }
bool OlderThan(F f, int major, int minor) {
  return KnownGpu(f) && (f.env().cc_major < major || (f.env().cc_major == major && f.env().cc_minor < minor));
}

// HybridEP, which is made for racks, comes first.
std::vector<Patch> OffDeepepOnRack(F f) {
  std::vector<Patch> fixes = OffDeepep(f);
  std::reverse(fixes.begin(), fixes.end());
  return fixes;
}

std::vector<Patch> OlderRecipe(F f) {
  if (f.env().cc_major >= 9) return {{Assign(K::fp8_recipe, "blockwise")}, {Assign(K::fp8_recipe, "tensorwise")}};
  return {{Assign(K::fp8_recipe, "tensorwise")}};
}

// The recipe that FP8 is asked for with, where it came with a release of Transformer Engine.
const Fp8Recipe* RecipeOfRelease(F f) {
  const Fp8Recipe* const recipe = f.on(K::fp8) ? FindFp8Recipe(f.text(K::fp8_recipe)) : nullptr;
  return recipe == nullptr || recipe->te.empty() ? nullptr : recipe;
}

// One scale a tensor, with the newest way to find it that the installed Transformer Engine has; else no FP8.
std::vector<Patch> RecipeOfInstalled(F f) {
  std::vector<Patch> patches;
  if (f.te_installed()) {
    const bool current = f.te_at_least(Fp8RecipeOf(Precision::kFp8Tensorwise)->te);
    Patch patch = {Assign(K::fp8_recipe, current ? "tensorwise" : "delayed")};
    if (!current && f.on(K::first_last_layers_bf16)) patch.push_back(Assign(K::first_last_layers_bf16, false));
    for (const K of_mxfp8 : {K::reuse_grad_buf_for_mxfp8_param_ag, K::fp8_output_proj}) {
      if (f.on(of_mxfp8)) patch.push_back(Assign(of_mxfp8, false));
    }
    patches.push_back(std::move(patch));
  }
  patches.push_back(WithoutFp8(f));
  return patches;
}

// Transformer Engine's linear layers hold the tokens of a pass, as each rank has them, against kFp8Tokens.
constexpr int64_t kFp8Tokens = 8;
constexpr K kPacks[] = {K::packing_sft_data,
                        K::packing_pretrain_data,
                        K::rl_use_sequence_packing,
                        K::dataset_enable_in_batch_packing,
                        K::dataset_pack_sequences_in_batch,
                        K::dataset_enable_offline_packing};
bool OneLengthOfTokens(F f) {
  if (std::any_of(std::begin(kPacks), std::end(kPacks), [&](K knob) { return f.on(knob); })) return false;
  return f.num(K::seq_length) > 0 && f.num(K::micro_batch_size) > 0 && !f.on(K::variable_seq_lengths) &&
         f.num(K::seq_length) <= kMostTokens && f.num(K::micro_batch_size) <= kMostTokens;
}
int64_t ContextRanks(F f) { return std::max<int64_t>(1, f.num(K::context_parallel_size)); }
bool UnevenTokens(F f, int64_t seq) {
  const int64_t tokens = seq * f.num(K::micro_batch_size);
  return tokens % ContextRanks(f) == 0 && tokens / ContextRanks(f) % kFp8Tokens != 0;
}
std::vector<Patch> EvenTokens(F f) {
  const int64_t unit = kFp8Tokens * ContextRanks(f);
  return {WithoutFp8(f), {Assign(K::seq_length, NextMultiple(f.num(K::seq_length), unit).value_or(unit))}};
}

// Sequence parallelism gives each tensor-parallel rank an equal part of what its context-parallel rank holds.
bool UnevenSequence(F f) {
  const int64_t tp = f.num(K::tensor_model_parallel_size);
  if (tp <= 1 || !f.on(K::sequence_parallel) || !OneLengthOfTokens(f)) return false;
  return f.num(K::seq_length) % ContextRanks(f) == 0 && f.num(K::seq_length) / ContextRanks(f) % tp != 0;
}
std::vector<Patch> EvenSequence(F f) {
  const int64_t cp = ContextRanks(f);  // each takes a part from the front and one from the back
  const int64_t unit = f.num(K::tensor_model_parallel_size) * (cp > 1 ? 2 * cp : 1);
  std::vector<Patch> patches = {{Assign(K::seq_length, NextMultiple(f.num(K::seq_length), unit).value_or(unit))}};
  if (!f.moe()) patches.push_back({Assign(K::sequence_parallel, false)});
  patches.push_back({Assign(K::tensor_model_parallel_size, 1), Assign(K::sequence_parallel, false)});
  return patches;
}

const Rule kRules[] = {
    {.id = "gpu-gate.fp8-needs-ada",
     .area = "gpu-gate",
     .at = {Phase::kHardware, 100},
     .source = "NVIDIA Transformer Engine: FP8 needs compute capability 8.9",
     .reads = {K::fp8},
     .reads_env = {"gpu"},
     .when = [](F f) { return f.on(K::fp8) && OlderThan(f, 8, 9); },
     .needs = "FP8 needs a GPU of compute capability 8.9 or later; train in bf16 here",
     .fix = [](F f) { return std::vector<Patch>{WithoutFp8(f)}; }},
    {.id = "gpu-gate.mxfp8-needs-blackwell",
     .area = "gpu-gate",
     .at = {Phase::kHardware, 101},
     .source = "NVIDIA Transformer Engine: block-scaled MXFP8 GEMMs need compute capability 10.0",
     .reads = {K::fp8_recipe, K::fp8},
     .reads_env = {"gpu"},
     .when = [](F f) { return Fp8(f, "mxfp8") && OlderThan(f, 10, 0) && !OlderThan(f, 8, 9); },
     .needs = "MXFP8 needs a Blackwell GPU; Hopper has the blockwise recipe, whose scales of blocks are nearest to it, "
              "and the "
              "tensorwise one",
     .fix = OlderRecipe},
    {.id = "gpu-gate.mxfp8-not-on-12.0",
     .area = "gpu-gate",
     .at = {Phase::kHardware, 101},
     .source = "NVIDIA Transformer Engine: transformer_engine/pytorch/quantization.py, _compute_mxfp8_support; "
               "NVIDIA/Megatron-LM#4175",
     .reads = {K::fp8_recipe, K::fp8},
     .reads_env = {"gpu"},
     .when = [](F f) { return Fp8(f, "mxfp8") && f.env().cc_major >= 12; },
     .needs = "Transformer Engine has no MXFP8 for GPUs of compute capability 12.0 and later yet",
     .fix = RecipeOfInstalled},
    {.id = "gpu-gate.nvfp4-needs-blackwell",
     .area = "gpu-gate",
     .at = {Phase::kHardware, 102},
     .source = "NVIDIA Transformer Engine: NVFP4 GEMMs need compute capability 10.0",
     .reads = {K::fp4},
     .reads_env = {"gpu"},
     .when = [](F f) { return f.on(K::fp4) && OlderThan(f, 10, 0); },
     .needs = "FP4 needs a Blackwell GPU",
     .fixes = {{{K::fp4, kUnset}, {K::fp4_param, false}}}},
    {.id = "gpu-gate.blockwise-needs-hopper",
     .area = "gpu-gate",
     .at = {Phase::kHardware, 103},
     .source = "NVIDIA Transformer Engine: blockwise FP8 scaling needs compute capability 9.0",
     .reads = {K::fp8_recipe, K::fp8},
     .reads_env = {"gpu"},
     .when = [](F f) { return Fp8(f, "blockwise") && OlderThan(f, 9, 0) && !OlderThan(f, 8, 9); },
     .needs = "blockwise FP8 needs a Hopper GPU or later",
     .fixes = {{{K::fp8_recipe, "tensorwise"}}}},
    {.id = "fp8.recipe-te",
     .area = "version-gate",
     .at = {Phase::kHardware, 104},
     .source = "Megatron-LM:megatron/core/fp8_utils.py:770",
     .reads = {K::fp8_recipe, K::fp8},
     .reads_env = {"te"},
     .when =
         [](F f) {
           const Fp8Recipe* const recipe = RecipeOfRelease(f);
           return recipe != nullptr && !f.te_at_least(recipe->te);
         },
     .needs = "an FP8 recipe needs the Transformer Engine that it came with, or the first layer in FP8 stops the run",
     .fix = RecipeOfInstalled,
     .detail =
         [](F f) {
           const Fp8Recipe* const recipe = RecipeOfRelease(f);
           return recipe == nullptr ? "" : absl::StrCat(recipe->name, " came with ", recipe->te);
         }},
    {.id = "fp8.tokens-multiple-of-8",
     .area = "fp8",
     .at = {Phase::kHardware, 105},
     .source = "NVIDIA Transformer Engine: transformer_engine/pytorch/utils.py, assert_dim_for_fp8_exec",
     .reads = {K::fp8, K::seq_length, K::micro_batch_size, K::context_parallel_size},
     .when = [](F f) { return f.on(K::fp8) && OneLengthOfTokens(f) && UnevenTokens(f, f.num(K::seq_length)); },
     .needs = "FP8 multiplies a multiple of 8 tokens: micro_batch_size x seq_length / context_parallel_size",
     .fix = EvenTokens,
     .detail =
         [](F f) {
           return absl::StrCat("each rank has ", f.num(K::micro_batch_size) * f.num(K::seq_length) / ContextRanks(f),
                               " tokens in a pass");
         }},
    {.id = "sp.even-sequence",
     .area = "sequence-parallel",
     .at = {Phase::kHardware, 107},
     .source = "Megatron-LM:megatron/core/tensor_parallel/mappings.py:74",
     .reads = {K::sequence_parallel, K::tensor_model_parallel_size, K::seq_length, K::context_parallel_size},
     .when = UnevenSequence,
     .needs = "sequence parallelism splits the sequence of a context-parallel rank over its tensor-parallel ranks: "
              "seq_length / context_parallel_size is a multiple of tensor_model_parallel_size",
     .fix = EvenSequence},
    {.id = "router.fusion-te-2.7",
     .area = "version-gate",
     .at = {Phase::kHardware, 106},
     .source = "Megatron-LM:megatron/core/extensions/transformer_engine.py:3669",
     .reads = {K::moe_router_fusion, K::num_moe_experts},
     .reads_env = {"te"},
     .when = [](F f) { return f.moe() && f.on(K::moe_router_fusion) && !f.te_at_least("2.7.0.dev0"); },
     .needs = "the fused router needs Transformer Engine 2.7, or its first pass stops the run",
     .fixes = {{{K::moe_router_fusion, false}}}},
    {.id = "router.fusion-sqrtsoftplus-te",
     .area = "version-gate",
     .at = {Phase::kHardware, 106, 1},
     .source = "Megatron-LM:megatron/core/transformer/moe/moe_utils.py:835",
     .core = {.since = 18},
     .reads = {K::moe_router_fusion, K::moe_router_score_function},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return f.moe() && f.on(K::moe_router_fusion) && f.is(K::moe_router_score_function, "sqrtsoftplus") &&
                  f.te_at_least("2.7.0.dev0") && !f.te_at_least("2.13.0");
         },
     .needs = "the fused router knows sqrtsoftplus from Transformer Engine 2.13 on",
     .fixes = {{{K::moe_router_fusion, false}}}},
    {.id = "gpu-gate.deepep-on-rack",
     .area = "gpu-gate",
     .at = {Phase::kHardware, 110},
     .source = "as Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py:100 has it",
     .reads = {K::moe_flex_dispatcher_backend, K::moe_token_dispatcher_type},
     .reads_env = {"gpu"},
     .when = [](F f) { return !f.container() && FlexWith(f, "deepep") && RackOfGraceBlackwell(f); },
     .needs = "DeepEP does not run on GB200 and GB300; HybridEP does",
     .fix = OffDeepepOnRack},
    {.id = "gpu-gate.flex-needs-nvlink",
     .area = "gpu-gate",
     .at = {Phase::kHardware, 111},
     .source = "NVIDIA data sheets: boards without NVLink",
     .reads = {K::moe_flex_dispatcher_backend, K::moe_token_dispatcher_type},
     .reads_env = {"gpu"},
     .when =
         [](F f) {
           return (FlexWith(f, "deepep") || FlexWith(f, "hybridep")) && f.env().nvlink_domain_gpus == 1 &&
                  f.env().gpus_per_node > 1;
         },
     .needs = "DeepEP and HybridEP move tokens over NVLink, which this GPU does not have",
     .fix = [](F) { return std::vector<Patch>{ToAllToAll()}; }},
    {.id = "env.hybridep.ep-over-72",
     .area = "env",
     .at = {Phase::kHardware, 120},
     .source = "as Megatron-Bridge:scripts/performance/utils/utils.py:323 has it",
     .reads = {K::expert_model_parallel_size, K::moe_flex_dispatcher_backend},
     .reads_env = {"gpu"},
     .when =
         [](F f) {
           return FlexWith(f, "hybridep") && RackScale(f) &&
                  f.num(K::expert_model_parallel_size) > f.env().nvlink_domain_gpus;
         },
     .needs = "on a rack-scale system HybridEP keeps the expert group inside one NVLink domain",
     .fix =
         [](F f) {
           std::vector<Patch> patches;
           const int64_t experts = f.num(K::num_moe_experts);
           for (int64_t ep = f.env().nvlink_domain_gpus; ep >= 1; --ep) {
             const bool grid = !f.env().world_size.has_value() || *f.env().world_size % ep == 0;
             if (experts % ep != 0 || !grid) continue;
             patches.push_back(
                 {Assign(K::expert_model_parallel_size, ep), AssignVar(kHybridepDomainVar, absl::StrCat(ep))});
             break;
           }
           patches.push_back({Assign(K::moe_token_dispatcher_type, "alltoall")});
           return patches;
         },
     .detail = [](F f) { return absl::StrCat("the NVLink domain has ", f.env().nvlink_domain_gpus, " GPUs"); }},
    {.id = "env.hybridep.domain-size",
     .area = "env",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 121},
     .source = "as Megatron-Bridge:scripts/performance/utils/utils.py:316 has it",
     .reads = {K::moe_flex_dispatcher_backend, K::expert_model_parallel_size},
     .reads_env = {kHybridepDomainVar},
     .when =
         [](F f) {
           return FlexWith(f, "hybridep") && f.env().nvlink_domain_gpus > 0 && f.var_set(kHybridepDomainVar) &&
                  f.var(kHybridepDomainVar) != absl::StrCat(RanksPerDomain(f));
         },
     .needs = "HybridEP must be told how many expert ranks share an NVLink domain, or it is slow and sometimes wrong",
     .fix = [](F f) { return std::vector<Patch>{{AssignVar(kHybridepDomainVar, absl::StrCat(RanksPerDomain(f)))}}; },
     .detail =
         [](F f) {
           return absl::StrCat("EP ", f.num(K::expert_model_parallel_size), " on a domain of ",
                               f.env().nvlink_domain_gpus, " GPUs gives ", RanksPerDomain(f));
         }},
    {.id = "dispatcher.backend-without-flex",
     .area = "dispatcher",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 130},
     .source = "Megatron-Bridge docs: setting moe_flex_dispatcher_backend alone does not activate flex dispatch",
     .reads = {K::moe_flex_dispatcher_backend, K::moe_token_dispatcher_type},
     .when =
         [](F f) {
           return f.moe() && f.given(K::moe_flex_dispatcher_backend) && f.set(K::moe_flex_dispatcher_backend) &&
                  !Flex(f);
         },
     .needs = "a flex backend does nothing unless moe_token_dispatcher_type is flex",
     .fixes = {{{K::moe_token_dispatcher_type, "flex"}}, {{K::moe_flex_dispatcher_backend, kUnset}}}},
};

}  // namespace

RuleList CoreHardwareRules() { return kRules; }

}  // namespace flightplan
