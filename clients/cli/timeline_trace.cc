#include "clients/cli/timeline_trace.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/timeline_words.h"

namespace flightplan::cli {
namespace {

// Processes of one view; more ranks than this no pipeline has.
constexpr int kPidsPerView = 10'000;

std::string JsonText(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", std::string(1, c));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Whole nanoseconds: neighbours that touch do not overlap by a rounding, which a viewer would show as one in the other.
int64_t Nanoseconds(double us) { return std::llround(us * 1e3); }
std::string Micros(int64_t ns) { return absl::StrFormat("%d.%03d", ns / 1000, ns % 1000); }

std::string Metadata(absl::string_view what, int pid, int tid, absl::string_view key, absl::string_view value) {
  return absl::StrCat("{\"ph\":\"M\",\"name\":", JsonText(what), ",\"pid\":", pid, ",\"tid\":", tid, ",\"args\":{",
                      JsonText(key), ":", value, "}}");
}

std::string ViewName(v1::TimelineZoom zoom) {
  if (zoom == v1::TIMELINE_ZOOM_STEADY) return "steady state, ";
  return zoom == v1::TIMELINE_ZOOM_LAYER ? "one layer, " : "";
}

void AddView(const v1::TimelineView& view, int first_pid, std::vector<std::string>* lines) {
  for (int rank : RanksOf(view)) {
    const int pid = first_pid + rank;
    lines->push_back(Metadata("process_name", pid, 0, "name",
                              JsonText(absl::StrCat(ViewName(view.zoom()), "pipeline rank ", rank))));
    lines->push_back(Metadata("process_sort_index", pid, 0, "sort_index", absl::StrCat(pid)));
    for (v1::TimelineStream stream : StreamsOf(view)) {
      lines->push_back(Metadata("thread_name", pid, stream, "name", JsonText(StreamName(stream))));
      lines->push_back(
          Metadata("thread_sort_index", pid, stream, "sort_index", absl::StrCat(static_cast<int>(stream))));
    }
  }
  for (const v1::TimelineEvent& event : view.events()) {
    const int64_t start = Nanoseconds(event.start_us()), end = Nanoseconds(event.start_us() + event.duration_us());
    if (end <= start) continue;
    std::string line = absl::StrCat(
        "{\"ph\":\"X\",\"name\":", JsonText(event.name()), ",\"cat\":", JsonText(LookOf(event.kind()).name),
        ",\"pid\":", first_pid + event.pipeline_rank(), ",\"tid\":", static_cast<int>(event.stream()),
        ",\"ts\":", Micros(start), ",\"dur\":", Micros(end - start),
        ",\"args\":{\"exposed_us\":", absl::StrFormat("%.3f", event.exposed_us()));
    if (event.has_microbatch_index()) absl::StrAppend(&line, ",\"microbatch\":", event.microbatch_index());
    if (event.has_backward_microbatch_index()) {
      absl::StrAppend(&line, ",\"backward_microbatch\":", event.backward_microbatch_index());
    }
    if (event.has_layer_index()) absl::StrAppend(&line, ",\"layer\":", event.layer_index());
    if (event.has_repeat_count()) absl::StrAppend(&line, ",\"count\":", event.repeat_count());
    if (event.backward()) absl::StrAppend(&line, ",\"direction\":\"backward\"");
    lines->push_back(absl::StrCat(line, "}}"));
  }
}

}  // namespace

std::string TimelineTrace(const v1::DescribeTimelineResponse& timeline) {
  std::vector<std::string> lines;
  int first_pid = 0;
  for (const v1::TimelineView& view : timeline.views()) {
    AddView(view, first_pid, &lines);
    first_pid += kPidsPerView;
  }
  std::string out = "{\"displayTimeUnit\":\"ms\",\"otherData\":{";
  absl::StrAppend(&out, "\"layout\":", JsonText(LayoutText(timeline)), ",\"target\":", JsonText(timeline.target()),
                  ",\"digest\":", JsonText(timeline.digest()),
                  absl::StrFormat(",\"step_time_us\":\"%.3f\",\"replayed_us\":\"%.3f\"", timeline.step_time_us(),
                                  timeline.replayed_us()),
                  "},\"traceEvents\":[\n");
  for (size_t i = 0; i < lines.size(); ++i) absl::StrAppend(&out, lines[i], i + 1 < lines.size() ? ",\n" : "\n");
  return out + "]}\n";
}

}  // namespace flightplan::cli
