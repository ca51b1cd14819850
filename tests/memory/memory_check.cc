// The memory forecast against measured peaks and against runs that fitted or did not:
//   memory_check FILE.jsonl[.gz] [--recipes RECIPES.jsonl[.gz]] [--evidence EVIDENCE.jsonl[.gz]] [--show K | --only ID]
//   [--parts] [--csv] [--max NAME=VALUE,...]
//
// Peaks are PyTorch's max_memory_allocated in bytes; the relative error is (forecast - measured) / measured. Class
// errors: a run that ran out of memory judged "fits", a run that trained judged "does not fit". Every tuned recipe
// counts as a run that trained, and every peak that an A/B row states as a measurement of its own group. --max fails
// above a level: median, p90, dense-median, moe-median (per cent), false-fits, false-no (rows).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "resolver/estimate/memory.h"
#include "tests/memory/memory_truth.h"
#include "tests/support/data_file.h"

namespace flightplan {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

struct Errors {
  std::vector<double> signed_percent;
  std::vector<double> Absolute() const {
    std::vector<double> out;
    for (double e : signed_percent) out.push_back(std::abs(e));
    return out;
  }
  void Print(const char* name) const {
    const std::vector<double> size = Absolute();
    std::printf("%-8s %3zu peaks   median %.2f %%   p90 %.2f %%   max %.2f %%   bias %+.2f %%\n", name, size.size(),
                Quantile(size, 0.5), Quantile(size, 0.9), Quantile(size, 1), Quantile(signed_percent, 0.5));
  }
};

GpuMemory MemoryOf(const GpuSystem& gpu) {
  return {static_cast<double>(gpu.hbm_bytes.value_or(0)),
          {gpu.cc_major, static_cast<int>(std::max<int64_t>(1, gpu.nvlink_domain_gpus))}};
}

MemoryForecast Forecast(const MemoryRow& row) {
  MemoryForecast forecast;
  ForecastMemory(*row.run.shape, row.run.plan, MemoryOf(*row.run.gpu), &forecast);
  return forecast;
}

// The peak of the rank that was measured.
double Allocated(const MemoryRow& row, const MemoryForecast& forecast) {
  if (!row.first_stage) return forecast.fullest.allocated.value;
  return MemoryModel(*row.run.shape, row.run.plan, MemoryOf(*row.run.gpu).device).Stage(0).Allocated();
}

void PrintParts(const StageBytes& bytes) {
  for (size_t i = 0; i < kMemoryParts; ++i) {
    if (bytes.parts[i] <= 0) continue;
    const absl::string_view name = Name(static_cast<MemoryPart>(i));
    std::printf("      %-24.*s %8.2f GiB\n", static_cast<int>(name.size()), name.data(), bytes.parts[i] / kGib);
  }
}

// For tests/memory/fit_memory.py: bytes that are exact, modelled and allowed for, of the rank that was measured.
void PrintCsv(const MemoryRow& row, const MemoryForecast& forecast) {
  const double allowed = forecast.fullest.bytes[MemoryPart::kWorkspaces], lasting = forecast.fullest.bytes.Static();
  std::printf("csv,%s,%d,%d,%.0f,%.0f,%.0f,%.0f\n", row.id.c_str(), row.moe, row.layout_stated, row.measured, lasting,
              forecast.fullest.bytes.Allocated() - lasting - allowed, allowed);
}

struct Classes {
  int ran = 0, ran_out = 0, false_fits = 0, false_no = 0, marginal = 0, fits = 0;
  void Count(const MemoryRow& row, FitVerdict verdict) {
    if (!row.ran && !row.ran_out) return;
    ran += row.ran ? 1 : 0;
    ran_out += row.ran_out ? 1 : 0;
    false_fits += row.ran_out && verdict == FitVerdict::kFits ? 1 : 0;
    false_no += row.ran && verdict == FitVerdict::kDoesNotFit ? 1 : 0;
    marginal += verdict == FitVerdict::kMarginal ? 1 : 0;
    fits += verdict == FitVerdict::kFits ? 1 : 0;
  }
  void Print(const char* name) const {
    std::printf("%-8s %3d ran, %d ran out   said fits, ran out: %d   said no, ran: %d   marginal: %d   fits: %d\n",
                name, ran, ran_out, false_fits, false_no, marginal, fits);
  }
};

int Main(int argc, char** argv) {
  // What rows leave open comes from our copies of the public files, unless others are given.
  const std::string data = FLIGHTPLAN_SOURCE_DIR "/tests/data/";
  std::string path, only, recipes = data + "recipes.jsonl.gz", evidence = data + "evidence.jsonl.gz";
  int show = 0;
  bool parts = false, csv = false;
  std::map<std::string, double> most;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--show" && i + 1 < argc) {
      show = std::atoi(argv[++i]);
    } else if (arg == "--recipes" && i + 1 < argc) {
      recipes = argv[++i];
    } else if (arg == "--evidence" && i + 1 < argc) {
      evidence = argv[++i];
    } else if (arg == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else if (arg == "--csv") {
      csv = true;
    } else if (arg == "--parts") {
      parts = true;
    } else if (arg == "--max" && i + 1 < argc) {
      for (absl::string_view item : absl::StrSplit(argv[++i], ',')) {
        const std::vector<std::string> pair = absl::StrSplit(item, '=');
        if (pair.size() == 2) most[pair[0]] = std::atof(pair[1].c_str());
      }
    } else {
      path = arg;
    }
  }
  if (path.empty()) {
    std::fprintf(stderr,
                 "usage: memory_check FILE.jsonl[.gz] [--recipes FILE] [--evidence FILE] [--show K | --only ID] "
                 "[--parts] [--max "
                 "name=value,...]\n");
    return 2;
  }
  absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  if (!catalog.ok()) return std::fprintf(stderr, "%s\n", catalog.status().ToString().c_str()), 2;
  const std::string recipe_text = recipes.empty() ? "" : ReadDataFileOrExit(recipes);
  const MemoryTruth truth = ReadMemoryTruth(*catalog, ReadDataFileOrExit(path), recipe_text);
  if (truth.rows.empty()) return std::fprintf(stderr, "%s: no rows read\n", path.c_str()), 2;

  Errors all, dense, moe, stated;
  Classes classes, recipe_classes, partial_classes;
  int shown = 0, covered = 0;
  for (const MemoryRow& row : truth.rows) {
    const MemoryForecast forecast = Forecast(row);
    classes.Count(row, forecast.verdict);
    double error = 0;
    if (row.measured > 0) {
      error = 100 * (Allocated(row, forecast) - row.measured) / row.measured;
      all.signed_percent.push_back(error);
      (row.moe ? moe : dense).signed_percent.push_back(error);
      if (csv) PrintCsv(row, forecast);
      if (row.layout_stated) stated.signed_percent.push_back(error);
      const Band& band = forecast.fullest.allocated;
      covered += row.measured >= band.low && row.measured <= band.high ? 1 : 0;
    }
    if (!only.empty() ? row.id.find(only) == std::string::npos : shown++ >= show) continue;
    const absl::string_view verdict = Name(forecast.verdict);
    std::printf("%-34s %7.2f of %7.2f GiB %+6.2f %%  total %.1f (%.1f..%.1f)  rank %d  %s%s%s%s\n", row.id.c_str(),
                Allocated(row, forecast) / kGib, row.measured / kGib, error, forecast.fullest.total.value / kGib,
                forecast.fullest.total.low / kGib, forecast.fullest.total.high / kGib, forecast.fullest.rank,
                std::string(verdict).c_str(), row.ran_out ? "  (ran out)" : "",
                row.assumed.empty() ? "" : "  assumed: ", absl::StrJoin(row.assumed, ", ").c_str());
    if (parts) PrintParts(forecast.fullest.bytes);
  }
  for (const std::string& reason : truth.left_out) std::printf("  left out: %s\n", reason.c_str());
  all.Print("all");
  stated.Print("stated");  // the row states its parallel sizes
  dense.Print("dense");
  moe.Print("MoE");
  std::printf("%-8s %d of %zu peaks lie in the band of what is allocated\n", "band", covered,
              all.signed_percent.size());
  classes.Print("class");

  Errors sides;
  for (const MemoryRow& row : ReadEvidencePeaks(*catalog, ReadDataFileOrExit(evidence), recipe_text).rows) {
    const MemoryForecast forecast = Forecast(row);
    const double error = 100 * (Allocated(row, forecast) - row.measured) / row.measured;
    sides.signed_percent.push_back(error);
    if (!only.empty() ? row.id.find(only) == std::string::npos : shown++ >= show) continue;
    std::printf("%-34s %7.2f of %7.2f GiB %+6.2f %%  %s\n", row.id.c_str(), Allocated(row, forecast) / kGib,
                row.measured / kGib, error, absl::StrJoin(row.assumed, ", ").c_str());
    if (parts) PrintParts(forecast.fullest.bytes);
  }
  sides.Print("A/B");

  if (!recipe_text.empty()) {
    const MemoryTruth ran = ReadRecipesThatRan(*catalog, recipe_text);
    for (const MemoryRow& row : ran.rows) {
      const MemoryForecast forecast = Forecast(row);
      (row.complete ? recipe_classes : partial_classes).Count(row, forecast.verdict);
      if (!only.empty() ? row.id.find(only) == std::string::npos
                        : forecast.verdict != FitVerdict::kDoesNotFit || shown++ >= show)
        continue;
      std::printf("%-44s %s: %.1f (%.1f..) of %.1f GiB, static %.1f, rank %d\n", row.id.c_str(),
                  std::string(Name(forecast.verdict)).c_str(), forecast.fullest.total.value / kGib,
                  forecast.fullest.total.low / kGib, static_cast<double>(*row.run.gpu->hbm_bytes) / kGib,
                  forecast.fullest.bytes.Static() / kGib, forecast.fullest.rank);
      if (parts) PrintParts(forecast.fullest.bytes);
    }
    std::printf("recipes left out: %zu\n", ran.left_out.size());
    recipe_classes.Print("recipes");
    partial_classes.Print("partial");  // with full recompute and low-precision weights where the source is silent
  }

  bool failed = false;
  const auto gate = [&](const char* name, double value) {
    auto it = most.find(name);
    if (it == most.end() || value <= it->second) return;
    std::printf("  %s is above the level reached before: %.2f > %.2f\n", name, value, it->second);
    failed = true;
  };
  gate("median", Quantile(all.Absolute(), 0.5));
  gate("p90", Quantile(all.Absolute(), 0.9));
  gate("dense-median", Quantile(dense.Absolute(), 0.5));
  gate("moe-median", Quantile(moe.Absolute(), 0.5));
  gate("false-fits", classes.false_fits);
  gate("false-no", classes.false_no + recipe_classes.false_no + partial_classes.false_no);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
