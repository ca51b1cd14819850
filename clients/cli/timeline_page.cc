#include "clients/cli/timeline_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "clients/cli/timeline_words.h"

namespace flightplan::cli {
namespace {

constexpr int kLabel = 17, kMaxPicture = 160, kMinPicture = 24;
// Ranks that a table shows one by one; of more the slowest, the first and the last.
constexpr int kMaxRankRows = 32;

std::string Head(const v1::DescribeTimelineResponse& t, absl::string_view heading, const Terminal& terminal) {
  std::string out;
  for (const std::string& line : Wrap(terminal.Shown(heading), terminal.width)) absl::StrAppend(&out, line, "\n");
  std::string facts = absl::StrCat("step ", DurationText(t.step_time_us(), terminal.utf8), " by the forecast; ",
                                   LayoutText(t), "; ", t.target(), t.will_run() ? "" : "; will not run as it stands");
  if (t.has_answer_step_time_us()) {
    absl::StrAppend(&facts, "; measurements say ", DurationText(t.answer_step_time_us(), terminal.utf8));
  }
  for (const std::string& line : Wrap(terminal.Shown(facts), terminal.width)) absl::StrAppend(&out, line, "\n");
  return out;
}

std::string Notes(const v1::DescribeTimelineResponse& t, const Terminal& terminal) {
  std::string out;
  for (const std::string& note : t.notes()) {
    bool first = true;
    for (const std::string& line : Wrap(terminal.Shown(note), terminal.width - 2)) {
      absl::StrAppend(&out, first ? "- " : "  ", line, "\n");
      first = false;
    }
  }
  return out;
}

// One line of a picture: of every cell the letter of the kind that takes most of it.
class Line {
 public:
  Line(double whole_us, int cells) : cell_us_(whole_us / cells), cells_(static_cast<size_t>(cells)) {}

  void Add(const v1::TimelineEvent& event) {
    if (!(cell_us_ > 0) || !std::isfinite(event.start_us()) || !std::isfinite(event.duration_us())) return;
    const double end = event.start_us() + event.duration_us();
    const auto last = static_cast<double>(cells_.size() - 1);
    const auto from = static_cast<size_t>(std::clamp(std::floor(event.start_us() / cell_us_), 0.0, last));
    const auto to = static_cast<size_t>(std::clamp(std::floor(end / cell_us_), 0.0, last));
    for (size_t i = from; i <= to; ++i) {
      const double begin_us = static_cast<double>(i) * cell_us_;
      const double covered = std::min(end, begin_us + cell_us_) - std::max(event.start_us(), begin_us);
      Cell& cell = cells_[i];
      cell.us[static_cast<unsigned char>(LookOf(event.kind()).letter)] += static_cast<float>(std::max(0.0, covered));
    }
  }
  std::string Text() const {
    std::string text;
    for (const Cell& cell : cells_) {
      const auto most = std::max_element(cell.us.begin(), cell.us.end());
      // Waiting that no event stands for shows as nothing.
      text +=
          *most > 0 && *most > 0.25F * static_cast<float>(cell_us_) ? static_cast<char>(most - cell.us.begin()) : ' ';
    }
    return text;
  }

 private:
  struct Cell {
    std::array<float, 128> us{};
  };
  const double cell_us_;
  std::vector<Cell> cells_;
};

std::string Row(absl::string_view label, const Line& line) {
  return absl::StrFormat("%-*s|%s|\n", kLabel, std::string(label), line.Text());
}

std::string ViewText(const v1::TimelineView& view, const Terminal& terminal) {
  const int cells = std::clamp(terminal.width - kLabel - 2, kMinPicture, kMaxPicture);
  std::string out;
  for (const std::string& line : Wrap(terminal.Shown(view.title()), terminal.width)) absl::StrAppend(&out, "\n", line);
  absl::StrAppend(&out, "\n");
  const bool by_rank = view.zoom() == v1::TIMELINE_ZOOM_STEP;
  if (by_rank) {
    for (int rank : RanksOf(view)) {
      Line line(view.duration_us(), cells);
      // What stops the rank: compute, and what it waits for at both ends of the step.
      for (const v1::TimelineEvent& event : view.events()) {
        const bool shown = event.stream() == v1::TIMELINE_STREAM_COMPUTE || event.stream() == v1::TIMELINE_STREAM_DATA;
        if (event.pipeline_rank() == rank && shown) line.Add(event);
      }
      absl::StrAppend(&out, Row(absl::StrCat("rank ", rank), line));
    }
  } else {
    for (v1::TimelineStream stream : StreamsOf(view)) {
      Line line(view.duration_us(), cells);
      for (const v1::TimelineEvent& event : view.events()) {
        if (event.stream() == stream) line.Add(event);
      }
      absl::StrAppend(&out, Row(StreamName(stream), line));
    }
  }
  const std::string end = DurationText(view.duration_us(), terminal.utf8);
  absl::StrAppend(
      &out,
      absl::StrFormat(
          "%*s%s\n", kLabel + 1, "",
          absl::StrCat("0", std::string(static_cast<size_t>(std::max(1, cells - 1 - DisplayWidth(end))), ' '), end)));
  return out;
}

std::string LegendText(const v1::DescribeTimelineResponse& t, const Terminal& terminal) {
  std::set<int> used;
  for (const v1::TimelineView& view : t.views()) {
    for (const v1::TimelineEvent& event : view.events()) used.insert(event.kind());
  }
  std::vector<std::string> parts;
  for (const KindLook& look : KindLooks()) {
    if (used.count(look.kind) > 0) parts.push_back(absl::StrCat(std::string(1, look.letter), " ", look.name));
  }
  return absl::StrCat("\n", absl::StrJoin(WrapParts(parts, "  ", terminal.width), "\n"), "\n");
}

std::string Seconds(double us) { return absl::StrFormat("%.4f", us / 1e6); }

std::string TotalsText(const v1::DescribeTimelineResponse& t, const Terminal& terminal) {
  Table table({{.max_width = 24, .shrink = true}, {.right = true}, {.right = true}, {.right = true}, {.right = true}});
  table.Row({{absl::StrCat("rank ", t.slowest_pipeline_rank()), Style::kBold},
             {"exposed s", Style::kDim},
             {"of step", Style::kDim},
             {"hidden s", Style::kDim},
             {"forecast s", Style::kDim}});
  const auto share = [&](double us) { return t.step_time_us() > 0 ? PercentText(us / t.step_time_us()) : ""; };
  double scheduled = 0, hidden = 0, forecast = 0;
  for (const v1::TimelineTotal& total : t.totals()) {
    scheduled += total.scheduled_us(), hidden += total.hidden_us(), forecast += total.forecast_us();
    table.Row({LookOf(total.kind()).name, Seconds(total.scheduled_us()), share(total.scheduled_us()),
               Seconds(total.hidden_us()), Seconds(total.forecast_us())});
  }
  table.Row({{"step", Style::kBold}, Seconds(scheduled), share(scheduled), Seconds(hidden), Seconds(forecast)});
  return table.Render(terminal);
}

std::string RanksText(const v1::DescribeTimelineResponse& t, const Terminal& terminal) {
  if (t.ranks_size() <= 1) return "";
  Table table({{.shrink = true}, {.right = true}, {.right = true}, {.right = true}, {.right = true}, {.right = true}});
  table.Row({{"ranks", Style::kBold},
             {"layers", Style::kDim},
             {"passes s", Style::kDim},
             {"transfers s", Style::kDim},
             {"waits s", Style::kDim},
             {"once s", Style::kDim}});
  const int count = t.ranks_size();
  for (const v1::TimelineRank& rank : t.ranks()) {
    const int at = rank.pipeline_rank();
    if (count > kMaxRankRows && at > 0 && at + 1 < count && at != t.slowest_pipeline_rank()) continue;
    int layers = 0;
    for (int chunk : rank.layer_counts()) layers += chunk;
    table.Row({absl::StrCat(at, at == t.slowest_pipeline_rank() ? " (slowest)" : "",
                            rank.embedding() ? ", embedding" : "", rank.loss() ? ", output layer" : ""),
               absl::StrCat(layers), Seconds(rank.busy_us()), Seconds(rank.transfer_us()), Seconds(rank.bubble_us()),
               Seconds(rank.once_us())});
  }
  return absl::StrCat(
      "\n", table.Render(terminal),
      count > kMaxRankRows ? absl::StrCat("  of ", count, " ranks the first, the last and the slowest\n") : "");
}

}  // namespace

std::string TimelineText(const v1::DescribeTimelineResponse& timeline, absl::string_view heading,
                         const Terminal& terminal) {
  std::string out = Head(timeline, heading, terminal);
  for (const v1::TimelineView& view : timeline.views()) absl::StrAppend(&out, ViewText(view, terminal));
  absl::StrAppend(&out, LegendText(timeline, terminal), "\n", TotalsText(timeline, terminal));
  if (timeline.notes_size() > 0) absl::StrAppend(&out, "\n", Notes(timeline, terminal));
  return out;
}

std::string TimelineTable(const v1::DescribeTimelineResponse& timeline, absl::string_view heading,
                          const Terminal& terminal) {
  std::string out = absl::StrCat(Head(timeline, heading, terminal), "\n", TotalsText(timeline, terminal),
                                 RanksText(timeline, terminal));
  if (timeline.notes_size() > 0) absl::StrAppend(&out, "\n", Notes(timeline, terminal));
  return out;
}

}  // namespace flightplan::cli
