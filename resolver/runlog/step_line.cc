#include "resolver/runlog/step_line.h"

#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/runlog/scan.h"

namespace flightplan {
namespace {

constexpr absl::string_view kHead = "iteration";
constexpr size_t kLongestName = 64;

enum class Field { kStep, kTflops, kTokens, kBatch, kConsumed, kSkipped, kNan, kLoss, kNorm, kAllocated, kReserved };

// How programs name what they print, in lower case; a value is multiplied by `scale`.
struct Name {
  absl::string_view name;
  Field field;
  double scale = 1;
};
constexpr Name kNames[] = {
    {"elapsed time per iteration (ms)", Field::kStep},
    {"elapsed time per iteration (s)", Field::kStep, 1e3},
    {"train_step_timing in s", Field::kStep, 1e3},
    {"throughput per gpu (tflop/s/gpu)", Field::kTflops},
    {"flop throughput (tflop/sec/gpu)", Field::kTflops},
    {"tflops", Field::kTflops},
    {"tflops_per_gpu", Field::kTflops},
    {"throughput (token/sec/gpu)", Field::kTokens},
    {"tokens per gpu per second (tgs)", Field::kTokens},
    {"tokens/gpu/s", Field::kTokens},
    {"global batch size", Field::kBatch},
    {"global_batch_size", Field::kBatch},
    {"consumed samples", Field::kConsumed},
    {"consumed_samples", Field::kConsumed},
    {"number of skipped iterations", Field::kSkipped},
    {"number of nan iterations", Field::kNan},
    {"lm loss", Field::kLoss},
    {"reduced_train_loss", Field::kLoss},
    {"grad norm", Field::kNorm},
    {"max_memory_allocated", Field::kAllocated},
    {"max_memory_reserved", Field::kReserved},
};

void Put(Field field, double value, StepLine* line) {
  const auto count = [value] { return value >= 0 && value < 9e15 ? std::llround(value) : 0; };
  const double figure = std::isfinite(value) && value > 0 ? value : 0;
  switch (field) {
    case Field::kStep:
      line->step_ms = figure;
      return;
    case Field::kTflops:
      line->tflops = figure;
      return;
    case Field::kTokens:
      line->tokens = figure;
      return;
    case Field::kBatch:
      line->global_batch = count();
      return;
    case Field::kConsumed:
      line->consumed = count();
      return;
    case Field::kSkipped:
      line->skipped = count();
      return;
    case Field::kNan:
      line->nan = count();
      return;
    case Field::kLoss:
      line->has_loss = true;
      line->loss = value;
      line->no_number |= !std::isfinite(value);
      return;
    case Field::kNorm:
      line->no_number |= !std::isfinite(value);
      return;
    case Field::kAllocated:
      line->max_allocated_bytes = figure;
      return;
    case Field::kReserved:
      line->max_reserved_bytes = figure;
      return;
  }
}

void ReadField(absl::string_view part, StepLine* line) {
  const size_t colon = part.find(':');
  if (colon == absl::string_view::npos) return;
  const absl::string_view name = absl::StripAsciiWhitespace(part.substr(0, colon));
  if (name.empty() || name.size() > kLongestName) return;
  for (const Name& row : kNames) {
    if (name.size() != row.name.size() || !absl::EqualsIgnoreCase(name, row.name)) continue;
    absl::string_view rest = part.substr(colon + 1);
    const std::optional<double> value = TakeNumber(&rest);
    if (value.has_value()) Put(row.field, *value * row.scale, line);
    return;
  }
}

// "iteration       43/     100": where such a head begins at or after `from`, and what follows it; npos: nowhere.
struct Head {
  size_t begin = absl::string_view::npos, end = 0;
  int64_t iteration = 0, total = 0;
};
Head FindHead(absl::string_view text, size_t from) {
  for (size_t at = text.find(kHead, from); at != absl::string_view::npos; at = text.find(kHead, at + 1)) {
    absl::string_view rest = text.substr(at + kHead.size());
    const std::optional<int64_t> iteration = TakeInteger(&rest);
    if (!iteration.has_value()) continue;
    rest = absl::StripLeadingAsciiWhitespace(rest);
    if (!absl::ConsumePrefix(&rest, "/")) continue;
    const std::optional<int64_t> total = TakeInteger(&rest);
    if (!total.has_value()) continue;
    return {at, text.size() - rest.size(), *iteration, *total};
  }
  return {};
}

StepLine ReadFields(const Head& head, absl::string_view text, bool complete) {
  StepLine line;
  line.iteration = head.iteration;
  line.total = head.total;
  for (size_t begin = 0; begin < text.size();) {
    const size_t bar = text.find('|', begin);
    if (bar == absl::string_view::npos && !complete) break;
    ReadField(text.substr(begin, bar == absl::string_view::npos ? bar : bar - begin), &line);
    if (bar == absl::string_view::npos) break;
    begin = bar + 1;
  }
  return line;
}

}  // namespace

void ReadStepLines(absl::string_view text, bool complete, absl::FunctionRef<void(const StepLine&)> take) {
  for (Head head = FindHead(text, 0); head.begin != absl::string_view::npos;) {
    const Head next = FindHead(text, head.end);
    const bool last = next.begin == absl::string_view::npos;
    const absl::string_view fields = text.substr(head.end, last ? absl::string_view::npos : next.begin - head.end);
    const StepLine line = ReadFields(head, fields, !last || complete);
    if (line.step_ms > 0 && line.step_ms <= kLongestMs) take(line);
    head = next;
  }
}

bool BeginsStepLine(absl::string_view text) {
  Head head = FindHead(text, 0);
  if (head.begin == absl::string_view::npos) return false;
  for (Head next = head; next.begin != absl::string_view::npos; next = FindHead(text, next.end)) head = next;
  const absl::string_view fields = text.substr(head.end);
  return absl::StrContains(fields, '|') && ReadFields(head, fields, true).step_ms <= 0;
}

std::optional<StepLine> ReadStepTime(absl::string_view text, bool complete) {
  constexpr absl::string_view kStep = "Step Time :";
  constexpr absl::string_view kUtilization = "GPU utilization:";
  const size_t at = text.find(kStep);
  if (at == absl::string_view::npos) return std::nullopt;
  absl::string_view rest = text.substr(at + kStep.size());
  const std::optional<double> seconds = TakeNumber(&rest);
  if (!seconds.has_value() || !(*seconds > 0) || *seconds * 1e3 > kLongestMs || !absl::StartsWith(rest, "s")) {
    return std::nullopt;
  }
  StepLine line;
  line.step_ms = *seconds * 1e3;
  const std::optional<double> tflops = NumberAfter(rest, kUtilization);
  const bool whole = complete || absl::StrContains(rest, "TFLOP");
  if (whole && tflops.has_value() && std::isfinite(*tflops) && *tflops > 0) line.tflops = *tflops;
  return line;
}

}  // namespace flightplan
