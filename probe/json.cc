#include "probe/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace flightplan::probe {
namespace {

constexpr int kMostDepth = 32;

class Parser {
 public:
  Parser(std::string_view text, std::string* error) : text_(text), error_(error) {}

  std::optional<Json> Whole() {
    Json value;
    if (!Value(&value, 0)) return std::nullopt;
    Space();
    if (at_ != text_.size()) return Fail("text after the value"), std::nullopt;
    return value;
  }

 private:
  bool Fail(const char* what) {
    if (error_->empty()) *error_ = std::string(what) + " at byte " + std::to_string(at_);
    return false;
  }
  void Space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool Take(char c) {
    Space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool Word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return Fail("unknown word");
    at_ += word.size();
    return true;
  }

  bool Value(Json* value, int depth) {
    if (depth > kMostDepth) return Fail("nested too deep");
    Space();
    if (at_ >= text_.size()) return Fail("text ends");
    switch (text_[at_]) {
      case '{':
        return Object(value, depth);
      case '[':
        return List(value, depth);
      case '"':
        value->kind = Json::Kind::kText;
        return Text(&value->text);
      case 't':
        value->kind = Json::Kind::kBool, value->truth = true;
        return Word("true");
      case 'f':
        value->kind = Json::Kind::kBool;
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number(value);
    }
  }

  bool Number(Json* value) {
    value->kind = Json::Kind::kNumber;
    const char* begin = text_.data() + at_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value->number);
    if (code != std::errc() || !std::isfinite(value->number)) return Fail("no value");
    at_ += static_cast<size_t>(end - begin);
    return true;
  }

  bool List(Json* value, int depth) {
    value->kind = Json::Kind::kList;
    ++at_;
    if (Take(']')) return true;
    do {
      if (!Value(&value->list.emplace_back(), depth + 1)) return false;
    } while (Take(','));
    return Take(']') || Fail("list without ']'");
  }

  bool Object(Json* value, int depth) {
    value->kind = Json::Kind::kObject;
    ++at_;
    if (Take('}')) return true;
    do {
      auto& [name, member] = value->members.emplace_back();
      Space();
      if (at_ >= text_.size() || text_[at_] != '"' || !Text(&name)) return Fail("member without a name");
      if (!Take(':')) return Fail("member without ':'");
      if (!Value(&member, depth + 1)) return false;
    } while (Take(','));
    return Take('}') || Fail("object without '}'");
  }

  bool Text(std::string* text) {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') return ++at_, true;
      if (static_cast<unsigned char>(c) < 0x20) return Fail("control character in text");
      if (c != '\\') {
        *text += c;
      } else if (!Escape(text)) {
        return false;
      }
    }
    return Fail("text without '\"'");
  }

  bool Escape(std::string* text) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
    if (++at_ >= text_.size()) return Fail("text ends");
    if (const size_t i = kNames.find(text_[at_]); i != std::string_view::npos) return *text += kValues[i], true;
    uint32_t code = 0;
    const char* begin = text_.data() + at_ + 1;
    if (text_[at_] != 'u' || text_.size() - at_ < 5 || std::from_chars(begin, begin + 4, code, 16).ptr != begin + 4) {
      return Fail("unknown escape");
    }
    at_ += 4;
    if (code >= 0xd800 && code < 0xe000) code = '?';  // no pair is ever needed here
    if (code < 0x80) {
      *text += static_cast<char>(code);
    } else if (code < 0x800) {
      *text += static_cast<char>(0xc0 | code >> 6);
      *text += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      *text += static_cast<char>(0xe0 | code >> 12);
      *text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      *text += static_cast<char>(0x80 | (code & 0x3f));
    }
    return true;
  }

  std::string_view text_;
  std::string* error_;
  size_t at_ = 0;
};

// Bytes of the well-formed UTF-8 character at the front; 0: none.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xc2 && byte(0) < 0xe0) return follows(1) ? 2 : 0;
  if ((byte(0) & 0xf0u) == 0xe0u) {
    const bool plain = !(byte(0) == 0xe0 && byte(1) < 0xa0) && !(byte(0) == 0xed && byte(1) >= 0xa0);
    return plain && follows(1) && follows(2) ? 3 : 0;
  }
  if (byte(0) >= 0xf0 && byte(0) < 0xf5) {
    const bool plain = !(byte(0) == 0xf0 && byte(1) < 0x90) && !(byte(0) == 0xf4 && byte(1) >= 0x90);
    return plain && follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

const Json* Json::Find(std::string_view name) const {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

double Json::NumberOr(std::string_view name, double otherwise) const {
  const Json* member = Find(name);
  return member != nullptr && member->kind == Kind::kNumber ? member->number : otherwise;
}

std::string Json::TextOr(std::string_view name, std::string_view otherwise) const {
  const Json* member = Find(name);
  return std::string(member != nullptr && member->kind == Kind::kText ? std::string_view(member->text) : otherwise);
}

std::optional<Json> ParseJson(std::string_view text, std::string* error) {
  error->clear();
  return Parser(text, error).Whole();
}

void AppendQuoted(std::string_view text, std::string* out) {
  *out += '"';
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char c = length == 0 ? '?' : text[0];
    if (c == '"' || c == '\\') {
      (*out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      *out += escape;
    } else if (length <= 1) {
      *out += c;
    } else {
      *out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  *out += '"';
}

void AppendNumber(double value, std::string* out) {
  if (!std::isfinite(value)) {
    *out += "null";
    return;
  }
  char digits[40];
  // Whole numbers without an exponent: readers that want an integer take them.
  const bool whole = value == std::floor(value) && std::fabs(value) < 9e15;
  const auto end = whole ? std::to_chars(digits, digits + sizeof digits, static_cast<int64_t>(value))
                         : std::to_chars(digits, digits + sizeof digits, value);
  out->append(digits, end.ptr);
}

ObjectWriter& ObjectWriter::Key(std::string_view name) {
  if (!first_) *out_ += ',';
  first_ = false;
  AppendQuoted(name, out_);
  *out_ += ':';
  return *this;
}

ObjectWriter& ObjectWriter::Text(std::string_view name, std::string_view value) {
  Key(name);
  AppendQuoted(value, out_);
  return *this;
}

ObjectWriter& ObjectWriter::Number(std::string_view name, double value) {
  Key(name);
  AppendNumber(value, out_);
  return *this;
}

ObjectWriter& ObjectWriter::Bool(std::string_view name, bool value) {
  Key(name);
  *out_ += value ? "true" : "false";
  return *this;
}

}  // namespace flightplan::probe
