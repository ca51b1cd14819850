// The verdict on a finished configuration: the rules in the stack's order, and whether it fits its GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "resolver/engine/engine.h"
#include "resolver/estimate/estimate.h"
#include "resolver/judge/forecast_config.h"
#include "resolver/judge/read_config.h"
#include "resolver/judge/weigh_config.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/pipeline/vet_fixes.h"

namespace flightplan {

struct JudgedConfig {
  Reading reading;
  RunResult run;                          // its findings are in order for people
  std::optional<EstimatedPlan> estimate;  // memory; empty: not judged
  std::optional<GpuSystem> gpu;           // of the question
  std::string gpu_fault;                  // JudgeQuestion's
  ForecastBasis basis;
  std::optional<ForecastedConfig> step;       // left to who asks for it: ForecastStep
  MemoryStanding memory;                      // with an estimate or without
  std::shared_ptr<const WeighedModel> model;  // what the estimate is of; null: as in WeighedConfig
  Environment env;                            // before the rules ran
  FixOutcome outcome;                         // of the rules and the weighing, before anything was set aside
  std::vector<std::string> not_judged;        // what no verdict was reached on, and why
  SetAside set_aside;                         // findings that rest on what the input does not show
  Verdicts verdicts;                          // by the reader's findings and the run's
};

// A wrong configuration is a judgement with findings. `view`: a verdict's estimate has its fullest stages alone.
JudgedConfig Judge(ReadConfig read, View view = View::kFull);

// How long its step takes, where its memory was forecast, and what is to know of the rates that this rests on.
void ForecastStep(JudgedConfig* judged);

// Read, then judged. Errors are those of Read.
absl::StatusOr<JudgedConfig> ReadAndJudge(const JudgeQuestion& question);

// Where the first of the finding's knobs that was written stands; null: none was.
const SourcePosition* PlaceOf(const Finding& finding, const ParseResult& parsed);

}  // namespace flightplan
