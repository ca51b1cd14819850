#include "clients/cli/mask_secrets.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/tuning_variable.h"

namespace flightplan::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr char kMasked[] = "***";
constexpr absl::string_view kQuotes = "\"'\\";             // a backslash stands before a quote inside quotes
constexpr absl::string_view kAfterName = "\"'\\]";         // environ["NAME"]
constexpr absl::string_view kEnds = " \t\r\n\"'\\,;&|)}";  // of a value without quotes

// A tokenizer's token is none: knobs are settings.
bool IsSecret(absl::string_view name) {
  if (!NamesASecret(name)) return false;
  while (absl::ConsumePrefix(&name, "-")) {
  }
  return !FindKnob(absl::StrReplaceAll(name, {{"-", "_"}})).has_value();
}

struct Part {
  size_t begin = 0, end = 0;  // the same: there is none
};

size_t Skip(absl::string_view text, size_t at, absl::string_view characters) {
  return std::min(text.find_first_not_of(characters, at), text.size());
}

// Where the value begins that is set, or given to a flag; npos: nothing is.
size_t ValueBegin(absl::string_view text, Part name) {
  const size_t after_quotes = Skip(text, name.end, kAfterName);
  const size_t mark = Skip(text, after_quotes, " ");
  if (mark >= text.size()) return absl::string_view::npos;
  const bool spaced = mark > after_quotes;
  if (text[mark] == '=') return spaced ? Skip(text, mark + 1, " ") : mark + 1;
  const size_t line = text.substr(0, name.begin).find_last_of('\n');
  const size_t indent = Skip(text, line == absl::string_view::npos ? 0 : line + 1, " -");
  const bool key = after_quotes > name.end || indent >= name.begin;
  if (text[mark] == ':' && key) return Skip(text, mark + 1, " ");
  const bool flag = absl::StartsWith(text.substr(name.begin), "--") && spaced && text[mark] != '-';
  return flag ? mark : absl::string_view::npos;
}

Part ValueAfter(absl::string_view text, Part name) {
  Part value;
  value.begin = ValueBegin(text, name);
  if (value.begin == absl::string_view::npos) return {};
  const size_t open = value.begin;
  value.begin = value.end = Skip(text, open, kQuotes);
  if (value.begin >= text.size()) return {};
  if (absl::StartsWith(text.substr(value.begin), "${")) {
    const size_t close = std::min(text.find('}', value.begin), text.size() - 1);
    const absl::string_view inside = text.substr(value.begin + 2, close - value.begin - 2);
    // What stands for a variable that is not set may be a secret.
    return std::all_of(inside.begin(), inside.end(), IsNameCharacter) ? Part() : Part{value.begin, close + 1};
  }
  if (text[value.begin] == '$') return {};
  const bool quoted = value.begin > open;
  value.end = std::min(quoted ? text.find(text[value.begin - 1], value.begin) : text.find_first_of(kEnds, value.begin),
                       text.size());
  while (quoted && value.end > value.begin && text[value.end - 1] == '\\') --value.end;
  return value;
}

void MaskField(Message* message, const FieldDescriptor* field) {
  const auto* const reflection = message->GetReflection();
  if (field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    std::string before;
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      std::string word = reflection->GetRepeatedString(*message, field, i);
      reflection->SetRepeatedString(message, field, i, MaskSecretWord(before, word));
      before = std::move(word);
    }
  } else if (field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      MaskSecretsIn(reflection->MutableRepeatedMessage(message, field, i));
    }
  } else if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    MaskSecretsIn(reflection->MutableMessage(message, field));
  } else if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    reflection->SetString(message, field, MaskSecrets(reflection->GetString(*message, field)));
  }
}

// Of a map of texts.
void MaskEntry(Message* entry) {
  const FieldDescriptor* const key = entry->GetDescriptor()->map_key();
  const FieldDescriptor* const value = entry->GetDescriptor()->map_value();
  const auto* const reflection = entry->GetReflection();
  const bool texts =
      key->cpp_type() == FieldDescriptor::CPPTYPE_STRING && value->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  if (texts && IsSecret(reflection->GetString(*entry, key))) return reflection->SetString(entry, value, kMasked);
  MaskField(entry, value);
}

}  // namespace

std::string MaskSecrets(absl::string_view text) {
  std::string masked;
  for (size_t at = 0; at < text.size();) {
    if (!IsNameCharacter(text[at])) {
      masked += text[at++];
      continue;
    }
    Part name{at, at};
    while (name.end < text.size() && IsNameCharacter(text[name.end])) ++name.end;
    const Part value = IsSecret(text.substr(name.begin, name.end - name.begin)) ? ValueAfter(text, name) : Part();
    const bool found = value.end > value.begin;
    absl::StrAppend(&masked, text.substr(at, (found ? value.begin : name.end) - at), found ? kMasked : "");
    at = found ? value.end : name.end;
  }
  return masked;
}

std::string MaskSecretWord(absl::string_view before, absl::string_view word) {
  if (absl::StartsWith(before, "--") && !absl::StrContains(before, '=') && IsSecret(before) &&
      !absl::StartsWith(word, "-")) {
    return kMasked;
  }
  // "HF_TOKEN=a b", "--env=HF_TOKEN=a b": one word, so that all that follows is the value.
  size_t begin = 0;
  for (size_t at = word.find('='); at != absl::string_view::npos; at = word.find('=', begin)) {
    const absl::string_view name = word.substr(begin, at - begin);
    if (!std::all_of(name.begin(), name.end(), IsNameCharacter)) break;
    if (IsSecret(name)) return absl::StrCat(word.substr(0, at + 1), kMasked);
    begin = at + 1;
  }
  return MaskSecrets(word);
}

void MaskSecretsIn(Message* message) {
  if (message->GetDescriptor()->map_key() != nullptr) return MaskEntry(message);
  std::vector<const FieldDescriptor*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) MaskField(message, field);
}

}  // namespace flightplan::cli
