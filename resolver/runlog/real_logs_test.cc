// What real runs printed, in public threads, and the figures it must yield: testdata/sources.tsv.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "resolver/runlog/line_splitter.h"
#include "resolver/runlog/run_log.h"
#include "resolver/runlog/step_statistics.h"

namespace flightplan {
namespace {

constexpr double kMib = 1024.0 * 1024.0;
constexpr size_t kLeastSources = 20;

std::string ReadFile(const std::string& name) {
  std::ifstream in(absl::StrCat(FLIGHTPLAN_SOURCE_DIR, "/resolver/runlog/testdata/", name), std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

RunLog Read(const std::string& text, size_t piece) {
  LineSplitter splitter;
  RunLogReader reader;
  const auto take = [&reader](absl::string_view line, bool complete) { reader.Add(line, complete); };
  for (size_t at = 0; at < text.size(); at += piece) splitter.Push(absl::string_view(text).substr(at, piece), take);
  splitter.Finish(take);
  return reader.Log();
}

template <class Number>
double Whole(Number number) {
  return static_cast<double>(number);
}

double MostOf(const RunLog& log, double MemoryReport::*field) {
  double most = 0;
  for (const auto& [rank, report] : log.ranks) most = std::max(most, report.*field);
  return most / kMib;
}

double GpuMib(const RunLog& log, int64_t index) {
  const auto gpu = log.gpus.find(index);
  return gpu == log.gpus.end() ? -1 : gpu->second.used / kMib;
}

std::map<std::string, double> FiguresOf(const RunLog& log) {
  const StepStatistics steps = StatisticsOf(log);
  std::map<std::string, double> figures = {
      {"reports", Whole(log.reports)},
      {"first", Whole(log.first_iteration)},
      {"last", Whole(log.last_iteration)},
      {"total", Whole(log.total_iterations)},
      {"restarts", Whole(log.restarts)},
      {"skipped", Whole(log.skipped_iterations)},
      {"nan", Whole(log.nan_iterations)},
      {"loss", log.last_loss},
      {"used", Whole(steps.used)},
      {"warm_up", Whole(steps.warm_up)},
      {"outliers", Whole(steps.outliers)},
      {"only_warm_up", steps.only_warm_up ? 1 : 0},
      {"median_ms", steps.median_ms},
      {"tflops", steps.tflops},
      {"tokens", steps.tokens},
      {"optimizer_ms", steps.optimizer_ms},
      {"batch", Whole(steps.global_batch)},
      {"ranks", Whole(log.ranks.size())},
      {"allocated_mib", MostOf(log, &MemoryReport::allocated)},
      {"max_allocated_mib", MostOf(log, &MemoryReport::max_allocated)},
      {"max_reserved_mib", MostOf(log, &MemoryReport::max_reserved)},
      {"parameters_b", log.total_parameters / 1e9},
      {"states_mib", log.theoretical.states / kMib},
      {"activations_mib", log.theoretical.activations / kMib},
      {"stage0_parameters", log.stage_parameters.count(0) > 0 ? Whole(log.stage_parameters.at(0)) : 0},
      {"gpus", Whole(log.gpus.size())},
      {"gpu0_mib", GpuMib(log, 0)},
      {"gpu1_mib", GpuMib(log, 1)},
      {"arguments", Whole(log.arguments.size())},
      {"out_of_memory", Whole(log.out_of_memory)},
  };
  for (const auto& [index, gpu] : log.gpus) {
    figures["most_gpu_mib"] = std::max(figures["most_gpu_mib"], gpu.used / kMib);
    figures["gpu_total_mib"] = gpu.total / kMib;
  }
  return figures;
}

struct Source {
  std::string file, url;
  std::vector<std::pair<std::string, double>> expected;
};

std::vector<Source> Sources() {
  std::vector<Source> sources;
  const std::string text = ReadFile("sources.tsv");
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (line[0] == '#' || line.substr(0, 5) == "file\t") continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    EXPECT_EQ(cells.size(), 3U) << line;
    if (cells.size() != 3) continue;
    Source& source = sources.emplace_back(Source{cells[0], cells[1], {}});
    for (const absl::string_view pair : absl::StrSplit(cells[2], ' ')) {
      const std::pair<std::string, std::string> halves = absl::StrSplit(pair, absl::MaxSplits('=', 1));
      double value = 0;
      EXPECT_TRUE(absl::SimpleAtod(halves.second, &value)) << pair;
      source.expected.emplace_back(halves.first, value);
    }
  }
  return sources;
}

TEST(RealLogs, YieldTheirFigures) {
  const std::vector<Source> sources = Sources();
  EXPECT_GE(sources.size(), kLeastSources);
  for (const Source& source : sources) {
    const std::string text = ReadFile(absl::StrCat("logs/", source.file));
    ASSERT_FALSE(text.empty()) << source.file;
    const std::map<std::string, double> figures = FiguresOf(Read(text, text.size()));
    for (const auto& [name, value] : source.expected) {
      ASSERT_TRUE(figures.count(name) > 0) << name;
      EXPECT_NEAR(figures.at(name), value, 1e-4 * std::abs(value) + 1e-9) << source.file << " " << name;
    }
  }
}

TEST(RealLogs, DoNotDependOnHowTheyArrive) {
  for (const Source& source : Sources()) {
    const std::string text = ReadFile(absl::StrCat("logs/", source.file));
    const std::map<std::string, double> whole = FiguresOf(Read(text, text.size()));
    EXPECT_EQ(FiguresOf(Read(text, 1)), whole) << source.file;
    EXPECT_EQ(FiguresOf(Read(text, 7)), whole) << source.file;
  }
}

// Line ends of Windows, colours, and the marks of launchers change nothing.
TEST(RealLogs, ReadTheSameInOtherClothes) {
  for (const Source& source : Sources()) {
    if (absl::StrContains(source.file, "wrapped") || absl::StrContains(source.file, "graphs")) continue;
    const std::string text = ReadFile(absl::StrCat("logs/", source.file));
    const std::map<std::string, double> plain = FiguresOf(Read(text, text.size()));
    std::string dressed, colored;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      absl::StrAppend(&dressed, line, "\r\n");
      absl::StrAppend(&colored, "\x1b[32m", line, "\x1b[0m", std::string(1, '\0'), "\n");
    }
    const size_t cut = text.empty() || text.back() == '\n' ? 0 : 2;  // a last line without an end keeps none
    EXPECT_EQ(FiguresOf(Read(dressed.substr(0, dressed.size() - cut), 4096)), plain) << source.file;
    EXPECT_EQ(FiguresOf(Read(colored.substr(0, colored.size() - (cut > 0 ? 1 : 0)), 4096)), plain) << source.file;
  }
}

}  // namespace
}  // namespace flightplan
