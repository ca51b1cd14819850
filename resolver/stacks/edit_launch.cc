#include "resolver/stacks/edit_launch.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "resolver/read/hydra_value.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/text_edits.h"

namespace flightplan {
namespace {

// ---- which words change

// Replaces args [index, index + count) by `words`; count 0: in front of args[index].
struct WordEdit {
  size_t index = 0;
  size_t count = 0;
  std::vector<std::string> words;
  Assignment assignment;
};

struct WordEdits {
  std::vector<WordEdit> edits;
  Patch unwritten;
};

bool IsFlag(absl::string_view word) {
  return word.size() > 1 && word[0] == '-' && !std::isdigit(static_cast<unsigned char>(word[1])) && word[1] != '.';
}

// The words that say this in the target's own language. Empty: by saying nothing; nullopt: it has none.
std::optional<std::vector<std::string>> WordsFor(const Assignment& assignment, const Environment& env) {
  if (StackOf(env).container) {
    const absl::string_view section = BridgeSectionOf(assignment.knob);
    if (section.empty()) return std::nullopt;
    return std::vector<std::string>{
        absl::StrCat(section, ".", FieldNameOf(assignment.knob), "=",
                     assignment.value.is_none() ? "null" : WriteHydraValue(assignment.value))};
  }
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  config.Set(assignment.knob, assignment.value, Origin::kCaller);
  Launch launch = RenderDialect(OwnDialect(env.target), {config, env, {}});
  if (!launch.unspelled.empty()) return std::nullopt;
  return std::move(launch.argv);
}

// Flag and values, or one word with '='.
size_t WordCount(absl::Span<const Argument> args, size_t index) {
  if (!IsFlag(args[index].text) || absl::StrContains(args[index].text, "=")) return 1;
  size_t end = index + 1;
  while (end < args.size() && !IsFlag(args[end].text)) ++end;
  return end - index;
}

// The same flag with another value, or all words anew.
WordEdit Replace(const WrittenLaunch& launch, const ParsedKnob& written, std::vector<std::string> words,
                 const Assignment& assignment) {
  const size_t index = static_cast<size_t>(written.at.index);
  const std::string& old = launch.args[index].text;
  WordEdit edit{index, WordCount(launch.args, index), std::move(words), assignment};
  const size_t equals = old.find('=');
  if (IsFlag(old) && equals != std::string::npos && edit.words.size() == 2) {
    edit.words = {absl::StrCat(old.substr(0, equals + 1), edit.words[1])};
  } else if (edit.words.size() == edit.count && edit.count > 1 && edit.words[0] == old) {
    edit.words.erase(edit.words.begin());  // the flag stays
    ++edit.index;
    --edit.count;
  }
  return edit;
}

// Bridge's flags: -ep 64 is changed where 64 is the knob's value, so that a flag which sets several knobs stays.
std::optional<WordEdit> ReplaceFlagValue(const WrittenLaunch& launch, const ParsedKnob& written,
                                         const Assignment& assignment) {
  const size_t index = static_cast<size_t>(written.at.index);
  const std::string& old = launch.args[index].text;
  if (written.value.is_none() || written.value.is_bool() || assignment.value.is_none()) return std::nullopt;
  const std::string now = written.value.ToText(), next = assignment.value.ToText();
  const size_t equals = old.find('=');
  if (equals != std::string::npos) {
    if (old.substr(equals + 1) != now) return std::nullopt;
    return WordEdit{index, 1, {absl::StrCat(old.substr(0, equals + 1), next)}, assignment};
  }
  if (index + 1 >= launch.args.size() || launch.args[index + 1].text != now) return std::nullopt;
  return WordEdit{index + 1, 1, {next}, assignment};
}

WordEdits PlanEdits(const WrittenLaunch& launch, const Patch& patch, const Environment& env) {
  WordEdits plan;
  for (const Assignment& assignment : patch) {
    std::optional<std::vector<std::string>> words;
    if (assignment.env_var.empty()) words = WordsFor(assignment, env);
    if (!words.has_value()) {
      plan.unwritten.push_back(assignment);
      continue;
    }
    std::vector<const ParsedKnob*> written;
    for (const ParsedKnob& parsed : launch.knobs) {
      const bool placed = parsed.at.index >= 0 && static_cast<size_t>(parsed.at.index) < launch.args.size();
      if (parsed.knob == assignment.knob && placed) written.push_back(&parsed);
    }
    if (written.empty()) {
      if (!words->empty()) plan.edits.push_back({launch.args.size(), 0, *std::move(words), assignment});
      continue;
    }
    if (words->empty()) {  // said by saying nothing: every mention goes
      for (const ParsedKnob* parsed : written) plan.edits.push_back(Replace(launch, *parsed, {}, assignment));
      continue;
    }
    const ParsedKnob& last = *written.back();  // the last one holds
    const bool flag = IsFlag(launch.args[static_cast<size_t>(last.at.index)].text);
    if (!StackOf(env).container || !flag) {
      plan.edits.push_back(Replace(launch, last, *std::move(words), assignment));
    } else if (auto edit = ReplaceFlagValue(launch, last, assignment); edit.has_value()) {
      plan.edits.push_back(*std::move(edit));
    } else {
      plan.unwritten.push_back(assignment);
    }
  }
  return plan;
}

// ---- text

class ArgumentFile {
 public:
  ArgumentFile(absl::string_view text, absl::Span<const Argument> args, bool shell)
      : text_(text), lines_(text), args_(args), shell_(shell) {}

  // These go: nothing is put in front of them.
  void Leaves(size_t index, size_t count) {
    for (size_t i = index; i < index + count; ++i) leaving_.insert(i);
  }

  // The text edits of one word edit; empty when the words do not stand in the text as they are.
  std::optional<std::vector<TextEdit>> Edit(const WordEdit& edit) const {
    if (edit.count == 0) return Insert(edit.words);
    std::vector<TextEdit> edits;
    for (size_t i = 0; i < edit.count; ++i) {
      const std::optional<TextEdit> place = PlaceOf(args_[edit.index + i]);
      if (!place.has_value()) return std::nullopt;
      edits.push_back(*place);
    }
    if (edit.words.empty()) return DeleteWords(edit, edits);
    const std::vector<TextEdit> places = edits;
    for (size_t i = 0; i < std::min(edits.size(), edit.words.size()); ++i) {
      std::optional<TextEdit> place = InPlace(edits[i], edit.words[i]);
      if (!place.has_value()) return std::nullopt;
      edits[i] = *std::move(place);
    }
    if (edits.size() > edit.words.size()) {  // fewer values than before
      const TextEdit gone{BehindQuote(places[edit.words.size() - 1]), BehindQuote(places.back()), ""};
      if (absl::StrContains(text_.substr(gone.begin, gone.end - gone.begin), '\n')) return std::nullopt;
      edits.resize(edit.words.size());
      edits.push_back(gone);
    }
    std::string more;
    for (size_t i = places.size(); i < edit.words.size(); ++i) {
      absl::StrAppend(&more, " ", shell_ ? ShellQuote(edit.words[i]) : edit.words[i]);
    }
    if (more.empty()) return edits;
    if (const size_t behind = BehindQuote(places.back()); behind > places.back().end) {
      edits.push_back({behind, behind, std::move(more)});
    } else {
      edits.back().text += more;
    }
    return edits;
  }

 private:
  std::optional<TextEdit> PlaceOf(const Argument& arg) const {
    const size_t begin = lines_.Offset(arg.at.line, arg.at.column);
    if (begin == absl::string_view::npos || arg.text.empty() || arg.unknown) return std::nullopt;
    if (text_.substr(begin, arg.text.size()) == arg.text) return TextEdit{begin, begin + arg.text.size(), ""};
    return QuotedValue(begin, arg.text);
  }

  // --flag="value": the place of the whole word.
  std::optional<TextEdit> QuotedValue(size_t begin, absl::string_view word) const {
    const size_t value = word.find('=') + 1;
    if (!shell_ || value == 0 || text_.substr(begin, value) != word.substr(0, value)) return std::nullopt;
    const size_t open = begin + value, length = word.size() - value, close = open + 1 + length;
    const bool quoted =
        close < text_.size() && (text_[open] == '"' || text_[open] == '\'') && text_[close] == text_[open];
    if (!quoted || text_.substr(open + 1, length) != word.substr(value)) return std::nullopt;
    return TextEdit{begin, close + 1, ""};
  }

  // The quote that stands on both sides; 0: none does.
  char QuoteAround(const TextEdit& place) const {
    if (!shell_ || place.begin == 0 || place.end >= text_.size()) return 0;
    const char quote = text_[place.begin - 1];
    return (quote == '"' || quote == '\'') && text_[place.end] == quote ? quote : '\0';
  }

  bool QuotesValue(const TextEdit& place) const {
    const absl::string_view word = text_.substr(place.begin, place.end - place.begin);
    const size_t equals = word.find('=');
    return shell_ && equals != absl::string_view::npos && equals + 2 < word.size() && word.back() == word[equals + 1] &&
           (word.back() == '"' || word.back() == '\'');
  }
  // Of --flag="value": as it was quoted where that will do, else the value in quotes of our own.
  std::optional<TextEdit> KeepQuotes(TextEdit place, const std::string& word) const {
    const char quote = text_[place.end - 1];
    const size_t value = word.find('=') + 1;
    if (value == 0) {
      place.text = ShellQuote(word);
    } else if (word.find_first_of(quote == '"' ? "\"\\$`" : "'", value) != std::string::npos) {
      place.text = absl::StrCat(word.substr(0, value), ShellQuote(word.substr(value)));
    } else {
      place.text =
          absl::StrCat(word.substr(0, value), std::string(1, quote), word.substr(value), std::string(1, quote));
    }
    return place;
  }

  size_t BehindQuote(const TextEdit& place) const { return place.end + (QuoteAround(place) != 0 ? 1 : 0); }

  // Another word at this place. Inside quotes it needs no further ones, but must not end them.
  std::optional<TextEdit> InPlace(TextEdit place, const std::string& word) const {
    if (QuotesValue(place)) return KeepQuotes(std::move(place), word);
    const bool opened = place.begin > 0 && (text_[place.begin - 1] == '"' || text_[place.begin - 1] == '\'');
    if (!shell_ || !opened) {
      place.text = shell_ ? ShellQuote(word) : word;
      return place;
    }
    const absl::string_view special = text_[place.begin - 1] == '"' ? "\"\\$`" : "'";
    if (word.find_first_of(std::string(special)) != std::string::npos) return std::nullopt;
    place.text = word;
    return place;
  }

  // The place with its quotes; empty where it is a part of a longer word, such as EP=64 or "--ep 64".
  std::optional<TextEdit> WholeWord(TextEdit place) const {
    if (QuoteAround(place) != 0) {
      --place.begin;
      ++place.end;
    }
    if (!shell_) return place;
    const bool begins = place.begin == 0 || absl::StrContains(" \t\n(\"'", text_.substr(place.begin - 1, 1));
    const bool ends = place.end >= text_.size() || absl::StrContains(" \t\r\n);&|\"'", text_.substr(place.end, 1));
    if (!begins || !ends) return std::nullopt;
    return place;
  }

  // Behind blanks and line continuations.
  size_t BehindBlanks(size_t at) const {
    while (at < text_.size()) {
      if (IsBlank(text_[at]) || text_[at] == '\n' || text_[at] == '\r') {
        ++at;
      } else if (text_[at] == '\\' && at + 1 < text_.size() && (text_[at + 1] == '\n' || text_[at + 1] == '\r')) {
        at += 2;
      } else {
        break;
      }
    }
    return at;
  }

  // Behind "$NAME" or ${NAME}, the whole of one word; `at` itself where something else stands there.
  size_t BehindReference(size_t at) const {
    const bool quoted = at < text_.size() && text_[at] == '"';
    size_t end = at + (quoted ? 1 : 0);
    if (end >= text_.size() || text_[end] != '$') return at;
    ++end;
    const bool braces = end < text_.size() && text_[end] == '{';
    end += braces ? 1 : 0;
    const size_t name = end;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
    if (end == name) return at;
    for (const auto& [asked, close] : {std::pair(braces, '}'), std::pair(quoted, '"')}) {
      if (asked && (end >= text_.size() || text_[end] != close)) return at;
      end += asked ? 1 : 0;
    }
    const bool ends = end >= text_.size() || absl::StrContains(" \t\r\n);&|", text_.substr(end, 1));
    return ends ? end : at;
  }

  // Takes a flag away with its values, which stand behind it or, one of them, in a variable.
  std::optional<std::vector<TextEdit>> DeleteWords(const WordEdit& edit, const std::vector<TextEdit>& places) const {
    std::vector<TextEdit> words;
    for (const TextEdit& place : places) {
      std::optional<TextEdit> word = WholeWord(place);
      const bool next = words.empty() || (word.has_value() && BehindBlanks(words.back().end) == word->begin);
      if (next && word.has_value()) {
        words.push_back(*std::move(word));
        continue;
      }
      const size_t begin = words.empty() ? 0 : BehindBlanks(words.back().end);
      if (words.empty() || edit.count != 2 || BehindReference(begin) == begin) return std::nullopt;
      words.push_back({begin, BehindReference(begin), ""});
    }
    return Delete(words);
  }

  // In front of the last flag or override that stands in the text as itself.
  std::optional<std::vector<TextEdit>> Insert(const std::vector<std::string>& words) const {
    for (size_t i = args_.size(); i-- > 0;) {
      const bool flag =
          IsFlag(args_[i].text) || (i > 0 && !IsFlag(args_[i - 1].text) && absl::StrContains(args_[i].text, "="));
      const std::optional<TextEdit> place = flag ? PlaceOf(args_[i]) : std::nullopt;
      if (!place.has_value() || leaving_.count(i) > 0) continue;
      std::vector<std::string> quoted;
      quoted.reserve(words.size());
      for (const std::string& word : words) quoted.push_back(shell_ ? ShellQuote(word) : word);
      const size_t at = place->begin - (QuoteAround(*place) != 0 ? 1 : 0);
      return std::vector<TextEdit>{{at, at, InFrontOf(at, absl::StrJoin(quoted, " "))}};
    }
    return std::nullopt;
  }

  std::string InFrontOf(size_t at, const std::string& words) const {
    const size_t line = lines_.Begin(at);
    const absl::string_view indent = text_.substr(line, at - line);
    if (!std::all_of(indent.begin(), indent.end(), IsBlank)) return words + " ";
    const bool continued = shell_ && (EndsInBackslash(line) || (line > 0 && EndsInBackslash(lines_.Begin(line - 1))));
    return absl::StrCat(words, continued ? " \\" : "", "\n", indent);
  }

  bool EndsInBackslash(size_t offset) const {
    const absl::string_view line = text_.substr(offset, lines_.End(offset) - offset);
    return absl::EndsWith(absl::StripTrailingAsciiWhitespace(line), "\\");
  }

  std::optional<std::vector<TextEdit>> Delete(const std::vector<TextEdit>& words) const {
    const TextEdit all{words.front().begin, words.back().end, ""};
    const size_t begin = lines_.Begin(all.begin), end = lines_.End(all.end);
    const absl::string_view before = text_.substr(begin, all.begin - begin);
    const absl::string_view behind = absl::StripAsciiWhitespace(text_.substr(all.end, end - all.end));
    const bool alone = std::all_of(before.begin(), before.end(), IsBlank) && (behind.empty() || behind == "\\");
    const bool several = absl::StrContains(text_.substr(all.begin, all.end - all.begin), '\n');
    if (several && !alone && shell_) return std::nullopt;
    if (!alone) {
      size_t from = all.begin;
      while (from > begin && IsBlank(text_[from - 1])) --from;
      if (from == begin) from = all.begin;  // what comes behind keeps the line's indent
      return std::vector<TextEdit>{{from, all.end, ""}};
    }
    // The last line of a command has no backslash: the one before must lose its own.
    if (shell_ && behind.empty() && begin > 0 && EndsInBackslash(lines_.Begin(begin - 1))) {
      const size_t backslash = text_.rfind('\\', begin - 1);
      return std::vector<TextEdit>{{backslash, end, end > all.end ? "\n" : ""}};
    }
    return std::vector<TextEdit>{{begin, end, ""}};
  }

  absl::string_view text_;
  Lines lines_;
  absl::Span<const Argument> args_;
  bool shell_;
  std::set<size_t> leaving_;  // indices of words
};

// NAME=value where the script sets it last; else an export behind the script's first comments.
std::string WithVariable(const std::string& text, const Assignment& assignment) {
  const std::string value = assignment.value.is_none() ? "" : ShellQuote(assignment.value.ToText());
  const std::string name = assignment.env_var + "=";
  const Lines lines(text);
  size_t insert = 0;
  bool heading = true;
  std::optional<TextEdit> edit;
  for (size_t at = 0; at < text.size(); at = lines.End(at)) {
    const absl::string_view whole = absl::string_view(text).substr(at, lines.End(at) - at);
    absl::string_view line = absl::StripAsciiWhitespace(whole);
    heading = heading && (line.empty() || line[0] == '#' || absl::StartsWith(line, "set "));
    if (heading) insert = lines.End(at);
    const bool exports = absl::ConsumePrefix(&line, "export ");
    if (!absl::StartsWith(line, name) || absl::StrContains(line, ";") || (!exports && absl::StrContains(line, " ")))
      continue;
    const size_t begin = static_cast<size_t>(line.data() - text.data());
    edit = assignment.value.is_none() ? TextEdit{at, lines.End(at), ""}
                                      : TextEdit{begin + name.size(), begin + line.size(), value};
  }
  if (!edit.has_value() && !assignment.value.is_none()) {
    edit = TextEdit{insert, insert, absl::StrCat("export ", name, value, "\n")};
  } else if (!edit.has_value()) {
    edit = TextEdit{insert, insert, absl::StrCat("unset ", assignment.env_var, "\n")};
  }
  DisjointEdits<TextEdit> edits;
  edits.Add({*std::move(edit)});
  return Applied(edits, text);
}

}  // namespace

EditedArguments EditArguments(const WrittenLaunch& launch, const Patch& patch, const Environment& env) {
  WordEdits plan = PlanEdits(launch, patch, env);
  EditedArguments out;
  out.unwritten = std::move(plan.unwritten);
  struct Words {
    size_t begin, end;
    std::vector<std::string> words;
  };
  DisjointEdits<Words> edits;
  for (WordEdit& edit : plan.edits) {
    if (!edits.Add({{edit.index, edit.index + edit.count, std::move(edit.words)}})) {
      out.unwritten.push_back(std::move(edit.assignment));
    }
  }
  edits.Apply(
      launch.args.size(),
      [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) out.args.push_back(launch.args[i].text);
      },
      [&](const Words& words) { out.args.insert(out.args.end(), words.words.begin(), words.words.end()); });
  return out;
}

EditedText EditArgumentFile(absl::string_view text, const WrittenLaunch& launch, const Patch& patch,
                            const Environment& env, bool shell) {
  WordEdits plan = PlanEdits(launch, patch, env);
  ArgumentFile file(text, launch.args, shell);
  for (const WordEdit& edit : plan.edits) {
    if (edit.words.empty()) file.Leaves(edit.index, edit.count);
  }
  EditedText out;
  DisjointEdits<TextEdit> edits;
  for (WordEdit& edit : plan.edits) {
    std::optional<std::vector<TextEdit>> places = file.Edit(edit);
    if (!places.has_value() || !edits.Add(*std::move(places))) out.unwritten.push_back(std::move(edit.assignment));
  }
  out.text = Applied(edits, text);
  for (const Assignment& assignment : plan.unwritten) {
    if (shell && !assignment.env_var.empty()) {
      out.text = WithVariable(out.text, assignment);
    } else {
      out.unwritten.push_back(assignment);
    }
  }
  return out;
}

}  // namespace flightplan
