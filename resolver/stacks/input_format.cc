#include "resolver/stacks/input_format.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "resolver/base/byte_order_mark.h"
#include "resolver/stacks/rollout_marks.h"
#include "resolver/stacks/spelling.h"

namespace flightplan {
namespace {

bool Contains(absl::string_view endings, absl::string_view name) {
  const size_t dot = name.rfind('.');
  return dot != absl::string_view::npos &&
         absl::StrContains(endings, absl::StrCat("|", absl::AsciiStrToLower(name.substr(dot)), "|"));
}

// Calls visit(line, number) with every line, numbers from 1, until it returns false.
template <typename Visitor>
void ForEachLine(absl::string_view text, Visitor visit) {
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    absl::string_view line = text.substr(0, end);
    text = end == absl::string_view::npos ? "" : text.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!visit(line, number)) return;
  }
}

size_t NameEnd(absl::string_view line) {
  size_t end = 0;
  while (end < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[end])) || absl::StrContains("_.-", line.substr(end, 1)))) {
    ++end;
  }
  return end;
}

bool IsYamlKey(absl::string_view line) {
  const size_t end = NameEnd(line);
  return end > 0 && end < line.size() && line[end] == ':' && (end + 1 == line.size() || line[end + 1] == ' ');
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// section.field=value, ++section.field=value.
bool IsOverride(absl::string_view line) {
  while (absl::ConsumePrefix(&line, "+")) {
  }
  const size_t end = NameEnd(line);
  return end > 0 && end < line.size() && line[end] == '=' && absl::StrContains(line.substr(0, end), ".");
}

// field=value: an override at the root of a configuration, and an assignment of a shell.
bool IsSetting(absl::string_view line) {
  const size_t end = NameEnd(line);
  return end > 0 && end < line.size() && line[end] == '=' && std::none_of(line.begin(), line.end(), IsBlank);
}

// "cfg.comm_overlap.x = True": a line of a recipe in Python.
bool IsPythonEdit(absl::string_view line) {
  const size_t end = NameEnd(line);
  const absl::string_view name = line.substr(0, end);
  const size_t dot = name.find('.');
  if (dot == absl::string_view::npos || !absl::StrContains(name.substr(dot + 1), ".")) return false;
  if (end == line.size() || !IsBlank(line[end])) return false;  // without a blank it is an override
  const absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.substr(end));
  return absl::StartsWith(rest, "=") && !absl::StartsWith(rest, "==");
}

const InputFormat& First(Target target) { return SpellingsOf(target).formats.front(); }

bool TakesOverrides(Target target) { return absl::EndsWith(First(target).name, "-overrides"); }

absl::string_view YamlFormat(Target target) {
  for (const InputFormat& format : SpellingsOf(target).formats) {
    if (format.file != nullptr) return format.name;
  }
  return kShellFormat;
}

// "sft", "verl.trainer.main_ppo": the first of the arguments that some stacks' launches have, above its flags.
bool IsProgramWord(absl::string_view line) {
  return std::all_of(line.begin(), line.end(),
                     [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; });
}

}  // namespace

std::vector<NamedFormat> InputFormats() {
  std::vector<NamedFormat> all;
  for (const StackSpelling* stack : AllSpellings()) {
    for (const InputFormat& format : stack->formats) all.push_back({stack->target, &format});
  }
  return all;
}

const InputFormat* FindInputFormat(absl::string_view name, Target target) {
  for (const InputFormat& format : SpellingsOf(target).formats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::string WhyNoTraining(Target target, absl::string_view text) {
  for (const InputFormat& format : SpellingsOf(target).formats) {
    if (format.no_training != nullptr) return format.no_training(text);
  }
  return "";
}

std::string WhyNoRecipe(absl::string_view text) {
  const auto marks = std::count_if(std::begin(kRolloutMarks), std::end(kRolloutMarks),
                                   [text](absl::string_view flag) { return absl::StrContains(text, flag); });
  if (marks < kEnoughRolloutMarks) return "";
  return "this program puts the words of a launch together as it runs: validate the command that it prints";
}

std::string InputFormatNames(Target target, bool file) {
  std::vector<absl::string_view> names;
  if (file) names.push_back(kShellFormat);
  for (const InputFormat& format : SpellingsOf(target).formats) {
    if (file || format.arguments != nullptr) names.push_back(format.name);
  }
  return absl::StrJoin(names, ", ");
}

const InputFormat& RecogniseArguments(absl::Span<const Argument> args, absl::string_view script, Target target) {
  const StackSpelling& stack = SpellingsOf(target);
  return stack.recognise == nullptr ? stack.formats.front() : *FindInputFormat(stack.recognise(args, script), target);
}

absl::string_view RecogniseFile(absl::string_view name, absl::string_view text, Target target) {
  if (Contains("|.yaml|.yml|", name)) return YamlFormat(target);
  if (Contains("|.py|", name)) return kPythonFormat;
  if (Contains("|.sh|.bash|.sbatch|.slurm|", name)) return kShellFormat;
  absl::ConsumePrefix(&text, kByteOrderMark);
  absl::string_view format = kShellFormat;
  bool below_word = false;
  ForEachLine(text, [&](absl::string_view line, int number) {
    if (number == 1 && absl::StartsWith(line, "#!")) return false;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line == "---") return true;
    if (IsSetting(line) && !IsOverride(line) && TakesOverrides(target)) {  // which of both, the lines below say
      format = First(target).name;
      return true;
    }
    format = kShellFormat;
    if (!below_word && IsProgramWord(line)) return below_word = true;
    if (below_word && !absl::StartsWith(line, "-") && !IsOverride(line)) return false;
    if (IsPythonEdit(line)) {
      format = kPythonFormat;
    } else if (absl::StartsWith(line, "-") || IsOverride(line)) {
      format = First(target).name;  // which of Bridge's is seen from all of them
    } else if (IsYamlKey(line)) {
      format = YamlFormat(target);
    }
    return false;
  });
  return format;
}

std::vector<Argument> ArgumentsOfLines(absl::string_view text) {
  std::vector<Argument> args;
  ForEachLine(text, [&args](absl::string_view line, int number) {
    absl::string_view words = line;
    if (number == 1) absl::ConsumePrefix(&words, kByteOrderMark);
    words = absl::StripAsciiWhitespace(words);
    if (words.empty() || words[0] == '#') return true;
    size_t begin = static_cast<size_t>(words.data() - line.data());
    size_t end = begin + words.size();
    if (const bool goes_on = end - begin >= 2 && line[end - 1] == '\\' && IsBlank(line[end - 2]); goes_on) {
      while (end > begin && (line[end - 1] == '\\' || IsBlank(line[end - 1]))) --end;  // copied out of a script
    }
    const bool split = words[0] == '-';
    while (begin < end && args.size() <= kMaxWords) {
      size_t stop = split ? line.find_first_of(" \t", begin) : end;
      stop = std::min(stop, end);
      const int index = static_cast<int>(args.size());
      if (stop > begin) {
        args.push_back({std::string(line.substr(begin, stop - begin)), {index, number, static_cast<int>(begin) + 1}});
      }
      begin = stop + 1;
    }
    return args.size() <= kMaxWords;
  });
  return args;
}

}  // namespace flightplan
