#include "resolver/pipeline/apply_evidence.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "resolver/base/bytes.h"
#include "resolver/derive/fp8_recipes.h"
#include "resolver/evidence/calibration.h"

namespace flightplan {
namespace {

Finding Info(absl::string_view id) {
  Finding finding;
  finding.rule_id = id;
  finding.area = "evidence";
  finding.severity = Severity::kInfo;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "estimate";
  finding.source = "runs reported to EvidenceService";
  return finding;
}

std::string Cited(const Calibration& calibration) {
  std::string text;
  for (const Measurement* m : calibration.from) absl::StrAppend(&text, text.empty() ? "" : ", ", m->id);
  const int more = calibration.runs - static_cast<int>(calibration.from.size());
  if (more > 0) absl::StrAppend(&text, " and ", more, " more");
  return text;
}

// As the run has it, whatever was asked for.
Precision PrecisionOf(const Config& config) {
  if (config.Get(Knob::fp4).truthy()) return Precision::kNvfp4;
  if (config.Get(Knob::fp8).truthy()) {
    const Fp8Recipe* const recipe = FindFp8Recipe(config.Get(Knob::fp8_recipe).text());
    return recipe != nullptr ? recipe->precision.value_or(Precision::kFp8Delayed) : Precision::kFp8Delayed;
  }
  return config.Get(Knob::fp16).truthy() ? Precision::kFp16 : Precision::kBf16;
}

CalibrationQuestion QuestionOf(const NormalizedIntent& intent, const Config& config, Metric metric) {
  CalibrationQuestion question;
  question.metric = metric;
  question.model_class = ModelClass(intent.model);
  question.layout = RunLayoutOf(config);
  question.gpu_count = intent.gpu_count;
  question.precision = PrecisionOf(config);
  question.target = intent.env.target;
  return question;
}

Finding Calibrated(absl::string_view id, absl::string_view what, const NormalizedIntent& intent,
                   const Calibration& calibration) {
  Finding finding = Info(id);
  finding.seen =
      absl::StrFormat("%d reported %s on %s: this forecast is moved by %+.1f %% (band %+.0f..%+.0f)", calibration.runs,
                      calibration.runs == 1 ? "run" : "runs", intent.gpu.name, 100 * (calibration.factor - 1),
                      100 * (calibration.low - 1), 100 * (calibration.high - 1));
  finding.needs = absl::StrCat(what, " rests on measurements ", Cited(calibration));
  return finding;
}

}  // namespace

RunLayout RunLayoutOf(const Config& config) {
  // As a report that does not state it has it (reported_run.cc): 1.
  const auto size = [&](Knob knob) { return std::max<int64_t>(1, config.Get(knob).integer()); };
  return {size(Knob::tensor_model_parallel_size),
          size(Knob::pipeline_model_parallel_size),
          size(Knob::virtual_pipeline_model_parallel_size),
          size(Knob::context_parallel_size),
          size(Knob::expert_model_parallel_size),
          size(Knob::expert_tensor_parallel_size),
          size(Knob::micro_batch_size)};
}

void ApplyMemoryEvidence(const NormalizedIntent& intent, const Config& config, const EvidenceSnapshot& evidence,
                         EstimatedPlan* estimate, std::vector<Finding>* findings) {
  const RunTable& reported = evidence.ForGpu(intent.gpu.name).Of(Metric::kMemoryPeak);
  if (reported.runs().empty() || estimate->stages.empty()) return;
  const Band& fullest = estimate->stages[estimate->fullest].total;
  CalibrationQuestion question = QuestionOf(intent, config, Metric::kMemoryPeak);
  question.forecast = fullest.value;
  question.low = fullest.low;
  question.high = fullest.high;
  const Calibration calibration = Calibrate(question, reported);
  if (calibration.runs == 0) return;
  estimate->reported_runs = calibration.runs;
  const FitVerdict before = estimate->fit;
  for (StageForecast& stage : estimate->stages) {
    const double value = stage.total.value;
    stage.total = {value * calibration.low, value * calibration.factor, value * calibration.high};
  }
  estimate->fit = Judge(estimate->stages[estimate->fullest].total, static_cast<double>(estimate->usable_bytes));
  Finding finding = Calibrated("evidence.memory-calibrated", "the memory forecast", intent, calibration);
  if (estimate->fit != before) {
    absl::StrAppend(&finding.needs, "; without them the verdict was \"", Name(before), "\", with them it is \"",
                    Name(estimate->fit), "\"");
  }
  findings->push_back(std::move(finding));
}

void ReportMeasuredPeak(const NormalizedIntent& intent, const EstimatedPlan& estimate, std::vector<Finding>* findings) {
  const double peak = MeasuredPeak(intent);
  if (peak <= 0 || estimate.stages.empty()) return;
  const double forecast = estimate.stages[estimate.fullest].total.value;
  Finding finding = Info("evidence.memory-measured");
  finding.source = "the profile that was sent with the question";
  finding.seen = absl::StrFormat("the profile's peak is %.3g GiB of %.3g; %.3g GiB are forecast", peak / kGib,
                                 static_cast<double>(estimate.usable_bytes) / kGib, forecast / kGib);
  finding.needs = IsFull(peak, estimate) ? "the run fills its GPU: memory is the wall that the next step is about"
                                         : "the run leaves room: the next step may take some";
  findings->push_back(std::move(finding));
}

void LeaveOutImpossibleStep(double least_us, NormalizedIntent* intent, std::vector<Finding>* findings) {
  if (!intent->profile.has_value() || !intent->profile->step_time_us.has_value()) return;
  const double us = *intent->profile->step_time_us;
  if (us >= least_us) return;
  intent->profile->step_time_us.reset();
  Finding finding = Info("evidence.step-beyond-peak");
  finding.severity = Severity::kWarning;
  finding.source = "the profile that was sent with the question";
  finding.observed = {{"profile.step_time_us", Value(us)}};
  finding.seen = absl::StrFormat(
      "profile.step_time_us (--profile-step-ms) is %.4g ms, which would be %.3g %% of the "
      "GPUs' peak; the forecast stands in its place",
      us / 1000, 100 * least_us / us);
  finding.needs = absl::StrFormat(
      "the time of one whole step, global batch %d of %d tokens: its matrix products alone take %.3g ms on %d GPUs at "
      "their peak",
      intent->workload.global_batch_size, intent->workload.seq_length, least_us / 1000, intent->gpu_count);
  findings->push_back(std::move(finding));
}

void LeaveOutOtherSizes(NormalizedIntent* intent, std::vector<Finding>* findings) {
  if (!intent->profile.has_value()) return;
  MeasuredProfile& profile = *intent->profile;
  std::vector<std::string> figures;
  Finding finding = Info("evidence.profile-of-other-sizes");
  if (profile.step_time_us.has_value()) {
    figures.push_back(
        absl::StrFormat("profile.step_time_us (--profile-step-ms) is %.4g ms", *profile.step_time_us / 1000));
    finding.observed.push_back({"profile.step_time_us", Value(*profile.step_time_us)});
  }
  if (const double peak = MeasuredPeak(*intent); peak > 0) {
    figures.push_back(
        absl::StrFormat("profile.memory_high_water_bytes (--profile-memory-gib) is %.3g GiB", peak / kGib));
    finding.observed.push_back({"profile.memory_high_water_bytes", Value(*profile.memory_high_water_bytes)});
  }
  if (figures.empty()) return;
  profile.step_time_us.reset();
  profile.memory_high_water_bytes.reset();
  finding.source = "the profile that was sent with the question";
  finding.seen = absl::StrCat(absl::StrJoin(figures, ", "), ", and the layout is open");
  finding.needs =
      "the sizes of the run that was profiled, for its figures to stand beside the forecast; here they are left out, "
      "and of the profile its shares and its wall count";
  findings->push_back(std::move(finding));
}

double MeasuredPeak(const NormalizedIntent& intent) {
  return intent.profile.has_value() ? static_cast<double>(intent.profile->memory_high_water_bytes.value_or(0)) : 0;
}

bool IsFull(double peak, const EstimatedPlan& estimate) {
  return peak > kRoom * static_cast<double>(estimate.usable_bytes);
}

void ApplyStepEvidence(const NormalizedIntent& intent, const Config& config, const EvidenceSnapshot& evidence,
                       StepOutlook* outlook, std::vector<Finding>* findings) {
  const RunTable& reported = evidence.ForGpu(intent.gpu.name).Of(Metric::kStepTime);
  if (reported.runs().empty() || (intent.profile.has_value() && intent.profile->step_time_us.has_value())) return;
  CalibrationQuestion question = QuestionOf(intent, config, Metric::kStepTime);
  question.forecast = outlook->us;
  question.low = outlook->low_us;
  question.high = outlook->high_us;
  const Calibration calibration = Calibrate(question, reported);
  if (calibration.runs == 0) return;
  outlook->low_us = outlook->us * calibration.low;
  outlook->high_us = outlook->us * calibration.high;
  outlook->us *= calibration.factor;
  findings->push_back(Calibrated("evidence.step-calibrated", "the step time", intent, calibration));
}

void ReportStale(const EvidenceSnapshot& evidence, std::vector<Finding>* findings) {
  if (!evidence.stale()) return;
  Finding finding = Info("evidence.store-down");
  finding.severity = Severity::kWarning;
  finding.seen = absl::StrCat("the evidence store does not answer; this rests on its revision ", evidence.revision());
  finding.needs = "the store back for newer reports; nothing else of the answer depends on it";
  findings->push_back(std::move(finding));
}

}  // namespace flightplan
