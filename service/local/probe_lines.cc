#include "service/local/probe_lines.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "resolver/base/json.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/violations.h"

namespace flightplan::service {
namespace {

constexpr int kMaxDepth = 16;
constexpr size_t kMaxErrorText = 1024;

// Deepest nesting of brackets outside strings: a parser that recurses must not be led down a garbage line.
int DepthOf(absl::string_view json) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

absl::Status Garbage(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", absl::CEscape(line.substr(0, 120))));
}

absl::Status Parse(const std::string& json, google::protobuf::Message* message) {
  const auto status = google::protobuf::util::JsonStringToMessage(json, message);
  if (status.ok()) return absl::OkStatus();
  return Garbage(absl::string_view(status.message().data(), status.message().size()), json);
}

}  // namespace

absl::Status ProbeLines::Take(absl::string_view line) {
  if (complete_ || !error_code_.empty()) {
    // Behind the profile only an error may stand, behind an error nothing.
    if (!error_code_.empty()) return Garbage("a line behind the last one", line);
  }
  if (DepthOf(line) > kMaxDepth) return Garbage("nested too deeply", line);
  rapidjson::Document document;
  if (ReadJson(line, JsonNumbers::kFinite, &document).has_value() || !document.IsObject() ||
      document.MemberCount() != 1) {
    return Garbage("no JSON object with one member", line);
  }
  const auto& member = *document.MemberBegin();
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  member.value.Accept(writer);
  return TakeMember({member.name.GetString(), member.name.GetStringLength()},
                    std::string(buffer.GetString(), buffer.GetSize()));
}

absl::Status ProbeLines::TakeMember(absl::string_view name, const std::string& json) {
  if (name == "error") {
    rapidjson::Document error;
    if (ReadJson(json, JsonNumbers::kFinite, &error).has_value() || !error.IsObject() || !error.HasMember("code") ||
        !error["code"].IsString())
      return Garbage("an error without code", json);
    error_code_ = absl::CEscape(absl::string_view(error["code"].GetString()).substr(0, 64));
    if (error.HasMember("message") && error["message"].IsString()) {
      error_message_ = absl::Utf8SafeCEscape(Utf8Prefix(error["message"].GetString(), kMaxErrorText));
    }
    return absl::OkStatus();
  }
  if (complete_) return Garbage("a line behind the profile", json);
  if (name == "progress") {
    v1::ProbeProgress progress;
    FLIGHTPLAN_RETURN_IF_ERROR(Parse(json, &progress));
    if (!(progress.done_ratio() >= 0 && progress.done_ratio() <= 1) || progress.current_row().size() > kMaxProfileText)
      return Garbage("progress out of range", json);
    if (progress_) progress_(progress);
    return absl::OkStatus();
  }
  Violations violations;
  if (name == "row") {
    v1::ProbeRow row;
    FLIGHTPLAN_RETURN_IF_ERROR(Parse(json, &row));
    RowFromMessage(row, "row", &violations);
    if (profile_.rows_size() >= kMaxProfileRows) violations.Add("row", "is one too many");
    FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
    *profile_.add_rows() = std::move(row);
    return absl::OkStatus();
  }
  if (name == "device" || name == "profile") {
    v1::HardwareProfile profile;
    FLIGHTPLAN_RETURN_IF_ERROR(Parse(json, &profile));
    ProfileFromMessage(profile, std::string(name), &violations);
    FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
    if (name == "device") {
      if (has_device_ || profile_.rows_size() > 0) return Garbage("a second device", json);
      has_device_ = true;
    } else {
      complete_ = true;
    }
    profile_ = std::move(profile);
    return absl::OkStatus();
  }
  return Garbage("no line of the protocol", name);
}

}  // namespace flightplan::service
