#include "resolver/stacks/megatron_bridge/python_object.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/first_names.h"
#include "resolver/base/nearest.h"
#include "resolver/base/work.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/precision_recipes.h"
#include "resolver/stacks/megatron_bridge/dataset_kinds.h"
#include "resolver/stacks/megatron_bridge/notes.h"

namespace flightplan {
namespace {

using K = Knob;
using Kind = PythonResult::Kind;

constexpr size_t kMostObjects = 100'000;
// Faults of names, which take long to make: those of one object, and all that are reported; findings are bounded lower.
constexpr size_t kMostStrange = kMaxParseFindings + 2;
constexpr size_t kSeenBytes = 600;                     // in a note
constexpr int kMostSteps = 8;                          // from a reference to what it comes to
constexpr size_t kMostKnobs = size_t{2} * kKnobCount;  // written on top of each other

std::pair<std::string, std::string> FirstPart(absl::string_view path) {
  return absl::StrSplit(path, absl::MaxSplits('.', 1));
}

// `cfg`, `peft_config`, `recipe`: what a configuration is called.
bool NamesConfig(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return absl::StrContains(lower, "cfg") || absl::StrContains(lower, "conf") || absl::StrContains(lower, "recipe");
}

// The last value of each knob: others are written over.
void KeepLast(std::vector<ParsedKnob>* knobs) {
  std::set<K> seen;
  std::vector<ParsedKnob> kept;
  for (auto parsed = knobs->rbegin(); parsed != knobs->rend(); ++parsed) {
    if (seen.insert(parsed->knob).second) kept.push_back(std::move(*parsed));
  }
  std::reverse(kept.begin(), kept.end());
  *knobs = std::move(kept);
}

std::string Listed(const std::vector<Argument>& statements) {
  std::vector<std::string> texts;
  texts.reserve(statements.size());
  for (const Argument& statement : statements) texts.push_back(Printable(statement.text));
  return FirstNames(texts, "; ", kNamedInNote);
}

}  // namespace

PythonResult PythonObjects::New() {
  if (objects_.size() >= kMostObjects) return {};
  objects_.push_back(std::make_unique<PythonObject>());
  objects_.back()->number = count() - 1;
  return PythonResult::Reference(count() - 1, "");
}

PythonConfig& PythonObjects::Configured(PythonObject* object) {
  if (object->config == nullptr) object->config = std::make_unique<PythonConfig>(release_);
  return *object->config;
}

PythonResult PythonObjects::Made(absl::string_view function, const std::vector<PythonArgument>& arguments,
                                 const std::optional<Recipe>& recipe, const Argument& at) {
  PythonResult result = New();
  if (result.kind != Kind::kReference) return result;
  PythonObject& object = Of(result.object);
  object.made_by = std::string(LastPart(function));
  object.with_words = !arguments.empty();
  if (recipe.has_value()) {
    Configured(&object).start = recipe;
    if (object.with_words) NoteOpen(result, at, "what the recipe does with its arguments is not read");
    return result;
  }
  if (object.made_by == "ConfigContainer") Configured(&object);
  for (const PythonArgument& argument : arguments) {
    object.open = object.open || argument.spread || (argument.name.empty() && object.made_by == "dict");
    if (argument.name.empty()) continue;
    if (object.config != nullptr) {
      Section(&object, argument.name, argument.result, at, false);
    } else {
      object.fields[argument.name] = {argument.result, at, false, true};
    }
  }
  return result;
}

PythonResult PythonObjects::Copied(const PythonResult& reference) {
  const PythonResult from = Resolved(reference);
  if (from.kind != Kind::kReference || !from.path.empty() || !IsConfig(from.object)) return reference;
  PythonResult result = New();
  if (result.kind != Kind::kReference) return result;
  const PythonConfig& old = *Of(from.object).config;
  PythonConfig& config = Configured(&Of(result.object));
  Work::Spend(64 * old.result.knobs.size());
  config.result = old.result;
  config.start = old.start;
  config.replaced = old.replaced;
  config.open = old.open;
  return result;
}

PythonResult PythonObjects::Resolved(PythonResult reference) const {
  for (int step = 0; step < kMostSteps && reference.kind == Kind::kReference; ++step) {
    const PythonObject& object = Of(reference.object);
    const auto [first, rest] = FirstPart(reference.path);
    if (object.owner >= 0) {
      reference.path = absl::StrCat(object.section, reference.path.empty() ? "" : ".", reference.path);
      reference.object = object.owner;
    } else if (const auto child = object.children.find(first); child != object.children.end()) {
      reference = PythonResult::Reference(child->second, rest);
    } else {
      return reference;
    }
  }
  return {};
}

PythonResult PythonObjects::Read(const PythonResult& written) const {
  const PythonResult reference = Resolved(written);
  if (reference.kind != Kind::kReference) return {};
  const PythonObject& object = Of(reference.object);
  if (object.config == nullptr) {
    const auto field = object.fields.find(reference.path);
    const bool said = field != object.fields.end() && !field->second.maybe &&
                      (!field->second.constructed || object.made_by == "dict");
    return said && field->second.result.known() ? field->second.result : PythonResult();
  }
  const auto [section, name] = FirstPart(reference.path);
  const std::optional<K> knob = name.empty() ? std::nullopt : FindBridgeField(section, name);
  const ParseResult& result = object.config->result;
  if (!knob.has_value() || std::find(result.unknown.begin(), result.unknown.end(), *knob) != result.unknown.end()) {
    return {};
  }
  const auto last = std::find_if(result.knobs.rbegin(), result.knobs.rend(),
                                 [&](const ParsedKnob& parsed) { return parsed.knob == *knob; });
  return last == result.knobs.rend() ? PythonResult() : PythonResult::Of(last->value);
}

PythonResult PythonObjects::ValueOf(const PythonResult& result) const {
  return result.kind == Kind::kReference ? Read(result) : result;
}

void PythonObjects::NoteOpen(const PythonResult& written, const Argument& at, const std::string& why) {
  const PythonResult reference = Resolved(written);
  if (reference.kind != Kind::kReference || !IsConfig(reference.object)) return;
  std::vector<Argument>& statements = Of(reference.object).config->open[why];
  if (statements.size() <= kNamedInNote) statements.push_back(at);
}

void PythonObjects::Assign(const PythonResult& written, absl::string_view field, const PythonResult& result,
                           const Argument& at, bool maybe) {
  const PythonResult reference = Resolved(written);
  if (reference.kind != Kind::kReference || Of(reference.object).module) return;
  PythonObject& object = Of(reference.object);
  const std::string path = absl::StrCat(reference.path, reference.path.empty() ? "" : ".", field);
  const auto [section, rest] = FirstPart(path);
  if (rest.empty()) return Section(&object, section, result, at, maybe);
  if (object.config == nullptr && !OverrideReader::KnowsSection(section) && section != "env_vars") {
    const auto [inner, name] = FirstPart(rest);  // self.cfg.model.num_layers
    const bool holds = OverrideReader::KnowsSection(inner) && !name.empty();
    if (holds && object.children.find(section) == object.children.end()) {
      const PythonResult child = New();
      if (child.kind != Kind::kReference) return;
      Of(child.object).name = section;
      object.children[section] = child.object;
      return Field(&Of(child.object), inner, name, result, at, maybe);
    }
  }
  Field(&object, section, rest, result, at, maybe);
}

// A dtype, a function or a member of an enumeration by its name: torch.bfloat16, AttnBackend.flash.
std::optional<Value> PythonObjects::NamedValue(K knob, const PythonResult& result) const {
  if (result.kind != Kind::kReference || Of(result.object).spelled.empty() || result.path.empty()) return std::nullopt;
  const std::string text = absl::StrCat(Of(result.object).spelled, ".", result.path);
  const absl::string_view last = LastPart(text);
  if (absl::EndsWith(FieldNameOf(knob), "dtype") && absl::StartsWith(text, "torch.")) return Value(text);
  if (knob == K::activation_func) return Value(last);
  for (const absl::string_view choice : absl::StrSplit(Row(knob).choices, '|', absl::SkipEmpty())) {
    if (choice == last) return Value(last);
  }
  return std::nullopt;
}

void PythonObjects::Field(PythonObject* object, const std::string& section, const std::string& field,
                          const PythonResult& result, const Argument& at, bool maybe, bool constructed) {
  const std::optional<K> knob = FindBridgeField(section, field);
  PythonResult value = ValueOf(result);
  if (section == "env_vars") {
    if (object->config != nullptr && value.known() && !maybe) {
      object->config->reader.ReadField(at, section, field, value.value);
    }
    return;
  }
  if (!knob.has_value()) {
    // What begins with _ is an attribute of a program's own.
    const bool one = !absl::StrContains(field, '.') && field[0] != '_' && object->strange.size() < kMostStrange;
    if (one) object->strange.push_back({section, field, at});
    return;
  }
  PythonConfig& config = Configured(object);
  if (const std::optional<Value> named = NamedValue(*knob, result)) value = PythonResult::Of(*named);
  if (value.known() && !maybe) {
    config.reader.ReadField(at, section, field, value.value);
    // A statement writes one field, and the other of its pair goes with it (mixed_precision.py:66).
    for (const ParamGatherPair& pair : kParamGatherPairs) {
      if (pair.param == *knob && !constructed) config.reader.Keep(pair.gather, value.value, at.at);
    }
  } else {
    config.reader.MarkUnknown(*knob);
  }
  if (config.result.knobs.size() > kMostKnobs) KeepLast(&config.result.knobs);
}

// `cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True)`, `cfg.mixed_precision = "bf16_mixed"`.
void PythonObjects::Section(PythonObject* object, const std::string& name, const PythonResult& result,
                            const Argument& at, bool maybe) {
  const bool alone = (name == "mixed_precision" || name == "comm_overlap") && NamesConfig(object->name);
  if (object->config == nullptr && !alone) {
    object->children.erase(name);
    const bool whole = result.kind == Kind::kReference && result.path.empty() && !maybe;
    if (whole && &Of(result.object) != object) object->children[name] = result.object;
    object->fields[name] = {result, at, maybe, false};
    return;
  }
  if (!OverrideReader::KnowsSection(name)) {
    if (object->strange.size() < kMostStrange) object->strange.push_back({name, "", at});
    return;
  }
  PythonConfig& config = Configured(object);
  const PythonResult value = ValueOf(result);
  if (value.known() && !maybe && (name == "mixed_precision" || value.value.is_none())) {
    const bool read = name == "mixed_precision" || name == "comm_overlap" || name == "peft";
    Replace(object, name);
    if (read) config.reader.ReadSection(at, name, value.value);
    return;
  }
  const PythonResult made = Resolved(result);
  if (made.kind == Kind::kReference && &Of(made.object) == object) return;  // cfg.model = cfg.model
  Replace(object, name);
  if (made.kind == Kind::kReference && made.path.empty() && !maybe) return TakePart(object, name, made.object, at);
  if (name == "mixed_precision") config.reader.MarkUnknown(K::mixed_precision_recipe);
  if (name == "peft") config.reader.MarkUnknown(K::peft_scheme);
  if (name == "comm_overlap") config.reader.MarkUnknown(K::comm_overlap_configured);
  if (OverrideReader::LooksInside(name) || name == "peft")
    config.open["what the section holds is not known"].push_back(at);
}

void PythonObjects::TakePart(PythonObject* object, const std::string& name, int part, const Argument& at) {
  PythonObject& made = Of(part);
  PythonConfig& config = *object->config;
  if (!ReadClass(&config, name, made, at)) {
    if (name == "mixed_precision") config.reader.MarkUnknown(K::mixed_precision_recipe);
    if (name == "peft") config.reader.MarkUnknown(K::peft_scheme);
    if (name == "comm_overlap") config.reader.MarkUnknown(K::comm_overlap_configured);
    if (name == "dataset") config.reader.MarkUnknown(K::dataset_kind);
  }
  for (const auto& [field, written] : made.fields) {
    // The name that Megatron-Core's own class has for it (config.py:270).
    const bool length = name == "dataset" && field == "sequence_length" && written.constructed;
    if (length) Field(object, name, "seq_length", written.result, written.argument, written.maybe);
    if (FindBridgeField(name, field).has_value()) {
      Field(object, name, field, written.result, written.argument, written.maybe, written.constructed);
    }
  }
  if (made.module || made.config != nullptr) return;
  made.part = true;
  made.section = name;
  config.parts[name] = part;
  made.owner = object->number;
}

// What was there before is gone.
void PythonObjects::Replace(PythonObject* object, const std::string& section) {
  PythonConfig& config = *object->config;
  config.replaced.insert(section);
  if (const auto part = config.parts.find(section); part != config.parts.end()) {
    Of(part->second).owner = -1;
    config.parts.erase(part);
  }
  std::vector<ParsedKnob>& knobs = config.result.knobs;
  const auto gone = std::stable_partition(
      knobs.begin(), knobs.end(), [&](const ParsedKnob& parsed) { return BridgeSectionOf(parsed.knob) != section; });
  for (auto parsed = gone; parsed != knobs.end(); ++parsed) config.reader.MarkUnknown(parsed->knob);
  knobs.erase(gone, knobs.end());
}

// What the object's class says by itself. False: not all that it sets is known.
bool PythonObjects::ReadClass(PythonConfig* config, const std::string& name, const PythonObject& made,
                              const Argument& at) const {
  if (name == "comm_overlap" && made.made_by == "CommOverlapConfig") {
    config->reader.Keep(K::comm_overlap_configured, Value(true), at.at);
    return true;
  }
  if (name == "mixed_precision" && made.made_by == "MixedPrecisionConfig") {
    config->reader.Keep(K::mixed_precision_configured, Value(true), at.at);
    return true;
  }
  if (name == "mixed_precision" && FindPrecisionRecipe(made.made_by) != nullptr && !made.with_words) {
    config->reader.ReadSection(at, name, Value(made.made_by));
    return true;
  }
  if (name == "dataset" && !made.made_by.empty() && absl::ascii_isupper(static_cast<unsigned char>(made.made_by[0]))) {
    config->reader.Keep(K::dataset_kind, Value(DatasetKindOf(made.made_by)), at.at);
    return true;
  }
  if (name == "peft" && absl::EndsWith(made.made_by, "oRA")) {
    config->reader.KeepAdapters(made.made_by, at.at);
    return true;
  }
  return false;
}

// Fields of a section are set on it, by a name that a configuration has.
bool PythonObjects::LooksLikeConfig(const PythonObject& object) {
  return NamesConfig(object.name) &&
         std::any_of(object.strange.begin(), object.strange.end(), [](const PythonObject::Strange& strange) {
           if (OverrideReader::KnowsSection(strange.section)) return !strange.field.empty();
           return FindBridgeField(NearestName(strange.section, OverrideReader::Sections()), strange.field).has_value();
         });
}

void PythonObjects::Settle(int number) {
  PythonObject& object = Of(number);
  if (object.config != nullptr || LooksLikeConfig(object)) {
    OverrideReader& reader = Configured(&object).reader;
    for (const PythonObject::Strange& strange : object.strange) {
      if (reported_++ < kMostStrange) Report(strange, &reader);
    }
  }
  object.strange.clear();
}

void PythonObjects::Report(const PythonObject::Strange& strange, OverrideReader* reader) {
  if (!strange.field.empty()) return reader->Unknown(strange.argument, strange.section, strange.field);
  const std::optional<K> knob = FindKnob(strange.section);
  const absl::string_view section = knob.has_value() ? BridgeSectionOf(*knob) : "";
  // Upstream keeps data_parallel_size, a field of comm_overlap, in the container too.
  if (section.empty() || section == "comm_overlap") return;
  reader->Refuse(
      strange.argument, OverrideReader::kUnknown, Printable(strange.argument.text),
      absl::StrCat("the config container has no such field; did you mean ", section, ".", FieldNameOf(*knob), "?"));
}

ParseResult PythonObjects::Finished(int number) {
  PythonConfig& config = *Of(number).config;
  ParseResult& result = config.result;
  const size_t written = result.knobs.size();
  if (config.start.has_value()) StartFromRecipe(*config.start, /*batch=*/true, release_, &result);
  const size_t of_recipe = result.knobs.size() - written;
  std::set<K> said;
  for (size_t i = of_recipe; i < result.knobs.size(); ++i) said.insert(result.knobs[i].knob);
  for (size_t i = 0; i < of_recipe; ++i) {
    const K knob = result.knobs[i].knob;
    const bool gone = config.replaced.count(std::string(BridgeSectionOf(knob))) > 0;
    if (gone && said.count(knob) == 0) config.reader.MarkUnknown(knob);
  }
  for (const auto& any : objects_) {
    if (!any->any_part || any->config != nullptr) continue;
    for (const auto& [field, value] : any->fields) {
      for (const absl::string_view section : OverrideReader::Sections()) {
        if (const std::optional<K> knob = FindBridgeField(section, field); knob.has_value()) {
          config.reader.MarkUnknown(*knob);
        }
      }
    }
  }
  for (const auto& [why, statements] : config.open) {
    KeepFinding(NotJudgedNote(statements.front().at, Listed(statements), why, kSeenBytes), &result.findings);
  }
  return std::move(result);
}

}  // namespace flightplan
