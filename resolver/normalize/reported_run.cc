#include "resolver/normalize/reported_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "flightplan/v1/evidence.pb.h"
#include "flightplan/v1/parallelism.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/base/nearest.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/measurement_message.h"
#include "resolver/normalize/resolve_request.h"
#include "resolver/plan/quantity.h"

namespace flightplan {
namespace {

constexpr size_t kMaxIdBytes = 128;
constexpr size_t kMaxTextBytes = 1024;
constexpr double kMostAbChange = 20;
// Clocks of launchers are a little off.
constexpr int64_t kClockSkewUs = int64_t{300} * 1'000'000;
constexpr int64_t kFirstSensibleTimeUs = int64_t{1'577'836'800} * 1'000'000;  // 2020-01-01

template <class T>
struct Named {
  absl::string_view name;
  T value;
};
constexpr Named<Metric> kMetrics[] = {{"step_time_us", Metric::kStepTime},
                                      {"memory_high_water_bytes", Metric::kMemoryPeak},
                                      {"ab_relative_change", Metric::kAbChange}};

template <class T, size_t N>
std::optional<T> FindNamed(const Named<T> (&table)[N], absl::string_view name) {
  for (const Named<T>& row : table) {
    if (row.name == name) return row.value;
  }
  return std::nullopt;
}

template <class T, size_t N>
std::string Names(const Named<T> (&table)[N]) {
  std::string names;
  for (size_t i = 0; i < N; ++i) absl::StrAppend(&names, i == 0 ? "" : i + 1 == N ? " or " : ", ", table[i].name);
  return names;
}

// Fields of the question that the run would have asked, as the measurement names them.
struct FieldName {
  absl::string_view question, measurement;
};
constexpr FieldName kFieldNames[] = {
    {"model", "model"}, {"hardware.gpu_count", "gpu_count"}, {"hardware.gpu", "gpu"}, {"pinned_knobs", "knobs"}};

class Checker {
 public:
  void Add(absl::string_view field, absl::string_view what) {
    violations_.Add(absl::StrCat("measurement.", field), what);
  }

  void AddQuestion(const absl::Status& status) {
    google::rpc::BadRequest bad;
    const auto payload = status.GetPayload(kBadRequestPayload);
    if (!payload.has_value() || !bad.ParseFromString(std::string(*payload))) return Add("model", status.message());
    for (const auto& violation : bad.field_violations()) {
      std::string field = violation.field();
      for (const FieldName& row : kFieldNames) {
        absl::string_view rest = field;
        if (!absl::ConsumePrefix(&rest, row.question)) continue;
        if (row.question == "model") rest = "";  // model.name is the model here
        field = absl::StrCat(row.measurement, rest);
        break;
      }
      Add(field, violation.description());
    }
  }

  absl::Status ToStatus() const { return violations_.ToStatus(); }
  Violations Take() && { return std::move(violations_); }

 private:
  Violations violations_;
};

bool IsIdCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._:/-", absl::string_view(&c, 1));
}

void CheckId(const std::string& id, Checker* check) {
  if (id.empty() || id.size() > kMaxIdBytes || !std::all_of(id.begin(), id.end(), IsIdCharacter)) {
    check->Add("id", "must be 1 to 128 of A-Z a-z 0-9 . _ : / -, such as job-4711-step-time");
  }
}

void CheckTime(const v1::Measurement& m, std::optional<int64_t> now_us, Checker* check) {
  if (!m.has_measure_time()) return;
  const auto& time = m.measure_time();
  if (time.nanos() < 0 || time.nanos() > 999'999'999 || time.seconds() < -62'135'596'800 ||
      time.seconds() > 253'402'300'799) {
    return check->Add("measure_time", "is no time between the years 1 and 9999");
  }
  const int64_t us = time.seconds() * 1'000'000 + time.nanos() / 1000;
  if (us < kFirstSensibleTimeUs) check->Add("measure_time", "lies before 2020; seconds since 1970 are asked for");
  if (now_us.has_value() && us > *now_us + kClockSkewUs) {
    check->Add("measure_time", "lies in the future; is the reporter's clock right?");
  }
}

void CheckText(absl::string_view field, const std::string& text, size_t most, Checker* check) {
  if (text.size() > most) check->Add(field, absl::StrCat("is longer than ", most, " characters"));
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) return check->Add(field, "has control characters");
  }
}

void CheckValue(const v1::Measurement& m, Metric metric, Checker* check) {
  const double value = m.value();
  const auto between = [&](double low, double high, absl::string_view what) {
    if (!(value >= low && value <= high)) check->Add("value", absl::StrCat(what, ", not ", value));
  };
  switch (metric) {
    case Metric::kStepTime:
      if (const std::string fault = OutsideOf(kStepMicroseconds, value); !fault.empty()) check->Add("value", fault);
      break;
    case Metric::kMemoryPeak:
      between(1, 1e13, "memory_high_water_bytes is bytes of one GPU, 1 to 1e13");
      break;
    case Metric::kAbChange:
      between(-0.99, kMostAbChange, "ab_relative_change is a ratio, -0.06 for 6 % faster, -0.99 to 20");
      break;
  }
  const bool relative = metric == Metric::kAbChange;
  if (m.has_error() && !(m.error() >= 0 && m.error() <= (relative ? 1.0 : value))) {
    check->Add("error", relative ? "is the half-width of the ratio's 95 % interval, 0 to 1"
                                 : "is the half-width of the value's 95 % interval, 0 to the value itself");
  }
}

void CheckPair(const v1::Measurement& m, Metric metric, bool is_new, MeasuredRun* out, Checker* check) {
  if (metric != Metric::kAbChange) {
    if (!m.varied_knob().empty()) check->Add("varied_knob", "belongs to ab_relative_change alone");
    // Nobody reads these two, so that anything may stand there in what was stored before they were refused.
    if (is_new && m.has_from()) check->Add("from", "belongs to ab_relative_change alone");
    if (is_new && m.has_to()) check->Add("to", "belongs to ab_relative_change alone");
    return;
  }
  const std::optional<Knob> knob = FindKnob(m.varied_knob());
  if (!knob.has_value()) {
    return check->Add("varied_knob", m.varied_knob().empty() ? "is required: the knob that differs between the runs"
                                                             : "is no knob; ListKnobs has them all");
  }
  out->knob = *knob;
  if (m.from().SerializeAsString() == m.to().SerializeAsString()) {
    check->Add("to", "is the same as `from`; a pair of runs differs in its varied knob");
  }
}

// What a report says by its knobs goes before its layout and workload, whose sizes may be the stack's defaults.
void Pin(const std::string& knob, const v1::KnobValue& value, v1::ResolveConfigRequest* question) {
  v1::KnobSetting* setting = question->add_pinned_knobs();
  setting->set_name(knob);
  *setting->mutable_value() = value;
  v1::Layout& layout = *question->mutable_layout();
  const auto* const size = v1::Layout::descriptor()->FindFieldByName(knob);
  if (size != nullptr) layout.GetReflection()->ClearField(&layout, size);
}

// The question that the run answered. A size that a run does not state is the stack's default, 1.
v1::ResolveConfigRequest QuestionOf(const v1::Measurement& m) {
  v1::ResolveConfigRequest question;
  question.mutable_model()->set_name(m.model());
  question.mutable_hardware()->set_gpu(m.gpu());
  question.mutable_hardware()->set_gpu_count(m.gpu_count());
  *question.mutable_workload() = m.workload();
  *question.mutable_target() = m.target();
  *question.mutable_software() = m.software();
  v1::Layout& layout = *question.mutable_layout();
  layout = m.layout();
  if (!layout.has_tensor_model_parallel_size()) layout.set_tensor_model_parallel_size(1);
  if (!layout.has_pipeline_model_parallel_size()) layout.set_pipeline_model_parallel_size(1);
  if (!layout.has_virtual_pipeline_model_parallel_size()) layout.set_virtual_pipeline_model_parallel_size(1);
  if (!layout.has_context_parallel_size()) layout.set_context_parallel_size(1);
  if (!layout.has_expert_model_parallel_size()) layout.set_expert_model_parallel_size(1);
  if (!layout.has_expert_tensor_parallel_size()) layout.set_expert_tensor_parallel_size(1);
  if (!layout.has_micro_batch_size()) layout.set_micro_batch_size(1);
  for (const v1::KnobSetting& knob : m.knobs()) {
    if (knob.name() != m.varied_knob()) Pin(knob.name(), knob.value(), &question);
  }
  return question;
}

Value PinnedValue(const NormalizedIntent& intent, Knob knob) {
  for (const auto& [pin, value] : intent.pins) {
    if (pin == knob) return value;
  }
  return Value();
}

}  // namespace

absl::StatusOr<ReportedRun> NormalizeReport(const v1::Measurement& m, std::optional<int64_t> now_us,
                                            const Catalog& catalog) {
  Checker check;
  ReportedRun reported;
  MeasuredRun& run = reported.run;
  CheckId(m.id(), &check);
  CheckTime(m, now_us, &check);
  CheckText("cluster", m.cluster(), 128, &check);
  CheckText("source.text", m.source().text(), kMaxTextBytes, &check);
  const std::optional<Metric> metric = FindNamed(kMetrics, m.metric());
  if (!metric.has_value()) check.Add("metric", absl::StrCat("must be ", Names(kMetrics)));
  if (!QualityOf(m.quality()).has_value()) check.Add("quality", absl::StrCat("must be ", kQualityNames));
  run.metric = metric.value_or(Metric::kStepTime);
  if (metric.has_value()) {
    CheckValue(m, *metric, &check);
    CheckPair(m, *metric, now_us.has_value(), &run, &check);
  }
  v1::ResolveConfigRequest question = QuestionOf(m);
  const bool pair = run.metric == Metric::kAbChange && FindKnob(m.varied_knob()).has_value();
  if (pair) Pin(m.varied_knob(), m.from(), &question);
  absl::StatusOr<NormalizedIntent> intent = NormalizeResolve(question, catalog);
  if (!intent.ok()) {
    check.AddQuestion(intent.status());
    return check.ToStatus();
  }
  run.model = intent->model.name;
  run.model_class = ModelClass(intent->model);
  run.gpu = intent->gpu.name;
  run.gpu_count = intent->gpu_count;
  run.seq_length = intent->workload.seq_length;
  run.global_batch_size = intent->workload.global_batch_size;
  run.precision = intent->workload.precision;
  run.target = intent->env.target;
  if (pair) {
    run.from = PinnedValue(*intent, run.knob);
    question.mutable_pinned_knobs()->RemoveLast();
    Pin(m.varied_knob(), m.to(), &question);
    absl::StatusOr<NormalizedIntent> other = NormalizeResolve(question, catalog);
    if (!other.ok()) {
      check.Add("to", other.status().message());
      return check.ToStatus();
    }
    run.to = PinnedValue(*other, run.knob);
    reported.other = *std::move(other);
  }
  reported.intent = *std::move(intent);
  FillReport(m, &reported.report);
  reported.violations = std::move(check).Take();
  return reported;
}

}  // namespace flightplan
