#include "resolver/judge/judge.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "resolver/engine/repeats.h"
#include "resolver/judge/knowledge.h"
#include "resolver/judge/launcher_words.h"
#include "resolver/judge/loongforge_parts.h"
#include "resolver/judge/missing_inputs.h"
#include "resolver/judge/unknown_values.h"
#include "resolver/pipeline/apply_evidence.h"
#include "resolver/pipeline/choose_profile.h"
#include "resolver/plan/encoders.h"

namespace flightplan {
namespace {

// Too much, but only with samples of full length, or on the GPUs that the script has by default: a run may have
// others, so nothing says that it will not fit, and nothing that it will run. The rules have left such a fit alone.
void LeaveFitOpen(const Knowledge& knowledge, const std::vector<Finding>& findings, WeighedConfig* weighed) {
  const auto refuses = [](const Finding& finding) {
    return finding.severity == Severity::kError && absl::StartsWith(finding.rule_id, "fit.");
  };
  if (weighed->standing.fit != FitVerdict::kDoesNotFit || !weighed->not_judged.empty()) return;
  if (std::any_of(findings.begin(), findings.end(), refuses)) return;
  weighed->standing.fit = FitVerdict::kUnknown;
  if (weighed->estimate.has_value()) weighed->estimate->fit = FitVerdict::kUnknown;
  weighed->not_judged = knowledge.size_assumed
                            ? "memory: counted on the GPUs that stand in the script, which may not be all"
                            : "memory: counted for samples of full length; shorter ones take less";
}

// Moves what was weighed into the answer; of a launch whose values stand elsewhere, what a GPU has alone.
void TakeWeighed(const Knowledge& knowledge, WeighedConfig* weighed, JudgedConfig* judged) {
  if (knowledge.elsewhere.empty() || knowledge.base_known) {
    judged->estimate = std::move(weighed->estimate);
    std::move(weighed->by_evidence.begin(), weighed->by_evidence.end(), std::back_inserter(judged->run.findings));
    judged->memory = std::move(weighed->standing);
    return;
  }
  judged->memory.usable_bytes = weighed->standing.usable_bytes;
  judged->memory.reserved_bytes = weighed->standing.reserved_bytes;
  if (weighed->estimate.has_value() || weighed->standing.at_least_bytes > 0) {
    weighed->not_judged = absl::StrCat("memory: values stand ", knowledge.elsewhere);
  }
}

// What was not judged, in the order in which it is told. `memory`: why its verdict is none; empty: it is one.
std::vector<std::string> NotJudged(const JudgedConfig& judged, std::string memory) {
  std::vector<std::string> left;
  if (!judged.env.world_size.has_value()) {
    left.emplace_back("process grids: neither hardware.gpu_count, world_size nor WORLD_SIZE is given");
  }
  if (judged.env.gpu_name.empty()) {
    left.push_back(absl::StrCat("hardware gates: ", judged.gpu_fault.empty() ? "no GPU is given" : judged.gpu_fault));
  }
  if (!judged.set_aside.rules.empty()) left.push_back(Sentence(judged.set_aside, judged.reading.knowledge));
  if (!memory.empty()) left.push_back(std::move(memory));
  const ModelSpec* const named = judged.reading.named_model;
  if (judged.estimate.has_value() && named != nullptr && BuildsEncoders(*named, judged.env)) {
    left.emplace_back("memory: the model's encoders of images or sound are not counted");
  }
  return left;
}

}  // namespace

JudgedConfig Judge(ReadConfig read, View view) {
  JudgedConfig judged;
  judged.reading = std::move(read.reading);
  Reading& reading = judged.reading;
  judged.env = std::move(read.env);
  const Environment& env = judged.env;
  judged.run = Run(std::move(read.config), env);
  AddParts(reading.parsed, env, &judged.run);
  judged.basis = std::move(read.basis);
  WeighingInputs inputs{&read.gpu, &judged.basis, reading.parsed.unknown, &reading.parsed.others, reading.named_model};
  inputs.fullest_alone = view == View::kVerdict;
  WeighedConfig weighed = WeighConfig(inputs, &judged.run);
  if (!read.gpu_fault.empty() && weighed.standing.missing_input == "hardware.gpu") {
    weighed.not_judged = "memory: the GPU is not known";
  }
  judged.model = std::move(weighed.model);
  judged.outcome =
      OutcomeOf(judged.run.findings, weighed.estimate.has_value() ? &*weighed.estimate : nullptr, /*step_us=*/0);
  DropWhatIsNotKnown(&reading, &judged.run);
  for (Finding& finding : MissingInputs(reading, env, judged.run.config)) {
    judged.run.findings.push_back(std::move(finding));
  }
  for (const Finding& finding : judged.basis.findings) judged.run.findings.push_back(finding);
  for (Finding& finding : JudgeLauncherWords(reading.cpu_binding, env)) {
    judged.run.findings.push_back(std::move(finding));
  }
  SetAside aside;
  KeepWhatIsShown(env, reading.knowledge, &reading.parsed.findings, &aside);
  KeepWhatIsShown(env, reading.knowledge, &judged.run.findings, &aside);
  judged.set_aside = std::move(aside);
  LeaveFitOpen(reading.knowledge, judged.run.findings, &weighed);
  TakeWeighed(reading.knowledge, &weighed, &judged);
  judged.gpu = std::move(read.gpu);
  judged.gpu_fault = std::move(read.gpu_fault);
  judged.verdicts = VerdictsOf(judged.run.findings);
  for (const ParseFinding& parse : reading.parsed.findings) judged.verdicts.Add(parse.finding);
  DropRepeats(&judged.run.findings);
  SortForPeople(&judged.run.findings);
  judged.not_judged = NotJudged(judged, std::move(weighed.not_judged));
  std::move(reading.not_judged.begin(), reading.not_judged.end(), std::back_inserter(judged.not_judged));
  reading.not_judged.clear();
  return judged;
}

void ForecastStep(JudgedConfig* judged) {
  if (!judged->estimate.has_value()) return;
  const WeighedModel& model = *judged->model;
  std::vector<Finding> about;
  if (model.evidence != nullptr) ReportStale(*model.evidence, &about);
  judged->step = ForecastConfig(model, judged->run, &judged->estimate->layout, &about);
  if (judged->step.has_value()) {
    std::vector<Finding> of_profile = FindingsAboutProfile(model.intent);
    std::move(of_profile.begin(), of_profile.end(), std::back_inserter(about));
  }
  if (about.empty()) return;
  std::vector<Finding>& findings = judged->run.findings;
  findings.insert(findings.end(), std::make_move_iterator(about.begin()), std::make_move_iterator(about.end()));
  SortForPeople(&findings);
}

absl::StatusOr<JudgedConfig> ReadAndJudge(const JudgeQuestion& question) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(ReadConfig read, Read(question));
  return Judge(std::move(read));
}

const SourcePosition* PlaceOf(const Finding& finding, const ParseResult& parsed) {
  for (const Observed& seen : finding.observed) {
    const std::optional<Knob> knob = FindKnob(seen.name);
    if (!knob.has_value()) continue;
    for (const std::vector<ParsedKnob>* written : {&parsed.knobs, &parsed.paths}) {
      const auto last =
          std::find_if(written->rbegin(), written->rend(), [&](const ParsedKnob& p) { return p.knob == *knob; });
      if (last != written->rend() && (last->at.index >= 0 || last->at.line != 0)) return &last->at;
    }
  }
  return nullptr;
}

}  // namespace flightplan
