// The router: scores, groups, load balancing, padding.
#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool CoefficientsMismatch(F f) {
  const Value& types = f.value(K::moe_router_load_balancing_type);
  const Value& coefficients = f.value(K::moe_aux_loss_coeff);
  // LoongForge makes its config classes by Hydra, whose lists are no lists of Python's.
  if (f.fork()) return false;
  return types.is_list() && !(coefficients.is_list() && coefficients.list().size() == types.list().size());
}

std::vector<Patch> CoefficientPerType(F f) {
  const Value& coefficients = f.value(K::moe_aux_loss_coeff);
  const Value first =
      coefficients.is_list() ? (coefficients.list().empty() ? Value(0.0) : coefficients.list().front()) : coefficients;
  Value::List one_each(f.value(K::moe_router_load_balancing_type).list().size(), first);
  return {{Assign(K::moe_aux_loss_coeff, Value(std::move(one_each)))}};
}

// core 0.15 had the fp8 field only, and asked for fp8.
bool PadsForQuantization(F f) {
  return f.on(f.core(16) ? K::moe_router_padding_for_quantization : K::moe_router_padding_for_fp8);
}
bool Quantized(F f) { return f.set(K::fp8) || (f.core(16) && f.set(K::fp4)); }

// Tokens of a micro batch that go to experts, over all experts.
int64_t RoutedTokens(F f) {
  return SaturatingMul(SaturatingMul(f.num(K::seq_length), f.num(K::micro_batch_size)), f.num(K::moe_router_topk));
}
// Each expert takes the same share. Packed sequences and those of any length have a number of their own in each step.
bool UnevenShares(F f) {
  if (!f.is(K::moe_router_load_balancing_type, "quantile_balancing") || f.num(K::num_moe_experts) <= 0) return false;
  const int64_t routed = RoutedTokens(f);
  return !f.on(K::variable_seq_lengths) && routed > 0 && routed % f.num(K::num_moe_experts) != 0;
}

constexpr StaticFixes kNoPadding = {
    {{K::moe_router_padding_for_quantization, false}, {K::moe_router_padding_for_fp8, false}}};

const Rule kRules[] = {
    {.id = "router.aux-coeff-list-length",
     .area = "router",
     TRANSFORMER_CONFIG(1829),
     .reads = {K::moe_router_load_balancing_type, K::moe_aux_loss_coeff},
     .when = CoefficientsMismatch,
     .needs = "a list of load-balancing types needs a list of as many coefficients",
     .fix = CoefficientPerType},
    {.id = "router.expert-bias-score-fn",
     .area = "router",
     TRANSFORMER_CONFIG(2621),
     .reads = {K::moe_router_enable_expert_bias, K::moe_router_score_function},
     .when =
         [](F f) {
           const bool known = f.is(K::moe_router_score_function, "sigmoid") ||
                              (f.core(18) && f.is(K::moe_router_score_function, "sqrtsoftplus"));
           return !f.fork() && f.on(K::moe_router_enable_expert_bias) && !known;
         },
     .needs =
         "aux-loss-free balancing by expert bias needs the score function sigmoid (from core 0.18 also sqrtsoftplus)",
     .fixes = {{{K::moe_router_enable_expert_bias, false}}}},
    {.id = "router.pad-fp8-alias",
     .area = "router",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2641),
     .core = {.since = 16},
     .reads = {K::moe_router_padding_for_fp8},
     .when = [](F f) { return f.on(K::moe_router_padding_for_fp8); },
     .needs = "the knob is called moe_router_padding_for_quantization now"},
    {.id = "router.pad-fp8-applied",
     .area = "router",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(2647),
     .core = {.since = 16},
     .reads = {K::moe_router_padding_for_fp8},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::moe_router_padding_for_fp8)) e.Set(K::moe_router_padding_for_quantization, true);
         }},
    {.id = "router.pad-needs-quant",
     .area = "router",
     TRANSFORMER_CONFIG(2651),
     .reads = {K::moe_router_padding_for_quantization, K::moe_router_padding_for_fp8, K::fp8, K::fp4},
     .when = [](F f) { return PadsForQuantization(f) && !Quantized(f); },
     .needs = "router padding aligns token counts for FP8 or FP4 and needs one of them",
     .fixes = kNoPadding},
    {.id = "router.pad-dispatcher",
     .area = "router",
     TRANSFORMER_CONFIG(2656),
     .reads = {K::moe_router_padding_for_quantization, K::moe_router_padding_for_fp8, K::moe_token_dispatcher_type},
     .when =
         [](F f) {
           return PadsForQuantization(f) && f.in(K::moe_token_dispatcher_type, {"allgather", "alltoall_seq"});
         },
     .needs = "router padding works with the alltoall and flex dispatchers",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}}},
    {.id = "router.topk1-needs-pre-softmax",
     .area = "router",
     TRANSFORMER_CONFIG(2669),
     .reads = {K::moe_router_topk, K::moe_router_score_function, K::moe_router_pre_softmax},
     .when =
         [](F f) {
           return f.num(K::moe_router_topk) == 1 && f.is(K::moe_router_score_function, "softmax") &&
                  !f.on(K::moe_router_pre_softmax) && !f.is(K::moe_router_load_balancing_type, "sinkhorn");
         },
     .needs = "softmax over a single chosen expert has no gradient; with topk 1 apply it before choosing",
     .fixes = {{{K::moe_router_pre_softmax, true}}}},
    {.id = "router.group-topk-vs-limited-devices",
     .area = "router",
     TRANSFORMER_CONFIG(2673),
     .reads = {K::moe_router_group_topk, K::moe_router_topk_limited_devices},
     .when = [](F f) { return f.on(K::moe_router_group_topk) && f.on(K::moe_router_topk_limited_devices); },
     .needs =
         "moe_router_topk_limited_devices is the old name of group-limited routing; give moe_router_group_topk only",
     .fixes = {{{K::moe_router_topk_limited_devices, kUnset}}}},
    {.id = "router.group-topk-needs-groups",
     .area = "router",
     TRANSFORMER_CONFIG(2678),
     .reads = {K::moe_router_group_topk, K::moe_router_num_groups},
     .when = [](F f) { return f.on(K::moe_router_group_topk) && !f.on(K::moe_router_num_groups); },
     .needs = "group-limited routing needs moe_router_num_groups",
     .fixes = {{{K::moe_router_group_topk, kUnset}}}},
    {.id = "router.experts-divisible-by-groups",
     .area = "router",
     TRANSFORMER_CONFIG(2682),
     .reads = {K::num_moe_experts, K::moe_router_num_groups},
     .when =
         [](F f) {
           return f.on(K::moe_router_group_topk) && f.on(K::moe_router_num_groups) &&
                  (f.none(K::num_moe_experts) ||
                   !Divisible(f.num(K::num_moe_experts), f.num(K::moe_router_num_groups)));
         },
     .needs = "every routing group holds the same number of experts",
     .fixes = {{{K::moe_router_group_topk, kUnset}, {K::moe_router_num_groups, kUnset}}}},
    {.id = "router.group-topk-le-groups",
     .area = "router",
     TRANSFORMER_CONFIG(2686),
     .reads = {K::moe_router_group_topk, K::moe_router_num_groups},
     .when =
         [](F f) {
           return f.on(K::moe_router_group_topk) && f.on(K::moe_router_num_groups) &&
                  f.num(K::moe_router_group_topk) > f.num(K::moe_router_num_groups);
         },
     .needs = "no more groups can be chosen than there are",
     .fix =
         [](F f) { return std::vector<Patch>{{Assign(K::moe_router_group_topk, f.value(K::moe_router_num_groups))}}; }},
    {.id = "router.limited-devices-deprecated",
     .area = "router",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2691),
     .reads = {K::moe_router_topk_limited_devices},
     .when = [](F f) { return !f.on(K::moe_router_group_topk) && f.on(K::moe_router_topk_limited_devices); },
     .needs = "write moe_router_group_topk and moe_router_num_groups"},
    {.id = "router.limited-devices-applied",
     .area = "router",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(2695),
     .reads = {K::moe_router_topk_limited_devices, K::expert_model_parallel_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.on(K::moe_router_group_topk) || !f.on(K::moe_router_topk_limited_devices)) return;
           e.Set(K::moe_router_group_topk, f.value(K::moe_router_topk_limited_devices));
           e.Set(K::moe_router_num_groups, f.value(K::expert_model_parallel_size));
         }},
    {.id = "build.quantile-balancing-even",
     .area = "router",
     .at = {Phase::kBuild, 330},
     .source = "Megatron-LM:megatron/core/transformer/moe/moe_utils.py:237",
     .core = {.since = 19},
     .reads = {K::moe_router_load_balancing_type, K::seq_length, K::micro_batch_size, K::moe_router_topk,
               K::num_moe_experts},
     .when = UnevenShares,
     .needs = "quantile balancing gives each expert the same number of a micro batch's tokens: seq_length x "
              "micro_batch_size x moe_router_topk is a multiple of num_moe_experts; the first step stops",
     .fixes = {{{K::moe_router_load_balancing_type, "aux_loss"}}},
     .detail = [](F f) { return absl::StrCat(RoutedTokens(f), " is no multiple of ", f.num(K::num_moe_experts)); }},
};

}  // namespace

RuleList CoreRouterRules() { return kRules; }

}  // namespace flightplan
