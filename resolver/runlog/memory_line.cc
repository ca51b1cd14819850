#include "resolver/runlog/memory_line.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/base/bytes.h"
#include "resolver/runlog/scan.h"

namespace flightplan {
namespace {

constexpr double kGigabyte = 1e9;
constexpr double kMostBytes = 1e15;

constexpr absl::string_view kMark = " memory (";

struct Name {
  absl::string_view name;
  double MemoryReport::*field;
};
constexpr Name kNames[] = {
    {"allocated", &MemoryReport::allocated},
    {"max allocated", &MemoryReport::max_allocated},
    {"reserved", &MemoryReport::reserved},
    {"max reserved", &MemoryReport::max_reserved},
    {"total device memory used", &MemoryReport::device},
    {"mem-allocated-gigabytes", &MemoryReport::allocated},
    {"mem-max-allocated-gigabytes", &MemoryReport::max_allocated},
    {"mem-reserved-gigabytes", &MemoryReport::reserved},
    {"mem-max-reserved-gigabytes", &MemoryReport::max_reserved},
};

// Of what stands in front of "memory (": the last rank and the last count of iterations.
void ReadWhere(absl::string_view before, MemoryReport* report) {
  if (const size_t at = before.rfind("[Rank "); at != absl::string_view::npos) {
    absl::string_view rest = before.substr(at + 6);
    report->rank = TakeInteger(&rest).value_or(-1);
  }
  if (const size_t at = before.rfind("after "); at != absl::string_view::npos) {
    absl::string_view rest = before.substr(at + 6);
    report->iterations = TakeInteger(&rest).value_or(-1);
  }
}

void ReadFields(absl::string_view text, double scale, bool complete, MemoryReport* report) {
  for (size_t begin = text.find('|'); begin != absl::string_view::npos;) {
    ++begin;
    const size_t bar = text.find('|', begin);
    if (bar == absl::string_view::npos && !complete) return;
    const absl::string_view part = text.substr(begin, bar == absl::string_view::npos ? bar : bar - begin);
    begin = bar;
    const size_t colon = part.find(':');
    if (colon == absl::string_view::npos) continue;
    const absl::string_view name = absl::StripAsciiWhitespace(part.substr(0, colon));
    for (const Name& row : kNames) {
      if (name != row.name) continue;
      absl::string_view rest = part.substr(colon + 1);
      const double bytes = TakeNumber(&rest).value_or(0) * scale;
      if (bytes > 0 && bytes < kMostBytes) report->*row.field = bytes;
    }
  }
}

// "57438.81 MB" or "57.43 GB" behind `name`, in bytes.
double SizeAfter(absl::string_view text, absl::string_view name) {
  const size_t at = text.find(name);
  if (at == absl::string_view::npos) return 0;
  absl::string_view rest = text.substr(at + name.size());
  const std::optional<double> value = TakeNumber(&rest);
  if (!value.has_value() || !(*value > 0)) return 0;
  rest = absl::StripLeadingAsciiWhitespace(rest);
  const double bytes = *value * (absl::StartsWith(rest, "GB") ? kGib : absl::StartsWith(rest, "MB") ? kMib : 0);
  return bytes < kMostBytes ? bytes : 0;
}

}  // namespace

void ReadMemoryReports(absl::string_view text, bool complete, absl::FunctionRef<void(const MemoryReport&)> take) {
  size_t from = 0;
  for (size_t at = text.find(kMark); at != absl::string_view::npos;) {
    const size_t next = text.find(kMark, at + kMark.size());
    const size_t begin = at + kMark.size();
    const absl::string_view fields = text.substr(begin, next == absl::string_view::npos ? next : next - begin);
    const double scale = absl::StartsWith(fields, "MB)") ? kMib : absl::StartsWith(fields, "GB)") ? kGigabyte : 0;
    if (scale > 0) {
      MemoryReport report;
      ReadWhere(text.substr(from, at - from), &report);
      ReadFields(fields, scale, complete || next != absl::string_view::npos, &report);
      if (report.allocated > 0 || report.max_allocated > 0) take(report);
    }
    from = begin;
    at = next;
  }
}

std::optional<TheoreticalMemory> ReadTheoreticalMemory(absl::string_view text) {
  const size_t at = text.find("Theoretical memory footprints:");
  if (at == absl::string_view::npos) return std::nullopt;
  TheoreticalMemory memory;
  memory.states = SizeAfter(text.substr(at), "weight and optimizer=");
  memory.activations = SizeAfter(text.substr(at), "activation=");
  if (memory.states <= 0) return std::nullopt;
  return memory;
}

std::optional<ParameterCount> ReadParameterCount(absl::string_view text, bool complete) {
  constexpr absl::string_view kParameters = "number of parameters on ";
  constexpr absl::string_view kRank = "model parallel rank ";
  const size_t at = text.find(kParameters);
  if (at == absl::string_view::npos) return std::nullopt;
  const size_t rank = text.find(kRank, at);
  if (rank == absl::string_view::npos) return std::nullopt;
  absl::string_view rest = text.substr(rank + kRank.size());
  ParameterCount count;
  const bool pair = absl::ConsumePrefix(&rest, "(");
  const std::optional<int64_t> first = TakeInteger(&rest);
  if (!first.has_value()) return std::nullopt;
  count.tensor_rank = *first;
  while (absl::ConsumePrefix(&rest, ",")) count.pipeline_rank = TakeInteger(&rest).value_or(0);
  if (pair && !absl::ConsumePrefix(&rest, ")")) return std::nullopt;
  if (!absl::ConsumePrefix(&rest, ":")) return std::nullopt;
  const std::optional<int64_t> parameters = TakeInteger(&rest);
  if (!parameters.has_value() || *parameters == 0 || (rest.empty() && !complete)) return std::nullopt;
  count.count = *parameters;
  return count;
}

double ReadTotalParameters(absl::string_view text) {
  const double billions = NumberAfter(text, "Total number of parameters in billions:").value_or(0);
  return std::isfinite(billions) && billions > 0 && billions < 1e6 ? billions * 1e9 : 0;
}

}  // namespace flightplan
