#include "resolver/derive/adapters.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "resolver/base/real.h"
#include "resolver/catalog/bridge_fields.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr int32_t kMostRank = 1 << 16;  // beyond any that is trained
constexpr unsigned kAllOfALayer = kAdaptQkv | kAdaptProj | kAdaptFc1 | kAdaptFc2 | kAdaptExperts | kAdaptQ |
                                  kAdaptQDown | kAdaptQUp | kAdaptKvDown | kAdaptKvUp | kAdaptInProj | kAdaptOutProj;

constexpr std::pair<absl::string_view, unsigned> kNames[] = {
    {"linear_qkv", kAdaptQkv},
    {"linear_proj", kAdaptProj},
    {"linear_fc1", kAdaptFc1 | kAdaptExperts},
    {"linear_fc2", kAdaptFc2 | kAdaptExperts},
    {"linear_q_proj", kAdaptQ},
    {"linear_q_down_proj", kAdaptQDown},
    {"linear_q_up_proj", kAdaptQUp},
    {"linear_kv_down_proj", kAdaptKvDown},
    {"linear_kv_up_proj", kAdaptKvUp},
    {"in_proj", kAdaptInProj},
    {"out_proj", kAdaptOutProj},
    {"output_layer", kAdaptOutput},
    {"router", 0},  // a few thousand parameters
    {"all-router", 0},
    {"all-linear", kAllOfALayer},  // of a model of language alone (ms-swift, swift/megatron/utils/utils.py:23)
};

const std::pair<absl::string_view, unsigned>* FindName(absl::string_view name) {
  const auto* const at =
      std::find_if(std::begin(kNames), std::end(kNames), [name](const auto& row) { return row.first == name; });
  return at == std::end(kNames) ? nullptr : at;
}

// Where no layer is named, all that are linear and of one weight: grouped experts and latent attention's down
// projections are classes that the matcher leaves out.
constexpr unsigned kUnnamed = kAdaptQkv | kAdaptProj | kAdaptFc1 | kAdaptFc2 | kAdaptQ | kAdaptQUp | kAdaptKvUp |
                              kAdaptInProj | kAdaptOutProj | kAdaptOutput;

// Canonical adapters are named by the projections that Megatron-Core keeps in one layer (peft/canonical_lora.py:261).
constexpr std::pair<absl::string_view, unsigned> kPartNames[] = {{"linear_q", kAdaptQkv},
                                                                 {"linear_k", kAdaptQkv},
                                                                 {"linear_v", kAdaptQkv},
                                                                 {"linear_fc1_up", kAdaptFc1 | kAdaptExperts},
                                                                 {"linear_fc1_gate", kAdaptFc1 | kAdaptExperts}};

bool IsCanonical(const Config& config) { return config.Get(K::peft_scheme).text() == "canonical_lora"; }

// The layer that a pattern leaves out, as "out_proj" or "*out_proj*" (peft/module_matcher.py:147).
const std::pair<absl::string_view, unsigned>* FindExcluded(absl::string_view pattern) {
  if (absl::ConsumePrefix(&pattern, "*") != absl::ConsumeSuffix(&pattern, "*")) return nullptr;
  const auto* const row = FindName(pattern);
  return row == nullptr || row->second == 0 || row->second == kAllOfALayer ? nullptr : row;
}

// The names of canonical adapters whose layer has others, too: its forward calls those of all parts
// (peft/canonical_lora.py:143, :165).
bool LeavesPartsOut(absl::Span<const absl::string_view> named) {
  const auto has = [named](absl::string_view name) {
    return std::find(named.begin(), named.end(), name) != named.end();
  };
  const int attention = has("linear_q") + has("linear_k") + has("linear_v");
  return (attention > 0 && attention < 3) || has("linear_fc1_up") != has("linear_fc1_gate");
}

// Patterns, or layers that the scheme does not take.
bool NamesUnknown(const Config& config) {
  const Value& named = config.Get(K::peft_target_modules);
  std::vector<absl::string_view> names;
  if (named.is_text()) names.push_back(named.text());
  for (const Value& name : named.list()) names.push_back(name.text());
  const bool canonical = IsCanonical(config);
  const auto unknown = [canonical](absl::string_view name) {
    const bool part = std::any_of(std::begin(kPartNames), std::end(kPartNames),
                                  [name](const auto& row) { return row.first == name; });
    // It asserts that no fused layer is named (peft/canonical_lora.py:246).
    if (canonical && (part || name == "linear_qkv" || name == "linear_fc1")) return !part;
    return FindName(name) == nullptr;
  };
  return std::any_of(names.begin(), names.end(), unknown) || (canonical && LeavesPartsOut(names));
}

// All layers but some stand where no layer is named (peft/module_matcher.py:142).
bool ExcludesUnknown(const Config& config) {
  const Value& excluded = config.Get(K::peft_exclude_modules);
  if (!excluded.is_list() || excluded.list().empty()) return false;
  const Value& named = config.Get(K::peft_target_modules);
  const bool all = named.is_list() && named.list().empty();
  return !all || std::any_of(excluded.list().begin(), excluded.list().end(),
                             [](const Value& pattern) { return FindExcluded(pattern.text()) == nullptr; });
}

unsigned TargetsOf(const Config& config) {
  const Value& named = config.Get(K::peft_target_modules);
  const Value& excluded = config.Get(K::peft_exclude_modules);
  if (excluded.is_list() && !excluded.list().empty()) {
    unsigned targets = kUnnamed;
    for (const Value& pattern : excluded.list()) {
      if (const auto* row = FindExcluded(pattern.text()); row != nullptr) targets &= ~row->second;
    }
    return targets;
  }
  if (named.is_none()) return kAdaptQkv | kAdaptProj | kAdaptFc1 | kAdaptFc2 | kAdaptExperts;
  unsigned targets = 0;
  const bool canonical = IsCanonical(config);
  const auto add = [&targets, canonical](absl::string_view name) {
    if (const auto* row = FindName(name); row != nullptr) targets |= row->second;
    for (const auto& [part, layer] : kPartNames) targets |= canonical && part == name ? layer : 0;
  };
  if (named.is_text()) add(named.text());
  for (const Value& name : named.list()) add(name.text());
  return named.is_list() && named.list().empty() ? kUnnamed : targets;
}

}  // namespace

Adapters AdaptersOf(const Config& config) {
  Adapters adapters;
  if (!AdaptersConfigured(config)) return adapters;
  constexpr int64_t kUsualRank = 32;  // peft/lora.py:176
  const Value& dim = config.Get(K::peft_dim);
  adapters.rank = static_cast<int32_t>(std::clamp<int64_t>(dim.is_int() ? dim.integer() : kUsualRank, 1, kMostRank));
  adapters.expert_rank = adapters.rank;
  const int64_t topk = config.Get(K::moe_router_topk).integer();
  if (config.Get(K::peft_normalize_moe_lora).truthy() && topk > 0) {
    adapters.expert_rank = std::max(1, adapters.rank / static_cast<int32_t>(std::min<int64_t>(topk, kMostRank)));
  }
  adapters.targets = static_cast<uint16_t>(TargetsOf(config));
  const Value& shared = config.Get(K::peft_share_expert_adapters);
  adapters.shared_by_experts = shared.is_none() || shared.truthy();
  adapters.inner_whole = config.Get(K::peft_scheme).text() == "mcore_lora";
  adapters.magnitudes = config.Get(K::peft_scheme).text() == "dora";
  adapters.split = IsCanonical(config);
  adapters.regather = config.Get(K::peft_sequence_parallel_input_regather).truthy();
  adapters.dropout = config.Get(K::peft_dropout).is_number() && config.Get(K::peft_dropout).real() > 0;
  return adapters;
}

std::string AdaptersNotModelled(const Config& config) {
  if (!AdaptersConfigured(config)) return "";
  constexpr absl::string_view kModelled[] = {"", "lora", "mcore_lora", "dora", "canonical_lora"};
  const absl::string_view scheme = config.Get(K::peft_scheme).text();
  if (std::find(std::begin(kModelled), std::end(kModelled), scheme) == std::end(kModelled)) {
    return absl::StrCat("adapters of ", scheme);
  }
  if (ExcludesUnknown(config)) return "adapters beside all layers but some";
  if (NamesUnknown(config)) return "adapters of single layers";
  if (scheme != "dora") return "";
  // The norm of a layer's weight asks for one weight, whose rows are those of the adapter (peft/dora_layers.py:113):
  // grouped experts have many, and latent attention's down projections are whole on every rank.
  const unsigned targets = TargetsOf(config);
  if ((targets & kAdaptExperts) != 0 && config.Get(K::num_moe_experts).truthy())
    return "DoRA adapters of routed experts";
  const Value& tp = config.Get(K::tensor_model_parallel_size);
  const bool split = tp.is_int() && tp.integer() > 1;
  if (split && (targets & (kAdaptQDown | kAdaptKvDown)) != 0) return "DoRA adapters of down projections";
  return "";
}

AdapterSites AdapterSitesOf(const ModelShape& s, const LayerKind& kind) {
  AdapterSites sites;
  const auto add = [&sites](unsigned target, double in, double out, bool row = false) {
    if (in <= 0 || out <= 0) return;
    sites.all[static_cast<size_t>(sites.count++)] = {static_cast<uint16_t>(target), in, out, row};
  };
  const double h = D(s.hidden);
  switch (kind.attention) {
    case AttentionKind::kNone:
      break;
    case AttentionKind::kGrouped: {
      const double heads = D(s.heads), size = D(s.head_dim);
      add(kAdaptQkv, h, (heads * (s.output_gate ? 2 : 1) + 2 * D(s.groups)) * size);
      add(kAdaptProj, heads * size, h, true);
      break;
    }
    case AttentionKind::kLatent: {
      const double query = D(s.heads * (s.qk_nope + s.qk_rope)), rank = D(s.q_rank);
      if (rank > 0) {
        add(kAdaptQDown, h, rank);
        add(kAdaptQUp, rank, query);
      } else {
        add(kAdaptQ, h, query);
      }
      add(kAdaptKvDown, h, D(s.kv_rank + s.qk_rope));
      add(kAdaptKvUp, D(s.kv_rank), D(s.heads * (s.qk_nope + s.v_dim)));
      add(kAdaptProj, D(s.heads * s.v_dim), h, true);
      break;
    }
    case AttentionKind::kGatedDelta:
    case AttentionKind::kKimiDelta: {
      const double key = D(s.linear_key_heads * s.linear_key_dim), value = D(s.linear_value_heads * s.linear_value_dim);
      add(kAdaptInProj, h, 2 * key + 2 * value + 2 * D(s.linear_value_heads));
      add(kAdaptOutProj, value, h, true);
      break;
    }
    case AttentionKind::kMamba: {
      const double inner = D(s.mamba_heads * s.mamba_head_dim);
      add(kAdaptInProj, h, 2 * inner + 2 * D(s.mamba_groups * s.mamba_state) + D(s.mamba_heads));
      add(kAdaptOutProj, inner, h, true);
      break;
    }
    case AttentionKind::kCompressed:
    case AttentionKind::kFactorised: {
      const double width = D(s.heads * s.head_dim);
      add(kAdaptProj, s.o_rank > 0 ? D(s.o_rank * std::max<int64_t>(1, s.o_groups)) : width, h, true);
      break;
    }
  }
  const double first = s.gated ? 2 : 1;
  const double width = kind.mlp == MlpKind::kDense ? D(s.ffn) : kind.mlp == MlpKind::kMoe ? D(s.shared_ffn) : 0;
  add(kAdaptFc1, h, first * width);
  add(kAdaptFc2, width, h, true);
  if (kind.mlp != MlpKind::kMoe) return sites;
  const double in = s.latent > 0 ? D(s.latent) : h, of_expert = D(s.expert_ffn);
  sites.experts = D(s.experts);
  sites.expert_fc1 = in + first * of_expert;
  sites.expert_fc2 = of_expert + in;
  return sites;
}

int PartsOf(unsigned target, const Adapters& adapters) {
  if (!adapters.split) return 1;
  return target == kAdaptQkv ? 3 : target == kAdaptFc1 ? 2 : 1;
}

AdapterParameters AdapterParametersOf(const AdapterSites& sites, const Adapters& adapters, double tp, double ep,
                                      double etp) {
  AdapterParameters parameters;
  if (!adapters.any()) return parameters;
  for (int i = 0; i < sites.count; ++i) {
    const AdapterSite& site = sites.all[static_cast<size_t>(i)];
    if (!adapters.at(site.target)) continue;
    // Each part reads the whole input and writes its part of the output.
    const double in = site.in * PartsOf(site.target, adapters);
    const double inner = site.row ? site.out : in, outer = site.row ? in : site.out;
    parameters.dense += adapters.rank * (inner / (adapters.inner_whole ? 1 : tp) + outer / tp);
    if (adapters.magnitudes) parameters.dense += site.row ? site.out : site.out / tp;  // peft/dora_layers.py:66-77
  }
  if (!adapters.at(kAdaptExperts)) return parameters;
  const double copies = adapters.shared_by_experts ? std::min(1.0, sites.experts) : sites.experts / ep;
  const double sizes =
      (adapters.at(kAdaptFc1) ? sites.expert_fc1 : 0) + (adapters.at(kAdaptFc2) ? sites.expert_fc2 : 0);
  parameters.expert += copies * adapters.expert_rank * sizes / etp;
  return parameters;
}

double OutputAdapterParameters(const Adapters& adapters, double hidden, double vocabulary, double tp) {
  if (!adapters.at(kAdaptOutput)) return 0;
  return (adapters.rank * (hidden + vocabulary) + (adapters.magnitudes ? vocabulary : 0)) / tp;
}

}  // namespace flightplan
