// What LoongForge checks and changes before Megatron's own validation (baidu-baige/LoongForge@c6275661,
// loongforge/train/validators.py), for pre-training of language models, and what its documentation asks for.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

int64_t Cp(F f) { return f.num(K::context_parallel_size); }
// The flag's default is 1, not "off".
int64_t Ulysses(F f) {
  return f.none(K::context_parallel_ulysses_degree) ? 1 : f.num(K::context_parallel_ulysses_degree);
}
bool UsesCommType(F f, absl::string_view type) { return f.has(K::cp_comm_type, type) || f.is(K::cp_comm_type, type); }

std::vector<Patch> DividingDegree(F f) {
  return {{Assign(K::context_parallel_ulysses_degree, LargestDivisorUpTo(Cp(f), std::max<int64_t>(1, Ulysses(f))))}};
}

bool OverlapModules(F f) {
  return f.has(K::recompute_modules, "a2a_overlap_attn") || f.has(K::recompute_modules, "a2a_overlap_post_attn") ||
         f.has(K::recompute_modules, "a2a_overlap_mlp");
}

const Rule kRules[] = {
    {.id = "lf.mla-fa",
     .area = "attention",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 130},
     .source = "LoongForge:loongforge/train/validators.py:116",
     .reads = {K::enable_fa_within_mla, K::attention_backend},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::enable_fa_within_mla)) e.Set(K::attention_backend, "flash");
         }},
    {.id = "lf.dsa-fused",
     .area = "attention",
     .at = {Phase::kLoongForge, 299},
     .source = "LoongForge:loongforge/train/validators.py:320",
     .reads = {K::use_dsa_fused, K::experimental_attention_variant},
     .when = [](F f) { return f.on(K::use_dsa_fused) && !f.is(K::experimental_attention_variant, "dsa"); },
     .needs = "the fused sparse attention needs experimental_attention_variant dsa",
     .fixes = {{{K::use_dsa_fused, false}, {K::use_dsa_sp_first, false}}}},
    {.id = "lf.dsa-spfirst-fused",
     .area = "attention",
     .at = {Phase::kLoongForge, 299, 1},
     .source = "LoongForge:loongforge/train/validators.py:330",
     .reads = {K::use_dsa_sp_first, K::use_dsa_fused},
     .when = [](F f) { return f.on(K::use_dsa_sp_first) && !f.on(K::use_dsa_fused); },
     .needs = "use_dsa_sp_first is a way of the fused sparse attention: it needs use_dsa_fused",
     .fixes = {{{K::use_dsa_sp_first, false}}}},
    {.id = "lf.dsa-spfirst-sp",
     .area = "sequence-parallel",
     .at = {Phase::kLoongForge, 299, 2},
     .source = "LoongForge:loongforge/train/validators.py:334",
     .reads = {K::use_dsa_sp_first, K::sequence_parallel},
     .when = [](F f) { return f.on(K::use_dsa_sp_first) && f.on(K::use_dsa_fused) && !f.on(K::sequence_parallel); },
     .needs = "use_dsa_sp_first divides the sequence over the tensor-parallel ranks: it needs sequence_parallel",
     .fixes = {{{K::use_dsa_sp_first, false}}, {{K::sequence_parallel, true}}}},
    {.id = "lf.dsa-share-variant",
     .area = "attention",
     .at = {Phase::kLoongForge, 300},
     .source = "LoongForge:loongforge/train/validators.py:345",
     .reads = {K::dsa_indexer_topk_freq, K::experimental_attention_variant},
     .when = [](F f) { return f.num(K::dsa_indexer_topk_freq) > 1 && !f.is(K::experimental_attention_variant, "dsa"); },
     .needs = "sharing the indexer needs experimental_attention_variant dsa",
     .fixes = {{{K::dsa_indexer_topk_freq, 1}}}},
    {.id = "lf.dsa-share-vs-ep-overlap",
     .area = "ep-overlap",
     .at = {Phase::kLoongForge, 301},
     .source = "LoongForge:loongforge/train/validators.py:350",
     .reads = {K::dsa_indexer_topk_freq, K::overlap_moe_expert_parallel_comm},
     .when = [](F f) { return f.num(K::dsa_indexer_topk_freq) > 1 && f.on(K::overlap_moe_expert_parallel_comm); },
     .needs = "EP overlap cannot run layers that share an indexer",
     .fixes = {{{K::overlap_moe_expert_parallel_comm, false}, {K::delay_wgrad_compute, false}}}},
    {.id = "lf.dense-dispatcher",
     .area = "dispatcher",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 320},
     .source = "LoongForge:loongforge/train/validators.py:362",
     .reads = {K::num_moe_experts, K::moe_token_dispatcher_type},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           const bool replaced = f.in(K::moe_token_dispatcher_type, {"allgather", "alltoall_seq"});
           if (f.none(K::num_moe_experts) && replaced) e.Set(K::moe_token_dispatcher_type, "alltoall");
         }},
    {.id = "lf.ulysses-xor-hier",
     .area = "context-parallel",
     .at = {Phase::kLoongForge, 400},
     .source = "LoongForge:loongforge/train/validators.py:402",
     .reads = {K::hierarchical_context_parallel_sizes, K::context_parallel_ulysses_degree, K::context_parallel_size},
     .when = [](F f) { return Cp(f) > 1 && Ulysses(f) >= 1 && f.set(K::hierarchical_context_parallel_sizes); },
     .needs = "LoongForge derives the hierarchical sizes; say it with context_parallel_ulysses_degree",
     .fixes = {{{K::hierarchical_context_parallel_sizes, kUnset}}}},
    {.id = "lf.ulysses-divides-cp",
     .area = "context-parallel",
     .at = {Phase::kLoongForge, 401},
     .source = "LoongForge:loongforge/train/validators.py:406",
     .reads = {K::context_parallel_ulysses_degree, K::context_parallel_size},
     .when = [](F f) { return Cp(f) > 1 && Ulysses(f) >= 1 && (Ulysses(f) > Cp(f) || !Divisible(Cp(f), Ulysses(f))); },
     .needs = "context_parallel_ulysses_degree must divide context_parallel_size",
     .fix = DividingDegree},
    {.id = "lf.ulysses1-no-a2a",
     .area = "context-parallel",
     .at = {Phase::kLoongForge, 402},
     .source = "LoongForge:loongforge/train/validators.py:414",
     .reads = {K::cp_comm_type, K::context_parallel_ulysses_degree, K::context_parallel_size},
     .when = [](F f) { return Cp(f) > 1 && Ulysses(f) == 1 && UsesCommType(f, "a2a"); },
     .needs =
         "the a2a kind of context parallelism needs context_parallel_ulysses_degree equal to context_parallel_size",
     .fix =
         [](F f) {
           return std::vector<Patch>{{Assign(K::context_parallel_ulysses_degree, Cp(f))},
                                     {Assign(K::cp_comm_type, Value(Value::List{Value("p2p")}))}};
         }},
    {.id = "lf.ulysses-full",
     .area = "context-parallel",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 410},
     .source = "LoongForge:loongforge/train/validators.py:420",
     .reads = {K::context_parallel_ulysses_degree, K::context_parallel_size, K::cp_comm_type},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (Cp(f) > 1 && Ulysses(f) == Cp(f)) e.Set(K::cp_comm_type, "a2a");
         }},
    {.id = "lf.ulysses-hybrid",
     .area = "context-parallel",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 411},
     .source = "LoongForge:loongforge/train/validators.py:427",
     .reads = {K::context_parallel_ulysses_degree, K::context_parallel_size, K::cp_comm_type},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           const int64_t degree = Ulysses(f);
           if (Cp(f) <= 1 || degree <= 1 || degree >= Cp(f)) return;
           const int64_t ring = Cp(f) / degree;
           e.Set(K::cp_comm_type, "a2a+p2p");
           e.Set(K::hierarchical_context_parallel_sizes, Value(Value::List{Value(degree), Value(ring)}));
         }},
    {.id = "lf.tp-overlap-fp16",
     .area = "tp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 450},
     .source = "LoongForge:loongforge/train/validators.py:437",
     .reads = {K::tp_comm_overlap, K::fp16},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::tp_comm_overlap) && e.facts().on(K::fp16)) e.Set(K::tp_comm_overlap, false);
         }},
    {.id = "lf.a2a-recompute-modules",
     .area = "recompute",
     .kind = Kind::kWarning,
     .at = {Phase::kLoongForge, 600},
     .source = "LoongForge:docs/source/features/moe_all2all_overlap.md",
     .reads = {K::recompute_modules, K::overlap_moe_expert_parallel_comm},
     .when = [](F f) { return OverlapModules(f) && !f.on(K::overlap_moe_expert_parallel_comm); },
     .needs = "the a2a_overlap_* modules recompute inside the EP-overlap schedule; without it they do nothing",
     .fixes = {{{K::overlap_moe_expert_parallel_comm, true}}}},
    {.id = "lf.doc-overlap-interleave",
     .area = "ep-overlap",
     .kind = Kind::kWarning,
     .at = {Phase::kLoongForge, 601},
     .source = "LoongForge:docs/source/features/moe_all2all_overlap.md",
     .reads = {K::overlap_moe_expert_parallel_comm, K::num_virtual_stages_per_pipeline_rank,
               K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return f.on(K::overlap_moe_expert_parallel_comm) && f.num(K::pipeline_model_parallel_size) > 1 &&
                  f.none(K::num_virtual_stages_per_pipeline_rank) && f.none(K::num_layers_per_virtual_pipeline_stage) &&
                  f.none(K::pipeline_model_parallel_layout);
         },
     .needs = "EP overlap hides the exchange between interleaved virtual stages: set virtual stages",
     .fixes = {{{K::num_virtual_stages_per_pipeline_rank, 2}}, {{K::overlap_moe_expert_parallel_comm, false}}}},
    {.id = "lf.doc-bindpcie",
     .area = "launch",
     .kind = Kind::kInfo,
     .at = {Phase::kAdvice, 600},
     .source = "LoongForge:docs/source/features (activation offload)",
     .reads = {K::fine_grained_activation_offloading, K::bindpcie},
     .when = [](F f) { return f.fork() && f.on(K::fine_grained_activation_offloading) && !f.on(K::bindpcie); },
     .needs = "bind each process to the NUMA node of its GPU, or offload runs over the other socket",
     .fixes = {{{K::bindpcie, true}}}},
};

}  // namespace

RuleList LoongforgeValidatorsRules() { return kRules; }

}  // namespace flightplan
