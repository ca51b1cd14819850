#include "resolver/stacks/loongforge/model.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "resolver/base/nearest.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/stacks/loongforge/adapters.h"
#include "resolver/stacks/loongforge/file.h"
#include "resolver/stacks/loongforge/model_classes.h"
#include "resolver/stacks/loongforge/model_override.h"
#include "resolver/stacks/number_fault.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kCompose = "LoongForge:loongforge/train/parser.py:131";
constexpr absl::string_view kMerge = "LoongForge:loongforge/train/validators.py:100";

constexpr absl::string_view kModelFolder = "configs/models/";

class ModelFile {
 public:
  ModelFile(const Environment& env, ParseResult* out) : env_(env), out_(out), flags_(out->knobs.size()) {}

  void Read(absl::Span<const Argument> overrides) {
    Find();
    std::vector<std::pair<ModelOverride, const Argument*>> read;
    for (const Argument& word : overrides) {
      if (std::optional<ModelOverride> change = Parse(word); change.has_value())
        read.emplace_back(*std::move(change), &word);
    }
    out_->model_file_read = file_ != nullptr;
    out_->own_model_file = file_ == &own_;
    if (file_ != nullptr) {
      for (const auto& [key, value] : file_->keys) keys_[key] = {value, named_};
    }
    for (const auto& [change, word] : read) {
      if (change.sign != ModelOverride::Sign::kAdd) Apply(change, *word);
    }
    for (const auto& [change, word] : read) {
      if (change.sign == ModelOverride::Sign::kAdd) Apply(change, *word);
    }
    Take();
  }

 private:
  void Report(SourcePosition at, absl::string_view rule_id, Severity severity, std::string seen, std::string needs,
              absl::string_view source = kCompose) {
    KeepFinding(MakeParseFinding(at, rule_id, severity, std::move(seen), std::move(needs), source), &out_->findings);
  }
  void Refuse(const Argument& word, std::string needs) {
    Report(word.at, "lf.hydra-override", Severity::kError, Printable(word.text), std::move(needs));
  }

  const ParsedKnob* Last(Knob knob) const {
    const ParsedKnob* const found = WrittenKnobs(out_).Last(knob);
    return found == nullptr || !found->value.is_text() ? nullptr : found;
  }

  // The name is looked up first; where it is none of the registry, that is judged by a rule.
  void Find() {
    const ParsedKnob* name = Last(K::model_name);
    const ParsedKnob* path = Last(K::config_file);
    const ParsedKnob* named = name != nullptr ? name : path;
    if (named == nullptr) return;
    named_ = named->at;
    file_ = name != nullptr ? FindLoongForgeModel(name->value.text()) : FindLoongForgeFile(path->value.text());
    if (file_ == nullptr && name != nullptr) return;
    Compose(name != nullptr ? file_->path : std::string(path->value.text()));
    if (file_ == nullptr) return NoteMissing(named->value.text());
    if (!file_->there) {
      Report(named_, "lf.config-file-exists", Severity::kError, Printable(named->value.text()),
             absl::StrCat("the registry of LoongForge names ", file_->path, ", which its checkout does not have"));
      file_ = nullptr;
    }
  }

  // What the caller sent stands for what is built in.
  void Compose(const std::string& path) {
    if (env_.model_files.empty()) {
      out_->wanted_files.push_back(path);
      return;
    }
    ComposedFile composed = ComposeLoongForgeFile(path, env_);
    out_->wanted_files = std::move(composed.wanted);
    for (ParseFinding& finding : composed.findings) {
      finding.at = named_;
      KeepFinding(std::move(finding), &out_->findings);
    }
    if (!composed.model.there) return;
    own_ = std::move(composed.model);
    file_ = &own_;
  }

  // A path into a checkout that this revision does not have: it is the caller's own file, or there is none.
  void NoteMissing(absl::string_view path) {
    const size_t below = path.find(kModelFolder);
    if (below == absl::string_view::npos) return;
    const std::vector<absl::string_view> known = LoongForgeFiles();
    const absl::string_view nearest = NearestName(path.substr(below), known);
    Report(named_, "lf.config-file-exists", Severity::kWarning, Printable(path),
           absl::StrCat("this revision of LoongForge has no such file",
                        nearest.empty() ? "" : absl::StrCat("; the nearest is ", nearest)));
  }

  std::optional<ModelOverride> Parse(const Argument& word) {
    absl::StatusOr<ModelOverride> change = ReadModelOverride(word.text);
    if (change.ok()) return *std::move(change);
    Refuse(word, std::string(change.status().message()));
    return std::nullopt;
  }

  // The keys that a name stands for: one, or those below it.
  std::vector<std::string> KeysOf(const std::string& name) const {
    std::vector<std::string> keys;
    if (keys_.contains(name)) keys.push_back(name);
    const std::string below = name + ".";
    for (auto it = keys_.lower_bound(below); it != keys_.end() && absl::StartsWith(it->first, below); ++it) {
      keys.push_back(it->first);
    }
    return keys;
  }

  // A reference is not followed.
  static bool MayBe(const Value& value, const Value& written) {
    return value == written || (written.is_text() && absl::StrContains(written.text(), "${"));
  }

  void Apply(const ModelOverride& change, const Argument& word) {
    if (const std::optional<std::string> needs = HydraNeeds(change)) {
      if (!needs->empty()) Refuse(word, *needs);
      return;
    }
    if (change.key == "model") return Refuse(word, "model is a map of parts: name a key below it");
    const std::vector<std::string> there = KeysOf(change.key);
    const auto old = keys_.find(change.key);
    const bool known = file_ != nullptr;
    switch (change.sign) {
      case ModelOverride::Sign::kDelete:
        if (known && there.empty()) return Refuse(word, "the model's file has no such key to delete");
        if (known && old != keys_.end() && old->second.value.is_none()) {
          return Refuse(word, "the model's file has null at this key, which Hydra takes for no key: drop the word");
        }
        if (known && change.value.has_value() && (old == keys_.end() || !MayBe(*change.value, old->second.value))) {
          return Refuse(word, absl::StrCat("the model's file has another value at this key: write ~", change.key));
        }
        for (const std::string& key : there) keys_.erase(key);
        return;
      case ModelOverride::Sign::kChange:
        if (known && there.empty()) {
          const std::string nearest(NearestKey(change.key));
          return Refuse(word, absl::StrCat("the model's file has no such key",
                                           nearest.empty() ? "" : absl::StrCat(" (the nearest is ", nearest, ")"),
                                           "; to add one write +", Printable(word.text)));
        }
        break;
      case ModelOverride::Sign::kAdd:
        if (old == keys_.end() && !there.empty()) {
          return Refuse(word, "the model's file has a map at this key: name a key below it");
        }
        if (!known || old == keys_.end() || old->second.value.is_none() || change.value->is_list()) break;
        if (old->second.value == *change.value) {
          return Report(word.at, "lf.override-redundant", Severity::kWarning, Printable(word.text),
                        "the key has this value: drop the word (Hydra adds a key only where there is none)");
        }
        return Refuse(word, absl::StrCat("the model's file has the key: write ", Printable(word.text.substr(1))));
      case ModelOverride::Sign::kForce:
        break;
    }
    NoteUnknown(change.key, word);
    for (const std::string& key : there) keys_.erase(key);  // a value takes the place of a map
    keys_[change.key] = {*change.value, word.at, true};
  }

  absl::string_view NearestKey(absl::string_view key) const {
    std::vector<absl::string_view> names;
    for (const auto& [name, entry] : keys_) names.push_back(name);
    return NearestName(key, names);
  }

  // Whose keys are the arguments: "" or "model.foundation.".
  absl::string_view Foundation() const {
    const bool flat = file_ != nullptr ? file_->keys.contains("model_type") : keys_.contains("model_type");
    if (flat) return "";
    const std::string below = "model.foundation.";
    const auto first = keys_.lower_bound(below);
    return first != keys_.end() && absl::StartsWith(first->first, below) ? "model.foundation." : "";
  }

  void NoteUnknown(absl::string_view key, const Argument& word) {
    const bool component = absl::ConsumePrefix(&key, "model.") && absl::StrContains(key, ".");
    if (component && !absl::ConsumePrefix(&key, "foundation.")) {
      if (file_ != nullptr) return;
      return Report(word.at, "input.not-judged", Severity::kInfo, Printable(word.text),
                    "LoongForge judges each component on its own; this answer is for the foundation");
    }
    const absl::string_view nearest = NearestKnobName(key);
    if (LoongForgeKey(key).has_value() || IsLoongForgeStructure(key) || nearest.empty()) return;
    Report(word.at, "lf.yaml-unknown-key", Severity::kWarning, Printable(key),
           absl::StrCat("no argument has this name, so LoongForge passes over it; the nearest is ", nearest));
  }

  // The type of the model, and what LoongForge stops at when it is not one of its own.
  void TakeType() {
    const bool flat = file_ == nullptr || !file_->keys.contains("model.model_type");
    const auto type = keys_.find(flat ? "model_type" : "model.model_type");
    if (type == keys_.end() || !type->second.value.is_text()) {
      if (file_ == nullptr) return;
      return Report(named_, "lf.model-type-known", Severity::kError, "model_type unset",
                    "the model's file must say its model_type", "LoongForge:loongforge/train/parser.py:199");
    }
    const absl::string_view family = type->second.value.text();
    const absl::Span<const absl::string_view> families = LoongForgeFamilies();
    if (std::find(families.begin(), families.end(), family) == families.end()) {
      Report(type->second.at, "lf.model-type-known", Severity::kError, Printable(family),
             absl::StrCat("model_type is one of ", absl::StrJoin(families, ", ")),
             "LoongForge:loongforge/train/parser.py:258");
    }
    out_->knobs.push_back({K::model_family, Value(family), type->second.at});
  }

  void Take() {
    TakeType();
    // A word for another component's key was noted; without the file either spelling is the foundation's.
    const std::string own(Foundation());
    for (const auto& [name, entry] : keys_) {
      absl::string_view key = name;
      if (!absl::ConsumePrefix(&key, own) && (file_ != nullptr || !absl::ConsumePrefix(&key, "model.foundation."))) {
        continue;
      }
      if (absl::StrContains(key, ".")) continue;
      TakeKey(key, Followed(name, entry), &out_->knobs);
    }
    TakeComponents();
    TakeLoongForgeAdapters(
        [this](const std::string& key) -> LoongForgeValueAt {
          const auto entry = keys_.find(key);
          if (entry == keys_.end()) return {};
          return {&entry->second.value, entry->second.at};
        },
        out_);
    if (file_ == nullptr) return NoteUnread();
    CheckModelClasses({*file_, file_ == &own_, named_, keys_}, absl::MakeSpan(out_->knobs).first(flags_),
                      &out_->findings);
  }

  // Of a file that nobody has read only the words of the launch are known.
  void NoteUnread() {
    if (Last(K::config_file) == nullptr || Last(K::model_name) != nullptr) return;
    for (const K knob : LoongForgeFileKnobs()) {
      const bool said = std::any_of(out_->knobs.begin(), out_->knobs.end(), [knob](const ParsedKnob& parsed) {
        return parsed.knob == knob && parsed.origin == Origin::kModel;
      });
      if (!said) out_->unknown.push_back(knob);
    }
  }

  // Those with a class to build; LoongForge checks each on its own.
  void TakeComponents() {
    constexpr absl::string_view kTop = "model.";
    for (auto it = keys_.lower_bound(kTop); it != keys_.end() && absl::StartsWith(it->first, kTop); ++it) {
      const absl::string_view key = absl::string_view(it->first).substr(kTop.size());
      const size_t dot = key.find('.');
      if (dot == absl::string_view::npos) continue;
      const absl::string_view name = key.substr(0, dot);
      if (name == "foundation" || name == "peft_config" || key.find('.', dot + 1) != absl::string_view::npos ||
          !keys_.contains(absl::StrCat(kTop, name, "._target_"))) {
        continue;
      }
      std::vector<ParsedComponent>& parts = out_->components;
      if (parts.empty() || parts.back().name != name) parts.push_back({std::string(name), {}});
      TakeKey(key.substr(dot + 1), Followed(it->first, it->second), &parts.back().knobs);
    }
  }

  // What a word refers to (num_layers=${hidden_size}).
  ModelKey Followed(const std::string& name, const ModelKey& entry) {
    if (!entry.written || !entry.value.is_text() || file_ == nullptr) return entry;
    const std::optional<std::string> key = ReferredKey(name, entry.value.text());
    if (!key.has_value()) return entry;
    const auto found = keys_.find(*key);
    if (found != keys_.end()) return {found->second.value, entry.at, true};
    Report(entry.at, "lf.yaml-reference", Severity::kError, absl::StrCat(name, "=", Printable(entry.value.text())),
           absl::StrCat("the composed file has no key ", Printable(*key)));
    return entry;
  }

  void TakeKey(absl::string_view key, const ModelKey& entry, std::vector<ParsedKnob>* knobs) {
    if (entry.value.is_text()) {
      const auto variable = NeededVariable(entry.value.text());
      if (variable.has_value()) return NeedVariable(*variable, entry);
    }
    std::optional<Value> value = LoongForgeValue(entry.value);
    const std::optional<Knob> knob = LoongForgeKey(key);
    const bool own = knobs == &out_->knobs;
    if (!knob.has_value() || knob == K::model_family) return;
    if (!value.has_value()) {
      if (own && entry.written) out_->unknown.push_back(*knob);
      return;
    }
    if (const auto fault = FindNumberFault(*knob, NumberReader::kLoongForge, &*value)) {
      ParseFinding found = NumberFinding(*fault, *knob, entry.at, "lf.value-type", kMerge,
                                         absl::StrCat(key, "=", Printable(entry.value.ToText())), key);
      found.finding.fixes.clear();  // a flag would not win over the word
      KeepFinding(std::move(found), &out_->findings);
      if (value->is_none()) {
        if (own) out_->unknown.push_back(*knob);
        return;
      }
    }
    if (own) NoteOverwritten(*knob, *value, entry);
    knobs->push_back({*knob, *std::move(value), entry.at, Origin::kModel});
  }

  void NeedVariable(const std::string& variable, const ModelKey& entry) {
    if (env_.vars.contains(variable) || !missing_.insert(variable).second) return;
    Report(entry.at, "lf.yaml-variable-set", Severity::kError, absl::StrCat(variable, " unset"),
           absl::StrCat("the model's file refers to it: export ", variable,
                        variable == "LOONGFORGE_PATH" ? ", the path of LoongForge's checkout" : ""),
           kMerge);
  }

  // A flag said something else.
  void NoteOverwritten(Knob knob, const Value& value, const ModelKey& entry) {
    for (size_t i = flags_; i-- > 0;) {
      const ParsedKnob& flag = out_->knobs[i];
      if (flag.knob != knob) continue;
      if (flag.value == value) return;
      return Report(flag.at, "lf.yaml-overrides-args", Severity::kInfo,
                    absl::StrCat(Name(knob), "=", Printable(flag.value.ToText())),
                    absl::StrCat(entry.written ? "an override of the model's YAML" : "the YAML of the model",
                                 " wins over the flag: ", Printable(value.ToText())),
                    kMerge);
    }
  }

  const Environment& env_;
  ParseResult* const out_;
  const size_t flags_;  // knobs that flags set, at the front
  const LoongForgeModel* file_ = nullptr;
  LoongForgeModel own_;  // of the caller's texts
  SourcePosition named_;
  ModelKeys keys_;
  absl::btree_set<std::string> missing_;
};

}  // namespace

void ReadLoongForgeModel(absl::Span<const Argument> overrides, const Environment& env, ParseResult* out) {
  ModelFile(env, out).Read(overrides);
}

}  // namespace flightplan
