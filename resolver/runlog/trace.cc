#include "resolver/runlog/trace.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "resolver/base/json.h"

namespace flightplan {
namespace {

constexpr absl::string_view kEventsKey = "\"traceEvents\"";
constexpr double kLongestUs = 6.048e11;  // a week

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

absl::string_view TextOf(const rapidjson::Value& object, const char* key) {
  const auto member = object.FindMember(key);
  if (member == object.MemberEnd() || !member->value.IsString()) return "";
  return {member->value.GetString(), member->value.GetStringLength()};
}

std::optional<double> NumberOf(const rapidjson::Value& object, const char* key) {
  const auto member = object.FindMember(key);
  if (member == object.MemberEnd() || !member->value.IsNumber()) return std::nullopt;
  return member->value.GetDouble();
}

bool Names(const std::string& text, std::initializer_list<absl::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&text](absl::string_view word) { return absl::StrContains(text, word); });
}

}  // namespace

bool TraceReader::Recognises(absl::string_view begin) {
  if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(begin), "{")) return false;
  return absl::StrContains(begin, kEventsKey) || absl::StrContains(begin, "\"deviceProperties\"") ||
         absl::StrContains(begin, "\"distributedInfo\"");
}

// Megatron names its process groups, and PyTorch writes the names beside each collective.
TraceReader::Work TraceReader::WorkOf(absl::string_view name, absl::string_view group, absl::string_view collective) {
  const std::string kernel = absl::AsciiStrToLower(name), path = absl::AsciiStrToLower(group);
  if (absl::StartsWith(kernel, "memcpy") || absl::StartsWith(kernel, "memset")) return Work::kOther;
  if (Names(kernel, {"deep_ep", "hybrid_ep"})) return Work::kExpert;
  if (Names(kernel, {"userbuffers"})) return Work::kTensor;
  if (!Names(kernel, {"nccl", "nvshmem"})) return Work::kCompute;
  if (Names(path, {"expert_data", "intra_expert_data"})) return Work::kData;
  if (Names(path, {"expert"})) return Work::kExpert;
  if (Names(path, {"pipeline", "embedding"})) return Work::kPipeline;
  if (Names(path, {"data_parallel"})) return Work::kData;
  if (Names(path, {"context"})) return Work::kContext;
  if (Names(path, {"tensor"})) return Work::kTensor;
  return absl::StartsWith(absl::AsciiStrToLower(collective), "all_to_all") ? Work::kExpert : Work::kUnknownPath;
}

absl::string_view TraceReader::PathOf(Work work) {
  switch (work) {
    case Work::kExpert:
      return "expert_parallel";
    case Work::kTensor:
      return "tensor_parallel";
    case Work::kContext:
      return "context_parallel";
    case Work::kPipeline:
      return "pipeline_parallel";
    case Work::kData:
      return "data_parallel";
    case Work::kCompute:
    case Work::kOther:
    case Work::kUnknownPath:
      return "";
  }
  return "";
}

void TraceReader::ReadEvent(absl::string_view event) {
  const bool step = absl::StrContains(event, "ProfilerStep#");
  const bool gpu = absl::StrContains(event, "\"kernel\"") || absl::StrContains(event, "\"gpu_mem");
  if (!step && !gpu) return;  // most are operators on the host
  rapidjson::Document document;
  if (ReadJson(event, JsonNumbers::kAll, &document).has_value() || !document.IsObject()) return;
  const absl::string_view category = TextOf(document, "cat");
  if (step && category == "user_annotation") ++steps_;
  const bool kernel = category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
  const std::optional<double> begin = NumberOf(document, "ts"), length = NumberOf(document, "dur");
  if (!kernel || !begin.has_value() || !length.has_value()) return;
  if (!std::isfinite(*begin) || !(*length >= 0) || *length > kLongestUs || std::abs(*begin) > 1e18) return;
  if (kernels_.size() >= kMostKernels) {
    full_ = true;
    return;
  }
  absl::string_view group, collective;
  if (const auto args = document.FindMember("args"); args != document.MemberEnd() && args->value.IsObject()) {
    group = TextOf(args->value, "Process Group Description");
    collective = TextOf(args->value, "Collective name");
  }
  kernels_.push_back({*begin, *begin + *length, WorkOf(TextOf(document, "name"), group, collective)});
}

bool TraceReader::BeginsEvents(char byte) {
  if (matched_ == kEventsKey.size()) {
    if (byte == '[') return true;
    if (byte == ':' || absl::ascii_isspace(static_cast<unsigned char>(byte))) return false;
    matched_ = 0;
  }
  matched_ = byte == kEventsKey[matched_] ? matched_ + 1 : byte == '"' ? 1 : 0;
  return false;
}

void TraceReader::Push(absl::string_view bytes) {
  for (const char byte : bytes) {
    if (ended_) return;
    if (!in_events_) {
      in_events_ = BeginsEvents(byte);
      continue;
    }
    if (depth_ == 0) {
      ended_ = byte == ']';
      if (byte != '{') continue;
    }
    if (event_.size() < kMostEventBytes) {
      event_ += byte;
    } else {
      skip_ = true;
    }
    if (in_text_) {
      in_text_ = escaped_ || byte != '"';
      escaped_ = !escaped_ && byte == '\\';
      continue;
    }
    in_text_ = byte == '"';
    if (byte == '{' || byte == '[') ++depth_;
    if (byte == '}' || byte == ']') --depth_;
    if (depth_ > 0) continue;
    if (skip_) ++skipped_;
    if (!skip_) ReadEvent(event_);
    event_.clear();
    skip_ = false;
  }
}

TraceSummary TraceReader::Summary() const {
  TraceSummary summary;
  summary.kernels = static_cast<int64_t>(kernels_.size());
  summary.steps = steps_;
  summary.skipped_events = skipped_;
  summary.full = full_;
  if (kernels_.empty()) return summary;
  std::vector<Span> compute, communication, all;
  std::map<Work, std::vector<Span>> by_path;
  for (const Kernel& kernel : kernels_) {
    const Span span = {kernel.begin, kernel.end};
    all.push_back(span);
    if (kernel.work == Work::kCompute) {
      compute.push_back(span);
    } else if (kernel.work != Work::kOther) {
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
