#include "resolver/response.h"

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/estimate.pb.h"
#include "flightplan/v1/finding.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/engine/repair.h"
#include "resolver/explain/verdict_message.h"
#include "resolver/normalize/knobs_message.h"

namespace flightplan {
namespace {

void CopyText(absl::string_view text, std::string* to) { to->assign(text.data(), text.size()); }

v1::Severity ToMessage(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return v1::SEVERITY_ERROR;
    case Severity::kWarning:
      return v1::SEVERITY_WARNING;
    case Severity::kInfo:
      return v1::SEVERITY_INFO;
  }
  return v1::SEVERITY_UNSPECIFIED;
}

v1::Basis ToMessage(Basis basis) {
  switch (basis) {
    case Basis::kCaller:
      return v1::BASIS_CALLER;
    case Basis::kRule:
      return v1::BASIS_RULE;
    case Basis::kMeasured:
      return v1::BASIS_MEASURED;
    case Basis::kRecipes:
      return v1::BASIS_RECIPES;
    case Basis::kGuidance:
      return v1::BASIS_GUIDANCE;
    case Basis::kEstimate:
      return v1::BASIS_ESTIMATE;
  }
  return v1::BASIS_UNSPECIFIED;
}

v1::ConfigOrigin ToMessage(Origin origin) {
  switch (origin) {
    case Origin::kAbsent:
      return v1::CONFIG_ORIGIN_UNSPECIFIED;
    case Origin::kDefault:
      return v1::CONFIG_ORIGIN_DEFAULT;
    case Origin::kModel:
      return v1::CONFIG_ORIGIN_MODEL;
    case Origin::kCaller:
      return v1::CONFIG_ORIGIN_CALLER;
    case Origin::kDecided:
      return v1::CONFIG_ORIGIN_DECIDED;
    case Origin::kUpstream:
      return v1::CONFIG_ORIGIN_UPSTREAM;
  }
  return v1::CONFIG_ORIGIN_UNSPECIFIED;
}

void SourceToMessage(absl::string_view source, absl::string_view area, v1::Citation* citation) {
  CopyText(source, citation->mutable_text());
  citation->set_field_report(area == "field-report");
}

// "micro_batch_size", "env.NCCL_DEBUG".
void AppendName(Knob knob, const std::string& env_var, std::string* to) {
  if (env_var.empty()) {
    absl::StrAppend(to, Name(knob));
  } else {
    absl::StrAppend(to, "env.", env_var);
  }
}

}  // namespace

void PatchToMessage(const Patch& patch, v1::Fix* fix) {
  for (const Assignment& assignment : patch) {
    if (!assignment.env_var.empty()) {
      (*fix->mutable_env())[assignment.env_var] = assignment.value.is_none() ? "" : assignment.value.ToText();
      continue;
    }
    v1::KnobSetting* setting = fix->add_knobs();
    CopyText(Name(assignment.knob), setting->mutable_name());
    ValueToMessage(assignment.value, setting->mutable_value());
  }
  fix->set_changes_convergence(ChangesConvergence(patch));
}

void FindingToMessage(Finding finding, v1::Finding* message) {
  CopyText(finding.rule_id, message->mutable_rule_id());
  CopyText(finding.area, message->mutable_area());
  message->set_severity(ToMessage(finding.severity));
  message->set_verdict(ToMessage(finding.verdict));
  CopyText(finding.stage, message->mutable_stage());
  for (Observed& seen : finding.observed) {
    v1::KnobSetting* setting = message->add_observed();
    setting->set_name(std::move(seen.name));
    ValueToMessage(seen.value, setting->mutable_value());
  }
  message->set_seen(std::move(finding.seen));
  message->set_needs(std::move(finding.needs));
  for (const Patch& patch : finding.fixes) PatchToMessage(patch, message->add_fixes());
  SourceToMessage(finding.source, finding.area, message->mutable_source());
}

void LocationToMessage(const std::string& input, const SourcePosition& at, v1::Finding* message) {
  v1::Location* location = message->mutable_location();
  location->set_input(input);
  if (at.index >= 0) location->set_argument_index(at.index);
  if (at.line > 0) location->set_line(at.line);
  if (at.column > 0) location->set_column(at.column);
}

void ChangeToMessage(const ConfigChange& change, v1::EffectiveChange* message) {
  CopyText(change.rule_id, message->mutable_rule_id());
  AppendName(change.knob, change.env_var, message->mutable_name());
  ValueToMessage(change.from, message->mutable_from());
  ValueToMessage(change.to, message->mutable_to());
  message->set_overrides_caller(change.overrides_caller);
  SourceToMessage(change.source, "", message->mutable_source());
}

void DecisionToMessage(Decision decision, v1::Decision* message) {
  CopyText(decision.rule_id, message->mutable_rule_id());
  AppendName(decision.knob, decision.env_var, message->mutable_name());
  ValueToMessage(decision.value, message->mutable_value());
  message->set_reason(std::move(decision.reason));
  message->set_basis(ToMessage(decision.basis));
  for (std::string& citation : decision.citations) message->add_citations()->set_text(std::move(citation));
  for (Alternative& alternative : decision.alternatives) {
    v1::Alternative* out = message->add_alternatives();
    ValueToMessage(alternative.value, out->mutable_value());
    out->set_reason(std::move(alternative.reason));
  }
  message->set_needs_ab(decision.needs_ab);
  if (decision.expected_step_ratio.has_value()) message->set_expected_step_ratio(*decision.expected_step_ratio);
}

void LaunchToMessage(Launch launch, v1::Launch* message) {
  CopyText(launch.dialect, message->mutable_dialect());
  message->mutable_argv()->Reserve(static_cast<int>(launch.argv.size()));
  for (std::string& arg : launch.argv) message->add_argv(std::move(arg));
  for (auto& [name, value] : launch.env) (*message->mutable_env())[name] = std::move(value);
  message->set_text(std::move(launch.text));
}

void OutlookToMessage(const StepOutlook& outlook, v1::Estimate* message) {
  message->mutable_step_time_us()->set_value(outlook.us);
  message->mutable_step_time_us()->set_low(outlook.low_us);
  message->mutable_step_time_us()->set_high(outlook.high_us);
  for (const WallShare& wall : outlook.walls) {
    (*message->mutable_wall_ratios())[std::string(wall.name.data(), wall.name.size())] = wall.ratio;
  }
  message->set_step_flops(outlook.model_flops);
}

namespace {

v1::FigureKind KindOf(Certainty certainty) {
  switch (certainty) {
    case Certainty::kExact:
      return v1::FIGURE_KIND_EXACT;
    case Certainty::kModel:
      return v1::FIGURE_KIND_MODEL;
    case Certainty::kMargin:
      return v1::FIGURE_KIND_MARGIN;
  }
  return v1::FIGURE_KIND_UNSPECIFIED;
}

v1::FitVerdict FitOf(FitVerdict fit) {
  switch (fit) {
    case FitVerdict::kUnknown:
      return v1::FIT_VERDICT_UNSPECIFIED;
    case FitVerdict::kFits:
      return v1::FIT_VERDICT_FITS;
    case FitVerdict::kMarginal:
      return v1::FIT_VERDICT_MARGINAL;
    case FitVerdict::kDoesNotFit:
      return v1::FIT_VERDICT_DOES_NOT_FIT;
  }
  return v1::FIT_VERDICT_UNSPECIFIED;
}

}  // namespace

void EstimateToMessage(const EstimatedPlan& estimate, v1::Estimate* message) {
  CopyText(estimate.scope, message->mutable_scope());
  message->set_usable_bytes(estimate.usable_bytes);
  message->set_fit(FitOf(estimate.fit));
  const StageForecast* before = nullptr;
  message->mutable_stages()->Reserve(static_cast<int>(estimate.stages.size()));
  for (const StageForecast& stage : estimate.stages) {
    if (before != nullptr && before->bytes.parts == stage.bytes.parts && before->total.high == stage.total.high) {
      message->mutable_stages(message->stages_size() - 1)->set_last_stage_index(stage.rank);
      continue;
    }
    before = &stage;
    v1::StageMemory* out = message->add_stages();
    out->set_stage(stage.rank);
    out->set_last_stage_index(stage.rank);
    out->mutable_parts()->Reserve(static_cast<int>(kMemoryParts));
    for (size_t i = 0; i < kMemoryParts; ++i) {
      if (stage.bytes.parts[i] < 1) continue;
      const auto part = static_cast<MemoryPart>(i);
      v1::MemoryPart* out_part = out->add_parts();
      CopyText(Name(part), out_part->mutable_name());
      out_part->set_part_bytes(std::llround(stage.bytes.parts[i]));
      out_part->set_kind(KindOf(CertaintyOf(part)));
    }
    out->mutable_total_bytes()->set_value(stage.total.value);
    out->mutable_total_bytes()->set_low(stage.total.low);
    out->mutable_total_bytes()->set_high(stage.total.high);
  }
}

namespace {

using Spellings = std::vector<std::string>;  // by knob

Spellings BridgeSpellings() {
  Spellings by_knob(kKnobCount);
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    const absl::string_view section = BridgeSectionOf(knob);
    if (!section.empty()) by_knob[static_cast<size_t>(i)] = absl::StrCat(section, ".", FieldNameOf(knob));
  }
  return by_knob;
}

Spellings FlagSpellings(int core_release) {
  Spellings by_knob(kKnobCount);
  for (int i = 0; i < kKnobCount; ++i) {
    const internal::FlagRow* flag = FirstFlag(static_cast<Knob>(i), core_release);
    if (flag != nullptr) by_knob[static_cast<size_t>(i)] = flag->flag;
  }
  return by_knob;
}

// Of all knobs for a target's release. Built once for all.
const Spellings& SpellingsOf(const Environment& env) {
  static const auto* const kBridge = new Spellings(BridgeSpellings());
  static const auto* const kFlags = [] {
    auto* flags = new std::map<int, Spellings>();
    for (int release : kCoreReleases) flags->emplace(release, FlagSpellings(release));
    return flags;
  }();
  if (env.target == Target::kMegatronBridge) return *kBridge;
  return kFlags->at(NearestRelease(kCoreReleases, env.core_release));
}

}  // namespace

absl::string_view SpellingOf(Knob knob, const Environment& env) { return SpellingsOf(env)[static_cast<size_t>(knob)]; }

void ConfigToMessages(const RunResult& run, absl::Span<const Decision> decisions,
                      google::protobuf::RepeatedPtrField<v1::ConfigEntry>* entries) {
  std::array<const ConfigChange*, kKnobCount> changed_by{};
  for (const ConfigChange& change : run.changes) {
    if (change.env_var.empty()) changed_by[static_cast<size_t>(change.knob)] = &change;
  }
  std::array<const Decision*, kKnobCount> decided_by{};
  for (const Decision& decision : decisions) {
    if (decision.env_var.empty()) decided_by[static_cast<size_t>(decision.knob)] = &decision;
  }
  const Spellings& spellings = SpellingsOf(run.env);
  entries->Reserve(128);
  run.config.ForEachNotDefault([&](Knob knob) {
    const auto index = static_cast<size_t>(knob);
    const Origin origin = run.config.origin(knob);
    v1::ConfigEntry* entry = entries->Add();
    CopyText(Name(knob), entry->mutable_name());
    ValueToMessage(run.config.Get(knob), entry->mutable_value());
    entry->set_origin(ToMessage(origin));
    if (!spellings[index].empty()) entry->set_spelling(spellings[index]);
    if (changed_by[index] != nullptr) {
      absl::StrAppend(entry->mutable_reason(), "the stack sets it: ", changed_by[index]->rule_id);
    } else if (decided_by[index] != nullptr) {
      entry->set_reason(decided_by[index]->reason);
    } else if (origin == Origin::kModel) {
      CopyText("the model's architecture", entry->mutable_reason());
    } else if (origin == Origin::kCaller) {
      CopyText("you set it", entry->mutable_reason());
    }
  });
}

std::string TargetName(const Environment& env) {
  auto release = [](int minor) { return minor == kMain ? std::string("main") : absl::StrCat("0.", minor); };
  switch (env.target) {
    case Target::kMegatronLm:
      return absl::StrCat("megatron-lm ", release(env.core_release));
    case Target::kMegatronBridge:
      return absl::StrCat("megatron-bridge ", release(env.bridge_release));
    case Target::kLoongForge:
      return "loongforge main";
    case Target::kCore:
      return absl::StrCat("megatron-core ", release(env.core_release));
  }
  return "";
}

}  // namespace flightplan
