// Knobs and rules as messages.
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/engine/engine.h"
#include "resolver/explain/catalog_answers.h"
#include "resolver/explain/records.h"
#include "resolver/explain/rule_examples.h"
#include "resolver/explain/verdict_message.h"
#include "resolver/normalize/knobs_message.h"

namespace flightplan {
namespace {

// "0.16..main", "0.15..0.18"; empty when no release has it.
std::string ReleasesText(const ReleaseRange& range, int oldest) {
  const int since = std::max(range.since, oldest);
  if (since > range.until) return "";
  return since == range.until ? ReleaseText(since) : absl::StrCat(ReleaseText(since), "..", ReleaseText(range.until));
}

bool IsBridgePhase(Phase phase) {
  switch (phase) {
    case Phase::kFlexBackend:
    case Phase::kEnvVars:
    case Phase::kMixedPrecision:
    case Phase::kCommOverlap:
    case Phase::kContainerStart:
    case Phase::kModelPrepare:
    case Phase::kProvide:
      return true;
    case Phase::kParse:
    case Phase::kLoongForge:
    case Phase::kCliValidate:
    case Phase::kModel:
    case Phase::kModelMla:
    case Phase::kDdp:
    case Phase::kOptimizer:
    case Phase::kContainer:
    case Phase::kBuild:
    case Phase::kMesh:
    case Phase::kSchedule:
    case Phase::kHardware:
    case Phase::kAdvice:
      break;
  }
  return false;
}

absl::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kError:
      return "error";
    case Kind::kWarning:
      return "warning";
    case Kind::kInfo:
      return "info";
    case Kind::kChange:
      return "change";
  }
  return "";
}

absl::string_view ClassName(KnobClass knob_class) {
  switch (knob_class) {
    case KnobClass::kConvergence:
      return "convergence";
    case KnobClass::kExecution:
      return "execution";
    case KnobClass::kBenchmarkOnly:
      return "benchmark_only";
  }
  return "";
}

absl::string_view TypeName(ValueType type) {
  switch (type) {
    case ValueType::kBool:
      return "bool";
    case ValueType::kInt:
      return "int";
    case ValueType::kFloat:
      return "float";
    case ValueType::kString:
      return "string";
    case ValueType::kIntList:
      return "int_list";
    case ValueType::kFloatList:
      return "float_list";
    case ValueType::kStringList:
      return "string_list";
    case ValueType::kFreq:
      return "freq";
    case ValueType::kTuple:
      return "tuple";
    case ValueType::kAny:
      return "any";
  }
  return "";
}

absl::string_view SectionName(Section section) {
  if (section == Section::kRerun) return "rerun";
  if (section == Section::kArgs) return "args";
  if (section == Section::kLaunch) return "launch";
  return BridgeSectionName(section);
}

// What must hold; of a change without a sentence of its own what it writes, by its example.
std::string TextOf(const Rule& rule) {
  const RuleExample* const example = FindRuleExample(rule.id);
  if (!rule.needs.empty() || example == nullptr) return std::string(rule.needs);
  return absl::StrCat("the stack writes ", example->writes, " by itself, for example with ", example->fires);
}

}  // namespace

void KnobToMessage(Knob knob, v1::KnobInfo* message) {
  const internal::KnobRow& row = Row(knob);
  message->set_name(row.name);
  for (absl::string_view alias : absl::StrSplit(row.aliases, ',', absl::SkipEmpty())) {
    message->add_aliases(alias.data(), alias.size());
  }
  message->set_section(std::string(SectionName(row.section)));
  message->set_knob_class(std::string(ClassName(row.knob_class)));
  message->set_type(std::string(TypeName(row.type)));
  for (absl::string_view choice : absl::StrSplit(row.choices, '|', absl::SkipEmpty())) {
    message->add_choices(choice.data(), choice.size());
  }
  if (const auto value = ValueFromJson(row.default_json); value.ok()) {
    ValueToMessage(*value, message->mutable_default_value());
  }
  // A flag whose form has changed has a row a form.
  absl::btree_set<absl::string_view> flags;
  for (const internal::FlagRow& flag : Flags()) {
    if (flag.knob == knob && flags.insert(flag.flag).second) message->add_megatron_lm_flags(flag.flag);
  }
  message->set_bridge_override(std::string(WordFor(knob, kBridgeOverride)));
  message->set_bridge_perf(std::string(WordFor(knob, kBridgePerf)));
  message->set_loongforge(std::string(WordFor(knob, kLoongForgeWord)));
  message->set_note(row.note);
}

void RuleToMessage(const Rule& rule, v1::RuleInfo* message) {
  message->set_id(std::string(rule.id));
  message->set_area(std::string(rule.area));
  message->set_kind(std::string(KindName(rule.kind)));
  message->set_verdict(ToMessage(VerdictOf(rule.at.phase)));
  message->set_stage(std::string(StageName(rule.at.phase)));
  for (Knob knob : rule.reads) message->add_reads(std::string(Name(knob)));
  for (absl::string_view name : rule.reads_env) message->add_reads(std::string(name));
  message->set_text(TextOf(rule));
  for (const StaticPatch& patch : rule.fixes) {
    v1::Fix* fix = message->add_fixes();
    for (const StaticAssignment& assignment : patch) {
      if (!assignment.env_var.empty()) {
        (*fix->mutable_env())[std::string(assignment.env_var)] = assignment.value.ToValue().ToText();
        continue;
      }
      v1::KnobSetting* setting = fix->add_knobs();
      setting->set_name(std::string(Name(assignment.knob)));
      ValueToMessage(assignment.value.ToValue(), setting->mutable_value());
    }
  }
  message->mutable_source()->set_text(std::string(rule.source));
  message->set_core_releases(ReleasesText(rule.core, kCoreReleases.front()));
  if (IsBridgePhase(rule.at.phase)) message->set_bridge_releases(ReleasesText(rule.bridge, kBridgeReleases.front()));
}

void RecordToMessage(const Record& record, v1::RuleInfo* message) {
  message->set_id(std::string(record.id));
  message->set_area(std::string(record.area));
  message->set_kind(std::string(record.kind));
  message->set_verdict(ToMessage(record.verdict));
  message->set_stage(std::string(record.stage));
  for (absl::string_view name : absl::StrSplit(record.reads, ' ', absl::SkipEmpty())) {
    message->add_reads(std::string(name));
  }
  message->set_text(std::string(record.text));
  message->mutable_source()->set_text(std::string(record.source));
}

}  // namespace flightplan
