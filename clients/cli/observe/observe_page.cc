#include "clients/cli/observe/observe_page.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/findings.h"
#include "clients/cli/fit_line.h"
#include "clients/cli/forecast_text.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"

namespace flightplan::cli {
namespace {

constexpr int kLabel = 12;  // cells of the names in front of lines
constexpr size_t kShownRanks = 8;
constexpr absl::string_view kPartGap = "     ";

bool IsRatio(const ComparedFigure& figure) { return absl::EndsWith(figure.name, "_ratio"); }

std::string FigureText(const ComparedFigure& figure, double value) {
  if (absl::EndsWith(figure.name, "_us")) {
    const TimeUnit unit = UnitFor(value);
    return absl::StrFormat("%.3g %s", value / unit.us, unit.name);
  }
  if (figure.name == "flops_per_second_per_gpu") return absl::StrFormat("%.0f", value / 1e12);
  if (figure.name == "tokens_per_second_per_gpu") return WithThousands(std::llround(value));
  if (IsRatio(figure)) return PercentText(value);
  return absl::StrCat(GibNumber(value), " GiB");
}

// "4.1 s (3.0..5.5)"
std::string ForecastText(const ComparedFigure& figure) {
  const v1::Range& range = *figure.forecast;
  if (absl::EndsWith(figure.name, "_us")) return StepText(range);
  std::string text = FigureText(figure, range.value());
  if (range.high() <= range.low()) return text;
  const auto bound = [&figure](double value) {
    const std::string shown = FigureText(figure, value);
    return shown.substr(0, shown.find(' '));
  };
  return absl::StrCat(text, " (", bound(range.low()), "..", bound(range.high()), ")");
}

std::string Label(const ComparedFigure& figure) {
  if (figure.name == "step_time_us") return "step";
  if (figure.name == "flops_per_second_per_gpu") return "TFLOP/s a GPU";
  if (figure.name == "tokens_per_second_per_gpu") return "tokens/s a GPU";
  if (figure.name == "device_bytes") return "on the device";
  if (figure.name == "states_bytes") return "  between steps";
  if (figure.name == "parameter_and_gradient_bytes") return "  weights, gradients";
  if (figure.name == "optimizer_state_bytes") return "  optimizer state";
  if (figure.name == "step_bytes") return "  activations, buffers";
  if (figure.name == "optimizer_us") return "optimizer";
  if (figure.name == "compute_ratio") return "compute, traced";
  if (figure.name == "exposed_communication_ratio") return "communication, waiting";
  if (figure.name == "idle_ratio") return "GPU idle";
  return figure.stage < 0 ? "allocated" : absl::StrCat("allocated, stage ", figure.stage);
}

std::string Difference(const ComparedFigure& figure) {
  if (!figure.forecast.has_value() || !figure.measured.has_value()) return "";
  if (IsRatio(figure)) return absl::StrFormat("%+.0f points", 100 * (*figure.measured - figure.forecast->value()));
  return absl::StrFormat("%+.0f %%", 100 * (*figure.measured / figure.forecast->value() - 1));
}

Cell Verdict(const ComparedFigure& figure) {
  switch (figure.inside()) {
    case Inside::kInside:
      return {absl::StrCat("inside, ", Difference(figure)), Style::kGreen};
    case Inside::kAbove:
      return {absl::StrCat("above, ", Difference(figure)), Style::kYellow};
    case Inside::kBelow:
      return {absl::StrCat("below, ", Difference(figure)), Style::kYellow};
    case Inside::kUnknown:
      return {figure.at_least ? "after one iteration: the peak comes later" : Difference(figure)};
  }
  return {""};
}

std::string MeasuredText(const ComparedFigure& figure) {
  return absl::StrCat(figure.at_least ? "at least " : "", FigureText(figure, *figure.measured));
}

const ComparedFigure* Find(const Observation& o, absl::string_view name) {
  for (const ComparedFigure& figure : o.figures) {
    if (figure.name == name) return &figure;
  }
  return nullptr;
}

// The run in one word, and the figures that people compare.
std::string HeadLines(const Observation& o, const Terminal& terminal) {
  std::vector<std::string> parts;
  const ComparedFigure* const step = Find(o, "step_time_us");
  if (step != nullptr && step->measured.has_value()) {
    parts.push_back(absl::StrCat("step  ", FigureText(*step, *step->measured),
                                 step->forecast.has_value() ? absl::StrCat(", forecast ", ForecastText(*step)) : ""));
  }
  std::vector<std::string> rates;
  if (o.steps.tflops > 0) rates.push_back(absl::StrFormat("%.0f TFLOP/s", o.steps.tflops));
  const ComparedFigure* const tokens = Find(o, "tokens_per_second_per_gpu");
  if (tokens != nullptr && tokens->measured.has_value())
    rates.push_back(absl::StrCat(FigureText(*tokens, *tokens->measured), " tokens/s"));
  if (!rates.empty()) parts.push_back(absl::StrCat(absl::StrJoin(rates, " and "), " per GPU"));
  const ComparedFigure* const memory = Find(o, o.peak_allocated > 0 ? "allocated_bytes" : "device_bytes");
  if (memory != nullptr && memory->measured.has_value()) {
    parts.push_back(absl::StrCat(o.peak_allocated > 0 ? "allocated  " : "on the device  ", MeasuredText(*memory),
                                 memory->forecast.has_value()
                                     ? absl::StrCat(", forecast ", FigureText(*memory, memory->forecast->value()))
                                     : ""));
  }
  return absl::StrCat(absl::StrJoin(WrapParts(parts, kPartGap, terminal.width), "\n"), parts.empty() ? "" : "\n");
}

std::string VerdictText(const Observation& o, const Terminal& terminal) {
  if (!o.MatchesLaunch()) return terminal.Paint("not a run of this launch", Style::kRed);
  const ComparedFigure* const step = Find(o, "step_time_us");
  switch (step == nullptr ? Inside::kUnknown : step->inside()) {
    case Inside::kInside:
      return terminal.Paint("inside the forecast", Style::kGreen);
    case Inside::kAbove:
      return terminal.Paint("slower than the forecast", Style::kYellow);
    case Inside::kBelow:
      return terminal.Paint("faster than the forecast", Style::kYellow);
    case Inside::kUnknown:
      return "";
  }
  return "";
}

std::string FiguresTable(const Observation& o, const Terminal& terminal) {
  Table table({{}, {.min_width = 16}, {.min_width = 8}, {}}, 0);
  table.Row({Cell(""), Cell("forecast", Style::kBold), Cell("measured", Style::kBold)});
  for (const ComparedFigure& figure : o.figures) {
    if (!figure.forecast.has_value() && !figure.measured.has_value()) continue;
    table.Row({Cell(Label(figure)), Cell(figure.forecast.has_value() ? ForecastText(figure) : ""),
               Cell(figure.measured.has_value() ? MeasuredText(figure) : "not printed"), Verdict(figure)});
  }
  return table.Render(terminal);
}

// A name in front of text that is wrapped below itself.
std::string Line(absl::string_view label, const std::string& text, const Terminal& terminal) {
  std::string out;
  const std::vector<std::string> lines = Wrap(terminal.Shown(text), terminal.width - kLabel);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string name(i == 0 ? label : absl::string_view());
    absl::StrAppend(&out, name, std::string(static_cast<size_t>(kLabel) - name.size(), ' '), lines[i], "\n");
  }
  return out;
}

std::string Count(int64_t count, absl::string_view what) {
  return absl::StrCat(WithThousands(count), " ", what, count == 1 ? "" : "s");
}

std::string IterationsText(const StepStatistics& s) {
  return s.first_iteration == s.last_iteration
             ? absl::StrCat(" of iteration ", s.first_iteration)
             : absl::StrCat(" of iterations ", s.first_iteration, " to ", s.last_iteration);
}

// Why there is no forecast.
std::string MissingText(const v1::ValidateConfigResponse& launch) {
  const std::string& input = launch.memory().missing_input();
  if (input == "hardware.gpu") {
    const std::string fault = GpuFault(launch);
    return absl::StrCat("none: ", fault.empty() ? "say --gpu NAME" : fault);
  }
  if (input == "hardware.gpu_count") return "none: say --gpus N";
  if (!input.empty()) return absl::StrCat("none: say --set ", input, "=VALUE, which the launch does not");
  return "none: flightplan validate says what is missing";
}

// What the step time was taken from.
std::string BasisText(const Observation& o) {
  const StepStatistics& s = o.steps;
  if (s.used == 0) return "no report of a training loop that is known: there is no step time";
  std::string text = Count(s.used, "report");
  absl::StrAppend(&text, s.unnumbered ? "" : IterationsText(s));
  if (o.log.stride > 1) absl::StrAppend(&text, ", every ", o.log.stride, "th kept");
  std::vector<std::string> left_out;
  if (s.warm_up > 0) left_out.push_back(absl::StrCat(s.warm_up, " of warm-up"));
  if (s.outliers > 0) {
    std::vector<std::string> known;
    if (s.checkpoint_outliers > 0) known.push_back(absl::StrCat(s.checkpoint_outliers, " at checkpoints"));
    if (s.evaluation_outliers > 0) known.push_back(absl::StrCat(s.evaluation_outliers, " at evaluations"));
    left_out.push_back(absl::StrCat(Count(s.outliers, "outlier"),
                                    known.empty() ? "" : absl::StrCat(" (", absl::StrJoin(known, ", "), ")")));
  }
  if (s.other_batch > 0) left_out.push_back(absl::StrCat(s.other_batch, " of another batch"));
  if (!left_out.empty()) absl::StrAppend(&text, "; left out: ", absl::StrJoin(left_out, ", "));
  if (s.only_warm_up) absl::StrAppend(&text, "; all of them behind a start");
  if (s.used >= 5) {
    absl::StrAppend(&text,
                    absl::StrFormat("; a tenth below %.4g s, a tenth above %.4g s", s.low_ms / 1e3, s.high_ms / 1e3));
  }
  return text;
}

std::string RunText(const Observation& o) {
  const RunLog& log = o.log;
  std::vector<std::string> parts;
  if (log.total_iterations > 0)
    parts.push_back(absl::StrCat("iteration ", log.last_iteration, " of ", log.total_iterations));
  if (o.steps.global_batch > 0) parts.push_back(absl::StrCat("global batch ", WithThousands(o.steps.global_batch)));
  if (log.restarts > 0) parts.push_back(Count(log.restarts, "restart"));
  if (log.skipped_iterations > 0) parts.push_back(Count(log.skipped_iterations, "skipped iteration"));
  if (log.nan_iterations > 0)
    parts.push_back(Count(log.nan_iterations, "iteration") + " whose loss or gradient norm is no number");
  if (log.has_loss) parts.push_back(absl::StrFormat("loss %.4g", log.last_loss));
  if (log.out_of_memory > 0) parts.push_back("ran out of memory");
  if (log.finished) parts.push_back("done");
  return absl::StrJoin(parts, ", ");
}

// "EP 12 %, PP 3 %" of the traced time, exposed.
std::string TraceText(const Observation& o) {
  if (!o.trace.any()) return "";
  std::vector<std::string> paths;
  for (const auto& [path, exposed] : o.trace.exposed_by_path) {
    paths.push_back(absl::StrCat(absl::StrReplaceAll(path, {{"_", " "}}), " ", PercentText(exposed / o.trace.span_us)));
  }
  return absl::StrCat(WithThousands(o.trace.kernels), " kernels in ", absl::StrFormat("%.3g s", o.trace.span_us / 1e6),
                      o.trace.steps > 0 ? absl::StrCat(", ", Count(o.trace.steps, "step")) : "",
                      paths.empty() ? "" : "; exposed: ", absl::StrJoin(paths, ", "));
}

// "peak 61.2 GiB: optimizer state 20.1, forward 30.2 ..." of the largest GPU.
std::string SnapshotText(const MemorySnapshot& snapshot) {
  if (!snapshot.any()) return "";
  const double total = snapshot.peak > 0 ? snapshot.peak : snapshot.allocated;
  std::vector<std::string> parts;
  for (size_t i = 0; i < kMemoryCauses; ++i) {
    if (snapshot.by_cause[i] <= 0) continue;
    parts.push_back(absl::StrCat(absl::StrReplaceAll(Name(static_cast<MemoryCause>(i)), {{"_", " "}}), " ",
                                 GibNumber(snapshot.by_cause[i])));
  }
  return absl::StrCat(snapshot.peak > 0 ? "at its peak " : "without history; when taken ", GibNumber(total),
                      " GiB: ", absl::StrJoin(parts, ", "), snapshot.out_of_memory > 0 ? "; it ran out of memory" : "");
}

std::string MismatchText(const ValueMismatch& m) {
  return absl::StrCat(m.name, ": launch ", m.launch, ", run ", m.run);
}

std::string NextText(const NextKnob& next, const Observation& o) {
  v1::Fix fix;
  for (const v1::KnobSetting& setting : next.knobs) *fix.add_knobs() = setting;
  return absl::StrFormat("%s: step %+.0f %%, memory %+.1f GiB expected%s",
                         FixText(fix, TargetSpelling(o.launch.config(), o.launch.target())), 100 * next.step_change,
                         next.memory_change_bytes / (1 << 30), next.for_memory ? "; the GPUs are full" : "");
}

std::string RankLines(const Observation& o, const Terminal& terminal) {
  Table table({{.right = true}, {.right = true}, {.right = true}, {.right = true}, {.right = true}});
  table.Row({Cell("rank", Style::kBold), Cell("allocated", Style::kBold), Cell("at most", Style::kBold),
             Cell("reserved at most", Style::kBold), Cell("after", Style::kBold)});
  size_t shown = 0;
  for (const auto& [rank, report] : o.log.ranks) {
    if (++shown > kShownRanks) break;
    table.Row({Cell(rank < 0 ? "?" : absl::StrCat(rank)), Cell(GibNumber(report.allocated)),
               Cell(GibNumber(report.max_allocated)), Cell(GibNumber(report.max_reserved)),
               Cell(report.iterations < 0 ? "" : absl::StrCat(report.iterations))});
  }
  return o.log.ranks.empty()
             ? ""
             : absl::StrCat("\n", terminal.Paint("memory by rank, GiB", Style::kBold), "\n", table.Render(terminal));
}

std::string CompareLines(const ObservePage& page, const Terminal& terminal) {
  const Observation& o = page.observation;
  std::string out;
  std::vector<std::string> differ;
  for (const ValueMismatch& m : o.mismatches) {
    if (m.identity == !o.MatchesLaunch()) differ.push_back(MismatchText(m));
  }
  if (!o.MatchesLaunch()) {
    out +=
        Line("launch", absl::StrCat("this run is another one: ", absl::StrJoin(differ, "; "), ". Nothing is compared."),
             terminal);
  } else if (!differ.empty()) {
    out += Line("launch", absl::StrCat("the run had other values: ", absl::StrJoin(differ, "; ")), terminal);
  }
  if (page.launch.empty()) {
    out += Line("launch", "none: nothing is compared (--launch SCRIPT --gpu NAME)", terminal);
  } else if (o.MatchesLaunch() && !o.launch.has_estimate()) {
    out += Line("forecast", MissingText(o.launch), terminal);
  }
  bool outside = false;
  for (const ComparedFigure& figure : o.figures)
    outside = outside || figure.inside() == Inside::kAbove || figure.inside() == Inside::kBelow;
  for (const std::string& cause : o.causes)
    out += Line(&cause == &o.causes.front() ? "difference" : "", cause, terminal);
  if (o.causes.empty() && outside) out += Line("difference", "unknown: the output does not say where it is", terminal);
  if (page.next.has_value()) out += Line("next", NextText(*page.next, o), terminal);
  if (!page.why_no_next.empty()) out += Line("next", absl::StrCat("nothing: ", page.why_no_next), terminal);
  return out;
}

}  // namespace

std::string RenderObservePage(const ObservePage& page, const Terminal& terminal) {
  const Observation& o = page.observation;
  std::string out = terminal.Paint(terminal.Shown(page.input), Style::kBold);
  if (!page.launch.empty())
    absl::StrAppend(&out, "   ", terminal.Shown(page.launch), "   ", terminal.Shown(o.launch.target()));
  if (const std::string verdict = VerdictText(o, terminal); !verdict.empty()) absl::StrAppend(&out, "   ", verdict);
  absl::StrAppend(&out, "\n", HeadLines(o, terminal), "\n");
  if (o.MatchesLaunch() && o.launch.has_estimate()) absl::StrAppend(&out, FiguresTable(o, terminal), "\n");
  out += Line("taken from", BasisText(o), terminal);
  if (const std::string run = RunText(o); !run.empty()) out += Line("run", run, terminal);
  if (const std::string traced = TraceText(o); !traced.empty()) out += Line("trace", traced, terminal);
  if (const std::string held = SnapshotText(o.snapshot); !held.empty()) out += Line("snapshot", held, terminal);
  out += CompareLines(page, terminal);
  for (const std::string& fault : page.faults) out += Line("not read", fault, terminal);
  if (page.verbose) out += RankLines(o, terminal);
  return out;
}

}  // namespace flightplan::cli
