// Edits of a text that keep the rest of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

struct TextEdit {
  size_t begin = 0;
  size_t end = 0;
  std::string text;
};

class Lines {
 public:
  explicit Lines(absl::string_view text) : text_(text), starts_{0} {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }
  // npos: outside the text.
  size_t Offset(int line, int column) const {
    if (line < 1 || column < 1 || static_cast<size_t>(line) > starts_.size()) return absl::string_view::npos;
    const size_t offset = starts_[static_cast<size_t>(line) - 1] + static_cast<size_t>(column) - 1;
    return offset <= text_.size() ? offset : absl::string_view::npos;
  }
  size_t Begin(size_t offset) const { return *(std::upper_bound(starts_.begin(), starts_.end(), offset) - 1); }
  // Behind the line's '\n'.
  size_t End(size_t offset) const {
    const size_t end = text_.find('\n', offset);
    return end == absl::string_view::npos ? text_.size() : end + 1;
  }

 private:
  absl::string_view text_;
  std::vector<size_t> starts_;
};

// Edits that do not meet. Of several at one place the last stands first.
template <typename Edit>  // {size_t begin, end; ...}
class DisjointEdits {
 public:
  // All of them, or none where one meets another: false.
  bool Add(std::vector<Edit> edits) {
    std::vector<typename Places::iterator> added;
    for (Edit& edit : edits) {
      const auto next = places_.lower_bound(edit.begin);
      const bool meets = (next != places_.end() && edit.end > next->first) ||
                         (next != places_.begin() && std::prev(next)->second.end > edit.begin);
      if (meets) {
        for (const auto& place : added) places_.erase(place);
        return false;
      }
      const size_t begin = edit.begin;
      added.push_back(places_.emplace_hint(next, begin, std::move(edit)));
    }
    return true;
  }
  // keep(begin, end) for what stays of [0, size), write(edit) between, in order.
  template <typename Keep, typename Write>
  void Apply(size_t size, Keep keep, Write write) const {
    size_t at = 0;
    for (const auto& [begin, edit] : places_) {
      keep(at, begin);
      write(edit);
      at = edit.end;
    }
    keep(at, size);
  }

 private:
  using Places = std::multimap<size_t, Edit>;
  Places places_;  // by begin
};

std::string Applied(const DisjointEdits<TextEdit>& edits, absl::string_view text);

inline bool IsBlank(char c) { return c == ' ' || c == '\t'; }

}  // namespace flightplan
