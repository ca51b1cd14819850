#include "resolver/derive/renamed_knobs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "resolver/catalog/spellings.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

using K = Knob;

// The same value under a new name. Sources: the deprecation notes in transformer_config.py and arguments.py of the
// release that brought the new name.
struct Rename {
  K before, after;
  int since;  // Megatron-Core minor release of the new name
  absl::string_view why;
};
constexpr Rename kRenames[] = {
    {K::moe_router_padding_for_fp8, K::moe_router_padding_for_quantization, 16, "renamed in Megatron-Core 0.16"},
    {K::cuda_graph_scope, K::cuda_graph_modules, 18, "renamed in Megatron-Core 0.18"},
    {K::cuda_graph_scope_deprecated, K::cuda_graph_modules, 18, "renamed in Megatron-Core 0.18"},
    {K::muon_use_nesterov, K::muon_nesterov, 18, "renamed in Megatron-Core 0.18"},
    {K::hybrid_override_pattern, K::hybrid_layer_pattern, 17, "renamed in Megatron-Core 0.17"},
};

// The same choice under two names. `second`: where it has the second one.
struct ValueNames {
  K knob;
  absl::string_view first, second;
  bool (*has_second)(const Environment& env);
  absl::string_view why;
};
constexpr ValueNames kValueNames[] = {
    // Megatron-Core transformer_config.py:1406
    {K::experimental_attention_variant, "gated_delta_net", "gdn",
     [](const Environment& env) { return env.core_release == kMain && !StackOf(env).fork; },
     "gated_delta_net until Megatron-Core 0.19, gdn since"},
    // The fork's megatron/training/tokenizer/tokenizer.py; Megatron-LM megatron/training/arguments.py
    {K::tokenizer_type, "HFTokenizer", "HuggingFaceTokenizer",
     [](const Environment& env) { return !StackOf(env).fork; },
     "HFTokenizer in the fork, HuggingFaceTokenizer in Megatron-LM"},
};

// A command line names what a configuration may have by its number, as Python's enum takes it. The knob's choices are
// the names in the order of their numbers, from 1 to `last`.
struct NumberedNames {
  K knob;
  int64_t last;
  absl::string_view why;
};
constexpr NumberedNames kNumberedNames[] = {
    {K::exit_signal, 31, "a command line names the signal"},  // of Linux, without the real-time ones
};

// The SM counts of the two dispatcher backends, one knob since 0.19.
constexpr int kOneSmKnob = 19;
constexpr int kFlexBackend = 16;

std::optional<RenamedKnob> SmCount(K knob, const Value& value, const Config& config, const Environment& env) {
  const bool hybridep = config.Get(K::moe_flex_dispatcher_backend).text() == "hybridep";
  const K old_name = hybridep ? K::moe_hybridep_num_sms : K::moe_deepep_num_sms;
  if (env.core_release >= kOneSmKnob && knob == old_name) {
    return RenamedKnob{K::moe_flex_dispatcher_num_sms, value,
                       "one knob for all flex backends since Megatron-Core 0.19"};
  }
  if (env.core_release < kOneSmKnob && knob == K::moe_flex_dispatcher_num_sms) {
    return RenamedKnob{old_name, value, "a knob of the backend's own until Megatron-Core 0.18"};
  }
  return std::nullopt;
}

// A container's scheduler has both ends of the weight decay and writes them over the optimizer's. A command line has
// one word for a decay that stays as it is, and refuses the ends beside it.
std::optional<RenamedKnob> ConstantDecay(K knob, const Config& config, const Environment& env) {
  if (knob != K::weight_decay && knob != K::start_weight_decay && knob != K::end_weight_decay) return std::nullopt;
  const Value& start = config.Get(K::start_weight_decay);
  const bool stays = !start.is_none() && start == config.Get(K::end_weight_decay) &&
                     config.Get(K::weight_decay_incr_style).text() == "constant";
  if (StackOf(env).container || !stays) return std::nullopt;
  return RenamedKnob{K::weight_decay, start, "one word for a weight decay that stays as it is: the scheduler's"};
}

// Modules by name came with core 0.16: before it a graph holds one of these (core 0.15 transformer_config.py, and the
// fork's). The iteration became an implementation with 0.18.
constexpr int kModulesByName = 16, kIterationIsImpl = 18;
constexpr absl::string_view kScopes[] = {"full", "full_iteration", "attn"};
constexpr absl::string_view kOneScope =
    "until Megatron-Core 0.15 a graph holds a layer, its attention or the iteration";

bool IsModules(K knob) {
  return knob == K::cuda_graph_modules || knob == K::cuda_graph_scope || knob == K::cuda_graph_scope_deprecated;
}

// The first of the scopes that the modules name, and the others; no modules are the whole layer.
RenamedKnob ScopeOf(const Value& modules) {
  RenamedKnob scope{K::cuda_graph_scope, Value(), kOneScope};
  Value::List rest = modules.is_text() ? Value::List{modules} : Value::List(modules.list());
  if (rest.empty()) scope.value = Value(kScopes[0]);
  for (const absl::string_view known : kScopes) {
    const auto named = std::find(rest.begin(), rest.end(), Value(known));
    if (!scope.value.is_none() || named == rest.end()) continue;
    scope.value = *named;
    rest.erase(named);
  }
  if (!rest.empty()) scope.lost = Value(std::move(rest));
  return scope;
}

std::optional<RenamedKnob> Graphs(K knob, const Value& value, const Config& config, const Environment& env) {
  if (knob == K::cuda_graph_impl && value.text() == "full_iteration" && env.core_release < kIterationIsImpl) {
    return RenamedKnob{
        knob, Value("local"), "a scope until Megatron-Core 0.17", Value(), {{K::cuda_graph_scope, value}}};
  }
  if (env.core_release >= kModulesByName) return std::nullopt;
  if (IsModules(knob)) {
    RenamedKnob scope = ScopeOf(value);
    if (knob == K::cuda_graph_scope && scope.value == value) return std::nullopt;
    return scope;
  }
  if (knob != K::cuda_graph_impl) return std::nullopt;
  for (const K modules : {K::cuda_graph_modules, K::cuda_graph_scope, K::cuda_graph_scope_deprecated}) {
    if (config.Given(modules) && ScopeOf(config.Get(modules)).value.is_none()) {
      return RenamedKnob{knob, Value(), kOneScope, value};
    }
  }
  return std::nullopt;
}

// Until 0.16 a pattern is a letter a layer, of four kinds and as many as --num-layers (core_v0.16.0
// megatron/core/ssm/mamba_hybrid_layer_allocation.py:72).
constexpr int kPatternOfStages = 17, kHybridModule = 18;
std::optional<RenamedKnob> OldPattern(K knob, const Value& value, const Environment& env) {
  if (knob != K::hybrid_layer_pattern || env.core_release >= kPatternOfStages || !value.is_text()) return std::nullopt;
  RenamedKnob old{K::hybrid_override_pattern, value, "renamed in Megatron-Core 0.17"};
  if (value.text().find_first_not_of("M*-E") == absl::string_view::npos) {
    old.beside = {{K::num_layers, Value(static_cast<int64_t>(value.text().size()))}, {K::is_hybrid_model, Value(true)}};
    return old;
  }
  return RenamedKnob{old.knob, Value(), "until Megatron-Core 0.16 a pattern has M, *, - and E, no stages and no MTP",
                     value};
}

// What LoongForge's fork computes again within its overlap, or without a name elsewhere; and the switch of what it
// offloads by tensors, which others refuse without modules.
std::optional<RenamedKnob> WithoutForkModules(K knob, const Value& value, const Config& config,
                                              const Environment& env) {
  if (StackOf(env).fork) return std::nullopt;
  if (knob == K::fine_grained_activation_offloading && config.Get(K::offload_tensors).truthy() &&
      !config.Get(K::offload_modules).truthy()) {
    return RenamedKnob{knob, Value(), "it offloads offload_tensors alone, which LoongForge's fork has", value};
  }
  if (knob != K::recompute_modules) return std::nullopt;
  constexpr absl::string_view kOfFork[] = {"a2a_overlap_attn", "a2a_overlap_post_attn", "a2a_overlap_mlp", "mlp_act",
                                           "pre_mlp",          "routed_experts"};
  Value::List kept, lost;
  for (const Value& module : value.list()) {
    const bool own = std::find(std::begin(kOfFork), std::end(kOfFork), module.text()) != std::end(kOfFork);
    (own ? lost : kept).push_back(module);
  }
  if (lost.empty()) return std::nullopt;
  RenamedKnob rest{knob, Value(), "LoongForge's fork alone computes these again", Value(std::move(lost))};
  if (!kept.empty()) rest.value = Value(std::move(kept));
  return rest;
}

}  // namespace

std::optional<RenamedKnob> RenameFor(Knob knob, const Value& value, const Config& config, const Environment& env) {
  if (std::optional<RenamedKnob> graphs = Graphs(knob, value, config, env); graphs.has_value()) return graphs;
  if (std::optional<RenamedKnob> pattern = OldPattern(knob, value, env); pattern.has_value()) return pattern;
  if (std::optional<RenamedKnob> of_fork = WithoutForkModules(knob, value, config, env); of_fork.has_value())
    return of_fork;
  for (const Rename& row : kRenames) {
    if (knob == row.before && env.core_release >= row.since) return RenamedKnob{row.after, value, row.why};
    if (knob == row.after && env.core_release < row.since) return RenamedKnob{row.before, value, row.why};
  }
  if (knob == K::moe_enable_deepep && value.truthy() && env.core_release >= kFlexBackend) {
    return RenamedKnob{K::moe_flex_dispatcher_backend, Value("deepep"), "a backend by name since Megatron-Core 0.16"};
  }
  if (std::optional<RenamedKnob> decay = ConstantDecay(knob, config, env); decay.has_value()) return decay;
  return SmCount(knob, value, config, env);
}

bool IsRenamed(Knob knob, const Environment& env) {
  for (const Rename& row : kRenames) {
    if (knob == (env.core_release >= row.since ? row.before : row.after)) return true;
  }
  if (env.core_release < kOneSmKnob) return knob == K::moe_flex_dispatcher_num_sms;
  return knob == K::moe_deepep_num_sms || knob == K::moe_hybridep_num_sms;
}

std::optional<RenamedValue> ValueNameFor(Knob knob, const Value& value, const Environment& env) {
  for (const ValueNames& row : kValueNames) {
    if (knob != row.knob || !value.is_text()) continue;
    const bool second = row.has_second(env);
    if (value.text() == (second ? row.first : row.second)) {
      return RenamedValue{Value(second ? row.second : row.first), row.why};
    }
  }
  if (knob == K::spec && env.core_release < kHybridModule && !value.list().empty() &&
      value.list()[0] == Value("megatron.core.models.hybrid.hybrid_layer_specs")) {
    return RenamedValue{
        Value(Value::List{Value("megatron.core.models.mamba.mamba_layer_specs"), Value("mamba_stack_spec")}),
        "mamba_layer_specs until Megatron-Core 0.17"};
  }
  // Bridge's recipes set manual_gc_eval to 100, and a field of a Python class takes it.
  if (Row(knob).type == ValueType::kBool && value.is_int() && !StackOf(env).container) {
    return RenamedValue{Value(value.truthy()), "a switch is on or off"};
  }
  for (const NumberedNames& row : kNumberedNames) {
    if (knob != row.knob || !value.is_int() || StackOf(env).container) continue;
    if (FirstFlag(knob, env.core_release) == nullptr) continue;
    const std::vector<absl::string_view> names = absl::StrSplit(Row(knob).choices, '|');
    const int64_t number = value.integer();
    if (number < 1 || number > row.last || number > static_cast<int64_t>(names.size())) continue;
    return RenamedValue{Value(names[static_cast<size_t>(number - 1)]), row.why};
  }
  return std::nullopt;
}

}  // namespace flightplan
