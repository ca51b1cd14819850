#include "clients/cli/observe/report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/observe/launch_config.h"
#include "resolver/base/digest.h"
#include "resolver/plan/knob.h"
#include "service/version.h"

namespace flightplan::cli {
namespace {

constexpr int64_t kLeastReports = 5;
constexpr size_t kIdDigits = 24;
constexpr int kMostKnobs = 64;  // a report has at most 16 KiB

// What the launch writes of how it runs; the model has a name, the layout its own fields.
void FillKnobs(const v1::ValidateConfigResponse& launch, v1::Measurement* m) {
  for (const v1::ConfigEntry& entry : launch.config()) {
    const std::optional<Knob> knob = FindKnob(entry.name());
    if (entry.origin() != v1::CONFIG_ORIGIN_CALLER || !knob.has_value() || !entry.has_value()) continue;
    if (Row(*knob).knob_class != KnobClass::kExecution ||
        v1::Layout::descriptor()->FindFieldByName(entry.name()) != nullptr) {
      continue;
    }
    if (entry.value().kind_case() == v1::KnobValue::kStringValue && Row(*knob).section == Section::kArgs) continue;
    if (m->knobs_size() >= kMostKnobs) return;
    v1::KnobSetting* const setting = m->add_knobs();
    setting->set_name(entry.name());
    *setting->mutable_value() = entry.value();
  }
}

v1::Measurement Common(const Observation& o, const v1::ValidateConfigRequest& launch, const ReportOptions& options) {
  v1::Measurement m;
  m.set_model(options.model);
  m.set_gpu(launch.hardware().gpu());
  m.set_gpu_count(static_cast<int32_t>(o.gpu_count));
  *m.mutable_layout() = LayoutOf(o.launch);
  m.mutable_workload()->set_seq_length(o.seq_length);
  m.mutable_workload()->set_global_batch_size(o.global_batch);
  m.mutable_workload()->set_precision(PrecisionOf(o.launch));
  const std::vector<std::string> target = absl::StrSplit(o.launch.target(), ' ');
  m.mutable_target()->set_framework(target[0]);
  if (target.size() > 1) m.mutable_target()->set_version(target[1]);
  *m.mutable_software() = launch.software();
  FillKnobs(o.launch, &m);
  m.set_quality(!o.log.arguments.empty() && o.mismatches.empty() ? "matched" : "directional");
  m.set_cluster(options.cluster);
  m.mutable_source()->set_text(absl::StrCat("flightplan observe ", service::kVersion, ": ", o.steps.used,
                                            " reports of iterations ", o.steps.first_iteration, " to ",
                                            o.steps.last_iteration, ", launch ", o.launch.digest()));
  m.mutable_source()->set_field_report(true);
  return m;
}

void SetId(v1::Measurement* m) {
  m->set_id(absl::StrCat("observe-", Sha256Hex(absl::StrCat(m->metric(), " ", m->value(), " ", m->gpu_count(), " ",
                                                            m->model(), " ", m->source().text()))
                                         .substr(0, kIdDigits)));
}

}  // namespace

absl::StatusOr<std::vector<v1::Measurement>> MeasurementsOf(const Observation& o,
                                                            const v1::ValidateConfigRequest& launch,
                                                            const ReportOptions& options) {
  const auto wants = [](absl::string_view what) {
    return absl::FailedPreconditionError(absl::StrCat("--report wants ", what));
  };
  if (options.model.empty()) return wants("--model NAME: the launch does not say which model of the catalogue it is");
  if (!o.has_launch || launch.hardware().gpu().empty() || o.gpu_count <= 0) return wants("--launch, --gpu and --gpus");
  if (!o.MatchesLaunch()) return wants("a run of this launch: see the page for what differs");
  if (o.steps.used < kLeastReports || o.steps.only_warm_up || o.seq_length <= 0 || o.global_batch <= 0) {
    return wants(
        absl::StrCat("at least ", kLeastReports, " reports behind the warm-up, and a launch with sequence and batch"));
  }
  std::vector<v1::Measurement> measurements;
  v1::Measurement step = Common(o, launch, options);
  step.set_metric("step_time_us");
  step.set_value(o.steps.median_ms * 1e3);
  if (o.steps.error_ms > 0) step.set_error(o.steps.error_ms * 1e3);
  SetId(&step);
  measurements.push_back(std::move(step));
  if (o.peak_device > 0) {
    v1::Measurement memory = Common(o, launch, options);
    memory.set_metric("memory_high_water_bytes");
    memory.set_value(o.peak_device);
    SetId(&memory);
    measurements.push_back(std::move(memory));
  }
  return measurements;
}

}  // namespace flightplan::cli
