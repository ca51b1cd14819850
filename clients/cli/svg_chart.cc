#include "clients/cli/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace flightplan::cli {
namespace {

constexpr double kWidth = 640, kHeight = 340, kLeft = 64, kRight = 16, kTop = 30, kBottom = 46;
constexpr int kCurveSteps = 120;

// A step of 1, 2 or 5 times a power of ten that cuts the range into four to eight.
double StepFor(double range) {
  const double rough = range / 6, power = std::pow(10, std::floor(std::log10(rough)));
  for (double step : {1.0, 2.0, 5.0, 10.0}) {
    if (step * power >= rough) return step * power;
  }
  return 10 * power;
}

class Frame {
 public:
  explicit Frame(const Chart& chart) : log_x_(chart.log_x) {
    low_x_ = std::numeric_limits<double>::infinity(), high_x_ = -low_x_;
    for (const ChartSeries& series : chart.series) {
      for (const ChartPoint& point : series.points) {
        low_x_ = std::min(low_x_, point.x);
        high_x_ = std::max(high_x_, point.x);
        high_y_ = std::max(high_y_, point.high / chart.y_unit);
      }
    }
    if (!(high_x_ > low_x_)) low_x_ = 1, high_x_ = 2;
    step_y_ = StepFor(high_y_ > 0 ? high_y_ * 1.05 : 1);
    high_y_ = std::ceil(high_y_ * 1.02 / step_y_) * step_y_;
    if (!(high_y_ > 0)) high_y_ = step_y_;
  }

  double X(double x) const {
    const double at = log_x_ ? std::log(x / low_x_) / std::log(high_x_ / low_x_) : (x - low_x_) / (high_x_ - low_x_);
    return kLeft + at * (kWidth - kLeft - kRight);
  }
  double Y(double y) const { return kHeight - kBottom - y / high_y_ * (kHeight - kTop - kBottom); }
  double AtShare(double share) const {
    return log_x_ ? low_x_ * std::pow(high_x_ / low_x_, share) : low_x_ + share * (high_x_ - low_x_);
  }

  std::string Axes(const Chart& chart) const {
    std::string svg;
    for (int i = 0; i * step_y_ <= high_y_ * 1.0001; ++i) {
      const double y = i * step_y_;
      absl::StrAppendFormat(&svg, "<line class='grid' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", kLeft,
                            kWidth - kRight, Y(y), Y(y));
      absl::StrAppendFormat(&svg, "<text class='tick' x='%.1f' y='%.1f' text-anchor='end'>%g</text>", kLeft - 8,
                            Y(y) + 4, y);
    }
    std::vector<double> ticks;
    if (log_x_) {
      for (int i = static_cast<int>(std::ceil(std::log2(low_x_))); std::ldexp(1.0, i) <= high_x_; ++i) {
        ticks.push_back(std::ldexp(1.0, i));
      }
      while (ticks.size() > 10) {
        for (size_t i = 1; i < ticks.size(); ++i) ticks.erase(ticks.begin() + static_cast<std::ptrdiff_t>(i));
      }
    } else {
      const double step = StepFor(high_x_ - low_x_);
      const double first = std::ceil(low_x_ / step) * step;
      for (int i = 0; first + i * step <= high_x_; ++i) ticks.push_back(first + i * step);
    }
    for (double x : ticks) {
      absl::StrAppendFormat(&svg, "<line class='grid' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", X(x), X(x), kTop,
                            kHeight - kBottom);
      absl::StrAppendFormat(&svg, "<text class='tick' x='%.1f' y='%.1f' text-anchor='middle'>%g</text>", X(x),
                            kHeight - kBottom + 18, x);
    }
    absl::StrAppendFormat(&svg, "<text class='title' x='%.1f' y='%.1f' text-anchor='middle'>%s</text>",
                          (kLeft + kWidth - kRight) / 2, kHeight - 8, EscapeHtml(chart.x_title));
    absl::StrAppendFormat(&svg, "<text class='title' x='4' y='16'>%s</text>", EscapeHtml(chart.y_title));
    return svg;
  }

 private:
  const bool log_x_;
  double low_x_, high_x_, high_y_ = 0, step_y_ = 1;
};

std::string Curve(const ChartSeries& series, const Frame& frame, double unit, size_t index) {
  std::string path;
  double low = INFINITY, high = 0;
  for (const ChartPoint& point : series.points) low = std::min(low, point.x), high = std::max(high, point.x);
  for (int i = 0; i <= kCurveSteps; ++i) {
    const double x = frame.AtShare(static_cast<double>(i) / kCurveSteps);
    if (x < low * 0.999 || x > high * 1.001) continue;
    const double y = series.curve(x) / unit;
    if (std::isfinite(y))
      absl::StrAppendFormat(&path, "%s%.1f,%.1f", path.empty() ? "M" : " L", frame.X(x), frame.Y(y));
  }
  return absl::StrFormat("<path class='curve s%d' d='%s'/>", index, path);
}

std::string Points(const ChartSeries& series, const Frame& frame, double unit, size_t index) {
  std::string svg;
  for (const ChartPoint& p : series.points) {
    const double x = frame.X(p.x), y = frame.Y(p.y / unit);
    absl::StrAppendFormat(&svg, "<line class='bar s%d' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", index, x, x,
                          frame.Y(p.low / unit), frame.Y(p.high / unit));
    absl::StrAppendFormat(
        &svg, "<circle class='%s s%d' cx='%.1f' cy='%.1f' r='3.5'><title>%s: %g at %g (%g to %g)</title></circle>",
        series.emulated ? "hollow" : "dot", index, x, y, EscapeHtml(series.name), p.y / unit, p.x, p.low / unit,
        p.high / unit);
  }
  return svg;
}

std::string Legend(const Chart& chart) {
  std::string svg;
  double x = kWidth - kRight;
  for (size_t i = chart.series.size(); i-- > 0;) {
    x -= 7.0 * static_cast<double>(chart.series[i].name.size()) + 26;
    absl::StrAppendFormat(&svg, "<circle class='%s s%d' cx='%.1f' cy='12' r='4'/>",
                          chart.series[i].emulated ? "hollow" : "dot", i, x);
    absl::StrAppendFormat(&svg, "<text class='legend' x='%.1f' y='16'>%s</text>", x + 9,
                          EscapeHtml(chart.series[i].name));
  }
  return svg;
}

}  // namespace

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string RenderChart(const Chart& chart) {
  const Frame frame(chart);
  std::string svg = absl::StrFormat("<svg viewBox='0 0 %.0f %.0f' role='img' aria-label='%s against %s'>", kWidth,
                                    kHeight, EscapeHtml(chart.y_title), EscapeHtml(chart.x_title));
  svg += frame.Axes(chart) + Legend(chart);
  for (size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].curve) svg += Curve(chart.series[i], frame, chart.y_unit, i);
    svg += Points(chart.series[i], frame, chart.y_unit, i);
  }
  return svg + "</svg>";
}

}  // namespace flightplan::cli
