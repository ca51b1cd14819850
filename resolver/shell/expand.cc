// What the references in a shell's words stand for: $NAME, $(...), $((...)); those between braces: braces.cc.
#include "resolver/shell/expand.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/saturating.h"
#include "resolver/base/work.h"
#include "resolver/shell/arithmetic.h"
#include "resolver/shell/fields.h"
#include "resolver/shell/model_script.h"
#include "resolver/shell/raw.h"
#include "resolver/shell/words.h"

namespace flightplan {
namespace {

bool IsArgument(absl::string_view name) {
  return !name.empty() && (absl::ascii_isdigit(static_cast<unsigned char>(name[0])) || name == "@" || name == "*");
}

// Substitutions that hold no command are there for what they say: `# a comment between continued lines`.
bool HoldsNoCommand(absl::string_view substitution) {
  const bool ticks = absl::ConsumePrefix(&substitution, "`") && absl::ConsumeSuffix(&substitution, "`");
  if (!ticks && !(absl::ConsumePrefix(&substitution, "$(") && absl::ConsumeSuffix(&substitution, ")"))) return false;
  const absl::string_view body = absl::StripAsciiWhitespace(substitution);
  return body.empty() || (body.front() == '#' && !absl::StrContains(body, '\n'));
}

// They only work on their words.
constexpr absl::string_view kPrintingPrograms[] = {"echo", "basename", "dirname", "seq"};

// seq LAST, seq FIRST LAST, seq FIRST STEP LAST.
std::optional<std::string> Counted(absl::string_view words) {
  constexpr int64_t kMost = 4096, kFarthest = int64_t{1} << 40;
  std::vector<int64_t> numbers;
  for (const absl::string_view word : absl::StrSplit(words, ' ', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(word, &numbers.emplace_back()) || !WithinBound(numbers.back(), kFarthest)) {
      return std::nullopt;
    }
  }
  if (numbers.empty() || numbers.size() > 3) return std::nullopt;
  const int64_t first = numbers.size() == 1 ? 1 : numbers.front();
  const int64_t step = numbers.size() == 3 ? numbers[1] : 1;
  if (step == 0 || (numbers.back() - first) / step >= kMost) return std::nullopt;
  std::string output;
  for (int64_t number = first; step > 0 ? number <= numbers.back() : number >= numbers.back(); number += step) {
    absl::StrAppend(&output, output.empty() ? "" : "\n", number);
    Work::Spend(kShellWordCosts);
  }
  return output;
}

// What such a program prints; nothing: that is not followed.
std::optional<std::string> Printed(absl::string_view program, absl::string_view words) {
  if (program == "seq") return Counted(words);
  if (absl::StartsWith(words, "-") || absl::EndsWith(words, "/")) return std::nullopt;
  if (program == "echo") return std::string(words);
  const size_t slash = words.rfind('/');
  const bool one_word = words.find_first_of(" \t") == absl::string_view::npos;
  if (!one_word || slash == absl::string_view::npos || slash == 0) return std::nullopt;
  return std::string(program == "dirname" ? words.substr(0, slash) : words.substr(slash + 1));
}

}  // namespace

TracedText ShellScanner::Raw(size_t begin, size_t end) const {
  TracedText raw;
  end = std::min(end, script_.text.size());
  Work::Spend(4 * (end - begin));
  raw.text = script_.text.substr(begin, end - begin);
  raw.offsets.assign(script_.offsets.begin() + static_cast<std::ptrdiff_t>(begin),
                     script_.offsets.begin() + static_cast<std::ptrdiff_t>(end));
  return raw;
}

TracedText ShellScanner::UnknownText(size_t start, bool unset) const {
  TracedText raw = Raw(start, at_);
  raw.MarkUnknown();
  raw.unset = unset;
  return raw;
}

// As between double quotes, but quotes are taken off.
TracedText ShellScanner::Within(size_t begin, size_t end) {
  const TracedText part = Raw(begin, end);
  if (depth_ >= kMaxShellNesting) {
    TracedText unknown = part;
    unknown.MarkUnknown();
    return unknown;
  }
  ShellScanner inner(&part, &state_);
  inner.depth_ = depth_ + 1;
  Fields fields(part.FirstOffset(-1));
  fields.Quoted();
  while (!inner.Done() && !TooLong(fields)) {
    const char c = inner.Peek();
    if (c == '\'') {
      inner.ReadSingleQuoted(&fields);
    } else if (c == '"') {
      inner.ReadDoubleQuoted(&fields);
    } else if (c == '$' || c == '`') {
      inner.Expand(&fields, Splitting::kNever);
    } else {
      if (c == '\\' && inner.Peek(1) != '\0') inner.Step();
      fields.Char(inner.Peek(), inner.Offset());
      inner.Step();
    }
  }
  return JoinWords(fields.Take());
}

std::optional<int64_t> ShellScanner::Evaluate(const TracedText& expression) {
  if (expression.unknown()) return std::nullopt;
  Work::Spend(32 * expression.text.size());  // every byte is met on the way down through the operators
  const int offset = expression.FirstOffset(Offset());
  return ShellArithmetic(expression.text, {[this](absl::string_view name) { return NumberOf(name); },
                                           [this, offset](absl::string_view name, std::optional<int64_t> value) {
                                             state_.SetNumber(std::string(name), value, offset);
                                           }});
}

std::optional<int64_t> ShellScanner::NumberOf(absl::string_view name) {
  const ShellWords* items = state_.Find(name);
  if (items == nullptr) {
    if (!state_.assume_unset()) return std::nullopt;
    state_.AssumedUnset(Offset(), name);
    return 0;
  }
  if (items->empty() || items->front().value.unknown()) return std::nullopt;
  absl::string_view text = absl::StripAsciiWhitespace(items->front().value.text);
  if (text.empty()) return 0;
  const bool negative = absl::ConsumePrefix(&text, "-");
  const std::optional<int64_t> number = ShellInteger(text);
  return number.has_value() && negative ? -*number : number;
}

// False: what begins with $(( is a command in brackets.
bool ShellScanner::ExpandArithmetic(Fields* fields) {
  const size_t start = at_;
  const int offset = Offset();
  const size_t end = EndOfBrackets(script_.text, start + 1, ')', depth_);
  if (end < start + 5 || script_.text[end - 2] != ')') return false;
  at_ = end;
  const std::optional<int64_t> value = Evaluate(Within(start + 3, end - 2));
  TracedText number;
  if (value.has_value()) {
    for (const char c : absl::StrCat(*value)) number.Add(c, offset);
  } else {
    number = UnknownText(start, false);
    state_.NotJudged(offset, number.text, "not all of it is known");
  }
  fields->Joined(number);
  return true;
}

void ShellScanner::Expand(Fields* fields, Splitting splitting) {
  const size_t start = at_;
  const int offset = Offset();
  if (AtText("$((") && ExpandArithmetic(fields)) return;
  if (Peek() == '`' || Peek(1) == '(') {
    const TracedText output = SkipSubstitution();
    if (splitting == Splitting::kNever) return fields->Joined(output);
    return fields->Split(output, ByteSet(state_.FieldSeparators()));  // without text: no word
  }
  ++at_;
  if (Peek() == '{') return ExpandBraces(fields, splitting, start);
  if (IsShellNameStart(Peek())) {
    const size_t end = EndOfName(script_.text, at_);
    const std::string name = script_.text.substr(at_, end - at_);
    at_ = end;
    return AddValues(fields, splitting, ValueOf(name, false, start), offset);
  }
  if (Peek() == '"' && splitting == Splitting::kAtBlanks) return;  // $"..." is translated text
  if (!IsShellSpecial(Peek())) return fields->Char('$', offset);
  const std::string name(1, Peek());
  ++at_;
  const ShellWords values = ValueOf(name, name == "@" || name == "*", start);
  if (name == "*" && splitting == Splitting::kNever) return fields->Joined(JoinWords(values));
  AddValues(fields, splitting, values, offset);
}

void ShellScanner::AddValues(Fields* fields, Splitting splitting, const ShellWords& values, int offset) {
  if (!state_.CountExpansion(values)) return StopExpanding(offset);
  const ByteSet separators(splitting == Splitting::kNever ? "" : state_.FieldSeparators());
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) fields->Finish();
    if (splitting == Splitting::kNever) {
      fields->Joined(values[i].value);
    } else {
      fields->Split(values[i].value, separators);
    }
  }
}

// The values of a variable; an unknown one is its own spelling, from `start` on.
ShellWords ShellScanner::ValueOf(const std::string& name, bool all_items, size_t start) {
  const int offset = start < script_.offsets.size() ? script_.offsets[start] : -1;
  const ShellWords* items = state_.Find(name);
  const bool argument = IsArgument(name);
  const bool no_value = items == nullptr || (items->size() == 1 && items->front().value.unset);
  if (no_value && state_.assume_unset() && !argument && (IsShellNameStart(name[0]) || name == "#")) {
    state_.AssumedUnset(offset, script_.text.substr(start, at_ - start));
    return {{TracedText::FromOutside(name == "#" ? "0" : ""), offset}};
  }
  if (items != nullptr) {
    return all_items || items->empty() ? ShellState::Copy(*items) : ShellState::Copy({items->front()});
  }
  const bool unset = IsShellNameStart(name[0]);
  ShellWord word{UnknownText(start, unset), offset};
  const absl::string_view why = name == "@" || name == "*" ? kNoArguments
                                : !unset                   ? kArgumentsUnknown
                                : state_.LeftOutside(name) ? kNotExported
                                                           : kNotSet;
  state_.NotJudged(offset, word.value.text, std::string(why));
  return {std::move(word)};
}

// The text of $(...) or `...`, unless its output is known.
TracedText ShellScanner::SkipSubstitution() {
  const size_t start = at_;
  const int offset = Offset();
  at_ = EndOfReference(script_.text, at_, depth_);
  if (HoldsNoCommand(absl::string_view(script_.text).substr(start, at_ - start))) return {};
  if (std::optional<TracedText> output = OutputOf(start); output.has_value()) return *std::move(output);
  TracedText raw = UnknownText(start, false);
  state_.NotJudged(offset, raw.text, std::string(kOutputUnknown));
  return raw;
}

// What $(program words) prints, where the program only works on its words, be it with separators of its own:
// $(IFS=,; echo "${LIST[*]}"). `start`: of the '$'; it ends at at_.
std::optional<TracedText> ShellScanner::OutputOf(size_t start) {
  const absl::string_view text = absl::string_view(script_.text).substr(start, at_ - start);
  if (!absl::StartsWith(text, "$(") || !absl::EndsWith(text, ")")) return std::nullopt;
  if (depth_ >= kMaxShellNesting) return std::nullopt;
  const size_t begin = start + 2, end = at_ - 1;
  if (absl::StrContains(text, "<<")) return CopiedDocument(begin, end);
  if (!absl::StartsWith(text.substr(2), "IFS=")) return PrintedBetween(begin, end);
  if (state_.every_branch()) return std::nullopt;  // the list may have more items, or less
  ShellState::Saved outside = state_.Save("IFS");
  ShellScanner inner(&script_, &state_, begin);
  inner.depth_ = depth_ + 1;
  inner.ReadAssignment();
  inner.SkipBlanks();
  const ShellWords* separators = state_.Find("IFS");
  const bool known = separators != nullptr && !separators->empty() && !separators->front().value.unknown();
  std::optional<TracedText> output;
  if (known && inner.Take(";")) {
    inner.SkipBlanks();
    if (inner.at_ < end) output = PrintedBetween(inner.at_, end);
  }
  state_.PutBack("IFS", std::move(outside));
  return output;
}

// The command stands between these places.
std::optional<TracedText> ShellScanner::PrintedBetween(size_t begin, size_t end) {
  const absl::string_view command = absl::string_view(script_.text).substr(begin, end - begin);
  if (command.find_first_of("|;&<>\n`(") != absl::string_view::npos) return std::nullopt;
  const size_t blank = command.find(' ');
  const absl::string_view program = command.substr(0, blank);
  if (program == "python3") return FlagsOfModel(begin, end);
  if (blank == absl::string_view::npos || !absl::c_linear_search(kPrintingPrograms, program)) return std::nullopt;
  const TracedText words = Within(begin + blank + 1, end);
  if (words.unknown()) return std::nullopt;
  const std::optional<std::string> output = Printed(program, absl::StripAsciiWhitespace(words.text));
  return output.has_value() ? std::optional(TracedText::FromOutside(*output)) : std::nullopt;
}

// python3 DIR/model_args_utils.py NAME, wherever the checkout lies.
std::optional<TracedText> ShellScanner::FlagsOfModel(size_t begin, size_t end) {
  const size_t printer = absl::string_view(script_.text).find(kModelScriptPrinter, begin);
  if (printer >= end) return std::nullopt;
  size_t name = printer + kModelScriptPrinter.size();
  if (script_.text[name] == '"') ++name;
  const TracedText model = Within(name, end);
  const std::string file =
      model.unknown() ? "" : ModelScriptNamed(absl::StripAsciiWhitespace(absl::string_view(model.text)));
  const std::string* const text = file.empty() ? nullptr : state_.FileNamed(file);
  const std::optional<std::string> flags = text == nullptr ? std::nullopt : FlagsOfModelScript(*text);
  return flags.has_value() ? std::optional(TracedText::FromOutside(*flags)) : std::nullopt;
}

const ShellWords* ShellScanner::FindItem(const std::string& name, const std::string& subscript, ShellWords* item) {
  const ShellWords* kept = state_.Find(absl::StrCat(name, "[", subscript, "]"));
  if (kept != nullptr) return kept;
  const ShellWords* items = state_.Find(name);
  const std::optional<int64_t> index = Evaluate(TracedText::FromOutside(subscript));
  if (items == nullptr || !index.has_value()) return nullptr;
  const auto size = static_cast<int64_t>(items->size()),
             known = static_cast<int64_t>(ShellState::KnownItems(name, *items));
  const int64_t place = *index < 0 && known == size ? *index + size : *index;
  if (place < 0 || place >= known) return nullptr;
  *item = ShellState::Copy({(*items)[static_cast<size_t>(place)]});
  return item;
}

}  // namespace flightplan
