#include "resolver/read/hydra_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/plan/reading.h"

namespace flightplan {
namespace {

constexpr int kMaxDepth = 64;
constexpr absl::string_view kBareCharacters = "/-\\+._$%*@?|:";

bool IsBare(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         absl::StrContains(kBareCharacters, absl::string_view(&c, 1));
}

// A bare word that means something other than itself.
bool LooksTyped(absl::string_view word) {
  int64_t integer = 0;
  double real = 0;
  return absl::EqualsIgnoreCase(word, "null") || absl::EqualsIgnoreCase(word, "true") ||
         absl::EqualsIgnoreCase(word, "false") || absl::SimpleAtoi(word, &integer) || absl::SimpleAtod(word, &real);
}

std::string Quote(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\'", "\\\\\\'"}, {"'", "\\'"}}), "'");
}

std::string WriteText(absl::string_view text) {
  bool bare = !text.empty() && !LooksTyped(text) && !absl::StrContains(text, "\\") && !absl::StrContains(text, "$");
  for (char c : text) bare = bare && IsBare(c);
  return bare ? std::string(text) : Quote(text);
}

// Bare words become null, bool, int, float or text, in the grammar's order.
Value Typed(absl::string_view word) {
  if (absl::EqualsIgnoreCase(word, "null")) return Value();
  if (absl::EqualsIgnoreCase(word, "true")) return Value(true);
  if (absl::EqualsIgnoreCase(word, "false")) return Value(false);
  const std::string digits = absl::StrReplaceAll(word, {{"_", ""}});
  const bool numeric = !word.empty() && word.front() != '_' && word.back() != '_';
  int64_t integer = 0;
  if (numeric && absl::SimpleAtoi(digits, &integer)) return Value(integer);
  double real = 0;
  // SimpleAtod also takes "infinity" and hexadecimal, which are text to Hydra.
  const std::string lower = absl::AsciiStrToLower(word);
  const bool hydra_float = !absl::StrContains(lower, "x") && !absl::StrContains(lower, "infinity");
  if (numeric && hydra_float && absl::SimpleAtod(digits, &real)) return Value(real);
  return Value(word);
}

class Reader {
 public:
  Reader(absl::string_view text, HydraDicts dicts) : text_(text), dicts_(dicts) {}

  absl::StatusOr<Value> Read() {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Value value, Element(0));
    if (at_ == text_.size()) return value;
    if (text_[at_] == ',')
      return absl::InvalidArgumentError("a comma outside brackets asks for a sweep over several values");
    const absl::string_view rest = text_.substr(at_);
    return absl::InvalidArgumentError(absl::StrCat("unexpected '", rest.substr(0, Utf8CharacterBytes(rest)), "'"));
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Peek(char c) const { return at_ < text_.size() && text_[at_] == c; }

  absl::StatusOr<Value> Element(int depth) {
    SkipSpace();
    if (depth > kMaxDepth) return absl::InvalidArgumentError("lists nested too deep");
    absl::StatusOr<Value> value = Peek('[')                 ? ListOf(depth)
                                  : Peek('{')               ? Dict(depth)
                                  : Peek('\'') || Peek('"') ? Quoted()
                                                            : Bare();
    SkipSpace();
    return value;
  }

  absl::StatusOr<Value> ListOf(int depth) {
    ++at_;
    Value::List items;
    SkipSpace();
    while (!Peek(']')) {
      if (at_ >= text_.size()) return absl::InvalidArgumentError("'[' without ']'");
      if (items.size() >= kMaxListItems) return absl::InvalidArgumentError("too many list items");
      FLIGHTPLAN_ASSIGN_OR_RETURN(Value item, Element(depth + 1));
      items.push_back(std::move(item));
      if (Peek(',')) {
        ++at_;
      } else if (!Peek(']')) {
        return absl::InvalidArgumentError("expected ',' or ']'");
      }
    }
    ++at_;
    return Value(std::move(items));
  }

  absl::StatusOr<Value> Dict(int depth) {
    if (dicts_ == HydraDicts::kRefused) return absl::InvalidArgumentError("a {dict} is no value of one field");
    const size_t begin = at_++;
    SkipSpace();
    if (!Peek('}')) {
      do {
        const size_t colon = std::min(text_.find_first_of(":,[]{}()='\"", at_), text_.size() - 1);
        if (text_[colon] != ':' || colon == at_) return absl::InvalidArgumentError("a dict is {key:value,...}");
        at_ = colon + 1;
        FLIGHTPLAN_RETURN_IF_ERROR(Element(depth + 1).status());
      } while (Peek(',') && ++at_ < text_.size());
    }
    if (!Peek('}')) return absl::InvalidArgumentError("'{' without '}'");
    return Value(text_.substr(begin, ++at_ - begin));
  }

  // A backslash escapes the quote, and itself only in front of one.
  absl::StatusOr<Value> Quoted() {
    const char quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      size_t slashes = 0;
      while (at_ < text_.size() && text_[at_] == '\\') ++slashes, ++at_;
      if (slashes > 0 && Peek(quote)) {
        out.append(slashes / 2, '\\');
        if (slashes % 2 == 0) break;
        out += quote;
        ++at_;
      } else if (slashes > 0) {
        out.append(slashes, '\\');
      } else {
        out += text_[at_++];
      }
    }
    if (!Peek(quote)) return absl::InvalidArgumentError("a quote is not closed");
    ++at_;
    return Value(out);
  }

  // "${name}" to its brace, which OmegaConf puts another value in the place of; references lie in references.
  absl::string_view Reference() const {
    if (!absl::StartsWith(text_.substr(at_), "${")) return "";
    int open = 0;
    for (size_t end = at_ + 1; end < text_.size(); ++end) {
      open += text_[end] == '{' ? 1 : text_[end] == '}' ? -1 : 0;
      if (open == 0) return text_.substr(at_, end + 1 - at_);
    }
    return "";
  }

  absl::StatusOr<Value> Bare() {
    std::string word;
    bool escaped = false;
    while (at_ < text_.size() && !absl::StrContains(",[]{}()='\"", text_.substr(at_, 1))) {
      if (const absl::string_view reference = Reference(); !reference.empty()) {
        word.append(reference.data(), reference.size());
        at_ += reference.size();
        continue;
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size() &&
          absl::StrContains("\\,()[]{}:= \t", text_.substr(at_ + 1, 1))) {
        ++at_;
        escaped = true;
      }
      word += text_[at_++];
    }
    if (at_ < text_.size() && absl::StrContains("({='\"", text_.substr(at_, 1))) {
      return absl::InvalidArgumentError(absl::StrCat("'", text_.substr(at_, 1), "' must stand in quotes"));
    }
    const absl::string_view trimmed = absl::StripAsciiWhitespace(word);
    return escaped ? Value(trimmed) : Typed(trimmed);
  }

  absl::string_view text_;
  const HydraDicts dicts_;
  size_t at_ = 0;
};

}  // namespace

std::string WriteHydraValue(const Value& value) {
  if (value.is_none()) return "null";
  if (value.is_text()) return WriteText(value.text());
  if (value.is_float() && !std::isfinite(value.real())) {
    return std::isnan(value.real()) ? "nan" : value.real() > 0 ? "inf" : "-inf";
  }
  if (!value.is_list()) return value.ToJson();
  std::string out = "[";
  for (const Value& item : value.list()) absl::StrAppend(&out, out.size() > 1 ? "," : "", WriteHydraValue(item));
  return out + "]";
}

absl::StatusOr<Value> ReadHydraValue(absl::string_view text, HydraDicts dicts) {
  if (text.empty()) return Value("");
  return Reader(text, dicts).Read();
}

}  // namespace flightplan
