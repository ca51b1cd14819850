// Experts and expert parallelism on the command line.
#include <algorithm>

#include "resolver/base/integers.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

std::vector<Patch> DividingExperts(F f) {
  const std::optional<int64_t> size =
      NextSmallerFit(f.num(K::num_moe_experts), 1, f.num(K::expert_model_parallel_size));
  std::vector<Patch> patches;
  // One that the world of experts is a multiple of too, where it is known: the other stops at the grid.
  const int64_t beside = std::max<int64_t>(1, f.num(K::expert_tensor_parallel_size)) *
                         std::max<int64_t>(1, f.num(K::pipeline_model_parallel_size));
  if (const std::optional<int64_t> world = f.env().world_size; world.has_value()) {
    for (int64_t ep = size.value_or(1); ep > 1; --ep) {
      if (f.num(K::num_moe_experts) % ep != 0 || !Divisible(*world, ep) || !Divisible(*world / ep, beside)) continue;
      patches.push_back({Assign(K::expert_model_parallel_size, ep)});
      break;
    }
  }
  if (patches.empty()) patches.push_back({Assign(K::expert_model_parallel_size, size.value_or(1))});
  return patches;
}
void CollapseSingle(Editor& e, K knob) {
  const Value::List& items = e.facts().value(knob).list();
  if (items.size() != 1) return;
  const Value only = items[0];
  e.Set(knob, only);
}

const Rule kRules[] = {
    {.id = "mlm.gg-arch",
     .area = "moe",
     .at = {Phase::kCliValidate, 1380},
     .source = "Megatron-LM:megatron/training/arguments.py:1380",
     .reads = {K::moe_grouped_gemm},
     .reads_env = {"gpu", "cc_major"},
     .when = [](F f) { return f.on(K::moe_grouped_gemm) && ArchBelow(f, 8); },
     .needs = "grouped GEMM needs compute capability 8.0",
     .fixes = {{{K::moe_grouped_gemm, false}}}},
    {.id = "mlm.experts-zero",
     .area = "moe",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1648},
     .source = "Megatron-LM:megatron/training/arguments.py:1648",
     .reads = {K::num_moe_experts},
     .change =
         [](Editor& e) {
           if (e.facts().set(K::num_moe_experts) && e.facts().num(K::num_moe_experts) == 0)
             e.Set(K::num_moe_experts, Value());
         }},
    {.id = "mlm.moe-ffn-default",
     .area = "moe",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1650},
     .source = "Megatron-LM:megatron/training/arguments.py:1650",
     .reads = {K::moe_ffn_hidden_size, K::ffn_hidden_size},
     .change =
         [](Editor& e) {
           if (e.facts().set(K::num_moe_experts) && e.facts().none(K::moe_ffn_hidden_size))
             e.Set(K::moe_ffn_hidden_size, e.facts().value(K::ffn_hidden_size));
         }},
    {.id = "mlm.ep-needs-experts",
     .area = "moe",
     .at = {Phase::kCliValidate, 1656},
     .source = "Megatron-LM:megatron/training/arguments.py:1656",
     .reads = {K::expert_model_parallel_size, K::num_moe_experts},
     .when = [](F f) { return f.num(K::expert_model_parallel_size) > 1 && f.none(K::num_moe_experts); },
     .needs = "expert parallelism needs num_experts",
     .fixes = {{{K::expert_model_parallel_size, 1}}}},
    {.id = "mlm.experts-divisible-ep",
     .area = "moe",
     .at = {Phase::kCliValidate, 1657},
     .source = "Megatron-LM:megatron/training/arguments.py:1657",
     .reads = {K::num_moe_experts, K::expert_model_parallel_size},
     .when =
         [](F f) {
           return f.num(K::expert_model_parallel_size) > 1 && f.set(K::num_moe_experts) &&
                  !Divisible(f.num(K::num_moe_experts), f.num(K::expert_model_parallel_size));
         },
     .needs = "num_experts must be a multiple of expert_model_parallel_size",
     .fix = DividingExperts},
    {.id = "mlm.moe-single-lb",
     .area = "moe",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1661},
     .source = "Megatron-LM:megatron/training/arguments.py:1661",
     .reads = {K::moe_router_load_balancing_type, K::moe_aux_loss_coeff},
     .change =
         [](Editor& e) {
           CollapseSingle(e, K::moe_router_load_balancing_type);
           CollapseSingle(e, K::moe_aux_loss_coeff);
         }},
    {.id = "mlm.upcycling-save",
     .area = "moe",
     .at = {Phase::kCliValidate, 1864},
     .source = "Megatron-LM:megatron/training/arguments.py:1864",
     .reads = {K::moe_use_upcycling, K::save},
     .when = [](F f) { return f.on(K::moe_use_upcycling) && f.none(K::save); },
     .needs = "upcycling needs save",
     .fixes = {{{K::moe_use_upcycling, false}}}},
    {.id = "mlm.upcycling-no-load",
     .area = "moe",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1865},
     .source = "Megatron-LM:megatron/training/arguments.py:1865",
     .reads = {K::moe_use_upcycling, K::no_load_optim, K::no_load_rng},
     .change =
         [](Editor& e) {
           if (!e.facts().on(K::moe_use_upcycling)) return;
           e.Set(K::no_load_optim, true);
           e.Set(K::no_load_rng, true);
         }},
    {.id = "build.upcycling-granularity",
     .area = "moe",
     .at = {Phase::kBuild, 12092},
     .source = "Megatron-LM:megatron/core/transformer/moe/upcycling_utils.py:91",
     .reads = {K::moe_use_upcycling, K::num_moe_experts, K::moe_upcycling_granularity},
     .when =
         [](F f) {
           return f.on(K::moe_use_upcycling) && f.num(K::num_moe_experts) > 0 && f.set(K::moe_upcycling_granularity) &&
                  !Divisible(f.num(K::num_moe_experts), f.num(K::moe_upcycling_granularity));
         },
     .needs = "moe_upcycling_granularity divides num_moe_experts",
     .fix =
         [](F f) {
           return std::vector<Patch>{
               {Assign(K::moe_upcycling_granularity,
                       LargestDivisorUpTo(f.num(K::num_moe_experts), f.num(K::moe_upcycling_granularity)))}};
         }},
    {.id = "mlm.latent-positive",
     .area = "moe",
     .at = {Phase::kCliValidate, 1981},
     .source = "Megatron-LM:megatron/training/arguments.py:1981",
     .reads = {K::moe_latent_size},
     .when = [](F f) { return f.set(K::moe_latent_size) && f.num(K::moe_latent_size) <= 0; },
     .needs = "moe_latent_size must be above 0",
     .fixes = {{{K::moe_latent_size, kUnset}}}},
    {.id = "mlm.latent-needs-experts",
     .area = "moe",
     .at = {Phase::kCliValidate, 1982},
     .source = "Megatron-LM:megatron/training/arguments.py:1982",
     .reads = {K::moe_latent_size, K::num_moe_experts},
     .when = [](F f) { return f.set(K::moe_latent_size) && f.none(K::num_moe_experts); },
     .needs = "moe_latent_size needs num_experts",
     .fixes = {{{K::moe_latent_size, kUnset}}}},
    {.id = "mlm.fake-pg-no-flex",
     .area = "dispatcher",
     .at = {Phase::kCliValidate, 1757},
     .source = "Megatron-LM:megatron/training/arguments.py:1757",
     .reads = {K::fake_process_group, K::moe_token_dispatcher_type},
     .when = [](F f) { return f.on(K::fake_process_group) && f.is(K::moe_token_dispatcher_type, "flex"); },
     .needs = "a fake process group excludes the flex dispatcher",
     .fixes = {{{K::fake_process_group, false}}, {{K::moe_token_dispatcher_type, "alltoall"}}}},
    {.id = "mlm.fake-pg-changes",
     .area = "parallelism",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1759},
     .source = "Megatron-LM:megatron/training/arguments.py:1759",
     .reads = {K::fake_process_group, K::check_for_nan_in_loss_and_grad, K::use_gloo_process_groups},
     .change =
         [](Editor& e) {
           if (!e.facts().on(K::fake_process_group)) return;
           e.Set(K::check_for_nan_in_loss_and_grad, false);
           e.Set(K::use_gloo_process_groups, false);
         }},
};

}  // namespace

RuleList MegatronLmMoeRules() { return kRules; }

}  // namespace flightplan
