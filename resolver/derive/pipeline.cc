#include "resolver/derive/pipeline.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_split.h"
#include "resolver/derive/arithmetic.h"
#include "resolver/plan/pipeline_layout.h"

namespace flightplan {
namespace {

constexpr absl::string_view kHybridLayers = "MG*D+-E";

bool IsHybridPart(absl::string_view part, bool pipes) {
  if (part.find_first_not_of(kHybridLayers) != absl::string_view::npos && !pipes) return false;
  if (part.find_first_not_of("MG*D+-E|") != absl::string_view::npos) return false;
  const bool attention = part.find('*') != absl::string_view::npos;
  return !attention || part.find_first_of("D+") == absl::string_view::npos;
}

}  // namespace

std::optional<int64_t> LayoutStages(absl::string_view layout) {
  const PipelineLayout read = ParsePipelineLayout(Value(layout), 1);
  if (read.fault != PipelineLayout::Fault::kNone) return std::nullopt;
  return static_cast<int64_t>(read.stages.size());
}

std::optional<HybridPattern> ReadHybridPattern(absl::string_view pattern) {
  const std::vector<absl::string_view> parts = absl::StrSplit(pattern, '/');
  HybridPattern out;
  const absl::string_view main = parts[0];
  if (!IsHybridPart(main, true)) return std::nullopt;
  for (char c : main) {
    if (c == '|') {
      ++out.segments;
    } else {
      ++out.layers;
    }
  }
  out.has_pipe = out.segments > 1;
  out.has_dsa = pattern.find('D') != absl::string_view::npos;
  out.has_mla = pattern.find_first_of("D+") != absl::string_view::npos;
  bool any = false;
  for (size_t i = 1; i < parts.size(); ++i) any = any || !parts[i].empty();
  if (!any) return out;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] != parts[1] || !IsHybridPart(parts[i], false)) return std::nullopt;
  }
  out.mtp_depths = static_cast<int64_t>(parts.size()) - 1;
  return out;
}

std::optional<int64_t> VirtualStages(int64_t layers, int64_t pipeline_size, int64_t layers_per_virtual_stage) {
  if (!Divides(pipeline_size, layers)) return std::nullopt;
  const int64_t per_stage = FloorDiv(layers, pipeline_size);
  if (!Divides(layers_per_virtual_stage, per_stage)) return std::nullopt;
  return FloorDiv(per_stage, layers_per_virtual_stage);
}

std::vector<int64_t> BalancedStages(int64_t layers, int64_t mtp, int64_t stages) {
  const int64_t units = layers + mtp + 2;
  std::vector<int64_t> decoder(static_cast<size_t>(stages), units / stages);
  int64_t rest = units % stages;
  for (size_t i = 1; i + 1 < decoder.size() && rest > 0; ++i, --rest) ++decoder[i];
  if (rest > 0) ++decoder.back();
  decoder.front() -= 1;       // the embedding's place
  decoder.back() -= 1 + mtp;  // loss and MTP
  // A tail too heavy for its share takes no decoder layer; what is missing is taken from the last stages before it.
  for (size_t i = decoder.size() - 1; decoder.back() < 0;) {
    if (--i == 0) i = decoder.size() - 2;
    --decoder[i];
    ++decoder.back();
  }
  for (int64_t& layers_here : decoder) layers_here = std::max<int64_t>(0, layers_here);
  return decoder;
}

}  // namespace flightplan
