// What LoongForge checks and changes for the model at hand: its family, its tokenizer, its data (baidu-baige/LoongForge
// @c6275661, loongforge/train/validators.py).
#include <algorithm>
#include <vector>

#include "resolver/base/integers.h"
#include "resolver/base/nearest.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/rules/core/hybrid_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

int64_t Cp(F f) { return f.num(K::context_parallel_size); }

// loongforge/utils/constants.py:97 and :112.
bool VisionLanguage(F f) {
  return f.in(K::model_family, {"qwen2_vl", "qwen2_5_vl", "qwen3_vl", "llava_ov_1_5", "vlm", "intern_vl", "ernie4_5_vl",
                                "qwen3_5", "minicpm_v_4_6", "kimi_k2_5", "kimi_k2_6"});
}
bool Diffusion(F f) { return f.in(K::model_family, {"wan2_1_i2v", "wan2_2_i2v", "qwen_image"}); }

// The next multiple, or the value itself where it would not fit.
int64_t RoundUp(int64_t value, int64_t multiple) {
  return value <= 0 ? value : NextMultiple(value, multiple).value_or(value);
}

void AlignWan(Editor& e) {
  const Facts& f = e.facts();
  if (!f.is(K::model_name, "wan2-2-i2v") || !f.on(K::packing_sft_data) || Cp(f) <= 1 || f.none(K::seq_length)) return;
  if (Cp(f) > INT64_MAX / 2) return;
  const int64_t aligned = RoundUp(f.num(K::seq_length), 2 * Cp(f));
  e.Set(K::seq_length, aligned);
  if (f.set(K::encoder_seq_length)) e.Set(K::encoder_seq_length, aligned);
  e.Set(K::max_position_embeddings, std::max(f.num(K::max_position_embeddings), aligned));
}

bool NameUnknown(F f) {
  return f.value(K::model_name).is_text() && f.given(K::model_name) &&
         FindLoongForgeModel(f.text(K::model_name)) == nullptr;
}

const Rule kRules[] = {
    {.id = "lf.model-name-known",
     .area = "model",
     .at = {Phase::kLoongForge, 1},
     .source = "LoongForge:loongforge/utils/config_map.py:447",
     .reads = {K::model_name},
     .when = [](F f) { return NameUnknown(f); },
     .needs = "LoongForge registers no such model: give its file with --config-file",
     .fix =
         [](F f) {
           const absl::string_view nearest = NearestName(f.text(K::model_name), LoongForgeModelNames());
           return nearest.empty() ? std::vector<Patch>{} : std::vector<Patch>{{Assign(K::model_name, Value(nearest))}};
         }},
    {.id = "lf.one-kind-of-layers",
     .area = "hybrid",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kLoongForge, 2},
     .source = "LoongForge:loongforge/models/foundation/base/base_gpt_model.py:51",
     .reads = {K::hybrid_layer_pattern, K::hybrid_override_pattern},
     .when = HasPattern,
     .needs = "LoongForge has no model of a pattern's layers: those of its families are of one kind, or what they mix "
              "stands in their own files"},
    {.id = "lf.qwen3vl-transformers",
     .area = "version-gate",
     .at = {Phase::kLoongForge, 112},
     .source = "LoongForge:loongforge/train/validators.py:112",
     .reads = {K::model_family},
     .reads_env = {"transformers"},
     .when =
         [](F f) {
           const auto installed = f.env().packages.find("transformers");
           return f.is(K::model_family, "qwen3_vl") && installed != f.env().packages.end() &&
                  !AtLeast(Version::Parse(installed->second), "4.57.1");
         },
     .needs = "qwen3_vl needs transformers 4.57.1; upgrade it, or train qwen2_5_vl, which older ones read",
     .fixes = {{{K::model_family, "qwen2_5_vl"}}}},
    // The table has an error here; upstream's map of defaults has an entry for every family, so it cannot come.
    {.id = "lf.tokenizer-default",
     .area = "data",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 131},
     .source = "LoongForge:loongforge/train/validators.py:126, loongforge/tokenizer/defaults.py:14",
     .reads = {K::tokenizer_type},
     .change =
         [](Editor& e) {
           if (e.facts().none(K::tokenizer_type)) e.Set(K::tokenizer_type, "HFTokenizer");
         }},
    {.id = "lf.vlm-variable-seq",
     .area = "sequence",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 375},
     .source = "LoongForge:loongforge/train/validators.py:375",
     .reads = {K::variable_seq_lengths, K::packing_buffer_size, K::model_family, K::packing_pretrain_data,
               K::packing_sft_data},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!VisionLanguage(f)) return;
           e.Set(K::variable_seq_lengths, true);
           if (!f.on(K::packing_pretrain_data) && !f.on(K::packing_sft_data)) e.Set(K::packing_buffer_size, Value());
         }},
    {.id = "lf.custom-text-cp",
     .area = "context-parallel",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 385},
     .source = "LoongForge:loongforge/train/validators.py:385",
     .reads = {K::max_text_length, K::context_parallel_size, K::model_family},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!Diffusion(f) || f.none(K::max_text_length) || Cp(f) <= 1) return;
           e.Set(K::max_text_length, RoundUp(f.num(K::max_text_length), Cp(f)));
         }},
    {.id = "lf.model-named",
     .area = "model",
     .kind = Kind::kWarning,
     .at = {Phase::kLoongForge, 0},
     .source = "LoongForge:loongforge/train/parser.py:182",
     .reads = {K::model_name, K::config_file},
     .when = [](F f) { return !f.env().written && f.none(K::model_name) && f.none(K::config_file); },
     .needs = "LoongForge takes the architecture from a model file and stops without --model-name (a key of its "
              "registry) or --config-file (your own, with the architecture as given here)"},
    {.id = "lf.model-required",
     .area = "model",
     .at = {Phase::kLoongForge, 0},
     .source = "LoongForge:loongforge/train/parser.py:182",
     .reads = {K::model_name, K::config_file},
     .when = [](F f) { return f.env().written && f.none(K::model_name) && f.none(K::config_file); },
     .needs = "LoongForge takes the architecture from a model file: give --model-name (a key of its registry) or "
              "--config-file"},
    {.id = "lf.length-left-open",
     .area = "schedule",
     .kind = Kind::kWarning,
     .at = {Phase::kOptimizer, 9047},
     .source = "Loong-Megatron:megatron/training/training.py:1047",
     .reads = {K::train_iters, K::train_samples},
     .when = [](F f) { return !f.env().written && !f.on(K::train_iters) && !f.on(K::train_samples); },
     .needs = "the launch needs a length, which is yours to choose: --train-iters or --train-samples"},
    {.id = "lf.lr-left-open",
     .area = "schedule",
     .kind = Kind::kWarning,
     .at = {Phase::kOptimizer, 9062},
     .source = "Loong-Megatron:megatron/core/optimizer_param_scheduler.py:62",
     .reads = {K::lr},
     .when = [](F f) { return !f.env().written && !f.set(K::lr); },
     .needs = "the launch needs a learning rate, which is yours to choose: --lr"},
    {.id = "lf.data-left-open",
     .area = "data",
     .kind = Kind::kInfo,
     .at = {Phase::kOptimizer, 9100},
     .source = "LoongForge:examples/qwen3/pretrain/pretrain_qwen3_30b_a3b.sh:41",
     .reads = {K::data_path, K::tokenizer_type},
     .when = [](F f) { return !f.env().written && (!f.set(K::data_path) || !f.set(K::tokenizer_type)); },
     .needs =
         "to train on something, add your tokenizer and data: --tokenizer-type HFTokenizer --hf-tokenizer-path DIR "
         "--data-path PREFIX"},
    {.id = "lf.one-logger-off",
     .area = "logging",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 460},
     .source = "LoongForge:loongforge/train/validators.py:34",
     .reads = {K::enable_one_logger},
     .change = [](Editor& e) { e.Set(K::enable_one_logger, false); }},
    {.id = "lf.wan-seq-align",
     .area = "sequence",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 470},
     .source = "LoongForge:loongforge/train/validators.py:54",
     .reads = {K::seq_length, K::max_position_embeddings, K::context_parallel_size, K::packing_sft_data, K::model_name},
     .change = AlignWan},
};

}  // namespace

RuleList LoongforgeModelRules() { return kRules; }

}  // namespace flightplan
