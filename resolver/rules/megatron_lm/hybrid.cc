// Hybrid models: what --hybrid-layer-pattern implies and excludes.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/derive/pipeline.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

std::optional<HybridPattern> Pattern(F f) {
  if (f.none(K::hybrid_layer_pattern)) return std::nullopt;
  return ReadHybridPattern(f.text(K::hybrid_layer_pattern));
}
bool HasPattern(F f) { return f.set(K::hybrid_layer_pattern); }
bool HasPipes(F f) {
  const std::optional<HybridPattern> pattern = Pattern(f);
  return pattern.has_value() && pattern->has_pipe;
}

// The old pair of patterns, main and MTP, becomes one: main/mtp/mtp.
void MergeMtpPattern(Editor& e) {
  const Facts& f = e.facts();
  const int64_t depths = f.num(K::mtp_num_layers);
  if (f.none(K::mtp_hybrid_override_pattern) || depths <= 0 || depths > 64) return;
  if (absl::StrContains(f.text(K::hybrid_layer_pattern), "/")) return;
  std::string pattern(f.text(K::hybrid_layer_pattern));
  for (int64_t i = 0; i < depths; ++i) absl::StrAppend(&pattern, "/", f.text(K::mtp_hybrid_override_pattern));
  e.Set(K::hybrid_layer_pattern, pattern);
  e.Set(K::mtp_hybrid_override_pattern, Value());
}

bool SegmentsFit(F f) {
  const std::optional<HybridPattern> pattern = Pattern(f);
  const int64_t pp = f.num(K::pipeline_model_parallel_size);
  return !pattern.has_value() || (pattern->segments == 1 && pp > 1) || Divisible(pattern->segments, pp);
}

void TakeLayers(Editor& e) {
  const std::optional<HybridPattern> pattern = Pattern(e.facts());
  if (pattern.has_value()) e.Set(K::num_layers, pattern->layers);
}

void TakeVirtualSize(Editor& e) {
  const Facts& f = e.facts();
  const std::optional<HybridPattern> pattern = Pattern(f);
  const int64_t pp = f.num(K::pipeline_model_parallel_size);
  if (!pattern.has_value() || !SegmentsFit(f)) return;
  const bool split = pattern->segments > pp && pp > 0;
  e.Set(K::virtual_pipeline_model_parallel_size, split ? Value(FloorDiv(pattern->segments, pp)) : Value());
}

void TakeMtpDepths(Editor& e) {
  const std::optional<HybridPattern> pattern = Pattern(e.facts());
  if (pattern.has_value() && pattern->mtp_depths > 0) e.Set(K::mtp_num_layers, pattern->mtp_depths);
}

void InferMla(Editor& e) {
  const Facts& f = e.facts();
  const std::optional<HybridPattern> pattern = Pattern(f);
  if (!pattern.has_value()) return;
  if (f.core(19) ? pattern->has_mla : pattern->has_dsa) e.Set(K::multi_latent_attention, true);
}

const Rule kRules[] = {
    {.id = "mlm.gpt-script-pattern",
     .area = "hybrid",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kParse, 743},
     .source = "Megatron-LM:megatron/training/argument_utils.py:512",
     .when = FoundByReader,
     .needs = "pretrain_gpt.py trains a model of one kind of layers, whatever pattern it is given"},
    {.id = "mlm.hybrid-script-spec",
     .area = "hybrid",
     .at = {Phase::kParse, 744},
     .source = "Megatron-LM@core_v0.18.0 hybrid_builders.py:25",
     .core = {0, 18},
     .when = FoundByReader,
     .needs = "until Megatron-Core 0.18 a script of hybrid models has to be told by --spec what its layers are"},
    {.id = "mlm.hybrid-script-pattern",
     .area = "hybrid",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 745},
     .source = "Megatron-LM:megatron/core/models/hybrid/hybrid_layer_allocation.py:233",
     .core = {17, kMain},
     .when = FoundByReader,
     .needs = "a script of hybrid models has the layers of --hybrid-layer-pattern, and without one it has none"},
    {.id = "mlm.hybrid-two-patterns",
     .area = "hybrid",
     .at = {Phase::kCliValidate, 746},
     .source = "Megatron-LM:megatron/training/arguments.py:746",
     .core = {17, kMain},
     .reads = {K::hybrid_override_pattern, K::hybrid_layer_pattern},
     .when = [](F f) { return f.set(K::hybrid_override_pattern) && f.set(K::hybrid_layer_pattern); },
     .needs = "--hybrid-override-pattern is the old name of --hybrid-layer-pattern: give one",
     .fixes = {{{K::hybrid_override_pattern, kUnset}}}},
    {.id = "mlm.hybrid-override-alias",
     .area = "hybrid",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 755},
     .source = "Megatron-LM:megatron/training/arguments.py:755",
     .core = {17, kMain},
     .reads = {K::hybrid_override_pattern, K::hybrid_layer_pattern},
     .change =
         [](Editor& e) {
           if (e.facts().set(K::hybrid_override_pattern))
             e.Set(K::hybrid_layer_pattern, e.facts().value(K::hybrid_override_pattern));
         }},
    {.id = "mlm.hybrid-mtp-merged",
     .area = "hybrid",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 775},
     .source = "Megatron-LM:megatron/training/arguments.py:775",
     .core = {17, kMain},
     .reads = {K::mtp_hybrid_override_pattern, K::mtp_num_layers, K::hybrid_layer_pattern},
     .change = [](Editor& e) { MergeMtpPattern(e); }},
    {.id = "mlm.hybrid-pattern-valid",
     .area = "hybrid",
     .at = {Phase::kCliValidate, 790},
     .source = "Megatron-LM:megatron/core/models/hybrid/hybrid_layer_allocation.py:283",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern},
     .when = [](F f) { return HasPattern(f) && !Pattern(f).has_value(); },
     .needs =
         "the pattern may hold M G * D + - E, | between stages and /MTP parts that are all alike; * excludes D and +",
     .fixes = {{{K::hybrid_layer_pattern, kUnset}}}},
    {.id = "mlm.hybrid-layers-from-pattern",
     .area = "hybrid",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 791},
     .source = "Megatron-LM:megatron/training/arguments.py:791",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::num_layers},
     .change = [](Editor& e) { TakeLayers(e); }},
    {.id = "mlm.hybrid-no-first-layers",
     .area = "hybrid",
     .at = {Phase::kCliValidate, 804},
     .source = "Megatron-LM:megatron/training/arguments.py:804",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::num_layers_in_first_pipeline_stage},
     .when = [](F f) { return HasPipes(f) && f.set(K::num_layers_in_first_pipeline_stage); },
     .needs =
         "a hybrid layer pattern places the layers by its | separators: leave num_layers_in_first_pipeline_stage unset",
     .fixes = {{{K::num_layers_in_first_pipeline_stage, kUnset}}}},
    {.id = "mlm.hybrid-no-last-layers",
     .area = "hybrid",
     .at = {Phase::kCliValidate, 809},
     .source = "Megatron-LM:megatron/training/arguments.py:809",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::num_layers_in_last_pipeline_stage},
     .when = [](F f) { return HasPipes(f) && f.set(K::num_layers_in_last_pipeline_stage); },
     .needs =
         "a hybrid layer pattern places the layers by its | separators: leave num_layers_in_last_pipeline_stage unset",
     .fixes = {{{K::num_layers_in_last_pipeline_stage, kUnset}}}},
    {.id = "mlm.hybrid-no-layers-per-vp",
     .area = "hybrid",
     .at = {Phase::kCliValidate, 814},
     .source = "Megatron-LM:megatron/training/arguments.py:814",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::num_layers_per_virtual_pipeline_stage},
     .when = [](F f) { return HasPattern(f) && f.set(K::num_layers_per_virtual_pipeline_stage); },
     .needs = "a hybrid layer pattern places the layers by its | separators: leave "
              "num_layers_per_virtual_pipeline_stage unset",
     .fixes = {{{K::num_layers_per_virtual_pipeline_stage, kUnset}}}},
    {.id = "mlm.hybrid-no-vstages",
     .area = "hybrid",
     .at = {Phase::kCliValidate, 820},
     .source = "Megatron-LM:megatron/training/arguments.py:820",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::num_virtual_stages_per_pipeline_rank},
     .when = [](F f) { return HasPattern(f) && f.set(K::num_virtual_stages_per_pipeline_rank); },
     .needs = "a hybrid layer pattern places the layers by its | separators: leave "
              "num_virtual_stages_per_pipeline_rank unset",
     .fixes = {{{K::num_virtual_stages_per_pipeline_rank, kUnset}}}},
    {.id = "mlm.hybrid-no-layout",
     .area = "hybrid",
     .at = {Phase::kCliValidate, 825},
     .source = "Megatron-LM:megatron/training/arguments.py:825",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::pipeline_model_parallel_layout},
     .when = [](F f) { return HasPattern(f) && f.set(K::pipeline_model_parallel_layout); },
     .needs =
         "a hybrid layer pattern places the layers by its | separators: leave pipeline_model_parallel_layout unset",
     .fixes = {{{K::pipeline_model_parallel_layout, kUnset}}}},
    {.id = "mlm.hybrid-no-acct-embedding",
     .area = "hybrid",
     .at = {Phase::kCliValidate, 829},
     .source = "Megatron-LM:megatron/training/arguments.py:829",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::account_for_embedding_in_pipeline_split},
     .when = [](F f) { return HasPattern(f) && f.on(K::account_for_embedding_in_pipeline_split); },
     .needs = "a hybrid layer pattern places the layers by its | separators: leave "
              "account_for_embedding_in_pipeline_split unset",
     .fixes = {{{K::account_for_embedding_in_pipeline_split, false}}}},
    {.id = "mlm.hybrid-no-acct-loss",
     .area = "hybrid",
     .at = {Phase::kCliValidate, 834},
     .source = "Megatron-LM:megatron/training/arguments.py:834",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::account_for_loss_in_pipeline_split},
     .when = [](F f) { return HasPattern(f) && f.on(K::account_for_loss_in_pipeline_split); },
     .needs =
         "a hybrid layer pattern places the layers by its | separators: leave account_for_loss_in_pipeline_split unset",
     .fixes = {{{K::account_for_loss_in_pipeline_split, false}}}},
    {.id = "mlm.hybrid-segments-divisible",
     .area = "hybrid",
     .at = {Phase::kCliValidate, 849},
     .source = "Megatron-LM:megatron/training/arguments.py:849",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::pipeline_model_parallel_size},
     .when = [](F f) { return !SegmentsFit(f); },
     .needs = "the number of | segments must be a multiple of pipeline_model_parallel_size",
     .fixes = {{{K::pipeline_model_parallel_size, 1}}}},
    {.id = "mlm.hybrid-vpp-derived",
     .area = "hybrid",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 858},
     .source = "Megatron-LM:megatron/training/arguments.py:858",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::pipeline_model_parallel_size},
     .change = [](Editor& e) { TakeVirtualSize(e); }},
    {.id = "mlm.hybrid-mtp-depths",
     .area = "hybrid",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 868},
     .source = "Megatron-LM:megatron/training/arguments.py:868",
     .core = {17, kMain},
     .reads = {K::hybrid_layer_pattern, K::mtp_num_layers},
     .change = [](Editor& e) { TakeMtpDepths(e); }},
    {.id = "mlm.hybrid-mla-inferred",
     .area = "hybrid",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 918},
     .source = "Megatron-LM:megatron/training/arguments.py:918",
     .core = {18, kMain},
     .reads = {K::hybrid_layer_pattern, K::multi_latent_attention},
     .change = [](Editor& e) { InferMla(e); }},
};

}  // namespace

RuleList MegatronLmHybridRules() { return kRules; }

}  // namespace flightplan
