#include "clients/cli/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "clients/cli/text.h"

namespace flightplan::cli {
namespace {

constexpr int kGap = 2;  // cells between columns

std::vector<std::string> Lines(const std::string& text, const Column& column, int width, const Terminal& terminal) {
  if (column.max_lines == 1) return {Cut(text, width, terminal.ellipsis())};
  std::vector<std::string> lines = Wrap(text, width);
  const auto most = static_cast<size_t>(column.max_lines);
  if (most == 0 || lines.size() <= most) return lines;
  lines.resize(most);
  lines.back() =
      Cut(absl::StrCat(lines.back(), std::string(static_cast<size_t>(width), ' '), "x"), width, terminal.ellipsis());
  return lines;
}

}  // namespace

std::vector<int> Table::Widths(const std::vector<std::vector<std::string>>& shown, const Terminal& terminal) const {
  std::vector<int> widths(columns_.size(), 0);
  for (const std::vector<std::string>& row : shown) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], std::min(DisplayWidth(row[i]), columns_[i].max_width));
    }
  }
  int excess = indent_ - terminal.width;
  for (const int width : widths) excess += width == 0 ? 0 : width + kGap;
  excess -= kGap;
  while (excess > 0) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].shrink || widths[i] <= columns_[i].min_width) continue;
      if (widest == columns_.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == columns_.size()) break;  // nothing gives way: the terminal must
    --widths[widest];
    --excess;
  }
  return widths;
}

std::string Table::Render(const Terminal& terminal) const {
  std::vector<std::vector<std::string>> shown;
  shown.reserve(rows_.size());
  for (const std::vector<Cell>& row : rows_) {
    std::vector<std::string>& texts = shown.emplace_back();
    for (size_t i = 0; i < std::min(row.size(), columns_.size()); ++i) texts.push_back(terminal.Shown(row[i].text));
  }
  const std::vector<int> widths = Widths(shown, terminal);

  std::string out;
  for (size_t r = 0; r < shown.size(); ++r) {
    std::vector<std::vector<std::string>> cells;
    size_t height = 1;
    for (size_t i = 0; i < shown[r].size(); ++i) {
      cells.push_back(Lines(shown[r][i], columns_[i], widths[i], terminal));
      height = std::max(height, cells.back().size());
    }
    for (size_t line = 0; line < height; ++line) {
      std::string text(static_cast<size_t>(indent_), ' ');
      size_t pending = 0;  // spaces owed before the next visible cell, so that no line ends in spaces
      for (size_t i = 0; i < cells.size(); ++i) {
        const std::string cell = line < cells[i].size() ? cells[i][line] : "";
        const auto room = static_cast<size_t>(std::max(0, widths[i] - DisplayWidth(cell)));
        if (columns_[i].right) pending += room;
        if (!cell.empty()) {
          absl::StrAppend(&text, std::string(pending, ' '), terminal.Paint(cell, rows_[r][i].style));
          pending = 0;
        }
        if (!columns_[i].right) pending += room;
        if (widths[i] > 0) pending += kGap;
      }
      absl::StrAppend(&out, text, "\n");
    }
  }
  return out;
}

}  // namespace flightplan::cli
