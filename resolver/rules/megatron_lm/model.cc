// Model shape, positions, attention and fusions.
#include "resolver/base/integers.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool MissingShape(F f) {
  return f.none(K::num_layers) || f.none(K::hidden_size) || f.none(K::num_attention_heads) ||
         f.none(K::max_position_embeddings);
}

void DeriveFfn(Editor& e) {
  const Facts& f = e.facts();
  if (f.set(K::ffn_hidden_size) || f.none(K::hidden_size)) return;
  const std::optional<int64_t> four = Product({4, f.num(K::hidden_size)});
  const std::optional<int64_t> eight = Product({8, f.num(K::hidden_size)});
  if (!eight.has_value()) return;
  // A gated unit has two up-projections: two thirds of the width keep the parameter count, in steps of 64.
  e.Set(K::ffn_hidden_size, f.on(K::swiglu) ? FloorDiv(FloorDiv(*eight, 3), 64) * 64 : *four);
}

bool HeadsDivide(F f) { return Divisible(f.num(K::hidden_size), f.num(K::num_attention_heads)); }

std::vector<Patch> FitPositions(F f) { return {{Assign(K::max_position_embeddings, f.value(K::seq_length))}}; }
std::vector<Patch> RoundSequence(F f) {
  const std::optional<int64_t> unit = Product({2, f.num(K::context_parallel_size)});
  if (!unit.has_value() || *unit <= 0 || f.num(K::seq_length) > (int64_t{1} << 40)) return {};
  const std::optional<int64_t> up = NextMultiple(f.num(K::seq_length), *unit);
  if (!up.has_value()) return {{Assign(K::context_parallel_size, 1)}};
  Patch longer = {Assign(K::seq_length, *up)};
  if (f.num(K::max_position_embeddings) < *up) longer.push_back(Assign(K::max_position_embeddings, *up));
  return {{Assign(K::context_parallel_size, 1)}, longer};
}
bool SequenceSplits(F f) {
  const std::optional<int64_t> unit = Product({2, f.num(K::context_parallel_size)});
  return unit.has_value() && Divisible(f.num(K::seq_length), *unit);
}

// A launch that says no size of its model lacks a part of its text, and no size that is invented stands for that.
bool ShowsAModel(F f) { return f.set(K::num_layers) || f.set(K::hidden_size) || f.set(K::num_attention_heads); }

const Rule kRules[] = {
    {.id = "mlm.layers-xor-encoder-layers",
     .area = "model",
     .at = {Phase::kCliValidate, 1305},
     .source = "Megatron-LM:megatron/training/arguments.py:1305",
     .reads = {K::num_layers, K::encoder_num_layers},
     .when = [](F f) { return f.set(K::num_layers) && f.set(K::encoder_num_layers); },
     .needs = "num_layers and encoder_num_layers are one number: give one",
     .fixes = {{{K::encoder_num_layers, kUnset}}}},
    {.id = "mlm.layers-required",
     .area = "model",
     .at = {Phase::kCliValidate, 1309},
     .source = "Megatron-LM:megatron/training/arguments.py:1309",
     .reads = {K::num_layers, K::encoder_num_layers},
     .when = [](F f) { return f.none(K::num_layers) && f.none(K::encoder_num_layers); },
     .needs = "num_layers must be given",
     .fix = [](F f) { return ShowsAModel(f) ? std::vector<Patch>{{Assign(K::num_layers, 2)}} : std::vector<Patch>{}; }},
    {.id = "mlm.layers-copied",
     .area = "model",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1311},
     .source = "Megatron-LM:megatron/training/arguments.py:1311",
     .reads = {K::num_layers, K::encoder_num_layers},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.set(K::num_layers)) return e.Set(K::encoder_num_layers, f.value(K::num_layers));
           e.Set(K::num_layers, f.value(K::encoder_num_layers));
         }},
    {.id = "mlm.required-args",
     .area = "model",
     .at = {Phase::kCliValidate, 1317},
     .source = "Megatron-LM:megatron/training/arguments.py:2005",
     .reads = {K::num_layers, K::hidden_size, K::num_attention_heads, K::max_position_embeddings},
     .when = [](F f) { return MissingShape(f); },
     .needs = "num_layers, hidden_size, num_attention_heads and max_position_embeddings must be given",
     .fix = [](F f) -> std::vector<Patch> {
       if (!ShowsAModel(f)) return {};
       Patch patch;
       for (const auto& [knob, size] :
            {std::pair{K::num_layers, 2}, std::pair{K::hidden_size, 128}, std::pair{K::num_attention_heads, 8},
             std::pair{K::max_position_embeddings, 1024}}) {
         if (f.none(knob)) patch.push_back(Assign(knob, size));
       }
       return {patch};
     }},
    {.id = "mlm.ffn-default",
     .area = "model",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1320},
     .source = "Megatron-LM:megatron/training/arguments.py:1320",
     .reads = {K::ffn_hidden_size, K::hidden_size, K::swiglu},
     .change = [](Editor& e) { DeriveFfn(e); }},
    {.id = "mlm.hidden-divisible-heads",
     .area = "model",
     .at = {Phase::kCliValidate, 1332},
     .source = "Megatron-LM:megatron/training/arguments.py:1332",
     .reads = {K::hidden_size, K::num_attention_heads, K::kv_channels},
     .when =
         [](F f) {
           return f.none(K::kv_channels) && f.set(K::hidden_size) && f.set(K::num_attention_heads) && !HeadsDivide(f);
         },
     .needs = "hidden_size must be a multiple of num_attention_heads unless kv_channels is given",
     .fix = [](F f) -> std::vector<Patch> {
       const std::optional<int64_t> heads = NextSmallerFit(f.num(K::hidden_size), 1, f.num(K::num_attention_heads));
       return {{Assign(K::num_attention_heads, heads.value_or(1))}, {Assign(K::kv_channels, 128)}};
     }},
    {.id = "mlm.kv-channels-default",
     .area = "model",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1333},
     .source = "Megatron-LM:megatron/training/arguments.py:1333",
     .reads = {K::kv_channels, K::hidden_size, K::num_attention_heads},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::kv_channels) && f.set(K::hidden_size) && HeadsDivide(f))
             e.Set(K::kv_channels, FloorDiv(f.num(K::hidden_size), f.num(K::num_attention_heads)));
         }},
    {.id = "mlm.seq-divisible-cp",
     .area = "context-parallel",
     .at = {Phase::kCliValidate, 1336},
     .source = "Megatron-LM:megatron/training/arguments.py:1336",
     .reads = {K::seq_length, K::context_parallel_size},
     .when = [](F f) { return f.set(K::seq_length) && f.num(K::context_parallel_size) > 1 && !SequenceSplits(f); },
     .needs = "seq_length must be a multiple of twice context_parallel_size",
     .fix = RoundSequence},
    {.id = "mlm.seq-xor-encoder-seq",
     .area = "model",
     .at = {Phase::kCliValidate, 1347},
     .source = "Megatron-LM:megatron/training/arguments.py:1347",
     .reads = {K::seq_length, K::encoder_seq_length},
     .when = [](F f) { return f.set(K::seq_length) && f.set(K::encoder_seq_length); },
     .needs = "seq_length and encoder_seq_length are one number: give one",
     .fixes = {{{K::encoder_seq_length, kUnset}}}},
    {.id = "mlm.seq-required",
     .area = "model",
     .at = {Phase::kCliValidate, 1350},
     .source = "Megatron-LM:megatron/training/arguments.py:1350",
     .reads = {K::seq_length, K::encoder_seq_length},
     .when = [](F f) { return f.none(K::seq_length) && f.none(K::encoder_seq_length); },
     .needs = "seq_length must be given",
     .fixes = {{{K::seq_length, 1024}}}},
    {.id = "mlm.seq-copied",
     .area = "model",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1351},
     .source = "Megatron-LM:megatron/training/arguments.py:1351",
     .reads = {K::seq_length, K::encoder_seq_length},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.set(K::seq_length)) return e.Set(K::encoder_seq_length, f.value(K::seq_length));
           e.Set(K::seq_length, f.value(K::encoder_seq_length));
         }},
    {.id = "mlm.max-pos",
     .area = "model",
     .at = {Phase::kCliValidate, 1354},
     .source = "Megatron-LM:megatron/training/arguments.py:1354",
     .reads = {K::max_position_embeddings, K::seq_length},
     .when =
         [](F f) {
           return f.set(K::seq_length) && f.set(K::max_position_embeddings) &&
                  f.num(K::max_position_embeddings) < f.num(K::seq_length);
         },
     .needs = "max_position_embeddings must be at least seq_length",
     .fix = FitPositions},
    {.id = "mlm.max-pos-decoder",
     .area = "misc",
     .at = {Phase::kCliValidate, 1358},
     .source = "Megatron-LM:megatron/training/arguments.py:1358",
     .reads = {K::max_position_embeddings, K::decoder_seq_length},
     .when =
         [](F f) {
           return f.set(K::decoder_seq_length) && f.set(K::max_position_embeddings) &&
                  f.num(K::max_position_embeddings) < f.num(K::decoder_seq_length);
         },
     .needs = "max_position_embeddings must be at least decoder_seq_length",
     .fix = [](F f) -> std::vector<Patch> {
       return {{Assign(K::max_position_embeddings, f.value(K::decoder_seq_length))}};
     }},
    {.id = "mlm.bias-gelu-off",
     .area = "fusion",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1604},
     .source = "Megatron-LM:megatron/training/arguments.py:1604",
     .reads = {K::add_bias_linear, K::bias_gelu_fusion},
     .change =
         [](Editor& e) {
           if (!e.facts().on(K::add_bias_linear)) e.Set(K::bias_gelu_fusion, false);
         }},
    {.id = "mlm.qkv-bias-follows",
     .area = "model",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1608},
     .source = "Megatron-LM:megatron/training/arguments.py:1608",
     .reads = {K::add_bias_linear, K::add_qkv_bias},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::add_bias_linear)) e.Set(K::add_qkv_bias, true);
         }},
    {.id = "mlm.qk-clip-te",
     .area = "attention",
     .at = {Phase::kCliValidate, 1613},
     .source = "Megatron-LM:megatron/training/arguments.py:1613",
     .reads = {K::qk_clip},
     .reads_env = {"te"},
     .when = [](F f) { return f.on(K::qk_clip) && !f.te_at_least("2.9.0"); },
     .needs = "qk_clip needs Transformer Engine 2.9.0",
     .fixes = {{{K::qk_clip, false}}}},
    {.id = "mlm.qk-clip-alpha",
     .area = "misc",
     .at = {Phase::kCliValidate, 1615},
     .source = "Megatron-LM:megatron/training/arguments.py:1615",
     .reads = {K::qk_clip, K::qk_clip_alpha},
     .when = [](F f) { return f.on(K::qk_clip) && !(f.real(K::qk_clip_alpha) > 0 && f.real(K::qk_clip_alpha) < 1); },
     .needs = "qk_clip_alpha must lie between 0 and 1",
     .fixes = {{{K::qk_clip, false}}},
     .fix = [](F) -> std::vector<Patch> { return {{Assign(K::qk_clip_alpha, 0.5)}}; }},
    {.id = "mlm.qk-clip-threshold",
     .area = "misc",
     .at = {Phase::kCliValidate, 1617},
     .source = "Megatron-LM:megatron/training/arguments.py:1617",
     .reads = {K::qk_clip, K::qk_clip_threshold},
     .when = [](F f) { return f.on(K::qk_clip) && !(f.real(K::qk_clip_threshold) > 0); },
     .needs = "qk_clip_threshold must be above 0",
     .fixes = {{{K::qk_clip, false}}},
     .fix = [](F) -> std::vector<Patch> { return {{Assign(K::qk_clip_threshold, 100.0)}}; }},
    {.id = "mlm.log-max-logit-te",
     .area = "attention",
     .at = {Phase::kCliValidate, 1622},
     .source = "Megatron-LM:megatron/training/arguments.py:1622",
     .reads = {K::log_max_attention_logit},
     .reads_env = {"te"},
     .when = [](F f) { return f.on(K::log_max_attention_logit) && !f.te_at_least("2.9.0"); },
     .needs = "log_max_attention_logit needs Transformer Engine 2.9.0",
     .fixes = {{{K::log_max_attention_logit, false}}}},
    {.id = "mlm.rotary-alias",
     .area = "attention",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1627},
     .source = "Megatron-LM:megatron/training/arguments.py:1627",
     .reads = {K::use_rotary_position_embeddings, K::position_embedding_type},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::use_rotary_position_embeddings)) e.Set(K::position_embedding_type, "rope");
         }},
    {.id = "mlm.rope-fusion-off",
     .area = "attention",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1628},
     .source = "Megatron-LM:megatron/training/arguments.py:1628",
     .reads = {K::position_embedding_type, K::apply_rope_fusion},
     .change =
         [](Editor& e) {
           if (!e.facts().is(K::position_embedding_type, "rope")) e.Set(K::apply_rope_fusion, false);
         }},
    {.id = "mlm.no-position-embedding",
     .area = "model",
     .at = {Phase::kCliValidate, 1634},
     .source = "Megatron-LM:megatron/training/arguments.py:1634",
     .reads = {K::add_position_embedding, K::position_embedding_type},
     .when = [](F f) { return !f.on(K::add_position_embedding) && !f.is(K::position_embedding_type, "rope"); },
     .needs = "--no-position-embedding works only with rope: --position-embedding-type none says the rest",
     .fixes = {{{K::add_position_embedding, true}, {K::position_embedding_type, kUnset}},
               {{K::position_embedding_type, "rope"}}}},
    {.id = "mlm.relative-pos-te",
     .area = "model",
     .at = {Phase::kCliValidate, 1638},
     .source = "Megatron-LM:megatron/training/arguments.py:1638",
     .reads = {K::position_embedding_type, K::transformer_impl},
     .when =
         [](F f) {
           return f.is(K::position_embedding_type, "relative") && !f.is(K::transformer_impl, "transformer_engine");
         },
     .needs = "relative positions need transformer_impl transformer_engine",
     .fixes = {{{K::transformer_impl, "transformer_engine"}}}},
    {.id = "mlm.mrope-section",
     .area = "model",
     .at = {Phase::kCliValidate, 1644},
     .source = "Megatron-LM:megatron/training/arguments.py:1644",
     .reads = {K::position_embedding_type, K::mrope_section},
     .when = [](F f) { return f.is(K::position_embedding_type, "mrope") && f.none(K::mrope_section); },
     .needs = "mrope needs mrope_section",
     .fixes = {{{K::position_embedding_type, "rope"}}}},
    {.id = "mlm.te-xent-banned",
     .area = "fusion",
     .at = {Phase::kCliValidate, 1697},
     .source = "Megatron-LM:megatron/training/arguments.py:1697",
     .core = {18, kMain},
     .reads = {K::cross_entropy_loss_fusion, K::cross_entropy_fusion_impl},
     .when = [](F f) { return f.on(K::cross_entropy_loss_fusion) && f.is(K::cross_entropy_fusion_impl, "te"); },
     .needs = "Transformer Engine's fused cross entropy is refused as unstable: native is allowed",
     .fixes = {{{K::cross_entropy_fusion_impl, "native"}}, {{K::cross_entropy_loss_fusion, false}}}},
    {.id = "mlm.qk-scaling-softmax",
     .area = "attention",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1716},
     .source = "Megatron-LM:megatron/training/arguments.py:1716",
     .reads = {K::apply_query_key_layer_scaling, K::attention_softmax_in_fp32},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::apply_query_key_layer_scaling)) e.Set(K::attention_softmax_in_fp32, true);
         }},
    {.id = "mlm.mla-xor-gqa",
     .area = "model",
     .at = {Phase::kCliValidate, 1974},
     .source = "Megatron-LM:megatron/training/arguments.py:1974",
     .reads = {K::multi_latent_attention, K::group_query_attention},
     .when =
         [](F f) {
           // LoongForge's models set both, in the YAML, behind this check.
           return !f.fork() && f.on(K::multi_latent_attention) && f.on(K::group_query_attention);
         },
     .needs = "MLA and grouped-query attention exclude each other",
     .fixes = {{{K::group_query_attention, false}}, {{K::multi_latent_attention, false}}}},
    {.id = "mlm.mla-down-proj",
     .area = "model",
     .at = {Phase::kCliValidate, 1977},
     .source = "Megatron-LM:megatron/training/arguments.py:1977",
     .core = {17, kMain},
     .reads = {K::mla_down_proj_fusion, K::multi_latent_attention},
     .when = [](F f) { return f.on(K::mla_down_proj_fusion) && !f.on(K::multi_latent_attention); },
     .needs = "mla_down_proj_fusion needs multi_latent_attention",
     .fixes = {{{K::mla_down_proj_fusion, false}}}},
};

}  // namespace

RuleList MegatronLmModelRules() { return kRules; }

}  // namespace flightplan
