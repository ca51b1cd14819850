#include "resolver/derive/module_names.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "resolver/derive/candidate.h"

namespace flightplan {
namespace {

// In the order in which they are written.
constexpr std::pair<absl::string_view, uint16_t> kRecomputeModules[] = {
    {"core_attn", kDropCoreAttn},
    {"mla_up_proj", kDropMlaUpProj},
    {"mlp", kDropMlp},
    {"moe_act", kDropMoeAct},
    {"layernorm", kDropLayernorm},
    {"shared_experts", kDropSharedExperts},
    {"moe", kDropMoe},
    {"a2a_overlap_attn", kDropOverlapAttention},
    {"a2a_overlap_post_attn", kDropOverlapPostAttention},
    {"a2a_overlap_mlp", kDropOverlapExperts},
    {"mhc", kDropMhc},
    // One bit for three names, so that it is read alone.
    {"gdn_norm_out", kDropLinearAttention},
    {"gdp_in_proj", kDropLinearAttention},
    {"gdp_qkv", kDropLinearAttention}};

constexpr std::pair<absl::string_view, uint16_t> kOffloadModules[] = {
    {"attn_norm", kOffloadAttnNorm}, {"qkv_linear", kOffloadQkvLinear},
    {"core_attn", kOffloadCoreAttn}, {"attn_proj", kOffloadAttnProj},
    {"mlp_norm", kOffloadMlpNorm},   {"expert_fc1", kOffloadExpertFc1},
    {"moe_act", kOffloadMoeAct},     {"fused_group_mlp", kOffloadExpertFc1 | kOffloadMoeAct}};
constexpr std::pair<absl::string_view, uint16_t> kOffloadTensors[] = {
    {"dispatched_input", kOffloadDispatchedInput}, {"pre_mlp_layernorm_output", kOffloadPreMlpNormOutput}};

constexpr std::pair<absl::string_view, uint8_t> kGraphModules[] = {{"attn", kGraphAttn},
                                                                   {"mlp", kGraphMlp},
                                                                   {"moe", kGraphMoe},
                                                                   {"moe_router", kGraphMoeRouter},
                                                                   {"moe_preprocess", kGraphMoePreprocess},
                                                                   {"mamba", kGraphMamba}};

template <typename Bits, size_t n>
Bits BitOf(absl::string_view text, const std::pair<absl::string_view, Bits> (&names)[n]) {
  for (const auto& [name, bit] : names) {
    if (name == text) return bit;
  }
  return 0;
}

template <typename Bits, size_t n>
Bits BitsOf(const Value& value, const std::pair<absl::string_view, Bits> (&names)[n]) {
  if (value.is_text()) return BitOf(value.text(), names);
  Bits bits = 0;
  for (const Value& entry : value.list()) bits = static_cast<Bits>(bits | BitOf(entry.text(), names));
  return bits;
}

}  // namespace

uint16_t DropBitOf(absl::string_view recompute_module) { return BitOf(recompute_module, kRecomputeModules); }

uint16_t DropBitsOf(const Value& recompute_modules) { return BitsOf(recompute_modules, kRecomputeModules); }

Value RecomputeModulesOf(unsigned bits) {
  static const auto* const kNames = [] {
    auto* names = new std::vector<std::pair<unsigned, Value>>();
    for (const auto& [name, bit] : kRecomputeModules) {
      if (bit != kDropLinearAttention) names->emplace_back(bit, Value(name));
    }
    return names;
  }();
  Value::List list;
  for (const auto& [bit, name] : *kNames) {
    if ((bits & bit) != 0) list.push_back(name);
  }
  return Value(std::move(list));
}

uint16_t OffloadBitsOf(const Value& offload_modules, const Value& offload_tensors) {
  return static_cast<uint16_t>(BitsOf(offload_modules, kOffloadModules) | BitsOf(offload_tensors, kOffloadTensors));
}

Value OffloadTensorsOf(unsigned bits) {
  Value::List list;
  for (const auto& [name, bit] : kOffloadTensors) {
    if ((bits & bit) != 0) list.emplace_back(name);
  }
  return Value(std::move(list));
}

uint8_t GraphBitsOf(const Value& modules) { return BitsOf(modules, kGraphModules); }

}  // namespace flightplan
