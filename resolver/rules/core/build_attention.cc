// What Transformer Engine's attention refuses when it is made or in the first step (2.18, transformer_engine/pytorch).
#include <algorithm>
#include <string>

#include "resolver/base/integers.h"
#include "resolver/rules/core/te_attention_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool IsUnknown(F, absl::string_view type, bool) {
  return type != "p2p" && type != "a2a" && type != "all_gather" && type != "a2a+p2p";
}

// Another spelling is of sparse attention, and means this one.
std::vector<Patch> KnownExchange(F f) {
  std::vector<Patch> patches = ExchangesLeft(f);
  const Value& types = f.value(K::cp_comm_type);
  if (f.is(K::cp_comm_type, "allgather") && !HasSinks(f))
    patches.insert(patches.begin(), {{Assign(K::cp_comm_type, "all_gather")}});
  if (!types.is_list() || types.list().size() == 1) return patches;
  Value::List written = types.list();
  for (Value& type : written) {
    if (IsUnknown(f, type.text(), false)) type = type.text() == "allgather" ? "all_gather" : "p2p";
  }
  patches.insert(patches.begin(), {{Assign(K::cp_comm_type, Value(std::move(written)))}});
  return patches;
}

bool GroupsUneven(F f) {
  if (!HasTeAttention(f) || f.on(K::multi_latent_attention)) return false;
  const int64_t groups = f.num(K::num_query_groups);
  return groups > 0 && !Divisible(f.num(K::num_attention_heads), groups);
}

// The most groups that divide the heads and that tensor parallelism can split or repeat.
std::vector<Patch> FewerGroups(F f) {
  const int64_t heads = f.num(K::num_attention_heads), tp = std::max<int64_t>(1, f.num(K::tensor_model_parallel_size));
  int64_t groups = LargestDivisorUpTo(heads, f.num(K::num_query_groups));
  while (groups > 1 && !Divisible(groups, tp) && !Divisible(tp, groups)) groups = LargestDivisorUpTo(heads, groups - 1);
  return {{Assign(K::num_query_groups, groups)}};
}

const Rule kRules[] = {
    {.id = "build.te-heads-multiple-of-groups",
     .area = "divisibility",
     .at = {Phase::kBuild, 30270},
     .source =
         "NVIDIA Transformer Engine: attention/dot_product_attention/dot_product_attention.py, DotProductAttention",
     .reads = {K::num_attention_heads, K::num_query_groups, K::transformer_impl},
     .when = GroupsUneven,
     .needs =
         "every query group serves the same number of heads: num_attention_heads is a multiple of num_query_groups",
     .fix = FewerGroups},
    {.id = "build.te-cp-comm-type",
     .area = "context-parallel",
     .at = {Phase::kBuild, 30271},
     .source = "NVIDIA Transformer Engine: attention/dot_product_attention/context_parallel.py, "
               "attn_forward_func_with_cp",
     .reads = {K::cp_comm_type, K::context_parallel_size, K::transformer_impl},
     .when = [](F f) { return SplitsTeAttention(f) && AnyExchange(f, IsUnknown); },
     .needs = "the exchanges of context parallelism are p2p, a2a, all_gather and a2a+p2p",
     .fix = KnownExchange},
    {.id = "build.te-a2a-heads",
     .area = "context-parallel",
     .at = {Phase::kBuild, 30272},
     .source = "NVIDIA Transformer Engine: attention/dot_product_attention/context_parallel.py, "
               "AttnFuncWithCPAndQKVOA2A",
     .reads = {K::cp_comm_type, K::context_parallel_size, K::hierarchical_context_parallel_sizes,
               K::num_attention_heads, K::num_query_groups, K::multi_latent_attention, K::tensor_model_parallel_size},
     .when =
         [](F f) {
           // Its groups are as large as a sample needs.
           return SplitsTeAttention(f) && !f.on(K::hybrid_context_parallel) && AnyExchange(f, DealsHeadsUnevenly);
         },
     .needs = "an all-to-all deals out heads: the ranks that exchange divide the heads and the query groups of a "
              "tensor-parallel rank",
     .fix = ExchangesLeft},
    {.id = "build.te-window-exchange",
     .area = "context-parallel",
     .at = {Phase::kBuild, 30273},
     .source = "NVIDIA Transformer Engine: attention/dot_product_attention/context_parallel.py, "
               "attn_forward_func_with_cp",
     .reads = {K::window_size, K::window_attn_skip_freq, K::cp_comm_type, K::context_parallel_size},
     .when = [](F f) { return SplitsTeAttention(f) && AnyExchange(f, CutsWindow); },
     .needs = "layers with a sliding window exchange the context by a2a or all_gather; a ring cannot serve them",
     .fix = ExchangesLeft},
    {.id = "build.te-sinks-exchange",
     .area = "context-parallel",
     .at = {Phase::kBuild, 30274},
     .source = "NVIDIA Transformer Engine: attention/dot_product_attention/context_parallel.py, "
               "attn_forward_func_with_cp",
     .reads = {K::softmax_type, K::cp_comm_type, K::context_parallel_size},
     .when = [](F f) { return SplitsTeAttention(f) && AnyExchange(f, CutsSinks); },
     .needs = "attention sinks exchange the context by a2a alone, whose ranks divide the heads and the query groups",
     .fix = ExchangesLeft},
    {.id = "build.te-unfused-no-cp",
     .area = "attention",
     .at = {Phase::kBuild, 30275},
     .source = "NVIDIA Transformer Engine: attention/dot_product_attention/utils.py, get_attention_backend",
     .reads = {K::attention_backend, K::context_parallel_size, K::transformer_impl},
     .when = [](F f) { return SplitsTeAttention(f) && f.is(K::attention_backend, "unfused"); },
     .needs = "the unfused backend has no context parallelism, and no other is left",
     .fixes = {{{K::attention_backend, "auto"}}}},
    {.id = "build.te-sinks-no-flash",
     .area = "attention",
     .at = {Phase::kBuild, 30276},
     .source = "NVIDIA Transformer Engine: attention/dot_product_attention/utils.py, get_attention_backend",
     .reads = {K::attention_backend, K::softmax_type, K::transformer_impl},
     .when = [](F f) { return HasTeAttention(f) && HasSinks(f) && f.is(K::attention_backend, "flash"); },
     .needs = "flash attention has no sinks, and no other backend is left",
     .fixes = {{{K::attention_backend, "auto"}}, {{K::attention_backend, "fused"}}}},
};

}  // namespace

RuleList CoreBuildAttentionRules() { return kRules; }

}  // namespace flightplan
