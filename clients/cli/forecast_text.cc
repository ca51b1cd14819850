#include "clients/cli/forecast_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/text.h"
#include "clients/cli/words.h"

namespace flightplan::cli {
namespace {

constexpr Word<absl::string_view> kPaths[] = {{"EP", "expert_parallel"},
                                              {"TP", "tensor_parallel"},
                                              {"CP", "context_parallel"},
                                              {"PP", "pipeline_parallel"},
                                              {"DP", "data_parallel"}};

std::string Figure(double us, const TimeUnit& unit) {
  const double value = us / unit.us;
  return value < 10 ? absl::StrFormat("%.1f", value) : absl::StrFormat("%.0f", value);
}

std::string TimeText(double us) {
  const TimeUnit unit = UnitFor(us);
  return absl::StrCat(Figure(us, unit), " ", unit.name);
}

}  // namespace

TimeUnit UnitFor(double us) { return us >= 1e6 ? TimeUnit{1e6, "s"} : TimeUnit{1e3, "ms"}; }

std::string StepText(const v1::Range& step) {
  // One unit for all three.
  const TimeUnit unit = UnitFor(step.value());
  std::string text = absl::StrCat(Figure(step.value(), unit), " ", unit.name);
  if (step.high() > step.low()) {
    absl::StrAppend(&text, " (", Figure(step.low(), unit), "..", Figure(step.high(), unit), ")");
  }
  return text;
}

std::string SpeedText(const v1::Estimate& estimate) {
  if (estimate.tokens_per_second_per_gpu() <= 0) return "";
  std::string text =
      absl::StrCat(WithThousands(std::llround(estimate.tokens_per_second_per_gpu())), " tokens/s and ",
                   absl::StrFormat("%.0f TFLOP/s", estimate.flops_per_second_per_gpu() / 1e12), " per GPU");
  if (estimate.mfu_ratio() > 0) absl::StrAppend(&text, ", MFU ", PercentText(estimate.mfu_ratio()));
  return text;
}

std::vector<std::string> CommunicationTexts(const v1::Estimate& estimate) {
  std::vector<std::string> texts;
  for (const v1::CommunicationPath& path : estimate.communication()) {
    const absl::string_view name = path.name(), word = WordFor(kPaths, name);
    std::string text =
        absl::StrCat(word.empty() ? Harmless(name) : std::string(word), " ", TimeText(path.exposed_us()));
    if (path.hidden_us() > 0) absl::StrAppend(&text, ", ", TimeText(path.hidden_us()), " hidden");
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace flightplan::cli
