#include "clients/cli/fit_line.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/forecast_text.h"
#include "clients/cli/text.h"
#include "clients/cli/words.h"

namespace flightplan::cli {
namespace {

constexpr Word<v1::FitVerdict> kFits[] = {
    {"yes", v1::FIT_VERDICT_FITS}, {"marginal", v1::FIT_VERDICT_MARGINAL}, {"no", v1::FIT_VERDICT_DOES_NOT_FIT}};

Style FitStyle(v1::FitVerdict fit) {
  if (fit == v1::FIT_VERDICT_FITS) return Style::kGreen;
  return fit == v1::FIT_VERDICT_DOES_NOT_FIT ? Style::kRed : Style::kYellow;
}

}  // namespace

std::vector<std::string> FitAndStep(const v1::Estimate& estimate, const Terminal& terminal) {
  std::vector<std::string> parts = {absl::StrCat("fits  ", FitLine(estimate, terminal))};
  if (estimate.has_step_time_us()) {
    const v1::Range& step = estimate.step_time_us();
    parts.push_back(absl::StrCat("step  ", StepText(step), step.high() > step.low() ? "" : " (measured)"));
  }
  return parts;
}

const v1::StageMemory* WorstStage(const v1::Estimate& estimate) {
  const v1::StageMemory* worst = nullptr;
  for (const v1::StageMemory& stage : estimate.stages()) {
    if (worst == nullptr || stage.total_bytes().value() > worst->total_bytes().value()) worst = &stage;
  }
  return worst;
}

std::string FitLine(const v1::Estimate& estimate, const Terminal& terminal) {
  const v1::StageMemory* worst = WorstStage(estimate);
  const absl::string_view word = WordFor(kFits, estimate.fit());
  std::string verdict = terminal.Paint(word.empty() ? "unknown" : word, FitStyle(estimate.fit()));
  if (worst == nullptr) return verdict;
  const v1::Range& total = worst->total_bytes();
  absl::StrAppend(&verdict, ": ", GibNumber(total.value()), " GiB");
  if (estimate.usable_bytes() > 0)
    absl::StrAppend(&verdict, " of ", GibNumber(static_cast<double>(estimate.usable_bytes())));
  if (estimate.reserved_bytes() > 0) {
    absl::StrAppend(&verdict, " beside ", GibNumber(static_cast<double>(estimate.reserved_bytes())), " of others");
  }
  if (total.low() > 0 && total.high() > total.low()) {
    absl::StrAppend(&verdict, " (", GibNumber(total.low()), "..", GibNumber(total.high()), ")");
  }
  return absl::StrCat(verdict, ", stage ", worst->stage());
}

std::string GpuFault(const v1::ValidateConfigResponse& response) {
  for (absl::string_view what : response.not_judged()) {
    if (absl::ConsumePrefix(&what, "hardware gates: no GPU named ")) return absl::StrCat("no GPU named ", what);
  }
  return "";
}

std::string FitLine(const v1::ValidateConfigResponse& response, const Terminal& terminal) {
  const v1::MemoryVerdict& memory = response.memory();
  const absl::string_view word = WordFor(kFits, memory.fit());
  std::string line = terminal.Paint(word.empty() ? "unknown" : word, FitStyle(memory.fit()));
  if (memory.at_least_bytes() > 0) {
    absl::StrAppend(&line, ": at least ", GibNumber(static_cast<double>(memory.at_least_bytes())), " GiB of ",
                    GibNumber(static_cast<double>(memory.usable_bytes())), " by parameters and optimizer alone");
  }
  const std::string& missing = memory.missing_input();
  if (missing.empty()) return line;
  if (const std::string fault = GpuFault(response); missing == "hardware.gpu" && !fault.empty()) {
    return absl::StrCat(line, ": ", terminal.Shown(fault));
  }
  const std::string flag = missing == "hardware.gpu"              ? "--gpu NAME"
                           : missing == "hardware.gpu_count"      ? "--gpus N"
                           : missing == "hardware.reserved_bytes" ? "--reserved-memory-gib X"
                                                                  : absl::StrCat("--set ", missing, "=N");
  return absl::StrCat(line, memory.at_least_bytes() > 0 ? "; " : ": ", "say ", terminal.Shown(flag));
}

}  // namespace flightplan::cli
