#include "clients/cli/probe_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "clients/cli/probe_figures.h"
#include "clients/cli/svg_chart.h"
#include "resolver/evidence/fitted_profile.h"

namespace flightplan::cli {
namespace {

constexpr double kTera = 1e12;

// Colours of both themes; the five series are told apart by people who see no red or no green (Okabe and Ito).
constexpr absl::string_view kStyle = R"css(
:root{--bg:#fff;--ink:#1a1c1f;--dim:#5c6470;--line:#e3e6ea;--card:#f7f8fa;--warn:#8a4b00;--warnbg:#fff3dc;
--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#cc79a7;--s4:#7a6a00;--comm:#d55e00;--comp:#0072b2}
@media(prefers-color-scheme:dark){:root{--bg:#15171a;--ink:#e8eaed;--dim:#9aa3ae;--line:#2c3036;--card:#1c1f23;
--warn:#ffcf87;--warnbg:#3a2a10;--s0:#56b4e9;--s1:#ff8c42;--s2:#2ecc9b;--s3:#e6a0c8;--s4:#e0cf4a;--comm:#ff8c42;--comp:#56b4e9}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}h1{font-size:26px;margin:0}h2{font-size:18px;margin:34px 0 6px}
p{margin:4px 0 10px;max-width:75ch}.dim{color:var(--dim)}.facts{display:flex;flex-wrap:wrap;gap:6px 22px;margin:10px 0 0;
color:var(--dim);font-size:14px}.facts b{color:var(--ink);font-weight:600}.warn{background:var(--warnbg);color:var(--warn);
border-radius:8px;padding:9px 14px;margin:14px 0 0}.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:16px}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 14px 8px;min-width:0}
figcaption{font-size:13px;color:var(--dim);padding:4px 2px 4px}svg{display:block;width:100%;height:auto}
svg text{fill:var(--dim);font:12px system-ui,sans-serif}svg .title,svg .legend{fill:var(--ink)}.grid line,svg .grid{stroke:var(--line)}
.curve{fill:none;stroke-width:1.8;opacity:.75}.bar{stroke-width:1.5;opacity:.5}.hollow{fill:var(--card);stroke-width:1.8}
.s0{stroke:var(--s0)}.s1{stroke:var(--s1)}.s2{stroke:var(--s2)}.s3{stroke:var(--s3)}.s4{stroke:var(--s4)}
.dot{stroke:none}.dot.s0{fill:var(--s0)}.dot.s1{fill:var(--s1)}.dot.s2{fill:var(--s2)}.dot.s3{fill:var(--s3)}.dot.s4{fill:var(--s4)}
svg .cell{fill:#fff;font-weight:600;font-size:15px}svg .cellsmall{fill:#fff;opacity:.85;font-size:11px}
svg .span{fill:#fff;font-size:11px}ul{margin:6px 0;padding-left:20px}table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;color:var(--dim);font-weight:600}td,th{padding:4px 10px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}code{font:13px ui-monospace,monospace}
@media(max-width:520px){.grid{grid-template-columns:1fr}}@media print{figure{break-inside:avoid}}
)css";

double Parameter(const v1::ProbeRow& row, const std::string& name) {
  const auto found = row.parameters().find(name);
  return found == row.parameters().end() ? std::nan("") : found->second;
}

std::string Label(const v1::ProbeRow& row, const std::string& name) {
  const auto found = row.labels().find(name);
  return found == row.labels().end() ? "" : found->second;
}

// Rows of one id as a series over one parameter, one point each: the best where several share it.
ChartSeries SeriesOf(const v1::HardwareProfile& profile, const std::string& id, const std::string& x,
                     const std::string& name, const std::string& op = "") {
  std::map<double, ChartPoint> best;
  ChartSeries series{.name = name, .points = {}, .curve = nullptr};
  for (const v1::ProbeRow& row : profile.rows()) {
    const double at = Parameter(row, x);
    if (row.id() != id || !(at > 0) || (!op.empty() && Label(row, "op") != op)) continue;
    ChartPoint& point = best[at];
    if (row.value() > point.y) point = {at, row.value(), row.low(), row.high()};
    series.emulated |= row.kind() == "emulated";
  }
  for (const auto& [unused, point] : best) series.points.push_back(point);
  return series;
}

void AddSeries(ChartSeries series, std::vector<ChartSeries>* to) {
  if (!series.points.empty()) to->push_back(std::move(series));
}

std::string Figure(const std::string& svg, absl::string_view caption) {
  return absl::StrCat("<figure>", svg, "<figcaption>", caption, "</figcaption></figure>\n");
}

std::string BandwidthFigure(const v1::HardwareProfile& profile, const FittedProfile& fitted) {
  Chart chart{.x_title = "SMs", .y_title = "TB/s", .y_unit = kTera, .log_x = true, .series = {}};
  ChartSeries copy = SeriesOf(profile, "hbm.sm_curve", "sms", "copy", "copy");
  if (fitted.copy_by_sms.has_value()) copy.curve = [&](double x) { return fitted.copy_by_sms->At(x); };
  AddSeries(std::move(copy), &chart.series);
  AddSeries(SeriesOf(profile, "hbm.sm_curve", "sms", "read", "read"), &chart.series);
  AddSeries(SeriesOf(profile, "hbm.sm_curve", "sms", "fill", "fill"), &chart.series);
  AddSeries(SeriesOf(profile, "a2a.logical", "sms", "exchange"), &chart.series);
  AddSeries(SeriesOf(profile, "a2a.paced", "sms", "paced"), &chart.series);
  if (chart.series.empty()) return "";
  return Figure(RenderChart(chart),
                "Bandwidth against the SMs that a kernel holds. Line: fitted; hollow: emulated link.");
}

std::string GemmFigure(const v1::HardwareProfile& profile, const FittedProfile& fitted) {
  const FittedFigure* dense = fitted.Figure("mm.dense");
  Chart chart{.x_title = "rows of one expert", .y_title = "TFLOP/s", .y_unit = kTera, .log_x = true, .series = {}};
  if (dense != nullptr) {
    chart.y_title = absl::StrFormat("%% of the dense product's %.0f TFLOP/s", dense->value / kTera);
    chart.y_unit = dense->value / 100;
  }
  const auto add = [&](const char* id, const char* name, const std::optional<fit::SaturatingCurve>& curve) {
    ChartSeries series = SeriesOf(profile, id, "rows", name);
    if (curve.has_value()) series.curve = [&curve](double x) { return curve->At(x); };
    AddSeries(std::move(series), &chart.series);
  };
  add("gemm.fc1", "fc1", fitted.fc1_by_rows);
  add("gemm.fc2", "fc2", fitted.fc2_by_rows);
  add("gemm.dgrad", "dgrad", std::nullopt);
  add("gemm.wgrad", "wgrad", fitted.wgrad_by_rows);
  if (chart.series.empty()) return "";
  return Figure(RenderChart(chart), "Expert GEMMs against the rows of one expert. Lines: fitted.");
}

// From blue (nothing gained) to green (all of the other for nothing); the figure stands in the cell too.
std::string HeatColour(double gain) {
  const double g = std::clamp(gain, 0.0, 1.0);
  return absl::StrFormat("hsl(%.0f 62%% %.0f%%)", 210 - 60 * g, 34 + 4 * g);
}

std::string HeatMap(const FittedProfile& fitted, double sms) {
  constexpr double kLeft = 150, kTop = 30, kCellWidth = 130, kCellHeight = 56;
  std::vector<std::string> exchanges, computes;
  for (const FittedCorun& cell : fitted.corun) {
    if (std::find(exchanges.begin(), exchanges.end(), ExchangeName(cell)) == exchanges.end())
      exchanges.push_back(ExchangeName(cell));
    if (std::find(computes.begin(), computes.end(), cell.compute) == computes.end()) computes.push_back(cell.compute);
  }
  if (exchanges.empty()) return "";
  const double width = kLeft + kCellWidth * static_cast<double>(computes.size()) + 8,
               height = kTop + kCellHeight * static_cast<double>(exchanges.size()) + 8;
  std::string svg = absl::StrFormat("<svg viewBox='0 0 %.0f %.0f' role='img' aria-label='co-run gain'>", width, height);
  for (size_t j = 0; j < computes.size(); ++j) {
    absl::StrAppendFormat(&svg, "<text class='legend' x='%.0f' y='18' text-anchor='middle'>%s</text>",
                          kLeft + kCellWidth * (static_cast<double>(j) + 0.5), EscapeHtml(computes[j]));
  }
  for (size_t i = 0; i < exchanges.size(); ++i) {
    const double y = kTop + kCellHeight * static_cast<double>(i);
    absl::StrAppendFormat(&svg, "<text class='legend' x='%.0f' y='%.0f' text-anchor='end'>%s</text>", kLeft - 10,
                          y + kCellHeight / 2 + 4, EscapeHtml(exchanges[i]));
    for (size_t j = 0; j < computes.size(); ++j) {
      const auto cell = std::find_if(fitted.corun.begin(), fitted.corun.end(), [&](const FittedCorun& c) {
        return ExchangeName(c) == exchanges[i] && c.compute == computes[j];
      });
      const double x = kLeft + kCellWidth * static_cast<double>(j);
      if (cell == fitted.corun.end()) continue;
      const fit::Slowdown slow = cell->curve.At(sms);
      absl::StrAppendFormat(&svg, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='5' fill='%s'/>", x + 2, y + 2,
                            kCellWidth - 4, kCellHeight - 4, HeatColour(slow.Gain()));
      absl::StrAppendFormat(&svg, "<text class='cell' x='%.1f' y='%.1f' text-anchor='middle'>%.2f</text>",
                            x + kCellWidth / 2, y + 26, slow.Gain());
      absl::StrAppendFormat(
          &svg, "<text class='cellsmall' x='%.1f' y='%.1f' text-anchor='middle'>%.2f&#215; | %.2f&#215;</text>",
          x + kCellWidth / 2, y + 43, slow.compute, slow.communication);
    }
  }
  return Figure(
      svg + "</svg>",
      absl::StrFormat("Co-run gain with the exchange on %.0f SMs: 1 is all of the other for nothing, 0 nothing "
                      "gained. Small: how much longer compute | exchange take.",
                      sms));
}

void AppendLane(const fit::PairForecast& forecast, double us_per_px, double left, double top, std::string* svg) {
  constexpr double kLane = 26;
  for (size_t i = 0; i < forecast.span_count; ++i) {
    const fit::PairSpan& span = forecast.spans[i];
    const double width = (span.end_us - span.start_us) / us_per_px;
    if (width < 0.5) continue;
    const bool exchange = fit::IsExchange(span.node);
    const std::string name(fit::Name(span.node));
    const double x = left + span.start_us / us_per_px, y = top + (exchange ? kLane + 3 : 0);
    const bool backward = absl::StrContains(name, "bwd") || absl::StrContains(name, "wgrad");
    absl::StrAppendFormat(svg,
                          "<g><title>%s: %.0f us, %.0f to %.0f</title><rect x='%.1f' y='%.1f' width='%.1f' "
                          "height='%.0f' rx='3' fill='var(--%s)' opacity='%s'/>",
                          name, span.end_us - span.start_us, span.start_us, span.end_us, x, y, std::max(0.5, width - 1),
                          kLane, exchange ? "comm" : "comp", backward ? "0.95" : "0.7");
    if (width > 6.2 * static_cast<double>(name.size()) + 4) {
      absl::StrAppendFormat(svg, "<text class='span' x='%.1f' y='%.1f' text-anchor='middle'>%s</text>", x + width / 2,
                            y + 17, name);
    }
    *svg += "</g>";
  }
}

std::string TimelineFigure(const FittedProfile& fitted) {
  if (!fitted.pair_parts.has_value()) return "";
  constexpr double kWidth = 1000, kLeft = 150, kRow = 84;
  struct Lane {
    const char* name;
    absl::string_view id;
    fit::PairSchedule schedule;
  };
  constexpr Lane kLanes[] = {{"in turn", "pair.seq", {.overlap = false}},
                             {"overlapped", "pair.overlap", {}},
                             {"+ delayed wgrad", "pair.overlap_dw", {.delay_wgrad = true}},
                             {"+ early release", "pair.early_release", {.early_release = true}}};
  const double longest = fit::ForecastPair(*fitted.pair_parts, {.overlap = false}).us;
  if (!(longest > 0)) return "";
  const double us_per_px = longest / (kWidth - kLeft - 10);
  std::string svg = absl::StrFormat("<svg viewBox='0 0 %.0f %.0f' role='img' aria-label='timeline of the pair'>",
                                    kWidth, kRow * std::size(kLanes) + 6);
  double top = 10;
  for (const Lane& lane : kLanes) {
    const fit::PairForecast forecast = fit::ForecastPair(*fitted.pair_parts, lane.schedule);
    AppendLane(forecast, us_per_px, kLeft, top, &svg);
    absl::StrAppendFormat(&svg, "<text class='legend' x='0' y='%.0f' font-weight='600'>%s</text>", top + 14, lane.name);
    std::string measured;
    for (const FittedPair& pair : fitted.pairs) {
      if (pair.id != lane.id) continue;
      measured =
          absl::StrFormat("%s %.0f", pair.kind == RowKind::kEmulated ? "emulated" : "measured", pair.measured_us);
    }
    absl::StrAppendFormat(&svg, "<text x='0' y='%.0f'>forecast %.0f us</text><text x='0' y='%.0f'>%s</text>", top + 31,
                          forecast.us, top + 47, measured);
    top += kRow;
  }
  return Figure(svg + "</svg>",
                "One layer's forward beside another's backward, from the parts' own times and the co-run slowdowns: "
                "compute above, exchange below, backward darker. In turn both run on one stream.");
}

std::string RowsTable(const v1::HardwareProfile& profile) {
  std::string html =
      "<table><tr><th>row</th><th>parameters</th><th class=n>median</th><th class=n>&#177;</th><th class=n>samples</th>"
      "<th>kind</th></tr>\n";
  for (const v1::ProbeRow& row : profile.rows()) {
    absl::StrAppend(&html, "<tr><td><code>", EscapeHtml(row.id()), "</code></td><td class=dim>",
                    EscapeHtml(ProbeParameters(row)), "</td><td class=n>", EscapeHtml(ProbeValue(row)),
                    "</td><td class=n>", EscapeHtml(ProbeSpread(row)), "</td><td class=n>", row.sample_count(),
                    "</td><td class=dim>", EscapeHtml(row.kind()), row.checked() ? ", checked" : "", "</td></tr>\n");
  }
  return html + "</table>\n";
}

std::string Header(const v1::HardwareProfile& p) {
  std::string html = absl::StrCat("<h1>", EscapeHtml(p.device_name()), "</h1>\n<div class=facts>");
  const auto fact = [&](absl::string_view name, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&html, "<span>", name, " <b>", EscapeHtml(value), "</b></span>");
  };
  fact("profile", p.name());
  if (p.measure_time().seconds() > 0) {
    fact("measured", absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(p.measure_time().seconds()),
                                      absl::UTCTimeZone()));
  }
  fact("driver", p.driver_version());
  fact("CUDA", p.cuda_version());
  fact("SMs", p.sm_count() > 0 ? absl::StrCat(p.sm_count()) : "");
  fact("memory",
       p.memory_bytes() > 0 ? absl::StrFormat("%.0f GiB", static_cast<double>(p.memory_bytes()) / (1 << 30)) : "");
  fact("SM clock", p.conditions().sm_clock_mhz() > 0 ? absl::StrCat(p.conditions().sm_clock_mhz(), " MHz") : "");
  fact("power", p.conditions().power_watts() > 0 ? absl::StrFormat("%.0f of %.0f W", p.conditions().power_watts(),
                                                                   p.conditions().power_limit_watts())
                                                 : "");
  fact("took", p.duration_us() > 0 ? absl::StrFormat("%.1f s", static_cast<double>(p.duration_us()) / 1e6) : "");
  html += "</div>\n";
  if (p.kind() == "synthetic")
    html +=
        "<p class=warn>Synthetic: a fake device replayed these figures. They are no measurement and never "
        "evidence.</p>\n";
  if (p.partial()) html += "<p class=warn>Partial: not everything was measured; the notes below say why.</p>\n";
  if (!p.conditions().throttle_reasons().empty()) {
    absl::StrAppend(&html, "<p class=warn>Clocks were reduced: ",
                    EscapeHtml(absl::StrJoin(p.conditions().throttle_reasons(), ", ")), "; ",
                    p.conditions().dropped_sample_count(), " samples dropped.</p>\n");
  }
  return html;
}

std::string List(absl::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string html = absl::StrCat("<h2>", title, "</h2>\n<ul>");
  for (const std::string& line : lines) absl::StrAppend(&html, "<li>", EscapeHtml(line), "</li>\n");
  return html + "</ul>\n";
}

}  // namespace

std::string ProbeReport(const v1::HardwareProfile& profile) {
  const std::shared_ptr<const FittedProfile> fitted = FitMessage(profile);
  std::string html = absl::StrCat(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n<meta name=viewport "
      "content='width=device-width,initial-scale=1'>\n<title>Probe: ",
      EscapeHtml(profile.device_name()), "</title>\n<style>", kStyle, "</style></head>\n<body><main>\n",
      Header(profile));
  html += List("What follows", ProbeConclusions(*fitted));
  const std::string curves = BandwidthFigure(profile, *fitted) + GemmFigure(profile, *fitted);
  if (!curves.empty()) absl::StrAppend(&html, "<h2>Curves</h2>\n<div class=grid>", curves, "</div>\n");
  if (const std::string map = HeatMap(*fitted, 20); !map.empty())
    absl::StrAppend(&html, "<h2>Compute beside an exchange</h2>\n", map);
  if (const std::string timeline = TimelineFigure(*fitted); !timeline.empty())
    absl::StrAppend(&html, "<h2>The micro-step of a layer pair</h2>\n", timeline);
  html += List("Notes", {profile.notes().begin(), profile.notes().end()});
  if (profile.rows_size() > 0) absl::StrAppend(&html, "<h2>All rows</h2>\n", RowsTable(profile));
  return html + "</main></body></html>\n";
}

}  // namespace flightplan::cli
