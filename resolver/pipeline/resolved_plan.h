// What the pipeline makes of one question: a configuration that was decided, judged and forecast. A value: whoever
// compares neighbouring plans asks for many, and only those that are shown become text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "resolver/derive/placement.h"
#include "resolver/engine/engine.h"
#include "resolver/estimate/estimate.h"
#include "resolver/estimate/step_model.h"
#include "resolver/plan/config.h"
#include "resolver/plan/intent.h"
#include "resolver/rules/decide/decide.h"

namespace flightplan {

// A step's forecast, with what it takes to forecast the step of a neighbour.
struct PlannedStep {
  StepModel model;
  StageLayout stages;
  StepForecast step;
  StepModel::Room room;
  StepOutlook outlook;  // the step with what a profile and reported runs say of it
};

struct ResolvedPlan {
  NormalizedIntent intent;  // the question
  DecidedPlan decided;      // knobs of the config classes, decisions, A/B suggestions
  Config written;           // `decided.config` as written for the target (derive/target_knobs.h): judged and launched
  RunResult run;            // the stack's verdict on it: effective values, silent changes, and all findings
  Environment env;          // of the launch
  Placement placement;
  EstimatedPlan estimate;             // memory
  std::unique_ptr<PlannedStep> step;  // null: the model cannot be counted, or the GPU's rates are not known
  Patch chosen;                       // sizes that the caller left open and a search chose
  Patch roomy;  // the best of them with room for the memory's whole band, where the chosen have none; empty: none known
  std::string roomy_text;  // its sizes, and how much longer its step is
  double roomy_us = 0;     // its step
  double roomier_us = 0;   // the step with the fix of the plan's memory; 0: there is none, or none is known

  // What plans are compared by. A step that a profile measured is that of one run: each of them would repeat it.
  double step_us() const {
    if (step == nullptr) return 0;
    return step->outlook.measured ? step->step.us : step->outlook.us;
  }
};

// What findings say of a configuration. What does not run is not accepted, or accepted and refused later.
struct Verdicts {
  bool accepted_by_stack = true;
  bool will_run = true;
  void Add(const Finding& finding) {
    if (finding.severity != Severity::kError) return;
    if (finding.verdict == Verdict::kAccepted) accepted_by_stack = will_run = false;
    if (finding.verdict == Verdict::kWillRun) will_run = false;
  }
};
Verdicts VerdictsOf(const std::vector<Finding>& findings);

// Runs, as far as its findings and its memory say.
bool Launchable(const ResolvedPlan& plan);

// Bytes of the fullest GPU; 0: not known.
double MostMemory(const ResolvedPlan& plan);

// As the forecasts see it. Of a plan that has a step.
Candidate CandidateOf(const ResolvedPlan& plan);

}  // namespace flightplan
