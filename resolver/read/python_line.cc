#include "resolver/read/python_line.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace flightplan {
namespace {

bool IsNameByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

absl::string_view WithoutComment(absl::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == '\\') {
        ++i;  // an escaped quote does not end the text
      } else if (line[i] == quote) {
        quote = 0;
      }
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#') {
      return line.substr(0, i);
    }
  }
  return line;
}

}  // namespace

std::optional<PythonAssignment> ReadPythonAssignment(absl::string_view line) {
  const absl::string_view statement = absl::StripAsciiWhitespace(WithoutComment(line));
  size_t end = 0;
  while (end < statement.size() && IsNameByte(statement[end])) ++end;
  absl::string_view value = absl::StripLeadingAsciiWhitespace(statement.substr(end));
  if (end == 0 || !absl::ConsumePrefix(&value, "=") || absl::StartsWith(value, "=")) return std::nullopt;
  value = absl::StripAsciiWhitespace(value);
  if (value.empty()) return std::nullopt;
  return PythonAssignment{statement.substr(0, end), value, statement};
}

std::string WritePythonValue(const Value& value) {
  if (value.is_none()) return "None";
  if (value.is_bool()) return value.truthy() ? "True" : "False";
  if (!value.is_list()) return value.ToJson();
  return absl::StrCat(
      "[",
      absl::StrJoin(value.list(), ", ",
                    [](std::string* out, const Value& item) { absl::StrAppend(out, WritePythonValue(item)); }),
      "]");
}

}  // namespace flightplan
