#include "resolver/judge/vet_config.h"

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "resolver/engine/repair.h"
#include "resolver/judge/loongforge_parts.h"
#include "resolver/judge/read_config.h"
#include "resolver/judge/weigh_config.h"
#include "resolver/pipeline/vet_fixes.h"

namespace flightplan {
namespace {

FixOutcome Ask(const ReadConfig& read, const Patch& patch) {
  Config config = read.config;
  Environment env = read.env;
  ApplyPatch(patch, &config, &env);
  RunResult run = Run(std::move(config), env);
  AddParts(read.reading.parsed, env, &run);
  const WeighedConfig weighed = WeighConfig({&read.gpu, read.reading.parsed.unknown}, &run);
  return OutcomeOf(run.findings, weighed.estimate.has_value() ? &*weighed.estimate : nullptr, 0);
}

// Of the effective values, before the rules look at the change.
std::optional<FixOutcome> Forecast(const JudgedConfig& judged, const ReadConfig& read, const Patch& patch) {
  Config config = judged.run.config;
  Environment env = judged.run.env;
  ApplyPatch(patch, &config, &env);
  const WeighedConfig weighed = EstimateConfig({&read.gpu, read.reading.parsed.unknown}, config, env);
  if (!weighed.estimate.has_value()) return FixOutcome();
  return OutcomeOf({}, &*weighed.estimate, 0);
}

}  // namespace

void VetFixes(const JudgeQuestion& question, JudgedConfig* judged) {
  if (!OffersFixes(question.view, &judged->run.findings)) return;
  const absl::StatusOr<ReadConfig> read = Read(question);
  if (!read.ok()) return;
  FixTrial trial;
  trial.now = Ask(*read, {});
  trial.config = &judged->run.config;
  trial.ask = [&](const Patch& patch) { return Ask(*read, patch); };
  trial.forecast = [&](const Patch& patch) { return Forecast(*judged, *read, patch); };
  VetFixes(trial, &judged->run.findings);
}

}  // namespace flightplan
