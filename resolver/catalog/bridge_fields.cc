#include "resolver/catalog/bridge_fields.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace flightplan {
namespace {

// Marks of our own, which no Bridge class has as a field.
bool IsMark(Knob knob) {
  return knob == Knob::comm_overlap_configured || knob == Knob::mixed_precision_configured ||
         knob == Knob::mixed_precision_recipe || knob == Knob::dataset_kind || knob == Knob::peft_scheme ||
         knob == Knob::dataset_offline_packing_specs;
}

using FieldMap = std::map<std::pair<absl::string_view, absl::string_view>, Knob>;

const FieldMap& Fields() {
  static const auto* const kFields = [] {
    auto* fields = new FieldMap();
    for (int i = 0; i < kKnobCount; ++i) {
      const Knob knob = static_cast<Knob>(i);
      const absl::string_view section = BridgeSectionOf(knob);
      if (!section.empty() && !IsMark(knob)) fields->emplace(std::make_pair(section, FieldNameOf(knob)), knob);
    }
    return fields;
  }();
  return *kFields;
}

std::vector<Knob> KnobsOf(Section section) {
  std::vector<Knob> knobs;
  for (int i = 0; i < kKnobCount; ++i) {
    if (Row(static_cast<Knob>(i)).section == section) knobs.push_back(static_cast<Knob>(i));
  }
  return knobs;
}

// A field of the section was written. Our marks are none of its fields, and the data-parallel size is Bridge's own
// entry.
bool AnyWritten(const Config& config, const std::vector<Knob>& knobs) {
  for (Knob knob : knobs) {
    const bool written = config.origin(knob) != Origin::kAbsent && config.origin(knob) != Origin::kDefault;
    if (written && !IsMark(knob) && knob != Knob::data_parallel_size) return true;
  }
  return false;
}

using FieldByKnob = std::vector<std::optional<Knob>>;

FieldByKnob FieldsOver(absl::string_view section) {
  FieldByKnob fields(kKnobCount);
  for (size_t i = 0; i < fields.size(); ++i) {
    const Knob knob = static_cast<Knob>(i);
    const Section own = Row(knob).section;
    const bool overwritten = own == Section::kModel || own == Section::kDdp || own == Section::kOptimizer;
    if (overwritten) fields[i] = FindBridgeField(section, FieldNameOf(knob));
  }
  return fields;
}

}  // namespace

absl::string_view BridgeSectionName(Section section) {
  switch (section) {
    case Section::kModel:
      return "model";
    case Section::kDdp:
      return "ddp";
    case Section::kOptimizer:
      return "optimizer";
    case Section::kTrain:
      return "train";
    case Section::kDist:
      return "dist";
    case Section::kRng:
      return "rng";
    case Section::kRerun:
      return "rerun_state_machine";
    case Section::kMixedPrecision:
      return "mixed_precision";
    case Section::kCommOverlap:
      return "comm_overlap";
    case Section::kDataset:
      return "dataset";
    case Section::kPeft:
      return "peft";
    case Section::kScheduler:
      return "scheduler";
    case Section::kCheckpoint:
      return "checkpoint";
    case Section::kProfiling:
      return "profiling";
    case Section::kLogger:
      return "logger";
    case Section::kTokenizer:
      return "tokenizer";
    case Section::kFt:
      return "ft";
    case Section::kNvrxStraggler:
      return "nvrx_straggler";
    case Section::kInprocessRestart:
      return "inprocess_restart";
    case Section::kArgs:
    case Section::kLaunch:
      break;
  }
  return "";
}

absl::string_view BridgeSectionOf(Knob knob) {
  const absl::string_view name = Name(knob);
  if (name == "eval_micro_batch_size" || name == "eval_global_batch_size") return "validation";
  return BridgeSectionName(Row(knob).section);
}

absl::string_view FieldNameOf(Knob knob) {
  absl::string_view name = Name(knob);
  const absl::string_view section = Row(knob).section == Section::kRerun ? "rerun" : BridgeSectionOf(knob);
  if (!section.empty() && absl::ConsumePrefix(&name, absl::StrCat(section, "."))) return name;
  return Name(knob);
}

std::optional<Knob> FindBridgeField(absl::string_view section, absl::string_view field) {
  auto it = Fields().find({section, field});
  if (it == Fields().end()) return std::nullopt;
  return it->second;
}

bool AdaptersConfigured(const Config& config) {
  static const auto* const kKnobs = new std::vector<Knob>(KnobsOf(Section::kPeft));
  const Value& scheme = config.Get(Knob::peft_scheme);
  return scheme.is_text() ? scheme.text() != "none" : AnyWritten(config, *kKnobs);
}

bool TrainsLora(const Config& config) {
  const Value& scheme = config.Get(Knob::peft_scheme);
  return AdaptersConfigured(config) && (scheme.is_none() || scheme == Value("lora") || scheme == Value("mcore_lora"));
}

bool SaysOfAdapters(Knob knob, const Config& config) {
  return Row(knob).section == Section::kPeft && AdaptersConfigured(config) &&
         (config.Given(knob) || config.Get(knob).truthy());
}

bool CommOverlapConfigured(const Config& config) {
  static const auto* const kKnobs = new std::vector<Knob>(KnobsOf(Section::kCommOverlap));
  return config.Get(Knob::comm_overlap_configured).truthy() || AnyWritten(config, *kKnobs);
}

bool MixedPrecisionConfigured(const Config& config) {
  static const auto* const kKnobs = new std::vector<Knob>(KnobsOf(Section::kMixedPrecision));
  return config.Get(Knob::mixed_precision_configured).truthy() || !config.Get(Knob::mixed_precision_recipe).is_none() ||
         AnyWritten(config, *kKnobs);
}

std::optional<Knob> CommOverlapField(Knob knob) {
  static const auto* const kFields = new FieldByKnob(FieldsOver("comm_overlap"));
  return (*kFields)[static_cast<size_t>(knob)];
}

std::optional<Knob> MixedPrecisionField(Knob knob) {
  static const auto* const kFields = new FieldByKnob(FieldsOver("mixed_precision"));
  return (*kFields)[static_cast<size_t>(knob)];
}

Knob BridgeSourceOf(Knob knob, const Config& config) {
  const std::optional<Knob> overlap = CommOverlapField(knob);
  if (overlap.has_value() && CommOverlapConfigured(config)) return *overlap;
  const std::optional<Knob> precision = MixedPrecisionField(knob);
  if (precision.has_value() && MixedPrecisionConfigured(config)) return *precision;
  return knob;
}

}  // namespace flightplan
