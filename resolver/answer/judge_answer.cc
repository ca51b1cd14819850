#include "resolver/answer/judge_answer.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/answer/estimate_message.h"
#include "resolver/answer/response.h"
#include "resolver/catalog/spellings.h"
#include "resolver/plan/tuning_variable.h"
#include "resolver/stacks/input_format.h"

namespace flightplan {
namespace {

constexpr size_t kAnswerRoom = size_t{48} << 10;  // most answers need less
constexpr size_t kSmallAnswerRoom = size_t{8} << 10;

// Calls `put` with each finding and the place in the input that it points at (null: none): the worst first, of those
// the reader's.
template <class Put>
void ForEachFinding(const JudgedConfig& judged, Put put) {
  const ParseResult& parsed = judged.reading.parsed;
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kInfo}) {
    for (const ParseFinding& parse : parsed.findings) {
      if (parse.finding.severity == severity) put(parse.finding, &parse.at);
    }
    for (const Finding& finding : judged.run.findings) {
      if (finding.severity == severity) put(finding, PlaceOf(finding, parsed));
    }
  }
}

void PutPlaced(int field, const Finding& finding, const SourcePosition* at, const JudgedConfig& judged, WireWriter* w) {
  const InputPlace place{judged.reading.input, at == nullptr ? SourcePosition() : *at};
  PutFinding(field, finding, at == nullptr ? nullptr : &place, w);
}

void PutForecast(int field, const JudgedConfig& judged, WireWriter* w) {
  if (!judged.estimate.has_value()) return;
  const std::optional<ForecastedConfig>& step = judged.step;
  PutEstimate(field, *judged.estimate, step.has_value() ? &step->outlook : nullptr,
              step.has_value() ? &step->throughput : nullptr, w);
}

void PutRepair(int field, const RepairedConfig& repaired, View view, WireWriter* w) {
  using M = v1::Repair;
  w->PutMessage(field, [&] {
    for (const RepairStep& step : repaired.steps) {
      w->PutMessage(M::kStepsFieldNumber, [&] {
        w->Text(v1::RepairStep::kRuleIdFieldNumber, step.rule_id);
        PutFix(v1::RepairStep::kFixFieldNumber, step.patch, w);
        w->Bool(v1::RepairStep::kSearchedFieldNumber, step.searched);
      });
    }
    w->Bool(M::kAcceptedByStackFieldNumber, repaired.judged.verdicts.accepted_by_stack);
    w->Bool(M::kWillRunFieldNumber, repaired.judged.verdicts.will_run);
    ForEachFinding(repaired.judged, [&](const Finding& finding, const SourcePosition* at) {
      if (finding.severity != Severity::kError) return;
      PutPlaced(M::kFindingsFieldNumber, finding, at, repaired.judged, w);
    });
    w->Text(M::kTextFieldNumber, repaired.input.text);
    for (const std::string& word : repaired.input.arguments) w->PutText(M::kArgumentsFieldNumber, word);
    if (!repaired.unwritten.empty()) PutFix(M::kUnwrittenFieldNumber, repaired.unwritten, w);
    if (view >= View::kBasic) PutForecast(M::kEstimateFieldNumber, repaired.judged, w);
  });
}

void PutConverted(int field, const std::vector<ConvertedKnob>& knobs, WireWriter* w) {
  using M = v1::ConvertedKnob;
  for (const ConvertedKnob& knob : knobs) {
    w->PutMessage(field, [&] {
      w->Text(M::kNameFieldNumber, knob.name);
      if (knob.value.has_value()) PutValue(M::kValueFieldNumber, *knob.value, w);
      w->Text(M::kSourceSpellingFieldNumber, knob.source_spelling);
      w->Text(M::kTargetSpellingFieldNumber, knob.target_spelling);
      w->Text(M::kReasonFieldNumber, knob.reason);
    });
  }
}

v1::Completeness CompletenessOf(const JudgedConfig& judged) {
  if (judged.reading.no_launch) return v1::COMPLETENESS_NONE;
  // Words that cannot be read here may hold any flags.
  const Knowledge& knowledge = judged.reading.knowledge;
  const bool hidden_words = absl::EndsWith(knowledge.elsewhere, "which cannot be read here");
  const bool part = judged.set_aside.errors || judged.reading.launches_left || hidden_words;
  return part ? v1::COMPLETENESS_PARTIAL : v1::COMPLETENESS_FULL;
}

}  // namespace

ConfigAnswer AnswerOf(const JudgedConfig& judged, const RepairedConfig* repaired, View view, AnswerOrigin origin) {
  using R = v1::ValidateConfigResponse;
  const RunResult& run = judged.run;
  const ParseResult& parsed = judged.reading.parsed;
  ConfigAnswer answer;
  answer.accepted_by_stack = judged.verdicts.accepted_by_stack;
  answer.will_run = judged.verdicts.will_run;
  answer.digest = std::move(origin.digest);
  answer.catalog_revision = std::move(origin.catalog_revision);
  answer.target = TargetName(run.env);

  WireWriter w(view == View::kFull ? kAnswerRoom : kSmallAnswerRoom);
  w.Bool(R::kAcceptedByStackFieldNumber, answer.accepted_by_stack);
  w.Bool(R::kWillRunFieldNumber, answer.will_run);
  ForEachFinding(judged, [&](const Finding& finding, const SourcePosition* at) {
    PutPlaced(R::kFindingsFieldNumber, finding, at, judged, &w);
    AddFound(finding, &answer);
  });
  if (view == View::kFull) {
    PutConfig(R::kConfigFieldNumber, run, /*decisions=*/{}, judged.reading.stated, &w);
    PutChanges(R::kEffectiveChangesFieldNumber, run.changes, &w);
  }
  for (const std::string& what : judged.not_judged) w.PutText(R::kNotJudgedFieldNumber, what);
  w.Text(R::kDigestFieldNumber, answer.digest);
  w.Text(R::kCatalogRevisionFieldNumber, answer.catalog_revision);
  w.Text(R::kTargetFieldNumber, answer.target);
  w.Text(R::kInputFormatFieldNumber, judged.reading.format);
  if (repaired != nullptr) PutRepair(R::kRepairFieldNumber, *repaired, view, &w);
  if (view >= View::kBasic) PutForecast(R::kEstimateFieldNumber, judged, &w);
  for (const std::string& path : parsed.wanted_files) w.PutText(R::kWantedFilesFieldNumber, path);
  w.Int(R::kCompletenessFieldNumber, CompletenessOf(judged));
  for (const std::string& rule : judged.set_aside.rules) w.PutText(R::kSetAsideRulesFieldNumber, rule);
  PutMemory(R::kMemoryFieldNumber, judged.memory, &w);
  w.Int(R::kEvidenceRevisionFieldNumber, origin.evidence_revision);
  if (view == View::kFull) {
    for (const auto& [name, value] : judged.env.vars) {
      if (IsTuningVariable(name)) w.PutMapEntry(R::kEnvFieldNumber, name, value);
    }
  }
  answer.bytes = std::move(w).Take();
  return answer;
}

ConfigAnswer AnswerNothing(absl::string_view why, AnswerOrigin origin) {
  using R = v1::ValidateConfigResponse;
  ConfigAnswer answer;
  answer.accepted_by_stack = answer.will_run = true;  // nothing is known against it
  answer.digest = std::move(origin.digest);
  answer.catalog_revision = std::move(origin.catalog_revision);
  WireWriter w(kSmallAnswerRoom);
  w.Bool(R::kAcceptedByStackFieldNumber, true);
  w.Bool(R::kWillRunFieldNumber, true);
  w.PutText(R::kNotJudgedFieldNumber, why);
  w.Text(R::kDigestFieldNumber, answer.digest);
  w.Text(R::kCatalogRevisionFieldNumber, answer.catalog_revision);
  w.Text(R::kInputFormatFieldNumber, kShellFormat);
  w.Int(R::kCompletenessFieldNumber, v1::COMPLETENESS_NONE);
  PutMemory(R::kMemoryFieldNumber, {}, &w);
  w.Int(R::kEvidenceRevisionFieldNumber, origin.evidence_revision);
  answer.bytes = std::move(w).Take();
  return answer;
}

ConfigAnswer AnswerOf(const ConvertedConfig& converted) {
  using R = v1::ConvertConfigResponse;
  WireWriter w(kAnswerRoom);
  PutLaunch(R::kLaunchFieldNumber, converted.launch, &w);
  PutConverted(R::kConvertedFieldNumber, converted.converted, &w);
  PutConverted(R::kDroppedFieldNumber, converted.dropped, &w);
  PutConverted(R::kPinnedDefaultsFieldNumber, converted.pinned_defaults, &w);
  ForEachFinding(converted.source, [&](const Finding& finding, const SourcePosition* at) {
    PutPlaced(R::kSourceFindingsFieldNumber, finding, at, converted.source, &w);
  });
  ForEachFinding(converted.target, [&](const Finding& finding, const SourcePosition* at) {
    PutPlaced(R::kTargetFindingsFieldNumber, finding, at, converted.target, &w);
  });
  ConfigAnswer answer;
  answer.bytes = std::move(w).Take();
  return answer;
}

}  // namespace flightplan
