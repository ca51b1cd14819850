#include "resolver/runlog/gpu_work.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace flightplan {
namespace {

struct Span {
  double begin = 0, end = 0;
};

// Sorted, and none touches another.
std::vector<Span> United(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> united;
  for (const Span& span : spans) {
    if (!united.empty() && span.begin <= united.back().end) {
      united.back().end = std::max(united.back().end, span.end);
    } else {
      united.push_back(span);
    }
  }
  return united;
}

double Length(const std::vector<Span>& united) {
  double length = 0;
  for (const Span& span : united) length += span.end - span.begin;
  return length;
}

// How much of `a` lies outside `b`; both united.
double LengthOutside(const std::vector<Span>& a, const std::vector<Span>& b) {
  double inside = 0;
  size_t at = 0;
  for (const Span& span : a) {
    while (at < b.size() && b[at].end <= span.begin) ++at;
    for (size_t i = at; i < b.size() && b[i].begin < span.end; ++i) {
      inside += std::min(span.end, b[i].end) - std::max(span.begin, b[i].begin);
    }
  }
  return Length(a) - inside;
}

bool Names(const std::string& text, std::initializer_list<absl::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&text](absl::string_view word) { return absl::StrContains(text, word); });
}

absl::string_view PathOf(GpuWork work) {
  switch (work) {
    case GpuWork::kExpert:
      return "expert_parallel";
    case GpuWork::kTensor:
      return "tensor_parallel";
    case GpuWork::kContext:
      return "context_parallel";
    case GpuWork::kPipeline:
      return "pipeline_parallel";
    case GpuWork::kData:
      return "data_parallel";
    case GpuWork::kCompute:
    case GpuWork::kOther:
    case GpuWork::kUnknownPath:
      return "";
  }
  return "";
}

}  // namespace

// Megatron names its process groups, and PyTorch writes the names beside each collective.
GpuWork WorkOf(absl::string_view name, absl::string_view group, absl::string_view collective) {
  const std::string kernel = absl::AsciiStrToLower(name), path = absl::AsciiStrToLower(group);
  if (absl::StartsWith(kernel, "memcpy") || absl::StartsWith(kernel, "memset")) return GpuWork::kOther;
  if (Names(kernel, {"deep_ep", "hybrid_ep"})) return GpuWork::kExpert;
  if (Names(kernel, {"userbuffers"})) return GpuWork::kTensor;
  if (!Names(kernel, {"nccl", "nvshmem"})) return GpuWork::kCompute;
  if (Names(path, {"expert_data", "intra_expert_data"})) return GpuWork::kData;
  if (Names(path, {"expert"})) return GpuWork::kExpert;
  if (Names(path, {"pipeline", "embedding"})) return GpuWork::kPipeline;
  if (Names(path, {"data_parallel"})) return GpuWork::kData;
  if (Names(path, {"context"})) return GpuWork::kContext;
  if (Names(path, {"tensor"})) return GpuWork::kTensor;
  return absl::StartsWith(absl::AsciiStrToLower(collective), "all_to_all") ? GpuWork::kExpert : GpuWork::kUnknownPath;
}

TraceSummary SummaryOf(const std::vector<GpuSpan>& kernels) {
  TraceSummary summary;
  summary.kernels = static_cast<int64_t>(kernels.size());
  if (kernels.empty()) return summary;
  std::vector<Span> compute, communication, all;
  std::map<GpuWork, std::vector<Span>> by_path;
  for (const GpuSpan& kernel : kernels) {
    const Span span = {kernel.begin, kernel.end};
    all.push_back(span);
    if (kernel.work == GpuWork::kCompute) {
      compute.push_back(span);
    } else if (kernel.work != GpuWork::kOther) {
      communication.push_back(span);
      by_path[kernel.work].push_back(span);
    }
  }
  all = United(std::move(all));
  compute = United(std::move(compute));
  communication = United(std::move(communication));
  summary.span_us = all.back().end - all.front().begin;
  summary.compute_us = Length(compute);
  summary.exposed_us = LengthOutside(communication, compute);
  summary.hidden_us = Length(communication) - summary.exposed_us;
  summary.idle_us = std::max(0.0, summary.span_us - Length(all));
  for (auto& [work, spans] : by_path) {
    const double exposed = LengthOutside(United(std::move(spans)), compute);
    if (!PathOf(work).empty() && exposed > 0) summary.exposed_by_path[std::string(PathOf(work))] = exposed;
  }
  return summary;
}

}  // namespace flightplan
