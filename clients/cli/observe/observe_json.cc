#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <cmath>
#include <optional>
#include <string>

#include "clients/cli/findings.h"
#include "clients/cli/observe/observe_page.h"

namespace flightplan::cli {
namespace {

// Writes objects; what is not known is left out.
class Writer {
 public:
  Writer() : json_(buffer_) {}

  void Begin(absl::string_view key = "") {
    Key(key);
    json_.StartObject();
  }
  void End() { json_.EndObject(); }
  void BeginList(absl::string_view key) {
    Key(key);
    json_.StartArray();
  }
  void EndList() { json_.EndArray(); }
  void Text(absl::string_view key, absl::string_view value) {
    if (value.empty()) return;
    Key(key);
    json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  void Item(absl::string_view value) { json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size())); }
  void Whole(absl::string_view key, int64_t value) {
    Key(key);
    json_.Int64(value);
  }
  void Known(absl::string_view key, double value) {
    if (value != 0) Real(key, value);
  }
  void KnownWhole(absl::string_view key, int64_t value) {
    if (value != 0) Whole(key, value);
  }
  void Real(absl::string_view key, double value) {
    if (!std::isfinite(value)) return;
    Key(key);
    json_.Double(value);
  }
  void Flag(absl::string_view key, bool value) {
    Key(key);
    json_.Bool(value);
  }
  std::string Done() const { return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n"; }

 private:
  void Key(absl::string_view key) {
    if (!key.empty()) json_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json_;
};

absl::string_view WordOf(Inside inside) {
  switch (inside) {
    case Inside::kInside:
      return "inside";
    case Inside::kAbove:
      return "above";
    case Inside::kBelow:
      return "below";
    case Inside::kUnknown:
      return "unknown";
  }
  return "unknown";
}

void WriteSteps(const Observation& o, Writer* w) {
  const StepStatistics& s = o.steps;
  w->Begin("steps");
  w->Whole("used_reports", s.used);
  w->Whole("warm_up_reports", s.warm_up);
  w->Whole("outlier_reports", s.outliers);
  w->Whole("checkpoint_outliers", s.checkpoint_outliers);
  w->Whole("evaluation_outliers", s.evaluation_outliers);
  w->Whole("other_batch_reports", s.other_batch);
  w->Flag("only_warm_up", s.only_warm_up);
  if (s.used > 0) {
    w->Whole("first_iteration", s.first_iteration);
    w->Whole("last_iteration", s.last_iteration);
    w->Real("median_us", s.median_ms * 1e3);
    w->Real("p10_us", s.low_ms * 1e3);
    w->Real("p90_us", s.high_ms * 1e3);
  }
  w->Known("median_error_us", s.error_ms * 1e3);
  w->Known("slowest_outlier_us", s.slowest_ms * 1e3);
  w->End();
}

void WriteRun(const Observation& o, Writer* w) {
  const RunLog& log = o.log;
  w->Begin("run");
  w->Whole("reports", log.reports);
  w->Whole("repeated_reports", log.repeated);
  w->Whole("restarts", log.restarts);
  w->KnownWhole("last_iteration", log.last_iteration);
  w->KnownWhole("total_iterations", log.total_iterations);
  w->KnownWhole("global_batch_size", o.global_batch);
  w->KnownWhole("gpu_count", o.gpu_count);
  w->KnownWhole("seq_length", o.seq_length);
  w->Whole("skipped_iterations", log.skipped_iterations);
  w->Whole("nan_iterations", log.nan_iterations);
  w->Whole("out_of_memory_lines", log.out_of_memory);
  w->Flag("finished", log.finished);
  if (log.has_loss) w->Real("last_loss", log.last_loss);
  w->Known("parameters", log.total_parameters);
  w->Known("theoretical_states_bytes", log.theoretical.states);
  w->Known("theoretical_activations_bytes", log.theoretical.activations);
  w->End();
}

void WriteMemory(const RunLog& log, Writer* w) {
  w->BeginList("ranks");
  for (const auto& [rank, report] : log.ranks) {
    w->Begin();
    if (rank >= 0) w->Whole("rank", rank);
    if (report.iterations >= 0) w->Whole("after_iterations", report.iterations);
    w->Known("allocated_bytes", report.allocated);
    w->Known("max_allocated_bytes", report.max_allocated);
    w->Known("reserved_bytes", report.reserved);
    w->Known("max_reserved_bytes", report.max_reserved);
    w->Known("device_bytes", report.device);
    w->End();
  }
  w->EndList();
  w->BeginList("gpus");
  for (const auto& [index, gpu] : log.gpus) {
    w->Begin();
    if (index >= 0) w->Whole("index", index);
    w->Text("name", gpu.name);
    w->Real("used_bytes", gpu.used);
    w->Known("total_bytes", gpu.total);
    w->End();
  }
  w->EndList();
}

void WriteFigures(const Observation& o, Writer* w) {
  w->BeginList("figures");
  for (const ComparedFigure& figure : o.figures) {
    if (!figure.forecast.has_value() && !figure.measured.has_value()) continue;
    w->Begin();
    w->Text("name", figure.name);
    if (figure.stage >= 0) w->Whole("stage", figure.stage);
    if (figure.measured.has_value()) w->Real("measured", *figure.measured);
    if (figure.forecast.has_value()) {
      w->Real("forecast", figure.forecast->value());
      w->Real("forecast_low", figure.forecast->low());
      w->Real("forecast_high", figure.forecast->high());
    }
    if (figure.at_least) w->Flag("at_least", true);
    if (!figure.follows_step) w->Text("verdict", WordOf(figure.inside()));
    w->End();
  }
  w->EndList();
}

void WriteTrace(const TraceSummary& trace, Writer* w) {
  if (!trace.any()) return;
  w->Begin("trace");
  w->Whole("kernels", trace.kernels);
  w->Whole("steps", trace.steps);
  w->Real("span_us", trace.span_us);
  w->Real("compute_us", trace.compute_us);
  w->Real("exposed_communication_us", trace.exposed_us);
  w->Real("hidden_communication_us", trace.hidden_us);
  w->Real("idle_us", trace.idle_us);
  w->Begin("exposed_by_path_us");
  for (const auto& [path, exposed] : trace.exposed_by_path) w->Real(path, exposed);
  w->End();
  w->End();
}

void WriteSnapshot(const MemorySnapshot& snapshot, Writer* w) {
  if (!snapshot.any()) return;
  w->Begin("snapshot");
  w->Whole("device", snapshot.device);
  w->Real("allocated_bytes", snapshot.allocated);
  w->Real("reserved_bytes", snapshot.reserved);
  if (snapshot.peak > 0) w->Real("peak_bytes", snapshot.peak);
  w->Whole("events", snapshot.events);
  w->Whole("out_of_memory", snapshot.out_of_memory);
  w->Begin("by_cause_bytes");
  for (size_t i = 0; i < kMemoryCauses; ++i) w->Real(Name(static_cast<MemoryCause>(i)), snapshot.by_cause[i]);
  w->End();
  w->End();
}

void WriteMismatches(const Observation& o, Writer* w) {
  w->BeginList("mismatches");
  for (const ValueMismatch& m : o.mismatches) {
    w->Begin();
    w->Text("name", m.name);
    w->Text("launch", m.launch);
    w->Text("run", m.run);
    w->Flag("another_run", m.identity);
    w->End();
  }
  w->EndList();
}

void WriteNext(const NextKnob& next, Writer* w) {
  w->Begin("next");
  w->BeginList("knobs");
  for (const v1::KnobSetting& setting : next.knobs) {
    w->Begin();
    w->Text("name", setting.name());
    w->Text("value", setting.has_value() ? ValueText(setting.value()) : "none");
    w->End();
  }
  w->EndList();
  w->Real("step_change_ratio", next.step_change);
  w->Real("memory_change_bytes", next.memory_change_bytes);
  w->Flag("for_memory", next.for_memory);
  w->End();
}

void WriteList(absl::string_view key, const std::vector<std::string>& items, Writer* w) {
  w->BeginList(key);
  for (const std::string& item : items) w->Item(item);
  w->EndList();
}

}  // namespace

std::string RenderObserveJson(const ObservePage& page) {
  const Observation& o = page.observation;
  Writer w;
  w.Begin();
  w.Text("input", page.input);
  w.Text("launch", page.launch);
  w.Text("target", o.launch.target());
  w.Text("launch_digest", o.launch.digest());
  if (page.launch.empty() || o.SaysItsLaunch()) w.Flag("matches_launch", !page.launch.empty() && o.MatchesLaunch());
  WriteSteps(o, &w);
  WriteFigures(o, &w);
  WriteRun(o, &w);
  WriteTrace(o.trace, &w);
  WriteSnapshot(o.snapshot, &w);
  WriteMemory(o.log, &w);
  WriteMismatches(o, &w);
  WriteList("causes", o.causes, &w);
  if (page.next.has_value()) WriteNext(*page.next, &w);
  w.Text("why_no_next", page.why_no_next);
  WriteList("not_read", page.faults, &w);
  w.End();
  return w.Done();
}

}  // namespace flightplan::cli
