#include "resolver/named_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/derive/model_knobs.h"
#include "resolver/render/dialect.h"

namespace flightplan {
namespace {

// What every model file of LoongForge says.
constexpr Knob kAlwaysThere[] = {Knob::num_layers,       Knob::hidden_size,     Knob::num_attention_heads,
                                 Knob::num_moe_experts,  Knob::ffn_hidden_size, Knob::moe_ffn_hidden_size,
                                 Knob::num_query_groups, Knob::kv_lora_rank};

const ParsedKnob* LastWritten(const Reading& reading, Knob knob) {
  const auto& knobs = reading.parsed.knobs;
  const auto found = std::find_if(knobs.rbegin(), knobs.rend(), [knob](const ParsedKnob& p) { return p.knob == knob; });
  return found == knobs.rend() ? nullptr : &*found;
}

// An override of Hydra's goes on top of the YAML; a flag does not.
bool IsFlag(const Reading& reading, const ParsedKnob& written) {
  const int index = written.at.index;
  if (index < 0 || static_cast<size_t>(index) >= reading.args.size()) return false;
  const std::string& word = reading.args[static_cast<size_t>(index)].text;
  return absl::StartsWith(word, "-") || !absl::StrContains(word, "=");
}

ParseFinding Overridden(const ParsedKnob& flag, const Value& value) {
  return MakeParseFinding(flag.at, "lf.yaml-overrides-args", Severity::kInfo,
                          absl::StrCat(Name(flag.knob), "=", Printable(flag.value.ToText())),
                          absl::StrCat("the YAML of the named model wins over the flag: ", value.ToText()),
                          "LoongForge:loongforge/train/validators.py:79");
}

// By the catalogue's name, or by LoongForge's where the two differ (loongforge/utils/config_map.py).
const ModelSpec* FindRegistered(const Catalog& catalog, absl::string_view name) {
  if (const auto model = catalog.FindModel(name); model.ok()) return *model;
  for (const ModelSpec& model : catalog.models()) {
    for (const auto& [knob, value] : model.knobs) {
      if (knob == Knob::model_name && value.is_text() && value.text() == name) return &model;
    }
  }
  return nullptr;
}

// The file says its family itself where it was read.
void SetFamily(const Reading& reading, Config* config) {
  if (config->Given(Knob::model_family)) return;
  const ParsedKnob* file = LastWritten(reading, Knob::config_file);
  const ParsedKnob* name = LastWritten(reading, Knob::model_name);
  absl::string_view family;
  if (file != nullptr && file->value.is_text()) {
    family = LoongForgeFamilyOfFile(file->value.text());
  } else if (name != nullptr && name->value.is_text()) {
    family = LoongForgeFamilyOfName(name->value.text());
  }
  if (!family.empty()) config->Set(Knob::model_family, Value(family), Origin::kModel);
}

}  // namespace

void ApplyNamedModel(const Catalog& catalog, const Environment& env, Reading* reading, Config* config) {
  if (env.target != Target::kLoongForge) return;
  SetFamily(*reading, config);
  const ParsedKnob* name = LastWritten(*reading, Knob::model_name);
  if (name == nullptr || !name->value.is_text()) return;
  const ModelSpec* model = FindRegistered(catalog, name->value.text());
  if (model == nullptr) {
    reading->not_judged.push_back(absl::StrCat("the YAML of --model-name ", Printable(name->value.ToText()),
                                               ": the catalogue has no such model; validate that file"));
    return;
  }
  for (const auto& [knob, value] : ModelKnobs(*model, env)) {
    const ParsedKnob* written = LastWritten(*reading, knob);
    if (written == nullptr) {
      config->Set(knob, value, Origin::kModel);
      continue;
    }
    const bool in_file = std::find(std::begin(kAlwaysThere), std::end(kAlwaysThere), knob) != std::end(kAlwaysThere);
    if (!in_file || !IsFlag(*reading, *written) || written->value == value) continue;
    reading->parsed.findings.push_back(Overridden(*written, value));
    config->Set(knob, value, Origin::kModel);
  }
}

}  // namespace flightplan
