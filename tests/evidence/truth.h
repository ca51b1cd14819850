// Published step times and A/B pairs as inputs of the forecast: reads the rows of recipes.jsonl and evidence.jsonl
// (tests/data/README.md). What a row does not state is filled in as the stack's recipes of that time set it, and the
// row says that it is partial.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rapidjson/document.h"
#include "resolver/catalog/catalog.h"
#include "resolver/estimate/effect.h"
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

struct TruthRow {
  std::string id, family, gpu, precision, release;
  Run run;
  double step_us = 0;    // published
  bool current = true;   // the newest published release of its model, GPU, GPU count and precision
  bool partial = false;  // the source does not state every knob that matters
  bool rounded = false;
  bool extra = false;  // not a published recipe: a run beside a memory figure or an A/B pair
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
  std::vector<std::string> left_out;  // "id: reason"
};

TruthFile ReadRecipes(const Catalog& catalog, const std::string& text);
// Step times that memory measurements and A/B pairs state beside their own figure; each as a row of its own.
TruthFile ReadMemoryRuns(const Catalog& catalog, const std::string& text);
TruthFile ReadEvidenceRuns(const Catalog& catalog, const std::string& text);
std::vector<AbRow> ReadEvidence(const Catalog& catalog, const std::string& text);

GpuRates RatesFor(const Run& run, const StepCoefficients& coefficients = {});
// What a row's settings say, on top of what `run` holds; why it cannot be expressed, or nothing.
std::string ReadRun(const Catalog& catalog, const rapidjson::Value& row, const rapidjson::Value& extra, Run* run);
// The catalogue's model of this name, of this hub name, or whose name begins with it.
const ModelSpec* FindModelByName(const Catalog& catalog, const std::string& name, const std::string& hub_name);

// The forecast of an A/B pair.
StepEffect ForecastEffect(const AbRow& row, const StepCoefficients& coefficients);

}  // namespace flightplan
