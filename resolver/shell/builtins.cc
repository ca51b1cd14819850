// The shell's own commands: those that change what the rest of the script says.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/shell/arguments.h"
#include "resolver/shell/interpreter.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

// What is known of a file's name: all of it, or what stands behind the folder that only a run would know.
std::string SourcedName(const TracedText& word) {
  const size_t known = word.unknown() ? word.unknown_parts.back().end : 0;
  absl::string_view name = absl::string_view(word.text).substr(known);
  if (known > 0) absl::ConsumePrefix(&name, "/");
  return std::string(name);
}

// A format and its words. Nothing: another format than plain text with %s and %d, or not as many words.
std::optional<TracedText> Formatted(WordSpan words) {
  const TracedText& format = words[0].value;
  if (format.unknown() || absl::StrContains(format.text, '\\')) return std::nullopt;
  TracedText printed;
  size_t word = 1;
  for (size_t at = 0; at < format.text.size(); ++at) {
    if (format.text[at] != '%') {
      printed.AddRange(format, at, at + 1);
      continue;
    }
    const char kind = at + 1 < format.text.size() ? format.text[at + 1] : '\0';
    if ((kind != 's' && kind != 'd') || word >= words.size()) return std::nullopt;
    printed.Append(words[word++].value);
    ++at;
  }
  return word == words.size() && printed.text.size() <= kMaxExpandedBytes ? std::optional(printed) : std::nullopt;
}

// Of `read`.
struct ReadOptions {
  bool array = false;  // -a: the fields become the items of the one name
  bool whole = false;  // -d '': it reads beyond the first line
  bool known = true;   // no other option, as a number of bytes, decides what is read

  // Where the names begin.
  size_t Take(WordSpan words) {
    size_t at = 1;
    for (; at < words.size() && absl::StartsWith(words[at].value.text, "-"); ++at) {
      const absl::string_view letters = absl::string_view(words[at].value.text).substr(1);
      array = array || absl::StrContains(letters, 'a');
      known = known && letters.find_first_not_of("rad") == absl::string_view::npos;
      const size_t delimiter = letters.find('d');
      if (delimiter == absl::string_view::npos) continue;
      whole = true;
      known = known && delimiter + 1 == letters.size() && at + 1 < words.size() && words[at + 1].value.text.empty();
      ++at;
    }
    return std::min(at, words.size());
  }
};

TracedText FirstLine(const TracedText& text) {
  TracedText line;
  line.AddRange(text, 0, std::min(text.text.find('\n'), text.text.size()));
  return line;
}

// Without the blanks around it that separate fields.
TracedText Stripped(const TracedText& text, absl::string_view separators) {
  const auto is_blank = [&](char c) {
    return (IsShellBlank(c) || c == '\n') && absl::StrContains(separators, absl::string_view(&c, 1));
  };
  size_t begin = 0, end = text.text.size();
  while (begin < end && is_blank(text.text[begin])) ++begin;
  while (end > begin && is_blank(text.text[end - 1])) --end;
  TracedText inside;
  inside.AddRange(text, begin, end);
  return inside;
}

}  // namespace

ShellInterpreter::Builtin ShellInterpreter::FindBuiltin(absl::string_view name) {
  struct Row {
    absl::string_view name;
    Builtin builtin;
  };
  static constexpr Row kBuiltins[] = {
      {"exit", &ShellInterpreter::Leave},        {"return", &ShellInterpreter::Leave},
      {"break", &ShellInterpreter::Leave},       {"continue", &ShellInterpreter::Leave},
      {"let", &ShellInterpreter::Let},           {":", &ShellInterpreter::Succeed},
      {"true", &ShellInterpreter::Succeed},      {"echo", &ShellInterpreter::Succeed},
      {"printf", &ShellInterpreter::Print},      {"false", &ShellInterpreter::Fail},
      {"source", &ShellInterpreter::Source},     {".", &ShellInterpreter::Source},
      {"unset", &ShellInterpreter::Unset},       {"set", &ShellInterpreter::Set},
      {"shift", &ShellInterpreter::Shift},       {"read", &ShellInterpreter::ReadInput},
      {"mapfile", &ShellInterpreter::ReadInput}, {"readarray", &ShellInterpreter::ReadInput},
      {"getopts", &ShellInterpreter::ReadInput}, {"eval", &ShellInterpreter::Eval},
  };
  const auto* row =
      std::find_if(std::begin(kBuiltins), std::end(kBuiltins), [name](const Row& each) { return each.name == name; });
  return row == std::end(kBuiltins) ? nullptr : row->builtin;
}

// A jump that is only assumed or doubtful is not taken: what stands behind it may well be the launch.
ShellInterpreter::Status ShellInterpreter::Leave(WordSpan words, Mode mode) {
  if (mode != Mode::kReached) return std::nullopt;
  const absl::string_view name = words[0].value.text;
  if (name == "exit" || name == "return") {
    jump_ = name == "exit" ? Jump::kExit : Jump::kReturn;
    return std::nullopt;
  }
  if (loops_ == 0) return std::nullopt;  // as bash does
  jump_ = name == "break" ? Jump::kBreak : Jump::kContinue;
  if (words.size() < 2 || !absl::SimpleAtoi(words[1].value.text, &jumped_loops_)) jumped_loops_ = 1;
  jumped_loops_ = std::clamp(jumped_loops_, 1, loops_);
  return std::nullopt;
}

ShellInterpreter::Status ShellInterpreter::Succeed(WordSpan, Mode) { return true; }

ShellInterpreter::Status ShellInterpreter::Fail(WordSpan, Mode) { return false; }

// let EXPRESSION...
ShellInterpreter::Status ShellInterpreter::Let(WordSpan words, Mode) {
  std::optional<int64_t> value;
  for (const ShellWord& word : words.subspan(1)) value = ShellScanner(&word.value, &state_).Evaluate(word.value);
  return value.has_value() ? Status(*value != 0) : std::nullopt;
}

// printf -v NAME FORMAT WORD... puts into a variable what it would print: known where each %s or %d has a word.
ShellInterpreter::Status ShellInterpreter::Print(WordSpan words, Mode) {
  if (words.size() < 3 || words[1].value.text != "-v" || !IsVariableName(words[2].value.text)) return true;
  const std::string& name = words[2].value.text;
  std::optional<TracedText> printed = words.size() > 3 ? Formatted(words.subspan(3)) : std::nullopt;
  if (printed.has_value()) {
    state_.Set(name, {{*std::move(printed), words[2].offset}}, words[2].offset);
  } else {
    state_.SetUnknown(name, words[2].offset);
  }
  return true;
}

ShellInterpreter::Status ShellInterpreter::Source(WordSpan words, Mode) {
  const std::string file = words.size() > 1 ? words[1].value.text : "";
  const std::string name = words.size() > 1 ? SourcedName(words[1].value) : "";
  const std::string* text = name.empty() ? nullptr : files_(name);
  if (text == nullptr) {
    state_.NotJudged(words[0].offset, absl::StrCat(words[0].value.text, " ", file),
                     "a sourced file is read where it is sent beside the script");
    return std::nullopt;
  }
  if (!MayRun(text->size(), words[0].offset)) return std::nullopt;
  TracedText script = TracedText::FromOutside(*text);
  std::fill(script.offsets.begin(), script.offsets.end(), words[0].offset);  // what it says was written there
  Run(std::move(script));
  return std::nullopt;
}

// unset [-v] NAME... or NAME[subscript]; -f names functions.
ShellInterpreter::Status ShellInterpreter::Unset(WordSpan words, Mode mode) {
  bool functions = false;
  for (const ShellWord& word : words.subspan(1)) {
    absl::string_view name = word.value.text;
    if (absl::StartsWith(name, "-")) {
      functions = functions || name == "-f";
    } else if (functions) {
      if (mode != Mode::kDoubtful) functions_.erase(std::string(name));
    } else if (const size_t bracket = name.find('['); absl::ConsumeSuffix(&name, "]") && bracket < name.size()) {
      state_.UnsetItem(std::string(name.substr(0, bracket)), name.substr(bracket + 1), word.offset);
    } else {
      state_.Unset(std::string(name));
    }
  }
  return std::nullopt;
}

// set [-a] [-o allexport] [--] a b c; its other options change no words.
ShellInterpreter::Status ShellInterpreter::Set(WordSpan words, Mode) {
  for (size_t i = 1; i < words.size(); ++i) {
    const absl::string_view option = words[i].value.text;
    if (option == "--") {
      SetShellArguments(words.subspan(i + 1), &state_);
      break;
    }
    if (option.size() < 2 || (option[0] != '-' && option[0] != '+')) break;
    const bool named = absl::EndsWith(option, "o") && i + 1 < words.size();
    const bool all = absl::StrContains(option, "a") || (named && words[i + 1].value.text == "allexport");
    if (all) state_.set_export_all(option[0] == '-');
    if (named) ++i;
  }
  return std::nullopt;
}

ShellInterpreter::Status ShellInterpreter::Shift(WordSpan words, Mode mode) {
  const ShellWords* arguments = state_.Find("@");
  int64_t count = 1;
  if (words.size() > 1 && !absl::SimpleAtoi(words[1].value.text, &count)) return std::nullopt;
  if (arguments == nullptr || mode == Mode::kDoubtful || count < 0) return std::nullopt;
  const ShellWords all = *arguments;
  // What stands for many stays, since nobody knows how many of it are left.
  const size_t known = ShellState::KnownItems("@", all);
  SetShellArguments(WordSpan(all).subspan(std::min(static_cast<size_t>(count), known)), &state_);
  return std::nullopt;
}

// Only a run would know what read, mapfile, readarray and getopts put into the variables that they name.
ShellInterpreter::Status ShellInterpreter::ReadInput(WordSpan words, Mode) {
  for (const ShellWord& word : words.subspan(1)) {
    const std::string& variable = word.value.text;
    if (IsVariableName(variable)) state_.SetUnknown(variable, word.offset);
  }
  return std::nullopt;
}

// read [-r] [-d ''] NAME... or read -a NAME of a here-string or a here-document. Of one name the value is all that is
// read; of several the last one takes what is left over, with the separators in it, and that is not known.
ShellInterpreter::Status ShellInterpreter::ReadFields(WordSpan words, ShellScanner* scanner) {
  ReadOptions options;
  const WordSpan names = words.subspan(options.Take(words));
  std::optional<TracedText> input = scanner->TakeHereString();
  const ShellScanner::HereText document = scanner->HereDocumentAhead();
  const bool given = input.has_value() || !document.text.text.empty();
  if (!input.has_value()) input = scanner->Expanded(document);
  const TracedText text = options.whole ? *std::move(input) : FirstLine(*input);
  const bool known = given && options.known && !names.empty() && !text.unknown() && !absl::StrContains(text.text, '\\');
  ShellWords fields = known ? scanner->SplitFields(text) : ShellWords();
  const bool single = names.size() == 1 && !options.array;
  if (!known || (!options.array && !single && fields.size() > names.size())) {
    return ReadInput(words, Mode::kReached);
  }
  if (single) {
    state_.Set(names[0].value.text, {{Stripped(text, state_.FieldSeparators()), names[0].offset}}, names[0].offset);
  } else if (options.array) {
    state_.Set(names[0].value.text, std::move(fields), names[0].offset);
  } else {
    fields.resize(names.size());
    for (size_t i = 0; i < names.size(); ++i) state_.Set(names[i].value.text, {std::move(fields[i])}, names[i].offset);
  }
  return true;
}

ShellInterpreter::Status ShellInterpreter::Eval(WordSpan words, Mode) {
  TracedText script;
  for (const ShellWord& word : words.subspan(1)) {
    if (!script.text.empty()) script.Add(' ', word.offset);
    script.Append(word.value);
  }
  if (MayRun(script.text.size(), words[0].offset)) Run(std::move(script));
  return std::nullopt;
}

}  // namespace flightplan
