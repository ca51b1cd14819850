// Aligned columns that fit the terminal.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/terminal.h"

namespace flightplan::cli {

struct Column {
  int max_width = 1000;  // cells, however wide the terminal
  int min_width = 8;     // never made narrower than this, or than its content
  int max_lines = 1;     // longer text is wrapped onto so many lines, then cut; 0: as many as it takes
  bool shrink = false;   // gives way when the terminal is too narrow; of several, the widest first
  bool right = false;    // figures
};

struct Cell {
  std::string text;
  Style style = Style::kPlain;
  Cell(absl::string_view t, Style s = Style::kPlain) : text(t), style(s) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* t) : text(t) {}                                           // NOLINT(google-explicit-constructor)
  Cell(const std::string& t) : text(t) {}                                    // NOLINT(google-explicit-constructor)
};

class Table {
 public:
  explicit Table(std::vector<Column> columns, int indent = 2) : columns_(std::move(columns)), indent_(indent) {}

  // Missing cells are empty.
  void Row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  std::string Render(const Terminal& terminal) const;

 private:
  std::vector<int> Widths(const std::vector<std::vector<std::string>>& shown, const Terminal& terminal) const;

  std::vector<Column> columns_;
  int indent_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace flightplan::cli
