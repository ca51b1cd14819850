#include "resolver/judge/vet_config.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "resolver/catalog/spellings.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/model_from_knobs.h"
#include "resolver/derive/shape.h"
#include "resolver/derive/steady_passes.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/engine/repair.h"
#include "resolver/estimate/memory.h"
#include "resolver/judge/loongforge_parts.h"
#include "resolver/judge/read_config.h"
#include "resolver/judge/weigh_config.h"
#include "resolver/pipeline/vet_fixes.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

// The configuration as it was written, which the rules have changed since.
Config WrittenConfig(const JudgedConfig& judged) {
  Config config = ConfigOf(judged.reading.parsed.knobs, judged.env);
  if (!judged.env.written) UseTargetNames(judged.env.target, &config);
  return config;
}

// For a change of what was judged; of its outcome the fullest stage says all.
WeighingInputs InputsLike(const JudgedConfig& judged) {
  const StageLayout* const stages = judged.estimate.has_value() ? &judged.estimate->layout : nullptr;
  const ParseResult& parsed = judged.reading.parsed;
  return {&judged.gpu,        &judged.basis, parsed.unknown,        &parsed.others, judged.reading.named_model,
          judged.model.get(), stages,        /*fullest_alone=*/true};
}

// With `timed`, how long a step takes too.
FixOutcome Ask(const JudgedConfig& judged, bool timed, Config config, const Patch& patch) {
  Environment env = judged.env;
  ApplyPatch(patch, &config, &env);
  RunResult run = Run(std::move(config), env);
  AddParts(judged.reading.parsed, env, &run);
  const WeighedConfig weighed = WeighConfig(InputsLike(judged), &run);
  if (!weighed.estimate.has_value()) return OutcomeOf(run.findings, nullptr, 0);
  const double step_us = timed ? MovedStepUs(*weighed.model, run.env, weighed.estimate->layout) : 0;
  return OutcomeOf(run.findings, &*weighed.estimate, step_us);
}

// Whether a file of a stack with words of its own can say all of it.
bool HasWords(const Environment& env, const Patch& patch) {
  return StackOf(env).vocabulary.empty() || std::all_of(patch.begin(), patch.end(), [&](const Assignment& assignment) {
           return !assignment.env_var.empty() || !SpellingOf(assignment.knob, env).empty();
         });
}

// Sizes that the stages hang on.
constexpr Knob kLayoutSizes[] = {Knob::tensor_model_parallel_size,           Knob::pipeline_model_parallel_size,
                                 Knob::virtual_pipeline_model_parallel_size, Knob::context_parallel_size,
                                 Knob::expert_model_parallel_size,           Knob::expert_tensor_parallel_size};
bool IsLayoutSize(const Assignment& assignment) {
  return assignment.env_var.empty() &&
         std::find(std::begin(kLayoutSizes), std::end(kLayoutSizes), assignment.knob) != std::end(kLayoutSizes);
}
bool MovesLayout(const Patch& patch) { return std::any_of(patch.begin(), patch.end(), IsLayoutSize); }
// And nothing that the model is read from.
bool MovesLayoutAlone(const Patch& patch) {
  return std::all_of(patch.begin(), patch.end(), [](const Assignment& assignment) {
    return IsLayoutSize(assignment) || (assignment.env_var.empty() && assignment.knob == Knob::sequence_parallel);
  });
}

// Memory and time with a patch over the effective values, before the rules look at the change.
class PatchForecast {
 public:
  explicit PatchForecast(const JudgedConfig& judged) : run_(judged.run), inputs_(InputsLike(judged)) {
    if (judged.model != nullptr) {
      model_ = judged.model.get();
      shape_ = model_->shape;
      steps_ = StepModelOf(*model_);
      stages_ = judged.estimate.has_value() ? judged.estimate->layout : StagesOf(*shape_, run_.config);
      if (steps_.has_value()) KeepSteadyPasses(&stages_);  // for a forecast by each fix
      return;
    }
    if (!inputs_.gpu->has_value() || !run_.env.world_size.has_value()) return;
    absl::StatusOr<ModelSpec> model = ModelFromKnobs(run_.config);
    if (!model.ok()) return;
    absl::StatusOr<ModelShape> shape = MakeShape(*model, run_.config);
    if (!shape.ok()) return;
    stages_ = StagesOf(*shape, run_.config);
    shape_ = *std::move(shape);
  }

  // The time of what fits better than that.
  FixOutcome Of(const Patch& patch, FitVerdict than) const {
    Config config = run_.config;
    Environment env = run_.env;
    ApplyPatch(patch, &config, &env);
    if (model_ != nullptr && MovesLayoutAlone(patch)) {
      const bool even = ComesOutEven(model_->intent.model, config, env);
      return even ? With(config, env, StagesOf(*shape_, config), than) : FixOutcome();
    }
    if (!shape_.has_value() || MovesLayout(patch)) {
      const WeighedConfig weighed = EstimateConfig(inputs_, config, env);
      if (!weighed.estimate.has_value()) return FixOutcome();
      return OutcomeOf({}, &*weighed.estimate, MovedStepUs(*weighed.model, env, weighed.estimate->layout));
    }
    return With(config, env, stages_, than);
  }

 private:
  FixOutcome With(const Config& config, const Environment& env, const StageLayout& stages, FitVerdict than) const {
    const GpuSystem& gpu = model_ != nullptr ? model_->intent.gpu : **inputs_.gpu;
    Candidate candidate = CandidateOf(AsTrained(inputs_.others, config), env, *shape_, stages);
    candidate.reference_forward = model_ != nullptr && model_->reference_forward;
    MemoryForecast memory;
    ForecastMemory(*shape_, candidate, MemoryOf(gpu), &memory);
    FixOutcome outcome;
    outcome.fit = memory.verdict;
    outcome.memory_bytes = memory.fullest.total.value;
    // What frees too little is not taken, however long its step is.
    if (steps_.has_value() && outcome.fit < than) outcome.step_us = StepUs(*steps_, candidate);
    return outcome;
  }

  const RunResult& run_;
  const WeighingInputs inputs_;
  std::optional<StepModel> steps_;
  const WeighedModel* model_ = nullptr;  // null: the configuration itself was not weighed
  std::optional<ModelShape> shape_;
  StageLayout stages_;
};

// A rule names all that excludes each other; what is so already is nothing to do. A fix that changes nothing stays
// whole, for the trial to throw out.
void LeaveOutWhatIsSo(const Config& written, const Environment& env, std::vector<Finding>* findings) {
  const auto is_so = [&](const Assignment& assignment) {
    if (assignment.env_var.empty()) return written.Get(assignment.knob) == assignment.value;
    const auto set = env.vars.find(assignment.env_var);
    return set != env.vars.end() && assignment.value == Value(set->second);
  };
  for (Finding& finding : *findings) {
    for (Patch& fix : finding.fixes) {
      if (std::all_of(fix.begin(), fix.end(), is_so)) continue;
      fix.erase(std::remove_if(fix.begin(), fix.end(), is_so), fix.end());
    }
  }
}

}  // namespace

void VetFixes(View view, JudgedConfig* judged) {
  if (!OffersFixes(view, &judged->run.findings)) return;
  const Config written = WrittenConfig(*judged);
  LeaveOutWhatIsSo(written, judged->env, &judged->run.findings);  // so that what changes least is seen
  FixTrial trial;
  trial.now = judged->outcome;
  const bool timed = judged->estimate.has_value() && SaysStep(trial.now);
  if (timed) {
    trial.now.step_us = judged->step.has_value()
                            ? judged->step->outlook.us
                            : MovedStepUs(*judged->model, judged->run.env, judged->estimate->layout);
  }
  if (!judged->estimate.has_value()) trial.now.memory_bytes = 0;  // set aside: nothing is said of it
  trial.config = &judged->run.config;
  trial.env = &judged->run.env;
  trial.ask = [&](const Patch& patch) {
    return HasWords(judged->env, patch) ? std::optional(Ask(*judged, timed, written, patch)) : std::nullopt;
  };
  // Made for memory findings alone, which are the ones that ask.
  std::optional<PatchForecast> forecast;
  trial.forecast = [&](const Patch& patch, FitVerdict than) {
    if (!forecast.has_value()) forecast.emplace(*judged);
    return forecast->Of(patch, than);
  };
  VetFixes(trial, &judged->run.findings);
  LeaveOutWhatIsSo(written, judged->env, &judged->run.findings);  // of the memory fixes, which the trial makes
}

}  // namespace flightplan
