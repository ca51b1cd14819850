// CUDA graphs on the command line: old names, scopes, and what full-iteration graphs need.
#include "absl/strings/match.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Legacy(F f) { return f.on(K::enable_cuda_graph) || f.on(K::external_cuda_graph); }

void UseLegacySwitch(Editor& e) {
  const Facts& f = e.facts();
  if (f.on(K::external_cuda_graph)) return e.Set(K::cuda_graph_impl, "transformer_engine");
  if (f.on(K::enable_cuda_graph)) e.Set(K::cuda_graph_impl, "local");
}

// "full" alone means whole layers, which today is an empty list; the two full_iteration names became settings.
void NormalizeModules(Editor& e) {
  const Facts& f = e.facts();
  if (f.has(K::cuda_graph_modules, "full")) {
    if (f.value(K::cuda_graph_modules).list().size() == 1) e.Set(K::cuda_graph_modules, Value::List{});
    return;
  }
  Value::List kept;
  bool full_iteration = false;
  bool inference_block = false;
  for (const Value& module : f.value(K::cuda_graph_modules).list()) {
    full_iteration = full_iteration || module == Value("full_iteration");
    inference_block = inference_block || module == Value("full_iteration_inference");
    if (module != Value("full_iteration") && module != Value("full_iteration_inference")) kept.push_back(module);
  }
  if (kept.size() == f.value(K::cuda_graph_modules).list().size()) return;
  if (inference_block && !f.is(K::cuda_graph_impl, "none")) e.Set(K::inference_cuda_graph_scope, "block");
  if (full_iteration) e.Set(K::cuda_graph_impl, "full_iteration");
  e.Set(K::cuda_graph_modules, std::move(kept));
}

bool OldNamesConflict(F f) {
  const bool full = f.has(K::cuda_graph_modules, "full_iteration");
  const bool inference = f.has(K::cuda_graph_modules, "full_iteration_inference");
  if (f.has(K::cuda_graph_modules, "full") || (!full && !inference)) return false;
  if (full && inference) return true;
  const bool impl_fits =
      f.in(K::cuda_graph_impl, {"none", "local"}) || (full && f.is(K::cuda_graph_impl, "full_iteration"));
  const bool scope_fits =
      f.none(K::inference_cuda_graph_scope) || f.is(K::inference_cuda_graph_scope, full ? "none" : "block");
  return !impl_fits || !scope_fits;
}

bool InferenceScopeFits(F f) {
  if (f.is(K::cuda_graph_impl, "local")) return f.in(K::inference_cuda_graph_scope, {"layer", "block"});
  return f.is(K::inference_cuda_graph_scope, "none");
}

// Captures the whole training step: a setting since 0.18, before that a scope of the local implementation.
bool FullIteration(F f) {
  if (f.core(18)) return f.is(K::cuda_graph_impl, "full_iteration");
  const bool scope = f.is(K::cuda_graph_impl, "local") &&
                     (f.has(K::cuda_graph_scope, "full_iteration") || f.is(K::cuda_graph_scope, "full_iteration"));
  return scope && (f.core(17) || !f.on(K::inference_dynamic_batching));
}
bool InferenceBlock(F f) {
  if (f.core(18)) return f.is(K::inference_cuda_graph_scope, "block");
  return f.is(K::cuda_graph_impl, "local") && f.has(K::cuda_graph_scope, "full_iteration_inference");
}

void EnableTeRng(Editor& e) {
  const Facts& f = e.facts();
  if (f.is(K::cuda_graph_impl, "none")) return;
  if (f.is(K::transformer_impl, "transformer_engine") || f.is(K::cuda_graph_impl, "transformer_engine")) {
    e.Set(K::te_rng_tracker, true);
  }
}

const Rule kRules[] = {
    {.id = "mlm.cg-legacy-vs-impl",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 612},
     .source = "Megatron-LM:megatron/training/arguments.py:612",
     .reads = {K::enable_cuda_graph, K::external_cuda_graph, K::cuda_graph_impl},
     .when = [](F f) { return Legacy(f) && !f.is(K::cuda_graph_impl, "none"); },
     .needs = "--enable-cuda-graph and --external-cuda-graph are old names of --cuda-graph-impl: give one",
     .fix = [](F f) -> std::vector<Patch> {
       Patch patch = {Assign(K::enable_cuda_graph, false), Assign(K::external_cuda_graph, false)};
       // Up to 0.17 the local graphs that stay want padded experts (mlm.cg-ep-inference-pad).
       const bool pads = !f.core(18) && f.is(K::cuda_graph_impl, "local") && f.num(K::expert_model_parallel_size) > 1;
       if (pads) patch.push_back(Assign(K::moe_pad_experts_for_cuda_graph_inference, true));
       if (FullIteration(f)) patch.push_back(Assign(K::check_for_nan_in_loss_and_grad, false));
       return {patch};
     }},
    {.id = "mlm.cg-legacy-both",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 615},
     .source = "Megatron-LM:megatron/training/arguments.py:615",
     .reads = {K::enable_cuda_graph, K::external_cuda_graph},
     .when = [](F f) { return f.on(K::enable_cuda_graph) && f.on(K::external_cuda_graph); },
     .needs = "--enable-cuda-graph and --external-cuda-graph exclude each other",
     .fixes = {{{K::enable_cuda_graph, false}}, {{K::external_cuda_graph, false}}}},
    {.id = "mlm.cg-legacy-map",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 619},
     .source = "Megatron-LM:megatron/training/arguments.py:619",
     .reads = {K::enable_cuda_graph, K::external_cuda_graph},
     .change = [](Editor& e) { UseLegacySwitch(e); }},
    {.id = "mlm.cg-scope-and-modules",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 634},
     .source = "Megatron-LM:megatron/training/arguments.py:634",
     .core = {18, kMain},
     .reads = {K::cuda_graph_scope_deprecated, K::cuda_graph_modules},
     .when = [](F f) { return f.set(K::cuda_graph_scope_deprecated) && f.on(K::cuda_graph_modules); },
     .needs = "--cuda-graph-scope is the old name of --cuda-graph-modules: give one",
     .fixes = {{{K::cuda_graph_scope_deprecated, kUnset}}}},
    {.id = "mlm.cg-scope-alias",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 640},
     .source = "Megatron-LM:megatron/training/arguments.py:640",
     .core = {18, kMain},
     .reads = {K::cuda_graph_scope_deprecated},
     .change =
         [](Editor& e) {
           if (e.facts().set(K::cuda_graph_scope_deprecated))
             e.Set(K::cuda_graph_modules, e.facts().value(K::cuda_graph_scope_deprecated));
         }},
    {.id = "mlm.cg-scope-full-alone",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 641},
     .source = "Megatron-LM:megatron/core/transformer/cuda_graph_config.py:46",
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope},
     .when =
         [](F f) {
           const K modules = f.core(18) ? K::cuda_graph_modules : K::cuda_graph_scope;
           return f.has(modules, "full") && f.value(modules).list().size() > 1;
         },
     .needs = "full means whole layers and stands alone",
     .fix = [](F f) -> std::vector<Patch> {
       return {{Assign(f.core(18) ? K::cuda_graph_modules : K::cuda_graph_scope, Value(Value::List{Value("full")}))}};
     }},
    {.id = "mlm.cg-scope-full-emptied",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 642},
     .source = "Megatron-LM:megatron/training/arguments.py:642",
     .core = {0, 17},
     .reads = {K::cuda_graph_scope},
     .change =
         [](Editor& e) {
           if (e.facts().has(K::cuda_graph_scope, "full") && e.facts().value(K::cuda_graph_scope).list().size() == 1)
             e.Set(K::cuda_graph_scope, Value::List{});
         }},
    {.id = "cg.deprecated-scope-conflict",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 643},
     .source = "Megatron-LM:megatron/core/transformer/cuda_graph_config.py:108",
     .core = {18, kMain},
     .reads = {K::cuda_graph_modules, K::cuda_graph_impl, K::inference_cuda_graph_scope},
     .when = [](F f) { return OldNamesConflict(f); },
     .needs = "full_iteration and full_iteration_inference are old names that fit only implementations none and local, "
              "one at a time",
     .fixes = {{{K::cuda_graph_modules, Literal::List("")}}}},
    {.id = "mlm.cg-modules-normalized",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 644},
     .source = "Megatron-LM:megatron/training/arguments.py:644",
     .core = {18, kMain},
     .reads = {K::cuda_graph_modules},
     .change = [](Editor& e) { NormalizeModules(e); }},
    {.id = "mlm.cg-inference-scope-default",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 645},
     .source = "Megatron-LM:megatron/training/arguments.py:645",
     .core = {18, kMain},
     .reads = {K::inference_cuda_graph_scope, K::cuda_graph_impl},
     .change =
         [](Editor& e) {
           if (e.facts().none(K::inference_cuda_graph_scope))
             e.Set(K::inference_cuda_graph_scope, e.facts().is(K::cuda_graph_impl, "local") ? "layer" : "none");
         }},
    {.id = "mlm.cg-inference-scope",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 647},
     .source = "Megatron-LM:megatron/training/arguments.py:647",
     .core = {18, kMain},
     .reads = {K::inference_cuda_graph_scope, K::cuda_graph_impl},
     .when = [](F f) { return !InferenceScopeFits(f); },
     .needs = "inference_cuda_graph_scope must be layer or block with cuda_graph_impl local, none otherwise",
     .fixes = {{{K::inference_cuda_graph_scope, "none"}, {K::cuda_graph_impl, "none"}}},
     .fix = [](F f) -> std::vector<Patch> {
       return {{Assign(K::inference_cuda_graph_scope, f.is(K::cuda_graph_impl, "local") ? "layer" : "none")}};
     }},
    {.id = "mlm.cg-full-iter-nan",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 1236},
     .source = "Megatron-LM:megatron/training/arguments.py:1236",
     .reads = {K::cuda_graph_impl, K::check_for_nan_in_loss_and_grad},
     .when = [](F f) { return FullIteration(f) && f.on(K::check_for_nan_in_loss_and_grad); },
     .needs = "a full-iteration graph cannot look at the loss on the host: check_for_nan_in_loss_and_grad must be off",
     .fixes = {{{K::check_for_nan_in_loss_and_grad, false}}}},
    {.id = "mlm.cg-full-iter-inference-fp8",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 1237},
     .source = "Megatron-LM:megatron/training/arguments.py:1237",
     .core = {0, 16},
     .reads = {K::cuda_graph_impl, K::fp8},
     .when =
         [](F f) {
           return f.is(K::cuda_graph_impl, "local") && f.has(K::cuda_graph_scope, "full_iteration") &&
                  f.on(K::inference_dynamic_batching) && f.set(K::fp8);
         },
     .needs = "full-iteration inference graphs exclude FP8",
     .fixes = {{{K::fp8, kUnset}}}},
    {.id = "mlm.cg-block-fp8-impl",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 1241},
     .source = "Megatron-LM:megatron/training/arguments.py:1241",
     .core = {17, kMain},
     .reads = {K::inference_cuda_graph_scope, K::fp8, K::transformer_impl},
     .when =
         [](F f) { return InferenceBlock(f) && f.set(K::fp8) && !f.is(K::transformer_impl, "inference_optimized"); },
     .needs = "block inference graphs with FP8 need transformer_impl inference_optimized",
     .fixes = {{{K::fp8, kUnset}}}},
    {.id = "mlm.cg-block-fp8-recipe",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 1244},
     .source = "Megatron-LM:megatron/training/arguments.py:1244",
     .core = {17, kMain},
     .reads = {K::inference_cuda_graph_scope, K::fp8, K::fp8_recipe},
     .when = [](F f) { return InferenceBlock(f) && f.set(K::fp8) && !f.is(K::fp8_recipe, "mxfp8"); },
     .needs = "block inference graphs with FP8 need fp8_recipe mxfp8",
     .fixes = {{{K::fp8, kUnset}}}},
    {.id = "mlm.cg-local-inference-count",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 1248},
     .source = "Megatron-LM:megatron/training/arguments.py:1248",
     .core = {17, kMain},
     .reads = {K::cuda_graph_impl, K::inference_dynamic_batching_num_cuda_graphs},
     .when =
         [](F f) {
           return f.is(K::cuda_graph_impl, "local") && f.num(K::inference_dynamic_batching_num_cuda_graphs) <= 0 &&
                  f.num(K::inference_dynamic_batching_num_cuda_graphs) != -1;
         },
     .needs = "the number of inference graphs must be positive, or -1 for automatic",
     .fixes = {{{K::inference_dynamic_batching_num_cuda_graphs, -1}}}},
    {.id = "mlm.cg-ep-inference-pad",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 1251},
     .source = "Megatron-LM:megatron/training/arguments.py:1251",
     .core = {0, 17},
     .reads = {K::cuda_graph_impl, K::expert_model_parallel_size, K::moe_pad_experts_for_cuda_graph_inference},
     .when =
         [](F f) {
           return !f.fork() && f.is(K::cuda_graph_impl, "local") && f.num(K::expert_model_parallel_size) > 1 &&
                  !f.on(K::moe_pad_experts_for_cuda_graph_inference) &&
                  (!f.core(17) || !f.is(K::transformer_impl, "inference_optimized"));
         },
     .needs = "local CUDA graphs with expert parallelism need moe_pad_experts_for_cuda_graph_inference in this release",
     .fixes = {{{K::moe_pad_experts_for_cuda_graph_inference, true}}, {{K::cuda_graph_impl, "none"}}}},
    {.id = "mlm.cg-te-rng",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1953},
     .source = "Megatron-LM:megatron/training/arguments.py:1953",
     .reads = {K::te_rng_tracker, K::cuda_graph_impl, K::transformer_impl},
     .change = [](Editor& e) { EnableTeRng(e); }},
    {.id = "mlm.cg-te-expandable-segments",
     .area = "env",
     .at = {Phase::kCliValidate, 1962},
     .source = "Megatron-LM:megatron/training/arguments.py:1962",
     .reads = {K::cuda_graph_impl},
     .reads_env = {"PYTORCH_CUDA_ALLOC_CONF", "NCCL_GRAPH_REGISTER"},
     .when =
         [](F f) {
           return f.is(K::cuda_graph_impl, "transformer_engine") &&
                  absl::StrContains(f.var("PYTORCH_CUDA_ALLOC_CONF"), "expandable_segments:True") &&
                  f.var("NCCL_GRAPH_REGISTER") != "0";
         },
     .needs = "Transformer Engine graphs with expandable segments need NCCL_GRAPH_REGISTER=0",
     .fixes = {{{{}, "0", "NCCL_GRAPH_REGISTER"}}, {{{}, "", "PYTORCH_CUDA_ALLOC_CONF"}}}},
    {.id = "mlm.cg-full-iter-modules",
     .area = "cuda-graph",
     .at = {Phase::kCliValidate, 1969},
     .source = "Megatron-LM:megatron/training/arguments.py:1969",
     .core = {18, kMain},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules},
     .when = [](F f) { return f.is(K::cuda_graph_impl, "full_iteration") && f.on(K::cuda_graph_modules); },
     .needs = "a full-iteration graph takes no cuda_graph_modules",
     .fixes = {{{K::cuda_graph_modules, Literal::List("")}}}},
};

}  // namespace

RuleList MegatronLmCudaGraphRules() { return kRules; }

}  // namespace flightplan
