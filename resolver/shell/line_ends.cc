#include "resolver/shell/line_ends.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/byte_order_mark.h"

namespace flightplan {
namespace {

// Of `... \ # why` the place of the backslash, which ends a word there and no line.
size_t CommentBehindBackslash(absl::string_view line) {
  const size_t backslash = line.find("\\ ");
  if (backslash == absl::string_view::npos) return backslash;
  const absl::string_view behind = absl::StripLeadingAsciiWhitespace(line.substr(backslash + 1));
  return absl::StartsWith(behind, "#") ? backslash : absl::string_view::npos;
}

// How a command ends on the line above the one that was to be its next.
struct Ending {
  absl::string_view why;
  bool between = false;  // the line is none of the command's own
};

Ending EndingAbove(absl::string_view script, size_t at) {
  constexpr Ending kNoBackslash = {"no backslash"};
  const size_t end = script.substr(0, at).rfind('\n');
  if (end == absl::string_view::npos) return kNoBackslash;
  const size_t begin = script.substr(0, end).rfind('\n');
  const absl::string_view line = script.substr(begin + 1, end - begin - 1);  // npos + 1 is 0
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  if (text.empty()) return {"an empty line", true};
  if (absl::StartsWith(text, "#")) return {"a comment", true};
  if (CommentBehindBackslash(line) != absl::string_view::npos) return {"a comment behind the backslash"};
  return absl::EndsWith(text, "\\") ? Ending{"a blank behind the backslash"} : kNoBackslash;
}

bool IsBlankOrComment(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  return line.empty() || line[0] == '#';
}

// The first line of the command that goes on at `last`.
size_t FirstOfCommand(const std::vector<std::string>& lines, size_t last) {
  while (last > 0 && absl::EndsWith(lines[last - 1], "\\")) --last;
  return last;
}

// `rest`: the line where the rest of a launch stands. Its command ends above.
std::optional<std::string> Joined(std::vector<std::string> lines, size_t rest) {
  size_t last = rest;
  while (last > 0 && IsBlankOrComment(lines[last - 1])) --last;
  if (last == 0) return std::nullopt;
  std::string& end = lines[last - 1];
  std::vector<std::string> comments;
  for (size_t i = last; i < rest; ++i) {
    if (!absl::StripAsciiWhitespace(lines[i]).empty()) comments.push_back(lines[i]);
  }
  if (const size_t backslash = CommentBehindBackslash(end); backslash != absl::string_view::npos) {
    comments.insert(comments.begin(), std::string(absl::StripLeadingAsciiWhitespace(end.substr(backslash + 1))));
    end.resize(backslash + 1);
  }
  absl::StripTrailingAsciiWhitespace(&end);
  // A comment behind words would take the backslash for its own.
  if (absl::StrContains(end, " #") || absl::StrContains(end, "\t#")) return std::nullopt;
  if (!absl::EndsWith(end, "\\")) end += " \\";
  const auto at = [&lines](size_t line) { return lines.begin() + static_cast<std::ptrdiff_t>(line); };
  const size_t first = FirstOfCommand(lines, last - 1);
  lines.erase(at(last), at(rest));
  lines.insert(at(first), comments.begin(), comments.end());
  return absl::StrJoin(lines, "\n");
}

}  // namespace

void JudgeLineEnds(absl::string_view script, std::vector<ParseFinding>* findings) {
  const auto find = [findings](size_t at, absl::string_view rule_id, std::string seen, std::string needs) {
    ParseFinding entry = MakeParseFinding({-1, static_cast<int>(at), 0}, rule_id, Severity::kError, std::move(seen),
                                          std::move(needs), "bash(1), sbatch(1)");
    entry.finding.verdict = Verdict::kWillRun;
    KeepFinding(std::move(entry), findings);
  };
  if (absl::StartsWith(script, kByteOrderMark)) {
    find(0, "input.byte-order-mark", "a byte order mark in front of the first line, as on Windows",
         "a script that begins with its first line: bash takes the mark for part of the first word, which is then no "
         "comment and no command, and sbatch refuses the file; sed -i '1s/^\\xef\\xbb\\xbf//' FILE");
  }
  if (const size_t at = script.find("\r\n"); at != absl::string_view::npos) {
    find(at, "input.line-ends", "a line that ends in CR LF, as on Windows",
         "line ends as on Linux: bash takes the CR for part of the last word, so that a continued command ends there, "
         "and sbatch refuses the file; sed -i 's/\\r$//' FILE");
  }
}

std::string WithoutMark(absl::string_view script) {
  const bool marked = absl::ConsumePrefix(&script, kByteOrderMark);
  return absl::StrCat(marked ? "   " : "", script);
}

bool IsRestOfLaunch(WordSpan words) {
  const TracedText& first = words[0].value;
  const absl::string_view text = first.text;
  if (first.unknown()) return absl::EndsWith(text, "ARGS[@]}") || absl::EndsWith(text, "ARGS[*]}");
  return text.size() > 1 && text[0] == '-' && (text[1] == '-' || absl::ascii_isalpha(text[1]));
}

void JudgeContinuation(absl::string_view script, int at, std::vector<ParseFinding>* findings) {
  std::string seen = "flags right behind a launch, as a command of their own";
  std::string needs = "every line that goes on ends in a backslash, with no comment between them";
  if (at >= 0 && static_cast<size_t>(at) < script.size()) {
    const Ending ending = EndingAbove(script, static_cast<size_t>(at));
    const auto line = std::count(script.begin(), script.begin() + at, '\n');
    seen = absl::StrCat("the launch's command ends at line ", line, " (", ending.why, "): what stands from line ",
                        line + 1, " on is not passed to it");
    needs = absl::StrCat(ending.between ? absl::StrCat("take line ", line, " out of the command")
                                        : absl::StrCat("end line ", line, " in a backslash with nothing behind it"),
                         "; the rest is judged as if it were passed");
  }
  ParseFinding entry = MakeParseFinding({-1, at, 0}, "input.continuation", Severity::kError, std::move(seen),
                                        std::move(needs), "bash(1)");
  entry.finding.verdict = Verdict::kWillRun;
  KeepFinding(std::move(entry), findings);
}

std::optional<std::string> MendedLines(absl::string_view script, absl::string_view rule_id, int line) {
  if (rule_id == "input.byte-order-mark") return std::string(absl::StripPrefix(script, kByteOrderMark));
  if (rule_id == "input.line-ends") return absl::StrReplaceAll(script, {{"\r\n", "\n"}});
  if (rule_id != "input.continuation" || line < 2) return std::nullopt;
  std::vector<std::string> lines = absl::StrSplit(script, '\n');
  if (static_cast<size_t>(line) > lines.size()) return std::nullopt;
  return Joined(std::move(lines), static_cast<size_t>(line) - 1);
}

}  // namespace flightplan
