// A line chart as SVG: points with their intervals, and the fitted curves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan::cli {

struct ChartPoint {
  double x = 0, y = 0, low = 0, high = 0;
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;
  std::function<double(double x)> curve;  // empty: none
  bool emulated = false;                  // hollow marks
};

struct Chart {
  std::string x_title, y_title;
  double y_unit = 1;  // values are divided by it for the axis
  bool log_x = true;
  std::vector<ChartSeries> series;  // at most five
};

// Text made safe between tags and inside quotes.
std::string EscapeHtml(absl::string_view text);

std::string RenderChart(const Chart& chart);

}  // namespace flightplan::cli
