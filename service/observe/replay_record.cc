#include "service/observe/replay_record.h"

#include <openssl/sha.h>

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/tuning_variable.h"
#include "service/observe/log.h"

namespace flightplan::service {
namespace {

// The first NAME=, NAME: or "--name value" in a text whose name speaks of a secret.
absl::string_view SecretIn(absl::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (!IsNameCharacter(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && IsNameCharacter(text[end])) ++end;
    const absl::string_view name = text.substr(at, end - at);
    size_t next = end;
    while (next < text.size() && (text[next] == '"' || text[next] == '\'' || text[next] == ' ')) ++next;
    const bool set = next < text.size() && (text[next] == '=' || text[next] == ':');
    const bool flag = absl::StartsWith(name, "--");
    if ((set || flag) && NamesASecret(name)) return name;
    at = end;
  }
  return {};
}

// Letters and digits that mix as no word or number does: keys, tokens, digests.
bool LooksRandom(absl::string_view run) {
  constexpr size_t kLongest = 19;
  if (run.size() <= kLongest) return false;
  const auto is_digit = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); };
  return std::any_of(run.begin(), run.end(), is_digit) && !std::all_of(run.begin(), run.end(), is_digit);
}

// A number, a name, a path, a list of them.
bool IsPlain(absl::string_view text) {
  constexpr size_t kMost = 256;
  constexpr absl::string_view kMarks = "_-.,:/=+^*|()[]";
  if (text.size() > kMost || absl::StrContains(text, "://")) return false;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && absl::ascii_isalnum(static_cast<unsigned char>(text[end]))) ++end;
    if (LooksRandom(text.substr(at, end - at))) return false;
    if (end < text.size() && !absl::StrContains(kMarks, text.substr(end, 1))) return false;
    at = end + 1;
  }
  return true;
}

// Every spelling of every knob, without leading dashes.
const absl::flat_hash_set<std::string>& KnobSpellings() {
  static const auto* const kAll = [] {
    auto* all = new absl::flat_hash_set<std::string>();
    const auto add = [&](absl::string_view name) {
      for (absl::string_view one : absl::StrSplit(name, absl::ByAnyChar(", |"), absl::SkipEmpty())) {
        while (absl::ConsumePrefix(&one, "-")) {
        }
        all->emplace(one);
      }
    };
    for (int i = 0; i < kKnobCount; ++i) {
      const internal::KnobRow& row = Row(static_cast<Knob>(i));
      for (const char* name : {row.name, row.aliases, row.dest}) add(name);
      for (const internal::KnobWord& word : row.words) add(word.word);
    }
    for (const internal::FlagRow& flag : Flags()) add(flag.flag);
    return all;
  }();
  return *kAll;
}

bool IsKnob(absl::string_view name) { return KnobSpellings().contains(name) || FindKnob(name).has_value(); }

// "--name", "--name=value", "some.knob=value", or a value of the flag before.
bool IsKnownArgument(absl::string_view argument, bool* after_flag) {
  absl::string_view name = argument, value;
  if (const size_t equals = argument.find('='); equals != absl::string_view::npos) {
    name = argument.substr(0, equals);
    value = argument.substr(equals + 1);
  }
  const bool flag = absl::ConsumePrefix(&name, "--");
  while (!flag && absl::ConsumePrefix(&name, "+")) {
  }
  if (IsKnob(name) && !NamesASecret(name)) {
    *after_flag = flag;
    return IsPlain(value);
  }
  double number = 0;
  if (absl::StartsWith(argument, "-") && !absl::SimpleAtod(argument, &number)) return false;  // "-pVALUE"
  return *after_flag && IsPlain(argument);
}

template <class Map>
std::string TuningOnly(const Map& env, LoggedText text) {
  std::string first;  // of several, always the same one
  for (const auto& [name, value] : env) {
    const bool fine = IsTuningVariable(name) && (text == LoggedText::kAll || IsPlain(value));
    if (!fine && (first.empty() || name < first)) first = name;
  }
  // A name is the caller's text too.
  return first.empty() ? "" : IsPlain(first) ? absl::StrCat("env.", first) : "env";
}

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The first field of the whole message whose text is not plain. `spaces`: as device names have them.
std::string FieldWithText(const Message& message, absl::string_view path, bool spaces) {
  const auto* reflection = message.GetReflection();
  if (!reflection->GetUnknownFields(message).empty()) return absl::StrCat(path, path.empty() ? "" : ".", "unknown");
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    std::string here = absl::StrCat(path, path.empty() ? "" : ".", field->name());
    if (here == "arguments.values" || here == "env") continue;  // judged by themselves
    const int size = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        const Message& inner = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                    : reflection->GetMessage(message, field);
        std::string found = FieldWithText(inner, here, spaces || field->name() == "probe_profile");
        if (!found.empty()) return found;
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        std::string text = field->is_repeated() ? reflection->GetRepeatedString(message, field, i)
                                                : reflection->GetString(message, field);
        if (spaces) std::replace(text.begin(), text.end(), ' ', '_');
        if (!IsPlain(text)) return here;
      }
    }
  }
  return "";
}

std::string NotForLogs(const v1::ValidateConfigRequest& request, LoggedText text) {
  if (std::string name = TuningOnly(request.env(), text); !name.empty()) return name;
  bool after_flag = false;
  for (int i = 0; i < request.arguments().values_size(); ++i) {
    const std::string& argument = request.arguments().values(i);
    const bool fine = text == LoggedText::kAll ? SecretIn(argument).empty() : IsKnownArgument(argument, &after_flag);
    if (!fine) return absl::StrCat("arguments.values[", i, "]");
  }
  if (text == LoggedText::kAll) return std::string(SecretIn(request.file().text()));
  return request.file().text().empty() ? "" : "file.text";
}

}  // namespace

std::string NotForLogs(const google::protobuf::Message& request, LoggedText text) {
  std::string where;
  if (const auto* resolve = google::protobuf::DynamicCastToGenerated<v1::ResolveConfigRequest>(&request)) {
    where = TuningOnly(resolve->env(), text);
  } else if (const auto* validate = google::protobuf::DynamicCastToGenerated<v1::ValidateConfigRequest>(&request)) {
    where = NotForLogs(*validate, text);
  } else {
    return "requests of this type";
  }
  if (where.empty() && text == LoggedText::kNone) where = FieldWithText(request, "", /*spaces=*/false);
  return where;
}

std::string FastSha256Hex(absl::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

void ReplayRecord::AppendTo(JsonLine* line) const {
  line->Text("answer_sha256", answer_sha256);
  line->Number("answer_bytes", answer_bytes);
  if (withheld.empty()) {
    line->Text("request", request);
  } else {
    line->Text("request_withheld", withheld);
  }
}

ReplayRecord MakeReplayRecord(const google::protobuf::Message& request, LoggedText text, absl::string_view canonical,
                              absl::string_view answer) {
  ReplayRecord record{FastSha256Hex(answer), static_cast<int64_t>(answer.size())};
  record.withheld = NotForLogs(request, text);
  if (record.withheld.empty()) record.request = absl::Base64Escape(canonical);
  return record;
}

}  // namespace flightplan::service
