#include "resolver/runlog/trace.h"

#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "resolver/base/json.h"
#include "resolver/runlog/scan.h"

namespace flightplan {
namespace {

constexpr absl::string_view kEventsKey = "\"traceEvents\"";
constexpr double kLongestUs = kLongestMs * 1e3;

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

}  // namespace

bool TraceReader::Recognises(absl::string_view begin) {
  if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(begin), "{")) return false;
  return absl::StrContains(begin, kEventsKey) || absl::StrContains(begin, "\"deviceProperties\"") ||
         absl::StrContains(begin, "\"distributedInfo\"");
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
  TraceSummary summary = SummaryOf(kernels_);
  summary.steps = steps_;
  summary.skipped_events = skipped_;
  summary.full = full_;
  return summary;
}

}  // namespace flightplan
