#include "clients/cli/unified_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace flightplan::cli {
namespace {

constexpr size_t kContext = 3;
constexpr size_t kMaxTable = size_t{1} << 24;  // cells of the comparison; beyond it the middle is replaced as one

using Lines = std::vector<absl::string_view>;

// With their '\n', so that a missing last one shows.
Lines LinesOf(absl::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Step {
  char sign = ' ';
  absl::string_view line;
};

// A longest common subsequence of what is between the equal beginning and the equal end.
std::vector<Step> Compare(const Lines& a, const Lines& b) {
  size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const size_t n = a.size() - head - tail, m = b.size() - head - tail;
  std::vector<Step> steps;
  for (size_t i = 0; i < head; ++i) steps.push_back({' ', a[i]});
  std::vector<uint32_t> longest;
  const bool fits = (n + 1) * (m + 1) <= kMaxTable;
  if (fits) longest.resize((n + 1) * (m + 1));
  const auto at = [&](size_t i, size_t j) -> uint32_t& { return longest[i * (m + 1) + j]; };
  if (fits) {
    for (size_t i = n; i-- > 0;) {
      for (size_t j = m; j-- > 0;) {
        at(i, j) = a[head + i] == b[head + j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  size_t i = 0, j = 0;
  while (i < n || j < m) {
    if (fits && i < n && j < m && a[head + i] == b[head + j]) {
      steps.push_back({' ', a[head + i]});
      ++i, ++j;
    } else if (i < n && (j == m || !fits || at(i + 1, j) >= at(i, j + 1))) {
      steps.push_back({'-', a[head + i++]});
    } else {
      steps.push_back({'+', b[head + j++]});
    }
  }
  for (size_t k = a.size() - tail; k < a.size(); ++k) steps.push_back({' ', a[k]});
  return steps;
}

std::string Range(size_t first, size_t count) {
  return count == 1 ? absl::StrCat(first) : absl::StrCat(count == 0 ? first - 1 : first, ",", count);
}

}  // namespace

std::string UnifiedDiff(absl::string_view old_name, absl::string_view old_text, absl::string_view new_name,
                        absl::string_view new_text) {
  if (old_text == new_text) return "";
  const std::vector<Step> steps = Compare(LinesOf(old_text), LinesOf(new_text));
  std::string out = absl::StrCat("--- ", old_name, "\n+++ ", new_name, "\n");
  size_t old_line = 1, new_line = 1;  // of steps[at]
  size_t at = 0;
  const auto pass = [&](size_t to) {
    for (; at < to; ++at) {
      old_line += steps[at].sign != '+';
      new_line += steps[at].sign != '-';
    }
  };
  for (size_t change = 0; change < steps.size();) {
    if (steps[change].sign == ' ') {
      ++change;
      continue;
    }
    size_t last = change;  // of the hunk: changes with at most twice the context between them
    for (size_t i = change; i < steps.size() && i <= last + 2 * kContext + 1; ++i) {
      if (steps[i].sign != ' ') last = i;
    }
    pass(std::max(at, change - std::min(change, kContext)));
    const size_t end = std::min(steps.size(), last + kContext + 1);
    const size_t old_first = old_line, new_first = new_line;
    std::string body;
    for (size_t i = at; i < end; ++i) {
      absl::StrAppend(&body, std::string(1, steps[i].sign), steps[i].line);
      if (!absl::EndsWith(steps[i].line, "\n")) body += "\n\\ No newline at end of file\n";
    }
    pass(end);
    absl::StrAppend(&out, "@@ -", Range(old_first, old_line - old_first), " +", Range(new_first, new_line - new_first),
                    " @@\n", body);
    change = end;
  }
  return out;
}

std::vector<LineChange> LineChanges(absl::string_view old_text, absl::string_view new_text) {
  std::vector<LineChange> changes;
  size_t line = 0;
  bool open = false;  // the last step was a change
  for (const Step& step : Compare(LinesOf(old_text), LinesOf(new_text))) {
    if (step.sign == ' ') {
      open = false;
      ++line;
      continue;
    }
    if (!open) changes.push_back({line, 0, ""});
    open = true;
    if (step.sign == '-') {
      ++changes.back().count;
      ++line;
    } else {
      absl::StrAppend(&changes.back().text, step.line);
    }
  }
  return changes;
}

}  // namespace flightplan::cli
