// Published step times and A/B pairs as inputs of the forecast: the rows of recipes.jsonl, evidence.jsonl and
// memory-truth.jsonl (tests/data/README.md). A knob that a row does not state is unknown: the row is forecast once for
// each value that the complete recipes nearest to it take, and says that it is partial.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "resolver/catalog/catalog.h"
#include "resolver/estimate/step.h"

namespace flightplan {

// One run that the forecast can be asked about.
struct Run {
  std::string model_name;  // of the catalogue
  std::string gpu_name;
  std::shared_ptr<const ModelShape> shape;
  std::shared_ptr<const StageLayout> stages;
  ModelWork work;
  const GpuSystem* gpu = nullptr;
  bool efa = false;  // on AWS's network
  Candidate plan;    // points into `stages`
};

// A run that a row may have been, and how likely.
struct Variant {
  Run run;
  double weight = 0;
};

struct TruthRow {
  std::string id, family, gpu, precision, release;
  Run run;                      // the likeliest one
  std::vector<Variant> others;  // what the knobs that the source does not state may have been besides
  double weight = 1;            // of `run`; with those of `others`: 1
  double step_us = 0;           // published
  double age = 0;               // years from its release to the newest one
  bool current = true;          // the newest published release of its model, GPU, GPU count and precision
  bool partial = false;         // the source does not state every knob that matters
  bool rounded = false;
  bool per_flop = false;  // only TFLOP/s are published
  bool complete = false;  // grade A: every knob stated, and the printed figures agree
  bool doubtful = false;  // grade C
  bool extra = false;     // not a published recipe: a run beside a memory figure or an A/B pair
};

struct AbRow {
  std::string id, family, knob, quality, note;
  Run from, to;
  double relative_change = 0;     // of the step time: negative is faster
  double from_us = 0, to_us = 0;  // step times, where the row states them and its batch
  bool per_flop = false;          // the figure is TFLOP/s: time per unit of work
  bool expressible = false;       // both runs can be forecast
  std::string why_not;
};

// Rows that cannot be forecast are counted by reason.
struct TruthFile {
  std::vector<TruthRow> rows;
  std::vector<TruthRow> adapters;     // runs that train adapters alone: too few to fit to, judged apart
  std::vector<std::string> left_out;  // "id: reason"
};

// Rows graded C (inconsistent, rounded, doubtful) are left out with their reason, but for those that train adapters,
// which say so.
TruthFile ReadRecipes(const Catalog& catalog, const std::string& text);
// Step times that memory measurements and A/B pairs state beside their own figure; each as a row of its own.
TruthFile ReadMemoryRuns(const Catalog& catalog, const std::string& text);
TruthFile ReadEvidenceRuns(const Catalog& catalog, const std::string& text);
std::vector<AbRow> ReadEvidence(const Catalog& catalog, const std::string& text);

}  // namespace flightplan
