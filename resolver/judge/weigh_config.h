// Whether a finished configuration fits its GPU: the model is read from the knobs, then weighed by the formulas that a
// plan is weighed by.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/shape.h"
#include "resolver/engine/engine.h"
#include "resolver/estimate/estimate.h"
#include "resolver/judge/read_config.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/hardware.h"
#include "resolver/plan/intent.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// How memory stands, whether there is a forecast or not.
struct MemoryStanding {
  FitVerdict fit = FitVerdict::kUnknown;
  // Of kUnknown: the one input that is missing, a knob's name, "hardware.gpu", "hardware.gpu_count" or
  // "hardware.reserved_bytes"; empty: no single input would bring a forecast.
  std::string missing_input;
  int64_t at_least_bytes = 0;  // without a forecast: what the static part takes at least; 0: not known
  int64_t usable_bytes = 0;    // of one GPU; 0: not known
  int64_t reserved_bytes = 0;  // of one GPU, held by others, not in usable_bytes
};

// What was weighed: the model as the knobs say it, in `intent` with its own shape, the GPU and the environment.
struct WeighedModel {
  NormalizedIntent intent;
  ModelShape shape;
  Config config;                               // AsTrained
  bool reference_forward = false;              // MemoryOfOthers
  const EvidenceSnapshot* evidence = nullptr;  // reported runs that its forecasts are moved by; null: none
};

// What its step is timed by.
Candidate CandidateOf(const WeighedModel& model, const Environment& env, const StageLayout& stages);

struct WeighedConfig {
  std::optional<EstimatedPlan> estimate;
  std::shared_ptr<const WeighedModel> model;  // of the estimate; null: there is none
  MemoryStanding standing;
  std::string not_judged;            // why there is no estimate; empty where there is one
  std::vector<Finding> by_evidence;  // what reported runs moved of the estimate
};

// What is weighed beside the configuration.
struct WeighingInputs {
  const std::optional<GpuSystem>* gpu = nullptr;  // as the caller described it; empty: none was given
  const ForecastBasis* basis = nullptr;           // null: the catalogue's rates of the GPU, and no reported runs
  absl::Span<const Knob> unread;                  // written with values that only a run would know
  const MemoryOfOthers* others = nullptr;         // as the launch says it
  const ModelSpec* named = nullptr;               // that the launch names; null: none
  // Of another configuration of the same launch: what has stayed the same is not worked out again. Null: there is none.
  const WeighedModel* like = nullptr;
  const StageLayout* stages = nullptr;
  bool fullest_alone = false;  // no other stage of the estimate is asked for
};

// `config` with batches of sequences where its batches are of samples that have more than one.
Config AsTrained(const MemoryOfOthers* others, const Config& config);

// Whether ranks and experts come out even: else no memory is forecast.
bool ComesOutEven(const ModelSpec& model, const Config& config, const Environment& env);

// The forecast alone, of effective values.
WeighedConfig EstimateConfig(const WeighingInputs& inputs, const Config& config, const Environment& env);

// `run` holds the effective configuration; findings about memory are added to it.
WeighedConfig WeighConfig(const WeighingInputs& inputs, RunResult* run);

}  // namespace flightplan
