#include "clients/cli/timeline_svg.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/svg_chart.h"
#include "clients/cli/text.h"
#include "clients/cli/timeline_words.h"

namespace flightplan::cli {
namespace {

constexpr double kWidth = 1200, kLeft = 132, kRight = 18, kPlot = kWidth - kLeft - kRight;
constexpr double kCharacter = 6.1;  // of a label, at most
constexpr int kMaxTicks = 10, kNoteCharacters = 170;

// Where a stream's lane stands in its rank, and how high it is.
struct Lane {
  v1::TimelineStream stream;
  double top, height;
};

// Of the whole step: compute, with thin lines below for what leaves the rank.
constexpr Lane kStepLanes[] = {{v1::TIMELINE_STREAM_COMPUTE, 0, 18},
                               {v1::TIMELINE_STREAM_PIPELINE, 19, 3},
                               {v1::TIMELINE_STREAM_PIPELINE_BACKWARD, 23, 3},
                               {v1::TIMELINE_STREAM_DATA, 27, 4}};
constexpr double kStepRank = 36;  // of one rank
constexpr double kStreamLane = 28, kStreamBar = 22;

std::string HatchLines(Hatch hatch) {
  switch (hatch) {
    case Hatch::kNone:
      return "";
    case Hatch::kRising:
      return "<path class='i' d='M-1,1L1,-1M0,6L6,0M5,7L7,5'/>";
    case Hatch::kFalling:
      return "<path class='i' d='M-1,5L1,7M0,0L6,6M5,-1L7,1'/>";
    case Hatch::kCrossed:
      return "<path class='i' d='M0,6L6,0M0,0L6,6'/>";
    case Hatch::kUpright:
      return "<path class='i' d='M3,0V6'/>";
    case Hatch::kLevel:
      return "<path class='i' d='M0,3H6'/>";
    case Hatch::kDots:
      return "<circle class='d' cx='3' cy='3' r='1'/>";
    case Hatch::kDense:
      return "<path class='i' d='M0,1.5H6M0,4.5H6'/>";
  }
  return "";
}

// Colours as classes, so that a dark page changes them; each pattern paints its colour and its hatch.
std::string Definitions() {
  std::string light, dark, patterns;
  for (const KindLook& look : KindLooks()) {
    const int kind = look.kind;
    absl::StrAppend(&light, ".k", kind, "{fill:", look.light, "}");
    absl::StrAppend(&dark, ".k", kind, "{fill:", look.dark, "}");
    absl::StrAppend(&patterns, "<pattern id='p", kind,
                    "' width='6' height='6' patternUnits='userSpaceOnUse'><rect class='k", kind,
                    "' width='6' height='6'/>", HatchLines(look.hatch), "</pattern>");
  }
  return absl::StrCat(
      "<style>svg{font:12px system-ui,'DejaVu Sans',sans-serif;background:#fff}.bg{fill:#fff}text{fill:#1d2430}"
      ".q{fill:#5a6472}.h{font-size:16px;font-weight:600}.s{font-weight:600}.g{stroke:#d5dae0;stroke-width:1}"
      ".i{stroke:#fff;stroke-opacity:.55;stroke-width:1.1;fill:none}.d{fill:#fff;fill-opacity:.6}"
      ".l{font-size:10.5px;fill:#fff;pointer-events:none;paint-order:stroke;stroke:#0008;stroke-width:1.6px}",
      light,
      "@media(prefers-color-scheme:dark){svg{background:#14181e}.bg{fill:#14181e}text{fill:#e6e9ee}.q{fill:#9aa5b2}"
      ".g{stroke:#333b45}.i{stroke:#000;stroke-opacity:.5}.d{fill:#000;fill-opacity:.5}"
      ".l{fill:#fff;stroke:#000a}",
      dark, "}</style><defs>", patterns, "</defs>");
}

std::string TextAt(double x, double y, absl::string_view classes, absl::string_view text,
                   absl::string_view anchor = "") {
  return absl::StrFormat("<text%s x='%.1f' y='%.1f'%s>%s</text>",
                         classes.empty() ? "" : absl::StrCat(" class='", classes, "'"), x, y,
                         anchor.empty() ? "" : absl::StrCat(" text-anchor='", anchor, "'"), EscapeHtml(text));
}

std::string Tooltip(const v1::TimelineEvent& event) {
  std::string text = absl::StrCat(event.name(), ": ", LookOf(event.kind()).name);
  if (event.has_layer_index()) absl::StrAppend(&text, ", layer ", event.layer_index());
  absl::StrAppend(&text, ", ", DurationText(event.duration_us()), " from ", DurationText(event.start_us()));
  if (event.exposed_us() < event.duration_us() * 0.999) {
    absl::StrAppend(&text, ", ", DurationText(event.exposed_us()), " exposed");
  }
  return text;
}

class Panel {
 public:
  Panel(const v1::TimelineView& view, double top) : view_(view), top_(top) {}

  std::string Draw() {
    std::string svg = TextAt(kLeft, top_ + 12, "s", view_.title());
    y_ = top_ + 22;
    const double lanes_top = y_;
    const std::string lanes = view_.zoom() == v1::TIMELINE_ZOOM_STEP ? DrawRanks() : DrawStreams();
    absl::StrAppend(&svg, Axis(lanes_top), lanes);
    y_ += 24;
    return svg;
  }
  // Below the panel.
  double bottom() const { return y_; }

 private:
  double X(double us) const {
    const double whole = view_.duration_us() > 0 ? view_.duration_us() : 1;
    return kLeft + kPlot * std::clamp(us / whole, 0.0, 1.0);
  }

  std::string Bar(const v1::TimelineEvent& event, double top, double height) const {
    const double x = X(event.start_us()), width = X(event.start_us() + event.duration_us()) - x;
    std::string svg = absl::StrFormat(
        "<rect x='%.2f' y='%.1f' width='%.2f' height='%.1f' fill='url(#p%d)'><title>%s</title></rect>", x, top,
        std::max(0.2, width), height, static_cast<int>(LookOf(event.kind()).kind), EscapeHtml(Tooltip(event)));
    if (height >= 16 && width > kCharacter * static_cast<double>(event.name().size()) + 6 &&
        event.kind() != v1::TIMELINE_KIND_BUBBLE) {
      absl::StrAppend(&svg, TextAt(x + width / 2, top + height / 2 + 4, "l", event.name(), "middle"));
    }
    return svg;
  }

  std::string DrawRanks() {
    std::string svg;
    for (int rank : RanksOf(view_)) {
      absl::StrAppend(&svg, TextAt(kLeft - 8, y_ + 13, "", absl::StrCat("rank ", rank), "end"));
      for (const v1::TimelineEvent& event : view_.events()) {
        if (event.pipeline_rank() != rank) continue;
        for (const Lane& lane : kStepLanes) {
          if (lane.stream == event.stream()) absl::StrAppend(&svg, Bar(event, y_ + lane.top, lane.height));
        }
      }
      y_ += kStepRank;
    }
    return svg;
  }

  std::string DrawStreams() {
    std::string svg;
    for (v1::TimelineStream stream : StreamsOf(view_)) {
      absl::StrAppend(&svg, TextAt(kLeft - 8, y_ + 15, "", StreamName(stream), "end"));
      for (const v1::TimelineEvent& event : view_.events()) {
        if (event.stream() == stream) absl::StrAppend(&svg, Bar(event, y_, kStreamBar));
      }
      y_ += kStreamLane;
    }
    return svg;
  }

  std::string Axis(double lanes_top) const {
    std::string svg;
    const double step = TickStep(view_.duration_us(), kMaxTicks);
    for (int i = 0; i * step <= view_.duration_us() * 1.0001; ++i) {
      const double x = X(i * step);
      absl::StrAppendFormat(&svg, "<line class='g' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", x, x, lanes_top - 2,
                            y_ + 2);
      absl::StrAppend(&svg, TextAt(x, y_ + 15, "q", i == 0 ? "0" : DurationText(i * step),
                                   x > kWidth - kRight - 30 ? "end" : "middle"));
    }
    return svg;
  }

  const v1::TimelineView& view_;
  const double top_;
  double y_ = 0;
};

// The kinds that are drawn.
std::string Legend(const v1::DescribeTimelineResponse& timeline, double* y) {
  std::set<int> used;
  for (const v1::TimelineView& view : timeline.views()) {
    for (const v1::TimelineEvent& event : view.events()) used.insert(LookOf(event.kind()).kind);
  }
  std::string svg;
  double x = kLeft;
  for (const KindLook& look : KindLooks()) {
    if (used.count(look.kind) == 0) continue;
    const double width = 26 + 6.6 * static_cast<double>(look.name.size());
    if (x + width > kWidth - kRight) x = kLeft, *y += 20;
    absl::StrAppendFormat(&svg, "<rect x='%.1f' y='%.1f' width='16' height='12' fill='url(#p%d)'/>", x, *y - 10,
                          static_cast<int>(look.kind));
    absl::StrAppend(&svg, TextAt(x + 21, *y, "", look.name));
    x += width + 8;
  }
  *y += 22;
  return svg;
}

}  // namespace

std::string TimelineSvg(const v1::DescribeTimelineResponse& timeline, absl::string_view heading) {
  std::string body = TextAt(kLeft, 26, "h", heading);
  absl::StrAppend(&body, TextAt(kLeft, 46, "q",
                                absl::StrCat("step ", DurationText(timeline.step_time_us()), " (forecast), ",
                                             LayoutText(timeline), ", ", timeline.target())));
  double y = 72;
  absl::StrAppend(&body, Legend(timeline, &y));
  for (const v1::TimelineView& view : timeline.views()) {
    Panel panel(view, y);
    absl::StrAppend(&body, panel.Draw());
    y = panel.bottom() + 18;
  }
  for (const std::string& note : timeline.notes()) {
    for (const std::string& line : Wrap(note, kNoteCharacters)) {
      absl::StrAppend(&body, TextAt(kLeft, y, "q", line));
      y += 16;
    }
  }
  return absl::StrCat(absl::StrFormat("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' width='%.0f' "
                                      "height='%.0f' role='img' aria-label='%s'>",
                                      kWidth, y + 8, kWidth, y + 8, EscapeHtml(absl::StrCat("Timeline: ", heading))),
                      Definitions(), "<rect class='bg' width='100%' height='100%'/>", body, "</svg>\n");
}

}  // namespace flightplan::cli
