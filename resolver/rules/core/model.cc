// Sizes that follow from other sizes, and small model features: rotary embedding, SwiGLU clamp, MLA.
#include <cmath>

#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// The expanded pattern of a huge model would be as long as the model has layers; nothing real comes near this.
constexpr int64_t kMostLayers = 1 << 16;

bool SwigluClamp(F f) {
  return f.set(K::activation_func_clamp_value) && f.is(K::activation_func, "silu") && f.on(K::gated_linear_unit);
}

void ExpandNoRope(Editor& e) {
  const Facts& f = e.facts();
  const int64_t every = f.num(K::no_rope_freq);
  const int64_t layers = f.num(K::num_layers);
  const bool whole = f.value(K::no_rope_freq).is_int() || f.value(K::no_rope_freq).is_bool();  // True is 1
  if (!whole || every == 0 || layers > kMostLayers || !Divisible(layers, every)) return;
  Value::List pattern;  // of a negative distance none, as Python has it
  for (int64_t i = 1; every > 0 && i <= layers; ++i) pattern.emplace_back(i % every == 0 ? 1 : 0);
  e.Set(K::no_rope_freq, Value(std::move(pattern)));
}

// Maximal update parametrization: width multiplier, attention and output scale.
void ScaleForWidth(Editor& e) {
  const Facts& f = e.facts();
  if (!f.on(K::use_mup)) return;
  if (f.none(K::mup_base_hidden_size)) e.Set(K::mup_base_hidden_size, f.value(K::hidden_size));
  if (f.num(K::mup_base_hidden_size) <= 0) return;
  const double width = f.real(K::hidden_size) / f.real(K::mup_base_hidden_size);
  e.Set(K::mup_width_mult, width);
  if (f.none(K::softmax_scale) && f.num(K::kv_channels) > 0) {
    const double base = f.none(K::mup_base_head_dim) ? 1.0 : std::sqrt(f.real(K::mup_base_head_dim));
    e.Set(K::softmax_scale, base / std::pow(f.real(K::kv_channels), f.real(K::mup_attn_scale_power)));
  }
  if (f.real(K::mup_output_mult) == 1.0 && width != 1.0) e.Set(K::mup_output_mult, 1.0 / width);
}

const Rule kRules[] = {
    {.id = "gdp.householder-positive",
     .area = "model",
     TRANSFORMER_CONFIG(1438),
     .core = {.since = kMain},
     .reads = {K::gdp_num_householder},
     .when = [](F f) { return f.set(K::gdp_num_householder) && f.num(K::gdp_num_householder) < 1; },
     .needs = "gdp_num_householder is at least 1",
     .fixes = {{{K::gdp_num_householder, 1}}}},
    {.id = "model.ffn-default",
     .area = "model",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1452),
     .reads = {K::ffn_hidden_size, K::hidden_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::ffn_hidden_size)) e.Set(K::ffn_hidden_size, SaturatingMul(4, f.num(K::hidden_size)));
         }},
    {.id = "model.zero-heads",
     .area = "model",
     .at = {Phase::kModel, 1455, -1},
     .source = "Megatron-LM:megatron/core/transformer/transformer_config.py:1456",
     .reads = {K::num_attention_heads, K::kv_channels},
     .when = [](F f) { return f.none(K::kv_channels) && f.num(K::num_attention_heads) == 0; },
     .needs = "num_attention_heads must be given: kv_channels is hidden_size divided by it",
     .fix =
         [](F f) {
           if (f.none(K::hidden_size)) return std::vector<Patch>{};  // nothing to divide
           // One head per 128 channels is what most models have.
           const int64_t heads = std::max<int64_t>(1, FloorDiv(f.num(K::hidden_size), 128));
           return std::vector<Patch>{{Assign(K::num_attention_heads, heads)}};
         }},
    {.id = "model.kv-channels-default",
     .area = "model",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1455),
     .reads = {K::kv_channels, K::hidden_size, K::num_attention_heads},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::kv_channels) && f.num(K::num_attention_heads) != 0) {
             e.Set(K::kv_channels, FloorDiv(f.num(K::hidden_size), f.num(K::num_attention_heads)));
           }
         }},
    {.id = "model.query-groups-default",
     .area = "model",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1458),
     .reads = {K::num_query_groups, K::num_attention_heads},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::num_query_groups)) e.Set(K::num_query_groups, f.value(K::num_attention_heads));
         }},
    {.id = "attn.qk-scaling-softmax-fp32",
     .area = "model",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1592),
     .reads = {K::apply_query_key_layer_scaling},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::apply_query_key_layer_scaling)) e.Set(K::attention_softmax_in_fp32, true);
         }},
    {.id = "gdp.chunk-states-range",
     .area = "model",
     TRANSFORMER_CONFIG(2197),
     .core = {.since = kMain},
     .reads = {K::gdp_cutedsl_kernel, K::gdp_num_chunk_states_to_recompute},
     .when =
         [](F f) {
           const int64_t states = f.num(K::gdp_num_chunk_states_to_recompute);
           return f.on(K::gdp_cutedsl_kernel) && (states < 0 || states > 64);
         },
     .needs = "gdp_num_chunk_states_to_recompute is 0 to 64",
     .fixes = {{{K::gdp_num_chunk_states_to_recompute, 64}}, {{K::gdp_num_chunk_states_to_recompute, 0}}}},
    {.id = "swiglu-clamp.positive",
     .area = "model",
     TRANSFORMER_CONFIG(2480),
     .core = {.since = kMain},
     .reads = {K::activation_func_clamp_value},
     .when =
         [](F f) {
           const double clamp = f.real(K::activation_func_clamp_value);
           return SwigluClamp(f) && (!std::isfinite(clamp) || clamp <= 0);
         },
     .needs = "the SwiGLU clamp is a finite positive number",
     .fixes = {{{K::activation_func_clamp_value, kUnset}}}},
    {.id = "swiglu-clamp.moe-only",
     .area = "model",
     TRANSFORMER_CONFIG(2484),
     .core = {.since = kMain},
     .reads = {K::activation_func_clamp_value, K::num_moe_experts},
     .when = [](F f) { return SwigluClamp(f) && f.none(K::num_moe_experts); },
     .needs = "the SwiGLU clamp exists for MoE layers only",
     .fixes = {{{K::activation_func_clamp_value, kUnset}}}},
    {.id = "swiglu-clamp.no-offset",
     .area = "model",
     TRANSFORMER_CONFIG(2488),
     .core = {.since = kMain},
     .reads = {K::activation_func_clamp_value, K::glu_linear_offset},
     .when = [](F f) { return SwigluClamp(f) && f.real(K::glu_linear_offset) != 0.0; },
     .needs = "the SwiGLU clamp goes without glu_linear_offset",
     .fixes = {{{K::activation_func_clamp_value, kUnset}}, {{K::glu_linear_offset, 0}}}},
    {.id = "swiglu-clamp.no-te-act",
     .area = "model",
     TRANSFORMER_CONFIG(2493),
     .core = {.since = kMain},
     .reads = {K::activation_func_clamp_value, K::use_te_activation_func},
     .when = [](F f) { return SwigluClamp(f) && f.on(K::use_te_activation_func); },
     .needs = "the SwiGLU clamp needs Megatron's own activation, not Transformer Engine's",
     .fixes = {{{K::use_te_activation_func, false}}, {{K::activation_func_clamp_value, kUnset}}}},
    {.id = "mla.no-rotary-interleaved",
     .area = "model",
     TRANSFORMER_CONFIG(2527),
     .reads = {K::multi_latent_attention, K::rotary_interleaved},
     .when = [](F f) { return f.on(K::multi_latent_attention) && f.on(K::rotary_interleaved); },
     .needs = "multi-latent attention works with plain rotary order only",
     .fixes = {{{K::rotary_interleaved, false}}}},
    {.id = "mup.base-positive",
     .area = "model",
     TRANSFORMER_CONFIG(2534),
     .core = {.since = 17},
     .reads = {K::use_mup, K::mup_base_hidden_size},
     .when =
         [](F f) { return f.on(K::use_mup) && f.set(K::mup_base_hidden_size) && f.num(K::mup_base_hidden_size) <= 0; },
     .needs = "mup_base_hidden_size is above 0",
     .fixes = {{{K::mup_base_hidden_size, kUnset}}}},
    {.id = "init.method-defaults",
     .area = "model",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(2573),
     .reads = {K::embedding_init_method_std, K::init_method_std, K::use_mup},
     .change =
         [](Editor& e) {
           ScaleForWidth(e);
           const Facts& f = e.facts();
           if (f.none(K::embedding_init_method_std)) {
             e.Set(K::embedding_init_method_std, f.value(K::init_method_std));
           }
         }},
    {.id = "layers.positive",
     .area = "model",
     TRANSFORMER_CONFIG(2606),
     .reads = {K::num_layers, K::hybrid_layer_pattern},
     .when =
         [](F f) {
           const bool said = f.given(K::num_layers) || f.set(K::hybrid_layer_pattern);
           return said && f.value(K::num_layers).is_int() && f.num(K::num_layers) <= 0;
         },
     .needs = "a model has at least one layer: the weights' deviation is divided by the root of their number"},
    {.id = "rope.no-rope-vs-flash-decode",
     .area = "model",
     TRANSFORMER_CONFIG(3139),
     .reads = {K::no_rope_freq, K::flash_decode},
     .when = [](F f) { return f.on(K::no_rope_freq) && f.on(K::flash_decode); },
     .needs = "flash_decode cannot serve layers without rotary embedding",
     .fixes = {{{K::flash_decode, false}}, {{K::no_rope_freq, kUnset}}}},
    {.id = "rope.no-rope-divisible",
     .area = "model",
     TRANSFORMER_CONFIG(3141),
     .reads = {K::no_rope_freq, K::num_layers},
     .when =
         [](F f) {
           return f.on(K::no_rope_freq) && !f.value(K::no_rope_freq).is_list() &&
                  !Divisible(f.num(K::num_layers), f.num(K::no_rope_freq));
         },
     .needs = "num_layers is a multiple of no_rope_freq",
     .fix =
         [](F f) {
           const int64_t every = LargestDivisorUpTo(f.num(K::num_layers), f.num(K::no_rope_freq));
           return std::vector<Patch>{{Assign(K::no_rope_freq, every)}, {Assign(K::no_rope_freq, Value())}};
         }},
    {.id = "rope.no-rope-expanded",
     .area = "model",
     .kind = Kind::kChange,
     .at = {Phase::kModel, 3150, 1},
     .source = "Megatron-LM:megatron/core/transformer/transformer_config.py:3148",
     .reads = {K::no_rope_freq, K::num_layers},
     .change = ExpandNoRope},
    {.id = "rope.no-rope-length",
     .area = "model",
     TRANSFORMER_CONFIG(3150),
     .reads = {K::no_rope_freq, K::num_layers},
     .when =
         [](F f) {
           const Value& pattern = f.value(K::no_rope_freq);
           return pattern.truthy() && pattern.is_list() &&
                  static_cast<int64_t>(pattern.list().size()) != f.num(K::num_layers);
         },
     .needs = "a no_rope_freq list has one entry per layer",
     .fixes = {{{K::no_rope_freq, kUnset}}}},
    {.id = "attn.flash-version",
     .area = "model",
     TRANSFORMER_CONFIG(3195),
     .core = {.since = 19},
     .reads = {K::flash_attention_version},
     .when =
         [](F f) {
           const int64_t version = f.num(K::flash_attention_version);
           return f.set(K::flash_attention_version) && (version < 2 || version > 4);
         },
     .needs = "flash_attention_version is 2, 3 or 4",
     .fixes = {{{K::flash_attention_version, kUnset}}}},
    {.id = "mla.rope-fusion-yarn",
     .area = "model",
     MLA_TRANSFORMER_CONFIG(3346),
     .reads = {K::apply_rope_fusion, K::rope_type},
     .when =
         [](F f) {
           return f.env().mla && f.on(K::multi_latent_attention) && f.on(K::apply_rope_fusion) &&
                  !f.is(K::rope_type, "yarn");
         },
     .needs = "fused RoPE for multi-latent attention exists for YaRN only",
     .fixes = {{{K::apply_rope_fusion, false}}}},
    {.id = "mla.no-output-gate",
     .area = "model",
     MLA_TRANSFORMER_CONFIG(3349),
     .core = {.since = 16},
     .reads = {K::attention_output_gate},
     .when = [](F f) { return f.env().mla && f.on(K::attention_output_gate); },
     .needs = "multi-latent attention has no output gate",
     .fixes = {{{K::attention_output_gate, false}}}},
};

}  // namespace

RuleList CoreModelRules() { return kRules; }

}  // namespace flightplan
