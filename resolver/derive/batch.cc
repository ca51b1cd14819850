#include "resolver/derive/batch.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "resolver/base/integers.h"

namespace flightplan {
namespace {

// "1.5B" -> 1500000000.
std::optional<int64_t> ScaledNumber(absl::string_view text) {
  std::string upper = absl::AsciiStrToUpper(absl::StripAsciiWhitespace(text));
  double scale = 1;
  if (!upper.empty()) {
    const char suffix = upper.back();
    scale = suffix == 'T' ? 1e12 : suffix == 'B' ? 1e9 : suffix == 'M' ? 1e6 : suffix == 'K' ? 1e3 : 1;
  }
  if (scale > 1) upper.pop_back();
  upper.erase(std::remove(upper.begin(), upper.end(), '_'), upper.end());  // as Python groups digits
  double number = 0;
  if (!absl::SimpleAtod(upper, &number) || !(std::abs(number * scale) < 9e18)) return std::nullopt;
  return static_cast<int64_t>(number * scale);
}

}  // namespace

std::optional<int64_t> NumMicrobatches(int64_t global_batch_size, int64_t micro_batch_size,
                                       int64_t data_parallel_size) {
  const std::optional<int64_t> unit = Product({micro_batch_size, data_parallel_size});
  if (!unit.has_value() || *unit == 0) return std::nullopt;
  return FloorDiv(global_batch_size, *unit);
}

std::optional<std::vector<ScheduledBatch>> ReadBatchSchedule(absl::string_view schedule, int64_t seq_length) {
  std::vector<ScheduledBatch> steps;
  for (absl::string_view entry : absl::StrSplit(schedule, absl::ByAnyChar(" ,\t"), absl::SkipEmpty())) {
    const size_t colon = entry.find(':');
    if (colon == absl::string_view::npos) return std::nullopt;
    const std::optional<int64_t> threshold = ScaledNumber(entry.substr(0, colon));
    const std::optional<int64_t> batch = ScaledNumber(entry.substr(colon + 1));
    if (!threshold.has_value() || !batch.has_value()) return std::nullopt;
    steps.push_back({seq_length > 0 ? FloorDiv(*threshold, seq_length) : *threshold, *batch});
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const ScheduledBatch& a, const ScheduledBatch& b) { return a.threshold < b.threshold; });
  if (steps.empty() || steps.front().threshold != 0) return std::nullopt;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].batch <= 0 || (i > 0 && steps[i].threshold == steps[i - 1].threshold)) return std::nullopt;
  }
  return steps;
}

std::optional<int64_t> FirstScheduledBatch(absl::string_view schedule, int64_t seq_length) {
  const std::optional<std::vector<ScheduledBatch>> steps = ReadBatchSchedule(schedule, seq_length);
  return steps.has_value() ? std::optional(steps->front().batch) : std::nullopt;
}

std::optional<int64_t> StepBatch(const Config& config, PartOfRun part) {
  const Value& batch = config.Get(Knob::global_batch_size);
  const Value& schedule = config.Get(Knob::step_batch_size_schedule);
  if (!schedule.is_text()) return batch.is_none() ? std::nullopt : std::optional(batch.integer());
  const auto steps = ReadBatchSchedule(schedule.text(), config.Get(Knob::seq_length).integer());
  if (!steps.has_value()) return std::nullopt;
  return part == PartOfRun::kStart ? steps->front().batch : steps->back().batch;
}

std::optional<int64_t> StepMicrobatches(const Config& config, const Environment& env) {
  using K = Knob;
  const Value& micro = config.Get(K::micro_batch_size);
  if (micro.is_none() || !env.data_parallel_size.has_value()) return std::nullopt;
  // With weight shards over the GTP axis, each of its ranks sees its own data.
  const int64_t shards =
      env.core_release >= 19 ? std::max<int64_t>(config.Get(K::gtp_weight_remat_size).integer(), 1) : 1;
  const std::optional<int64_t> replicas = Product({*env.data_parallel_size, shards});
  if (!replicas.has_value()) return std::nullopt;
  std::optional<int64_t> batch = StepBatch(config, PartOfRun::kStart);
  const Value::List& ramp = config.Get(K::rampup_batch_size).list();
  const bool ramps = env.core_release < 18 && ramp.size() == 3;
  if (ramps && !config.Get(K::step_batch_size_schedule).is_text()) batch = ramp[0].integer();
  return batch.has_value() ? NumMicrobatches(*batch, micro.integer(), *replicas) : std::nullopt;
}

}  // namespace flightplan
