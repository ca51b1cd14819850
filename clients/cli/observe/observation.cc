#include "clients/cli/observe/observation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/findings.h"
#include "clients/cli/observe/compare_memory.h"
#include "clients/cli/observe/figure_values.h"
#include "clients/cli/observe/launch_config.h"
#include "clients/cli/text.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/knob_value.h"

namespace flightplan::cli {
namespace {

constexpr double kMsToUs = 1e3;
constexpr double kTera = 1e12;
constexpr double kOtherWork = 0.30;     // FLOPs of a step that differ by more are another model, batch or length
constexpr double kOtherFormula = 0.03;  // by more, and they are counted by another formula
constexpr double kUneven = 0.20;        // the 90th percentile over the 10th
constexpr double kSmallStep = 0.03;     // differences below are those of repeated runs
constexpr double kMostOfIt = 0.6;       // of a difference: where it "is"
constexpr size_t kMostMismatches = 12;

// What makes a run the run that it is; all other knobs change how fast it is, and in how much memory.
constexpr absl::string_view kIdentity[] = {"num_layers",
                                           "hidden_size",
                                           "ffn_hidden_size",
                                           "num_attention_heads",
                                           "num_query_groups",
                                           "num_moe_experts",
                                           "moe_router_topk",
                                           "moe_ffn_hidden_size",
                                           "seq_length",
                                           "micro_batch_size",
                                           "global_batch_size",
                                           "tensor_model_parallel_size",
                                           "pipeline_model_parallel_size",
                                           "virtual_pipeline_model_parallel_size",
                                           "context_parallel_size",
                                           "expert_model_parallel_size",
                                           "expert_tensor_parallel_size"};

bool IsIdentity(absl::string_view name) {
  return std::find(std::begin(kIdentity), std::end(kIdentity), name) != std::end(kIdentity);
}

// What the caller wrote against what the run printed; defaults and what follows from them may differ by release.
void CompareArguments(Observation* o) {
  for (const v1::ConfigEntry& entry : o->launch.config()) {
    if (entry.origin() != v1::CONFIG_ORIGIN_CALLER) continue;
    const std::optional<Knob> knob = FindKnob(entry.name());
    if (!knob.has_value()) continue;
    auto printed = o->log.arguments.find(entry.name());
    if (printed == o->log.arguments.end() && *Row(*knob).dest != '\0') printed = o->log.arguments.find(Row(*knob).dest);
    if (printed == o->log.arguments.end()) continue;
    const std::optional<Value> run = PrintedValue(*knob, printed->second);
    const absl::StatusOr<Value> written = ParseKnobText(*knob, ValueText(entry.value()));
    if (!run.has_value() || !written.ok() || run->ToText() == written->ToText()) continue;
    if (o->mismatches.size() >= kMostMismatches) return;
    o->mismatches.push_back({entry.name(), ValueText(entry.value()), printed->second, IsIdentity(entry.name())});
  }
}

void CompareSize(const std::string& name, int64_t launch, int64_t run, Observation* o) {
  if (launch <= 0 || run <= 0 || launch == run) return;
  for (const ValueMismatch& known : o->mismatches) {
    if (known.name == name) return;
  }
  o->mismatches.push_back({name, absl::StrCat(launch), absl::StrCat(run), true});
}

int64_t ArgumentSize(const RunLog& log, const std::string& name) {
  const auto argument = log.arguments.find(name);
  int64_t size = 0;
  return argument != log.arguments.end() && absl::SimpleAtoi(argument->second, &size) && size > 0 ? size : 0;
}

// The FLOPs of a step, as the run and as the launch count them.
void CompareWork(Observation* o) {
  const double forecast = o->launch.estimate().step_flops();
  if (forecast <= 0 || o->steps.tflops <= 0 || o->gpu_count <= 0) return;
  const double run = o->steps.tflops * kTera * o->steps.median_ms / 1e3 * static_cast<double>(o->gpu_count);
  const double ratio = run / forecast;
  if (std::abs(ratio - 1) <= kOtherWork) {
    if (std::abs(ratio - 1) > kOtherFormula) {
      o->causes.push_back(absl::StrFormat(
          "throughput: the run counts %+.0f %% FLOPs a step beside the forecast's formula", 100 * (ratio - 1)));
    }
    return;
  }
  o->mismatches.push_back(
      {"PFLOP of a step", absl::StrFormat("%.3g", forecast / 1e15), absl::StrFormat("%.3g", run / 1e15), true});
}

// The band of a rate, from that of the time: it falls where the time grows.
std::optional<v1::Range> RateOf(double rate, const v1::Range& time) {
  if (rate <= 0 || time.value() <= 0 || time.low() <= 0 || time.high() <= 0) return std::nullopt;
  v1::Range range;
  range.set_value(rate);
  range.set_low(rate * time.value() / time.high());
  range.set_high(rate * time.value() / time.low());
  return range;
}

double TokensOf(const Observation& o) {
  if (o.steps.tokens > 0) return o.steps.tokens;
  const double seconds = o.steps.median_ms / 1e3;
  if (seconds <= 0 || o.seq_length <= 0 || o.gpu_count <= 0 || o.global_batch <= 0) return 0;
  return static_cast<double>(o.seq_length * o.global_batch) / seconds / static_cast<double>(o.gpu_count);
}

// What a recipe says and the question did not: its forecast has it.
void FillFromForecast(Observation* o) {
  const v1::Estimate& estimate = o->launch.estimate();
  const double tokens = estimate.tokens_per_second(), own = estimate.tokens_per_second_per_gpu();
  if (tokens <= 0 || own <= 0) return;
  if (o->gpu_count <= 0) o->gpu_count = std::llround(tokens / own);
  const int64_t batch = ConfigSize(o->launch, "global_batch_size", 0);
  if (o->seq_length <= 0 && batch > 0) {
    o->seq_length = std::llround(tokens * estimate.step_time_us().value() / 1e6 / static_cast<double>(batch));
  }
}

void ExplainSteps(Observation* o) {
  const StepStatistics& steps = o->steps;
  if (steps.used >= 5 && steps.high_ms > (1 + kUneven) * steps.low_ms) {
    o->causes.push_back(absl::StrFormat(
        "steps are uneven: a tenth is below %.4g s, a tenth above %.4g s; the forecast is of a steady step",
        steps.low_ms / 1e3, steps.high_ms / 1e3));
  }
  if (steps.only_warm_up && steps.used > 0) {
    o->causes.push_back(
        "the run printed only the report behind a start, which holds compilation and first allocations");
  }
}

void AddFigures(Observation* o) {
  const v1::Estimate& estimate = o->launch.estimate();
  const v1::Range& time = estimate.step_time_us();
  o->figures.push_back({"step_time_us", RangeOf(time), Positive(o->steps.median_ms * kMsToUs)});
  const auto rate = [&](const char* name, double forecast, double measured) {
    o->figures.push_back(
        {.name = name, .forecast = RateOf(forecast, time), .measured = Positive(measured), .follows_step = true});
  };
  rate("flops_per_second_per_gpu", estimate.flops_per_second_per_gpu(), o->steps.tflops * kTera);
  rate("tokens_per_second_per_gpu", estimate.tokens_per_second_per_gpu(), TokensOf(*o));
  CompareMemory(o);
}

double WallRatio(const v1::Estimate& estimate, std::initializer_list<const char*> walls) {
  double ratio = 0;
  for (const char* wall : walls) {
    const auto it = estimate.wall_ratios().find(wall);
    if (it != estimate.wall_ratios().end()) ratio += it->second;
  }
  return ratio;
}

// Names the part of the step that most of its difference is in. `measured`, `forecast`: of the part, in microseconds.
void ExplainPart(absl::string_view part, absl::string_view source, double measured, double forecast, Observation* o) {
  const double step = o->steps.median_ms * kMsToUs, forecast_step = o->launch.estimate().step_time_us().value();
  const double difference = step - forecast_step;
  if (step <= 0 || forecast_step <= 0 || std::abs(difference) < kSmallStep * forecast_step) return;
  if ((measured - forecast) / difference <= kMostOfIt) return;
  o->causes.push_back(absl::StrFormat("step: %+.3g s of the difference of %+.3g s is in %s, by %s",
                                      (measured - forecast) / 1e6, difference / 1e6, std::string(part),
                                      std::string(source)));
}

void AddOptimizer(Observation* o) {
  const double measured = o->steps.optimizer_ms * kMsToUs, step = o->launch.estimate().step_time_us().value();
  const double forecast = WallRatio(o->launch.estimate(), {"optimizer"}) * step;
  if (measured <= 0) return;
  o->figures.push_back({"optimizer_us", Point(forecast), measured});
  if (forecast > 0) ExplainPart("the optimizer", "the run's timers", measured, forecast, o);
}

// The walls of the traced time beside the forecast's. A rank that waits in the pipeline waits within a communication
// kernel, so the forecast's bubble stands there, too.
void AddWalls(Observation* o) {
  if (!o->trace.any()) return;
  const v1::Estimate& estimate = o->launch.estimate();
  const double traced = o->trace.span_us;
  const struct {
    const char *name, *words;
    double measured, forecast;
  } walls[] = {{"compute_ratio", "compute", (traced - o->trace.exposed_us - o->trace.idle_us) / traced,
                WallRatio(estimate, {"compute", "optimizer"})},
               {"exposed_communication_ratio", "communication and waiting for other ranks",
                o->trace.exposed_us / traced, WallRatio(estimate, {"communication", "bubble"})},
               {"idle_ratio", "gaps in which the GPU had nothing to do", o->trace.idle_us / traced,
                WallRatio(estimate, {"host"})}};
  const double step = o->steps.median_ms * kMsToUs, forecast_step = estimate.step_time_us().value();
  for (const auto& wall : walls) {
    o->figures.push_back({wall.name, Point(wall.forecast), wall.measured});
    ExplainPart(wall.words, "the trace", wall.measured * step, wall.forecast * forecast_step, o);
  }
}

}  // namespace

Inside ComparedFigure::inside() const {
  if (!forecast.has_value() || !measured.has_value() || forecast->high() <= forecast->low() || follows_step) {
    return Inside::kUnknown;
  }
  if (*measured > forecast->high()) return Inside::kAbove;
  if (at_least) return Inside::kUnknown;
  return *measured < forecast->low() ? Inside::kBelow : Inside::kInside;
}

bool Observation::MatchesLaunch() const {
  return std::none_of(mismatches.begin(), mismatches.end(), [](const ValueMismatch& m) { return m.identity; });
}

std::optional<Value> PrintedValue(Knob knob, const std::string& printed) {
  if (printed == "None") return Value();
  if (printed.empty() || absl::StrContains(printed, '(') || absl::StrContains(printed, '<')) return std::nullopt;
  std::string plain;
  for (const char byte : printed) {
    if (!absl::StrContains("[]'\" ", byte)) plain += byte;
  }
  absl::StatusOr<Value> value = ParseKnobText(knob, printed[0] == '[' ? plain : printed);
  return value.ok() ? std::optional<Value>(*std::move(value)) : std::nullopt;
}

Observation Observe(RunLog log, const v1::ValidateConfigResponse* launch, int64_t gpu_count, const TraceSummary& trace,
                    const MemorySnapshot& snapshot) {
  Observation o;
  o.log = std::move(log);
  o.trace = trace;
  o.snapshot = snapshot;
  o.steps = StatisticsOf(o.log);
  o.has_launch = launch != nullptr;
  const int64_t ran_on = ArgumentSize(o.log, "world_size");
  o.gpu_count = gpu_count > 0 ? gpu_count : ran_on;
  o.global_batch = o.steps.global_batch;
  if (launch != nullptr) {
    o.launch = *launch;
    CompareArguments(&o);
    CompareSize("world_size", gpu_count, ran_on, &o);
    const int64_t batch = ConfigSize(o.launch, "global_batch_size", 0);
    CompareSize("global_batch_size", batch, o.steps.global_batch, &o);
    if (o.global_batch <= 0) o.global_batch = batch;
    o.seq_length = ConfigSize(o.launch, "seq_length", 0);
    FillFromForecast(&o);
    CompareWork(&o);
  }
  if (o.seq_length <= 0) o.seq_length = ArgumentSize(o.log, "seq_length");
  if (!o.MatchesLaunch()) {  // another run: nothing to be compared with
    o.causes.clear();
    o.launch.clear_estimate();
  }
  AddFigures(&o);
  AddOptimizer(&o);
  AddWalls(&o);
  ExplainSteps(&o);
  return o;
}

}  // namespace flightplan::cli
