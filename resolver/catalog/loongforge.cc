#include "resolver/catalog/loongforge.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

namespace flightplan {
namespace {

template <typename Row>
absl::Span<const Row> Rows(const Row* rows, int count) {
  return absl::MakeSpan(rows, static_cast<size_t>(count));
}

absl::Span<const internal::LoongForgeModelRow> ModelRows() {
  return Rows(internal::kLoongForgeModelRows, internal::kLoongForgeModelRowCount);
}

// Puts the keys of the files under the i-th and then its own below `package`. The files lie in no circle: the importer
// would not have ended.
void Compose(int i, absl::string_view package, LoongForgeModel* model) {
  const auto below = [package](absl::string_view key) {
    return package.empty() ? std::string(key) : key.empty() ? std::string(package) : absl::StrCat(package, ".", key);
  };
  const internal::LoongForgeModelRow& row = ModelRows()[static_cast<size_t>(i)];
  for (const absl::string_view gone : absl::StrSplit(row.gone, '|', absl::SkipEmpty())) model->gone.emplace_back(gone);
  for (const internal::LoongForgeDefaultRow& under :
       Rows(internal::kLoongForgeDefaultRows, internal::kLoongForgeDefaultRowCount)) {
    if (under.model != i) continue;
    for (int j = 0; j < internal::kLoongForgeModelRowCount; ++j) {
      if (absl::string_view(under.path) == ModelRows()[static_cast<size_t>(j)].path) {
        Compose(j, below(under.package), model);
      }
    }
  }
  for (const internal::LoongForgeKeyRow& key : Rows(internal::kLoongForgeKeyRows, internal::kLoongForgeKeyRowCount)) {
    if (key.model == i) model->keys[below(key.key)] = ValueFromJson(key.json).value_or(Value());
  }
}

// Keys that build the model and are no arguments.
constexpr absl::string_view kStructure[] = {
    "_target_",   "_partial_",  "_recursive_",         "convert_file",       "defaults",        "hydra",
    "loss_func",  "model_spec", "model_type",          "position_idx_func",  "rotary_emb_func", "peft_config",
    "image_size", "patch_size", "temporal_patch_size", "spatial_merge_size", "in_channels",     "freeze"};

constexpr absl::string_view kFamilies[] = {
    "llama",     "llama2",        "llama3",      "llama3.1",     "qwen",       "qwen1.5",    "qwen2",
    "qwen2.5",   "qwen3",         "qwen3_next",  "glm",          "wan2_1_i2v", "wan2_2_i2v", "qwen_image",
    "mimo",      "deepseek_v4",   "minimax",     "pi05",         "groot_n1_6", "deepseek",   "internlm2.5",
    "qwen2_vl",  "qwen2_5_vl",    "qwen3_vl",    "llava_ov_1_5", "vlm",        "intern_vl",  "qwen3_5",
    "kimi_k2_5", "minicpm_v_4_6", "ernie4_5_vl", "kimi_k2_6"};

const internal::LoongForgeClassRow* FindClass(absl::string_view target) {
  const absl::string_view name = target.substr(target.rfind('.') + 1);  // npos + 1: all of it
  for (const internal::LoongForgeClassRow& row :
       Rows(internal::kLoongForgeClassRows, internal::kLoongForgeClassRowCount)) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

bool Says(const internal::LoongForgeClassRow* row, absl::string_view field) {
  for (const absl::string_view own : absl::StrSplit(row->fields, '|')) {
    if (own == field) return true;
  }
  return false;
}

// By the name of an argument.
const absl::flat_hash_map<std::string, Knob>& KnobsOfArguments() {
  static const auto* const kKnobs = [] {
    auto* knobs = new absl::flat_hash_map<std::string, Knob>();
    for (const LoongForgeFlag& flag : LoongForgeFlags()) {
      if (flag.knob.has_value()) {
        knobs->emplace(absl::StrReplaceAll(absl::StripPrefix(flag.flag, "--"), {{"-", "_"}}), *flag.knob);
      }
    }
    return knobs;
  }();
  return *kKnobs;
}

void TakeArguments(LoongForgeModel* model) {
  const bool flat = model->keys.contains("model_type");
  model->foundation = flat ? "" : "model.foundation.";
  const auto type = model->keys.find(flat ? "model_type" : "model.model_type");
  if (type != model->keys.end() && type->second.is_text()) model->type = std::string(type->second.text());
  for (const auto& [name, written] : model->keys) {
    absl::string_view key = name;
    if (!absl::ConsumePrefix(&key, model->foundation) || absl::StrContains(key, ".")) continue;
    const std::optional<Knob> knob = LoongForgeKey(key);
    std::optional<Value> value = LoongForgeValue(written);
    if (knob.has_value() && value.has_value()) model->arguments[*knob] = {name, *std::move(value)};
  }
}

// The flags that its own launches pass beside --model-name (LoongForge@c6275661 examples/*/pretrain,
// examples/*/finetuning).
constexpr Knob kBesideTheModelFile[] = {
    Knob::layernorm_epsilon,
    Knob::max_position_embeddings,
    Knob::moe_aux_loss_coeff,
    Knob::moe_router_bias_update_rate,
    Knob::moe_router_enable_expert_bias,
    Knob::moe_router_group_topk,
    Knob::moe_router_load_balancing_type,
    Knob::moe_router_num_groups,
    Knob::moe_router_pre_softmax,
    Knob::moe_router_score_function,
    Knob::moe_router_topk,
    Knob::moe_router_topk_scaling_factor,
    Knob::moe_shared_expert_intermediate_size,
    Knob::mscale,
    Knob::mscale_all_dim,
    Knob::mtp_loss_scaling_factor,
    Knob::mtp_num_layers,
    Knob::original_max_position_embeddings,
    Knob::rotary_base,
    Knob::rotary_percent,
    Knob::rotary_scaling_factor,
};

// In the order of the rows.
const std::vector<LoongForgeModel>& Models() {
  static const auto* const kModels = [] {
    auto* models = new std::vector<LoongForgeModel>();
    for (int i = 0; i < internal::kLoongForgeModelRowCount; ++i) {
      const internal::LoongForgeModelRow& row = ModelRows()[static_cast<size_t>(i)];
      LoongForgeModel& model = models->emplace_back();
      model.path = row.path;
      model.there = row.there;
      Compose(i, "", &model);
      TakeArguments(&model);
    }
    return models;
  }();
  return *kModels;
}

}  // namespace

const std::vector<LoongForgeFlag>& LoongForgeFlags() {
  static const auto* const kFlags = [] {
    absl::flat_hash_map<absl::string_view, const internal::FlagRow*> upstream;
    for (const internal::FlagRow& row : Flags()) {
      if (row.releases.Contains(kLoongForgeCore)) upstream[row.flag] = &row;
    }
    auto* flags = new std::vector<LoongForgeFlag>();
    for (int i = 0; i < internal::kLoongForgeFlagRowCount; ++i) {
      const internal::LoongForgeFlagRow& row = internal::kLoongForgeFlagRows[i];
      LoongForgeFlag flag{row.flag, FindKnob(row.dest), row.form, row.type, row.choices, row.default_json, row.own};
      // The knob table knows Megatron-LM's converters of lists, layer patterns and triples.
      if (const auto known = upstream.find(flag.flag); known != upstream.end()) {
        flag.knob = known->second->knob;
        if (row.form != FlagForm::kValue) flag.form = known->second->form;
        flag.type = known->second->type;
      }
      flags->push_back(flag);
    }
    return flags;
  }();
  return *kFlags;
}

absl::string_view LoongForgeChoices(Knob knob) {
  for (const LoongForgeFlag& flag : LoongForgeFlags()) {
    if (flag.knob == knob) return flag.choices;
  }
  return "";
}

const LoongForgeModel* FindLoongForgeFile(absl::string_view path) {
  for (const LoongForgeModel& model : Models()) {
    absl::string_view folder = path;
    if (absl::ConsumeSuffix(&folder, model.path) && (folder.empty() || absl::EndsWith(folder, "/"))) return &model;
  }
  return nullptr;
}

const LoongForgeModel* FindLoongForgeModel(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (size_t i = 0; i < ModelRows().size(); ++i) {
    for (const absl::string_view known : absl::StrSplit(ModelRows()[i].names, '|', absl::SkipEmpty())) {
      if (known == lower) return &Models()[i];
    }
  }
  return nullptr;
}

std::vector<absl::string_view> LoongForgeFiles() {
  std::vector<absl::string_view> files;
  for (const LoongForgeModel& model : Models()) {
    if (model.there) files.push_back(model.path);
  }
  return files;
}

const std::vector<Knob>& LoongForgeFileKnobs() {
  static const auto* const kKnobs = [] {
    absl::btree_set<Knob> said;
    for (const LoongForgeModel& model : Models()) {
      for (const auto& [knob, argument] : model.arguments) said.insert(knob);
    }
    return new std::vector<Knob>(said.begin(), said.end());
  }();
  return *kKnobs;
}

bool LoongForgeAsksFor(Knob knob) { return absl::c_linear_search(kBesideTheModelFile, knob); }

const LoongForgeModel* LoongForgeModelOf(const Config& config) {
  const LoongForgeModel* model = nullptr;
  if (const Value& name = config.Get(Knob::model_name); name.is_text()) {
    model = FindLoongForgeModel(name.text());
  } else if (const Value& path = config.Get(Knob::config_file); path.is_text()) {
    model = FindLoongForgeFile(path.text());
  }
  return model != nullptr && model->there ? model : nullptr;
}

std::optional<Knob> LoongForgeKey(absl::string_view key) {
  if (key == "fp8_param") return Knob::fp8_param_gather;            // validators.py:74
  if (key == "vocab_size_in_config_file") return Knob::vocab_size;  // before the tokenizer's: tokenizer.py:126
  // (i + 1) % full_attention_interval, as core has it: models/foundation/qwen3_next/qwen3_next_layer_spec.py:124.
  if (key == "full_attention_interval") return Knob::linear_attention_freq;
  if (IsLoongForgeStructure(key)) return std::nullopt;
  if (const auto knob = FindKnob(key); knob.has_value()) return knob;
  const auto found = KnobsOfArguments().find(key);
  return found == KnobsOfArguments().end() ? std::nullopt : std::make_optional(found->second);
}

bool IsLoongForgeStructure(absl::string_view key) {
  return std::find(std::begin(kStructure), std::end(kStructure), key) != std::end(kStructure);
}

std::optional<Value> LoongForgeValue(const Value& written) {
  if (!written.is_text()) return written;
  absl::string_view text = written.text();
  if (absl::ConsumePrefix(&text, "${act:") && absl::ConsumeSuffix(&text, "}")) return Value(text);
  return absl::StrContains(text, "${") ? std::nullopt : std::make_optional(written);
}

bool LoongForgeClassTakes(absl::string_view target, absl::string_view field) {
  const internal::LoongForgeClassRow* const row = FindClass(target);
  if (row == nullptr || Says(row, field)) return true;
  if (!row->transformer_config) return false;
  if (Says(FindClass("MLATransformerConfig"), field)) return row->mla;
  if (Says(FindClass("TransformerConfig"), field)) return true;
  const std::optional<Knob> knob = FindKnob(field);
  return knob.has_value() && Name(*knob) == field && Row(*knob).section == Section::kModel &&
         Row(*knob).core.Contains(kLoongForgeCore);
}

bool LoongForgeHasClass(absl::string_view target) { return FindClass(target) != nullptr; }

bool LoongForgeClassLacksMla(absl::string_view target) {
  const internal::LoongForgeClassRow* const row = FindClass(target);
  return row != nullptr && row->transformer_config && !row->mla;
}

absl::Span<const absl::string_view> LoongForgeFamilies() { return kFamilies; }

const std::vector<absl::string_view>& LoongForgeModelNames() {
  static const auto* const kNames = [] {
    auto* names = new std::vector<absl::string_view>();
    for (const internal::LoongForgeModelRow& row : ModelRows()) {
      for (const absl::string_view name : absl::StrSplit(row.names, '|', absl::SkipEmpty())) names->push_back(name);
    }
    return names;
  }();
  return *kNames;
}

}  // namespace flightplan
