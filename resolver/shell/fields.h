// The fields that one word of a shell script becomes. Private to the scanner.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "resolver/base/work.h"
#include "resolver/shell/words.h"

namespace flightplan {

// A set of bytes.
class ByteSet {
 public:
  explicit constexpr ByteSet(std::string_view bytes) {
    for (const char c : bytes) has_[static_cast<unsigned char>(c)] = true;
  }
  bool Has(char c) const { return has_[static_cast<unsigned char>(c)]; }
  // The first of them in `text` from `begin` on, or its end.
  size_t FindIn(const std::string& text, size_t begin) const {
    while (begin < text.size() && !has_[static_cast<unsigned char>(text[begin])]) ++begin;
    return begin;
  }

 private:
  std::array<bool, 256> has_{};
};
inline constexpr ByteSet kFieldEnds(" \t\r\n");

// Quotes join, unquoted values split at the separators of IFS.
class ShellScanner::Fields {
 public:
  explicit Fields(int offset) : offset_(offset) {}

  void Char(char c, int offset) {
    current_.Add(c, offset);
    open_ = true;
  }
  void Run(const TracedText& text, size_t begin, size_t count) {
    current_.AddRange(text, begin, begin + count);
    current_.unset = false;
    open_ = true;
  }
  void Quoted() { open_ = true; }  // "" is a word
  void Joined(const TracedText& value) {
    current_.Append(value);
    open_ = true;
  }
  // At the separators of IFS. Of those that are blanks several are one; each other one ends a field, be it an empty
  // one. What stands in the spelling of what is not known splits nothing.
  void Split(const TracedText& value, const ByteSet& ends) {
    if (value.unset) return Joined(value);
    current_.assumed = current_.assumed || value.assumed;
    auto part = value.unknown_parts.begin();
    for (size_t begin = 0, at = 0; begin < value.text.size(); begin = at) {
      for (at = ends.FindIn(value.text, begin); part != value.unknown_parts.end() && part->begin <= at; ++part) {
        if (at < part->end) at = ends.FindIn(value.text, part->end);
      }
      if (at > begin) Run(value, begin, at - begin);
      if (at < value.text.size()) at = EndField(value.text, ends, at);
    }
  }
  void Finish() {
    if (open_) words_.push_back({std::move(current_), offset_});
    Work::Spend(kShellWordCosts);
    current_ = TracedText();
    open_ = false;
  }
  size_t size() const { return current_.text.size(); }
  ShellWords Take() {
    Finish();
    return std::move(words_);
  }

 private:
  // Behind the separators that stand at `at`.
  size_t EndField(const std::string& text, const ByteSet& ends, size_t at) {
    const auto skip_blanks = [&] {
      while (at < text.size() && kFieldEnds.Has(text[at]) && ends.Has(text[at])) ++at;
    };
    skip_blanks();
    if (at < text.size() && !kFieldEnds.Has(text[at]) && ends.Has(text[at])) {
      ++at;
      open_ = true;
      skip_blanks();
    }
    Finish();
    return at;
  }

  int offset_;
  ShellWords words_;
  TracedText current_;
  bool open_ = false;
};

}  // namespace flightplan
