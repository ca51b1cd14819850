// What LoongForge documents about its fork and its own arguments, where it is more, less or other than Megatron-LM's
// (baidu-baige/LoongForge@c6275661).
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr absl::string_view kConnections = "CUDA_DEVICE_MAX_CONNECTIONS";

// loongforge/models/omni_models/fine_grained_callables.py:43, 781, 904.
constexpr absl::string_view kTensors[] = {"dispatched_input", "pre_mlp_layernorm_output"};
// docs/source/get_started/optimization_guide.md:247: without Megatron-Core's qkv_linear.
constexpr absl::string_view kModules[] = {"attn_norm", "core_attn", "attn_proj", "mlp_norm", "expert_fc1", "moe_act"};

bool LoongForge(F f) { return f.fork(); }

template <size_t N>
bool Known(const Value& item, const absl::string_view (&names)[N]) {
  return std::any_of(std::begin(names), std::end(names), [&](absl::string_view name) { return item == Value(name); });
}

template <size_t N>
bool HoldsUnknown(F f, Knob knob, const absl::string_view (&names)[N]) {
  const Value::List& items = f.value(knob).list();
  return std::any_of(items.begin(), items.end(), [&](const Value& item) { return !Known(item, names); });
}

template <size_t N>
std::vector<Patch> KeepKnown(F f, Knob knob, const absl::string_view (&names)[N]) {
  Value::List kept;
  for (const Value& item : f.value(knob).list()) {
    if (Known(item, names)) kept.push_back(item);
  }
  return {{Assign(knob, Value(std::move(kept)))}};
}

const Rule kRules[] = {
    {.id = "lf.offload-tensors",
     .area = "offload",
     .kind = Kind::kWarning,
     .at = {Phase::kLoongForge, 610},
     .source = "LoongForge:loongforge/models/omni_models/fine_grained_callables.py:43, 781, 904",
     .reads = {K::offload_tensors, K::fine_grained_activation_offloading},
     .when =
         [](F f) {
           return !f.value(K::offload_tensors).list().empty() &&
                  (!f.on(K::fine_grained_activation_offloading) || HoldsUnknown(f, K::offload_tensors, kTensors));
         },
     .needs = "offload_tensors are dispatched_input and pre_mlp_layernorm_output, and do nothing without "
              "fine_grained_activation_offloading",
     .fix =
         [](F f) {
           std::vector<Patch> patches = KeepKnown(f, K::offload_tensors, kTensors);
           if (patches[0][0].value.list().empty()) return patches;
           patches[0].push_back(Assign(K::fine_grained_activation_offloading, true));
           return patches;
         }},
    {.id = "lf.doc-offload-modules",
     .area = "offload",
     .kind = Kind::kWarning,
     .at = {Phase::kLoongForge, 611},
     .source = "LoongForge:docs/source/get_started/optimization_guide.md:247",
     .reads = {K::offload_modules},
     .when = [](F f) { return HoldsUnknown(f, K::offload_modules, kModules); },
     .needs = "LoongForge's fork offloads attn_norm, core_attn, attn_proj, mlp_norm, expert_fc1 and moe_act",
     .fix = [](F f) { return KeepKnown(f, K::offload_modules, kModules); }},
    // The guide and the code disagree: the parser offers hybridep (Loong-Megatron arguments.py:3382).
    {.id = "lf.doc-dispatcher",
     .area = "dispatcher",
     .kind = Kind::kInfo,
     .at = {Phase::kLoongForge, 612},
     .source = "LoongForge:docs/source/get_started/optimization_guide.md:129",
     .reads = {K::moe_flex_dispatcher_backend},
     .when = [](F f) { return f.is(K::moe_flex_dispatcher_backend, "hybridep"); },
     .needs = "LoongForge's guide names DeepEP alone for the flex dispatcher; its fork's code has HybridEP, too, which "
              "this answer goes by"},
    {.id = "lf.doc-fused-ce",
     .area = "fusion",
     .kind = Kind::kInfo,
     .at = {Phase::kLoongForge, 613},
     .source = "LoongForge:docs/source/get_started/optimization_guide.md:264",
     .reads = {K::cross_entropy_fusion_impl, K::cross_entropy_loss_fusion},
     .reads_env = {"LCE_GENERIC_FWD_VOCAB_SPLIT_SIZE", "LCE_GENERIC_BWD_VOCAB_SPLIT_SIZE"},
     .when = [](F f) { return f.is(K::cross_entropy_fusion_impl, "linear") && f.on(K::cross_entropy_loss_fusion); },
     .needs = "the linear implementation fuses the output layer with the loss and splits the vocabulary into pieces of "
              "3072, or of what the LCE_* variables say"},
    {.id = "lf.doc-overlap-cdmc",
     .area = "env",
     .kind = Kind::kInfo,
     .at = {Phase::kAdvice, 601},
     .source = "LoongForge:docs/source/features/moe_all2all_overlap.md:25",
     .reads = {K::overlap_moe_expert_parallel_comm},
     .reads_env = {kConnections},
     .when =
         [](F f) { return LoongForge(f) && f.on(K::overlap_moe_expert_parallel_comm) && f.var(kConnections) != "32"; },
     .needs = "LoongForge asks for CUDA_DEVICE_MAX_CONNECTIONS=32 with the all-to-all overlap; it may slow "
              "tensor-parallel overlap",
     .fixes = {{{.value = "32", .env_var = kConnections}}}},
};

}  // namespace

RuleList LoongforgeDocumentedRules() { return kRules; }

}  // namespace flightplan
