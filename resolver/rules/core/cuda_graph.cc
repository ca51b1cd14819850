// CUDA graphs: deprecated switches, names of modules, implementation and inference scope. What may be captured together
// with what stands in cuda_graph_modules.cc.
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Value& RawModules(F f) { return f.value(GraphModulesKnob(f)); }

// Python's "".split(',') is one empty name; from core 0.18 on empty text means no name.
bool NoNames(F f) {
  const Value& raw = RawModules(f);
  return raw.is_none() || (f.core(18) && raw.is_text() && raw.text().empty());
}

bool Named(F f, absl::string_view name) { return !NoNames(f) && HasGraphName(RawModules(f), name); }

int CountNames(F f) {
  int count = 0;
  if (!NoNames(f)) ForEachGraphName(RawModules(f), [&](absl::string_view) { ++count; });
  return count;
}

// The class's default, under a stack that writes its own launches: nobody wrote it, and nothing is captured.
bool IsUnwritten(F f) {
  return !f.stack().own_source.empty() && f.is(K::cuda_graph_impl, "none") && !f.given(K::cuda_graph_modules) &&
         !f.given(K::cuda_graph_scope);
}

bool FullWithOthers(F f) { return f.core(16) && Named(f, "full") && CountNames(f) > 1; }

bool HasNonText(F f) {
  const Value& modules = RawModules(f);
  // Since 0.18 one value that is no list counts as a list of one; before it, scope-type refuses it.
  if (f.core(18) && !modules.is_none() && !modules.is_list() && !modules.is_text()) return true;
  for (const Value& item : modules.list()) {
    if (!item.is_text()) return f.core(16);
  }
  return false;
}

bool KnownName(F f, absl::string_view name) {
  if (IsGraphModule(name) || name == "full_iteration") return true;
  return name == "full_iteration_inference" && f.core(17);
}

bool UnknownName(F f) {
  if (!f.core(16) || NoNames(f) || Named(f, "full") || HasNonText(f)) return false;
  bool unknown = false;
  ForEachGraphName(RawModules(f), [&](absl::string_view name) { unknown = unknown || !KnownName(f, name); });
  return unknown;
}

std::vector<Patch> KnownNamesOnly(F f) {
  Value::List kept;
  ForEachGraphName(RawModules(f), [&](absl::string_view name) {
    if (IsGraphModule(name)) kept.emplace_back(name);
  });
  const bool whole = f.core(18) && GraphImpl(f, "full_iteration");  // captures everything, so names nothing
  if (whole) kept.clear();
  if (kept.empty() && !whole) return {GraphsOff(f)};
  return {{Assign(GraphModulesKnob(f), Value(std::move(kept)))}};
}

// 'full_iteration' and 'full_iteration_inference' stood among the modules before they became knobs of their own.
bool FullIterationName(F f) { return Named(f, "full_iteration"); }
bool InferenceName(F f) { return Named(f, "full_iteration_inference"); }
bool InferenceNameIgnored(F f) { return InferenceName(f) && GraphImpl(f, "none"); }

bool Migrates(F f) {
  if (FullIterationName(f)) return !GraphImpl(f, "transformer_engine");
  return InferenceName(f) && GraphImpl(f, "local");
}

void NormalizeModules(Editor& e) {
  const Facts& f = e.facts();
  Value::List names;
  if (!NoNames(f) && !Named(f, "full")) {
    ForEachGraphName(RawModules(f), [&](absl::string_view name) {
      const bool migrated = f.core(18) && (name == "full_iteration" || name == "full_iteration_inference");
      if (!migrated) names.emplace_back(name);
    });
  }
  if (f.core(18) && Migrates(f)) {
    if (FullIterationName(f)) {
      e.Set(K::cuda_graph_impl, "full_iteration");
    } else {
      e.Set(K::inference_cuda_graph_scope, "block");
    }
  }
  e.Set(GraphModulesKnob(f), Value(std::move(names)));
}

bool ScopeKnown(F f) { return f.in(K::inference_cuda_graph_scope, {"none", "layer", "block"}); }

bool ScopeFitsImpl(F f) {
  if (GraphImpl(f, "local")) return !f.is(K::inference_cuda_graph_scope, "none");
  return f.is(K::inference_cuda_graph_scope, "none");
}

std::vector<Patch> Off(F f) { return {GraphsOff(f)}; }

const Rule kRules[] = {
    {.id = "cuda-graph.legacy-vs-impl",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2699),
     .reads = {K::enable_cuda_graph, K::external_cuda_graph, K::cuda_graph_impl},
     .when = [](F f) { return (f.on(K::enable_cuda_graph) || f.on(K::external_cuda_graph)) && !GraphImpl(f, "none"); },
     .needs = "the old switches and cuda_graph_impl exclude each other",
     .fix =
         [](F f) {
           // What stays is held to its own rules, which offloading and recomputation narrow.
           const bool narrow = f.on(K::fine_grained_activation_offloading) || f.set(K::recompute_granularity);
           Patch old = {Assign(K::enable_cuda_graph, false), Assign(K::external_cuda_graph, false)};
           if (narrow) return std::vector<Patch>{GraphsOff(f), old};
           if (GraphImpl(f, "full_iteration")) old.push_back(Assign(K::check_for_nan_in_loss, false));
           return std::vector<Patch>{old};
         }},
    {.id = "cuda-graph.legacy-both",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2702),
     .reads = {K::enable_cuda_graph, K::external_cuda_graph},
     .when = [](F f) { return f.on(K::enable_cuda_graph) && f.on(K::external_cuda_graph); },
     .needs = "one graph implementation: enable_cuda_graph means local, external_cuda_graph Transformer Engine's",
     .fixes = {{{K::enable_cuda_graph, false}}, {{K::external_cuda_graph, false}}}},
    {.id = "cuda-graph.enable-deprecated",
     .area = "cuda-graph",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2707),
     .reads = {K::enable_cuda_graph},
     .when = [](F f) { return f.on(K::enable_cuda_graph); },
     .needs = "write cuda_graph_impl=local"},
    {.id = "cuda-graph.external-deprecated",
     .area = "cuda-graph",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2710),
     .reads = {K::external_cuda_graph},
     .when = [](F f) { return f.on(K::external_cuda_graph); },
     .needs = "write cuda_graph_impl=transformer_engine"},
    {.id = "cuda-graph.legacy-applied",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(2714),
     .reads = {K::enable_cuda_graph, K::external_cuda_graph},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::enable_cuda_graph)) e.Set(K::cuda_graph_impl, "local");
           if (e.facts().on(K::external_cuda_graph)) e.Set(K::cuda_graph_impl, "transformer_engine");
         }},
    {.id = "cuda-graph.scope-and-modules",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2717),
     .core = {.since = 18},
     .reads = {K::cuda_graph_scope, K::cuda_graph_modules},
     .when =
         [](F f) {
           const Value& modules = f.value(K::cuda_graph_modules);
           const bool untouched = modules.is_none() || f.is(K::cuda_graph_modules, "full") ||
                                  (modules.is_list() && modules.list().empty());
           return f.set(K::cuda_graph_scope) && !untouched;
         },
     .needs = "cuda_graph_scope is the old name of cuda_graph_modules; give one of them",
     .fixes = {{{K::cuda_graph_modules, Literal::List("")}}},
     .fix = [](F f) -> std::vector<Patch> {
       if (HasNonText(f)) return {};
       return {{Assign(K::cuda_graph_scope, Value())}};
     }},
    {.id = "cuda-graph.scope-deprecated",
     .area = "cuda-graph",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2722),
     .core = {.since = 18},
     .reads = {K::cuda_graph_scope},
     .when = [](F f) { return f.set(K::cuda_graph_scope); },
     .needs = "the knob is called cuda_graph_modules now"},
    {.id = "cuda-graph.scope-moved",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(2736),
     .core = {.since = 18},
     .reads = {K::cuda_graph_scope},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::cuda_graph_scope)) return;
           e.Set(K::cuda_graph_modules, f.value(K::cuda_graph_scope));
           e.Set(K::cuda_graph_scope, Value());
         }},
    {.id = "cuda-graph.scope-type",
     .area = "cuda-graph",
     OLDER_TRANSFORMER_CONFIG("0.17.1", 1936, 2740),
     .core = {.since = 16, .until = 17},
     .reads = {K::cuda_graph_scope},
     .when =
         [](F f) {
           const Value& scope = f.value(K::cuda_graph_scope);
           return !scope.is_none() && !scope.is_list() && !scope.is_text();
         },
     .needs = "cuda_graph_scope is a list of names or text separated by commas",
     .fix = Off},
    {.id = "cuda-graph.full-alone",
     .area = "cuda-graph",
     CUDA_GRAPH_CONFIG(40, 2741),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope},
     .when = FullWithOthers,
     .needs = "'full' (the whole layer) stands alone",
     .fix = KnownNamesOnly},
    {.id = "cuda-graph.module-type",
     .area = "cuda-graph",
     CUDA_GRAPH_CONFIG(49, 2741),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope},
     .when = HasNonText,
     .needs = "the captured modules are names",
     .fix = KnownNamesOnly},
    {.id = "cuda-graph.module-unknown",
     .area = "cuda-graph",
     CUDA_GRAPH_CONFIG(57, 2741),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope},
     .when = UnknownName,
     .needs = "the captured modules are among attn, mlp, moe, moe_router, moe_preprocess, mamba",
     .fix = KnownNamesOnly},
    {.id = "cuda-graph.deprecated-several",
     .area = "cuda-graph",
     CUDA_GRAPH_CONFIG(98, 2744),
     .core = {.since = 18},
     .reads = {K::cuda_graph_modules},
     .when = [](F f) { return FullIterationName(f) && InferenceName(f); },
     .needs = "one of the deprecated names full_iteration and full_iteration_inference",
     .fix = KnownNamesOnly},
    {.id = "cuda-graph.deprecated-full-iter-impl",
     .area = "cuda-graph",
     CUDA_GRAPH_CONFIG(108, 2744),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope, K::cuda_graph_impl},
     .when =
         [](F f) {
           if (!f.core(18)) return FullIterationName(f) && GraphImpl(f, "transformer_engine");
           return FullIterationName(f) && !InferenceName(f) &&
                  !f.in(K::cuda_graph_impl, {"none", "local", "full_iteration"});
         },
     .needs = "whole-iteration capture is not a module of Transformer Engine's graphs: from core 0.18 write "
              "cuda_graph_impl=full_iteration, before it impl local with scope full_iteration",
     .fix =
         [](F f) {
           if (!f.core(18)) {
             Patch local = {Assign(K::cuda_graph_impl, "local"), Assign(K::external_cuda_graph, false)};
             // The command line of these releases pads the experts of local graphs (mlm.cg-ep-inference-pad).
             const bool pads = f.command_line() && !f.fork() && f.num(K::expert_model_parallel_size) > 1;
             if (pads) local.push_back(Assign(K::moe_pad_experts_for_cuda_graph_inference, true));
             if (f.command_line() && !f.fork()) local.push_back(Assign(K::check_for_nan_in_loss_and_grad, false));
             return std::vector<Patch>{local};
           }
           return std::vector<Patch>{{Assign(K::cuda_graph_impl, "full_iteration"),
                                      Assign(K::cuda_graph_modules, Value(Value::List{})),
                                      Assign(K::external_cuda_graph, false), Assign(K::cuda_graph_scope, Value())}};
         }},
    {.id = "cuda-graph.deprecated-full-iter-inference",
     .area = "cuda-graph",
     CUDA_GRAPH_CONFIG(112, 2744),
     .core = {.since = 18},
     .reads = {K::cuda_graph_modules, K::inference_cuda_graph_scope},
     .when =
         [](F f) {
           return FullIterationName(f) && !InferenceName(f) && f.set(K::inference_cuda_graph_scope) &&
                  !f.is(K::inference_cuda_graph_scope, "none");
         },
     .needs = "whole-iteration capture has no inference graphs",
     .fixes = {{{K::inference_cuda_graph_scope, kUnset}}}},
    {.id = "cuda-graph.deprecated-inference-impl",
     .area = "cuda-graph",
     CUDA_GRAPH_CONFIG(118, 2744),
     .core = {.since = 18},
     .reads = {K::cuda_graph_modules, K::cuda_graph_impl},
     .when =
         [](F f) {
           return InferenceName(f) && !FullIterationName(f) && !f.in(K::cuda_graph_impl, {"none", "local"});
         },
     .needs = "inference graphs of the whole block belong to the local implementation",
     .fix =
         [](F f) {
           // Bridge's training never runs local graphs of less than the iteration; with offloading other rules come in.
           const bool off = f.container() || f.on(K::fine_grained_activation_offloading);
           if (off) return std::vector<Patch>{GraphsOff(f)};
           return std::vector<Patch>{{Assign(K::cuda_graph_impl, "local"), Assign(K::external_cuda_graph, false)},
                                     GraphsOff(f)};
         }},
    {.id = "cuda-graph.deprecated-inference-scope",
     .area = "cuda-graph",
     CUDA_GRAPH_CONFIG(122, 2744),
     .core = {.since = 18},
     .reads = {K::cuda_graph_modules, K::inference_cuda_graph_scope},
     .when =
         [](F f) {
           return InferenceName(f) && !FullIterationName(f) && f.set(K::inference_cuda_graph_scope) &&
                  !f.is(K::inference_cuda_graph_scope, "block");
         },
     .needs = "full_iteration_inference means inference_cuda_graph_scope=block",
     .fix =
         [](F f) {
           if (f.container()) return std::vector<Patch>{GraphsOff(f)};
           return std::vector<Patch>{{Assign(K::inference_cuda_graph_scope, Value())}};
         }},
    {.id = "cuda-graph.full-deprecated",
     .area = "cuda-graph",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2748),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope, K::cuda_graph_impl},
     .when = [](F f) { return Named(f, "full") && !FullWithOthers(f) && !IsUnwritten(f); },
     .needs = "an empty list captures the whole layer; 'full' is its old (and in some releases default) name"},
    {.id = "cuda-graph.deprecated-inference-ignored",
     .area = "cuda-graph",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2757),
     .core = {.since = 18},
     .reads = {K::cuda_graph_modules, K::cuda_graph_impl},
     .when = InferenceNameIgnored,
     .needs = "full_iteration_inference does nothing while cuda_graph_impl is none"},
    {.id = "cuda-graph.deprecated-migrated",
     .area = "cuda-graph",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2766),
     .core = {.since = 18},
     .reads = {K::cuda_graph_modules, K::cuda_graph_impl},
     .when = Migrates,
     .needs = "whole-iteration capture is cuda_graph_impl=full_iteration now, for inference "
              "inference_cuda_graph_scope=block"},
    {.id = "cuda-graph.modules-normalized",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(2773),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope},
     .change = NormalizeModules},
    {.id = "cuda-graph.impl-known",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2778),
     .reads = {K::cuda_graph_impl},
     .when =
         [](F f) {
           if (f.in(K::cuda_graph_impl, {"none", "transformer_engine", "local"})) return false;
           return !(f.core(18) && GraphImpl(f, "full_iteration"));
         },
     .needs = "cuda_graph_impl is none, transformer_engine or local, from core 0.18 also full_iteration",
     .fix = Off},
    {.id = "cuda-graph.inference-scope-unknown",
     .area = "cuda-graph",
     CUDA_GRAPH_CONFIG(79, 2784),
     .core = {.since = 18},
     .reads = {K::inference_cuda_graph_scope},
     .when = [](F f) { return f.set(K::inference_cuda_graph_scope) && !ScopeKnown(f); },
     .needs = "inference_cuda_graph_scope is none, layer or block",
     .fixes = {{{K::inference_cuda_graph_scope, kUnset}}}},
    {.id = "cuda-graph.inference-scope-default",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(2785),
     .core = {.since = 18},
     .reads = {K::inference_cuda_graph_scope, K::cuda_graph_impl},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::inference_cuda_graph_scope)) {
             e.Set(K::inference_cuda_graph_scope, GraphImpl(f, "local") ? "layer" : "none");
           }
         }},
    {.id = "cuda-graph.inference-scope-vs-impl",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2789),
     .core = {.since = 18},
     .reads = {K::inference_cuda_graph_scope, K::cuda_graph_impl},
     .when = [](F f) { return ScopeKnown(f) && !ScopeFitsImpl(f); },
     .needs = "the local implementation has the inference scopes layer and block, the others have none",
     .fixes = {{{K::inference_cuda_graph_scope, kUnset}}}},
    {.id = "cuda-graph.full-iter-no-modules",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2794),
     .core = {.since = 18},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules},
     .when = [](F f) { return GraphImpl(f, "full_iteration") && f.on(K::cuda_graph_modules); },
     .needs = "whole-iteration capture takes no list of modules",
     .fixes = {{{K::cuda_graph_modules, Literal::List("")},
                {K::cuda_graph_scope, kUnset},
                {K::cuda_graph_impl, "full_iteration"}}}},
};

}  // namespace

RuleList CoreCudaGraphRules() { return kRules; }

}  // namespace flightplan
