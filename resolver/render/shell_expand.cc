// What the references in a shell's words stand for.
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/render/shell_arithmetic.h"
#include "resolver/render/shell_fields.h"
#include "resolver/render/shell_raw.h"
#include "resolver/render/shell_words.h"

namespace flightplan {
namespace {

constexpr absl::string_view kArgumentsUnknown = "the script's own arguments are not known";
constexpr absl::string_view kOutputUnknown = "a command's output is not known without running it";
constexpr absl::string_view kNotSet = "the variable is set neither in the script nor in the environment";
constexpr absl::string_view kNotUnderstood = "this form of a reference is not followed";

bool IsSpecial(char c) { return c != '\0' && absl::StrContains("@*#?$!-0123456789", absl::string_view(&c, 1)); }
bool IsArgument(absl::string_view name) {
  return !name.empty() && (absl::ascii_isdigit(static_cast<unsigned char>(name[0])) || name == "@" || name == "*");
}

// The longest or shortest part of the text that matches, from its front or its end, is cut off.
absl::string_view CutMatch(absl::string_view text, absl::string_view pattern, bool front, bool longest) {
  for (size_t i = 0; i <= text.size() && text.size() <= kMaxGlobText; ++i) {
    const size_t length = longest ? text.size() - i : i;
    const absl::string_view part = front ? text.substr(0, length) : text.substr(text.size() - length);
    if (MatchesGlob(pattern, part)) return front ? text.substr(length) : text.substr(0, text.size() - length);
  }
  return text;
}

}  // namespace

// ${...}, taken apart.
struct ShellScanner::Reference {
  bool length = false;    // ${#NAME}
  bool indirect = false;  // ${!NAME}
  std::string name, subscript;
  size_t operation = 0, end = 0;  // what stands behind the name, up to the closing brace
};

TracedText ShellScanner::Raw(size_t begin, size_t end) const {
  TracedText raw;
  end = std::min(end, script_.text.size());
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
  TracedText joined;
  for (const ShellWord& word : fields.Take()) joined.Append(word.value);
  return joined;
}

std::optional<int64_t> ShellScanner::Evaluate(const TracedText& expression) {
  if (expression.unknown()) return std::nullopt;
  return ShellArithmetic(expression.text, [this](absl::string_view name) -> std::optional<int64_t> {
    const ShellWords* items = state_.Find(name);
    int64_t number = 0;
    const bool known = items != nullptr && !items->empty() && !items->front().value.unknown();
    if (known && absl::SimpleAtoi(items->front().value.text, &number)) return number;
    if (items != nullptr || !state_.assume_unset()) return std::nullopt;
    state_.AssumedUnset(Offset(), name);
    return 0;
  });
}

void ShellScanner::Expand(Fields* fields, Splitting splitting) {
  const size_t start = at_;
  const int offset = Offset();
  if (AtText("$((")) {
    const size_t end = EndOfBrackets(script_.text, at_ + 1, ')', depth_);
    if (end >= start + 5 && script_.text[end - 2] == ')') {
      at_ = end;
      const std::optional<int64_t> value = Evaluate(Within(start + 3, end - 2));
      if (!value.has_value()) {
        state_.NotJudged(offset, Printable(script_.text.substr(start, end - start)), "not all of it is known");
        return fields->Joined(UnknownText(start, false));
      }
      TracedText number;
      for (const char c : absl::StrCat(*value)) number.Add(c, offset);
      return fields->Joined(number);
    }
  }
  if (Peek() == '`' || Peek(1) == '(') return fields->Joined(SkipSubstitution());
  ++at_;
  if (Peek() == '{') return ExpandBraces(fields, splitting, start);
  if (IsShellNameStart(Peek())) {
    const size_t end = EndOfName(script_.text, at_);
    const std::string name = script_.text.substr(at_, end - at_);
    at_ = end;
    return AddValues(fields, splitting, ValueOf(name, false, start), offset);
  }
  if (Peek() == '"' && splitting == Splitting::kAtBlanks) return;  // $"..." is translated text
  if (!IsSpecial(Peek())) return fields->Char('$', offset);
  const std::string name(1, Peek());
  ++at_;
  AddValues(fields, splitting, ValueOf(name, name == "@" || name == "*", start), offset);
}

void ShellScanner::AddValues(Fields* fields, Splitting splitting, const ShellWords& values, int offset) {
  if (!state_.CountExpansion(values)) return StopExpanding(offset);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) fields->Finish();
    if (splitting == Splitting::kNever) {
      fields->Joined(values[i].value);
    } else {
      fields->Split(values[i].value);
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
    if (all_items || items->empty()) return *items;
    return {items->front()};
  }
  const bool unset = IsShellNameStart(name[0]);
  ShellWord word{UnknownText(start, unset), offset};
  state_.NotJudged(offset, Printable(word.value.text), std::string(unset ? kNotSet : kArgumentsUnknown));
  return {std::move(word)};
}

// Copies the text of $(...) or `...`; a few commands that only work on their words are followed.
TracedText ShellScanner::SkipSubstitution() {
  const size_t start = at_;
  const int offset = Offset();
  at_ = EndOfReference(script_.text, at_, depth_);
  TracedText raw = UnknownText(start, false);
  absl::string_view command = raw.text;
  if (absl::ConsumePrefix(&command, "$(") && absl::ConsumeSuffix(&command, ")") && depth_ < kMaxShellNesting &&
      command.find_first_of("|;&<>\n`(") == absl::string_view::npos) {
    const size_t blank = command.find(' ');
    const absl::string_view program = command.substr(0, blank);
    if (blank != absl::string_view::npos && (program == "echo" || program == "basename" || program == "dirname")) {
      const TracedText inside = Within(start + 2 + blank + 1, at_ - 1);
      const absl::string_view text = absl::StripAsciiWhitespace(inside.text);
      const size_t slash = text.rfind('/');
      const bool plain = !inside.unknown() && !absl::StartsWith(text, "-") && !absl::EndsWith(text, "/");
      const bool one_word = text.find_first_of(" \t") == absl::string_view::npos;
      if (plain && program == "echo") return TracedText::FromOutside(text);
      if (plain && one_word && slash != absl::string_view::npos && slash > 0) {
        return TracedText::FromOutside(program == "dirname" ? text.substr(0, slash) : text.substr(slash + 1));
      }
    }
  }
  state_.NotJudged(offset, Printable(raw.text), std::string(kOutputUnknown));
  return raw;
}

const ShellWords* ShellScanner::FindItem(const std::string& name, const std::string& subscript, ShellWords* item) {
  const ShellWords* kept = state_.Find(absl::StrCat(name, "[", subscript, "]"));
  if (kept != nullptr) return kept;
  const ShellWords* items = state_.Find(name);
  const std::optional<int64_t> index = Evaluate(TracedText::FromOutside(subscript));
  if (items == nullptr || !index.has_value()) return nullptr;
  const int64_t place = *index < 0 ? *index + static_cast<int64_t>(items->size()) : *index;
  if (place < 0 || place >= static_cast<int64_t>(items->size())) return nullptr;
  *item = {(*items)[static_cast<size_t>(place)]};
  return item;
}

// ${NAME#pattern} and its kin; an empty answer: not followed.
ShellWords ShellScanner::Transformed(const ShellWords& values, absl::string_view operation) {
  ShellWords results;
  const bool upper = operation == "^^", lower = operation == ",,";
  const char op = operation[0];
  const bool doubled = operation.size() > 1 && operation[1] == op;
  absl::string_view pattern = operation.substr(doubled ? 2 : 1), replacement;
  if (op == '/') {
    const size_t slash = pattern.find('/');
    replacement = slash == absl::string_view::npos ? "" : pattern.substr(slash + 1);
    pattern = pattern.substr(0, slash);
    if (pattern.empty() || pattern.find_first_of("*?[") != absl::string_view::npos) return {};
  } else if (!upper && !lower && op != '#' && op != '%') {
    return {};
  }
  for (const ShellWord& value : values) {
    ShellWord result{TracedText(), value.offset};
    const absl::string_view text = value.value.text;
    if (upper || lower) {
      result.value = TracedText::FromOutside(upper ? absl::AsciiStrToUpper(text) : absl::AsciiStrToLower(text));
    } else if (op == '/') {
      std::string replaced;
      size_t at = 0;
      for (size_t hit = text.find(pattern); hit != std::string::npos; hit = text.find(pattern, at)) {
        absl::StrAppend(&replaced, text.substr(at, hit - at), replacement);
        at = hit + pattern.size();
        if (!doubled || replaced.size() > kMaxExpandedBytes) break;
      }
      absl::StrAppend(&replaced, text.substr(at));
      result.value = TracedText::FromOutside(replaced);
    } else {
      result.value = TracedText::FromOutside(CutMatch(text, pattern, op == '#', doubled));
    }
    if (value.value.unknown()) result.value.MarkUnknown();
    result.value.assumed = value.value.assumed;
    results.push_back(std::move(result));
  }
  return results;
}

// At '{'. Behind it stand a name, perhaps a subscript, perhaps an operation.
void ShellScanner::ExpandBraces(Fields* fields, Splitting splitting, size_t start) {
  const std::string& text = script_.text;
  const int offset = script_.offsets[start];
  const size_t behind = EndOfBrackets(text, at_, '}', depth_);
  Reference reference;
  reference.end = text[behind - 1] == '}' && behind > at_ + 1 ? behind - 1 : behind;
  size_t at = at_ + 1;
  at_ = behind;
  const auto give_up = [&](absl::string_view why) {
    TracedText raw = UnknownText(start, false);
    state_.NotJudged(offset, Printable(raw.text), std::string(why));
    fields->Joined(raw);
  };
  const auto next_is_name = [&] {
    return at + 1 < reference.end && (IsShellNameStart(text[at + 1]) || IsSpecial(text[at + 1]));
  };
  if (at < reference.end && (text[at] == '#' || text[at] == '!') && next_is_name()) {
    reference.length = text[at] == '#';
    reference.indirect = !reference.length;
    ++at;
  }
  size_t name_end = EndOfName(text, at);
  while (name_end == at && name_end < reference.end &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[name_end]))) {
    while (name_end < reference.end && absl::ascii_isdigit(static_cast<unsigned char>(text[name_end]))) ++name_end;
    break;
  }
  if (name_end == at && at < reference.end && IsSpecial(text[at])) name_end = at + 1;
  reference.name = text.substr(at, name_end - at);
  if (reference.name.empty() || name_end > reference.end) return give_up(kNotUnderstood);
  bool all_items = reference.name == "@" || reference.name == "*";
  if (name_end < reference.end && text[name_end] == '[') {
    const size_t close = std::min(EndOfBrackets(text, name_end, ']', depth_), reference.end);
    reference.subscript = Within(name_end + 1, close > name_end + 1 ? close - 1 : close).text;
    all_items = reference.subscript == "@" || reference.subscript == "*";
    name_end = close;
  }
  reference.operation = name_end;
  if (reference.indirect) {
    const ShellWords* items = state_.Find(reference.name);
    if (items == nullptr || items->empty() || items->front().value.unknown()) return give_up(kNotSet);
    reference.name = items->front().value.text;
    if (EndOfName(reference.name, 0) != reference.name.size() || reference.name.empty()) return give_up(kNotUnderstood);
  }

  ShellWords item;
  const ShellWords* found = reference.subscript.empty() || all_items
                                ? state_.Find(reference.name)
                                : FindItem(reference.name, reference.subscript, &item);
  const bool unset = found == nullptr || (found->size() == 1 && found->front().value.unset);
  absl::string_view operation =
      absl::string_view(text).substr(reference.operation, reference.end - reference.operation);
  if (reference.length) {
    if (unset || (!all_items && !found->empty() && found->front().value.unknown())) return give_up(kNotSet);
    const size_t length = all_items ? found->size() : found->empty() ? 0 : found->front().value.text.size();
    return fields->Joined(TracedText::FromOutside(absl::StrCat(length)));
  }
  if (operation.empty()) {
    if (found == nullptr && !reference.subscript.empty()) {
      if (state_.Find(reference.name) == nullptr)
        return AddValues(fields, splitting, ValueOf(reference.name, true, start), offset);
      return;  // no such item
    }
    if (found == &item || (!reference.subscript.empty() && !all_items))
      return AddValues(fields, splitting, *found, offset);
    return AddValues(fields, splitting, ValueOf(reference.name, all_items, start), offset);
  }

  const bool colon = operation[0] == ':';
  const char op = colon && operation.size() > 1 ? operation[1] : operation[0];
  const size_t word = reference.operation + (colon ? 2 : 1);
  if (op == '-' || op == '=' || op == '+' || op == '?') {
    const bool known = !unset && !(found->size() == 1 && found->front().value.unknown());
    if (!unset && !known) return give_up(kOutputUnknown);
    const bool empty = !unset && (found->empty() || (found->size() == 1 && found->front().value.text.empty()));
    const bool has_value = !unset && !(colon && empty);
    if (op == '?' && !has_value) return give_up(kNotSet);
    if (op == '+' && unset) state_.AssumedUnset(offset, Raw(start, at_).text);
    if (has_value != (op == '+')) {
      if (op == '+') return;
      return AddValues(fields, splitting, all_items || found->empty() ? *found : ShellWords{found->front()}, offset);
    }
    // "${A[@]}" as the alternative stands for all items of A.
    absl::string_view rest = absl::string_view(text).substr(word, reference.end - word);
    if (absl::ConsumePrefix(&rest, "\"${") && absl::ConsumeSuffix(&rest, "[@]}\"") &&
        EndOfName(rest, 0) == rest.size() && state_.Find(rest) != nullptr) {
      return AddValues(fields, Splitting::kNever, *state_.Find(rest), offset);
    }
    TracedText value = Within(word, reference.end);
    value.assumed = value.assumed || unset;
    if (op == '=') state_.Set(reference.name, {{value, offset}}, offset);
    return AddValues(fields, splitting, {{std::move(value), offset}}, offset);
  }
  if (unset) return give_up(kNotSet);
  const ShellWords values = all_items || found->empty() ? *found : ShellWords{found->front()};
  if (colon) {  // ${NAME:offset} and ${NAME:offset:length}
    const size_t second = operation.find(':', 1);
    const std::optional<int64_t> from =
        Evaluate(Within(reference.operation + 1, reference.operation + std::min(second, operation.size())));
    const bool has_length = second != absl::string_view::npos;
    const std::optional<int64_t> count =
        has_length ? Evaluate(Within(reference.operation + second + 1, reference.end)) : 1 << 30;
    if (!from.has_value() || *from < 0 || !count.has_value() || *count < 0) return give_up(kNotUnderstood);
    if (all_items) {
      const size_t first = std::min(static_cast<size_t>(*from), values.size());
      const size_t last = first + std::min(static_cast<size_t>(*count), values.size() - first);
      return AddValues(fields, splitting,
                       ShellWords(values.begin() + static_cast<std::ptrdiff_t>(first),
                                  values.begin() + static_cast<std::ptrdiff_t>(last)),
                       offset);
    }
    if (values.empty() || values[0].value.unknown()) return give_up(kOutputUnknown);
    const std::string& whole = values[0].value.text;
    const size_t first = std::min(static_cast<size_t>(*from), whole.size());
    return AddValues(fields, splitting,
                     {{TracedText::FromOutside(whole.substr(first, static_cast<size_t>(*count))), offset}}, offset);
  }
  // The pattern's own references are expanded; its first bytes are the operator.
  const TracedText expanded = Within(reference.operation, reference.end);
  if (expanded.unknown() || expanded.text.empty()) return give_up(kNotUnderstood);
  const ShellWords results = Transformed(values, expanded.text);
  if (results.empty() && !values.empty()) return give_up(kNotUnderstood);
  AddValues(fields, splitting, results, offset);
}

}  // namespace flightplan
