// Fits the coefficients of resolver/catalog/step_rates.yaml to published step times and A/B effects:
//   calibrate RECIPES.jsonl[.gz] EVIDENCE.jsonl[.gz] MEMORY.jsonl[.gz] [--write STEP_RATES.yaml]
//   [--hold-out family,model,GPU] [--rows] [--without FAMILY] [--prior NAME=VALUE[:SPREAD]]
//   [--max NAME=VALUE,...] [--min NAME=VALUE,...] [--decisions] [--device DEVICE_MEMORY.jsonl]
//   [--page FILE | --check-page FILE]
//
// Each coefficient is pulled to its prior (`prior`, `spread`) and to the data. Cross-validation holds out one model
// family at a time, fits the others and prints the error on the family it has not seen: that is the error to expect on
// a new model. Intervals are calibrated on the other families alone. --write puts the fitted values into the file,
// nothing else of it changes. --max and --min fail beyond a level, in per cent: family-median, family-p90, family-bias,
// family-coverage, family-half-width, and the same of model and GPU. --decisions counts how often what an answer
// decides is what the recipes set, each family forecast by a fit without it: decisions-dispatcher, -ep-overlap,
// -graph-impl and -recompute, and the same of the recipes with a published figure as published-dispatcher and so on;
// with --rows each recipe that has another value, and the forecast with either.
// --device names the pairs of allocated and reserved memory that the page tells of.
// --page writes docs/accuracy.md, --check-page fails where it is stale.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/evidence/accuracy_page.h"
#include "tests/evidence/decisions.h"
#include "tests/evidence/fit.h"
#include "tests/evidence/summary.h"
#include "tests/support/data_file.h"

namespace flightplan {
namespace {

// Of the intervals, with a family left out.
constexpr double kCoverage = 0.9;

// The coefficients, with the priors of --prior in place of the file's.
std::vector<CoefficientRow>& Rows() {
  static auto* rows = new std::vector<CoefficientRow>(kCoefficientRows.begin(), kCoefficientRows.end());
  return *rows;
}

// NAME=PRIOR or NAME=PRIOR:SPREAD.
bool SetPrior(const std::string& text) {
  const std::vector<std::string> sides = absl::StrSplit(text, '=');
  if (sides.size() != 2) return false;
  const std::vector<std::string> numbers = absl::StrSplit(sides[1], ':');
  for (CoefficientRow& row : Rows()) {
    if (row.name != sides[0]) continue;
    row.prior = std::atof(numbers[0].c_str());
    if (numbers.size() > 1) row.spread = std::atof(numbers[1].c_str());
    return row.prior > 0;
  }
  return false;
}

void PrintHeldOut(const HeldOutRow& held) {
  StepForecast forecast;
  const TruthRow& row = *held.row;
  ForecastRow(row, {}, &forecast);
  const StepParts& p = forecast.parts;
  const double percent = 100 / p.total();
  const bool inside = std::abs(std::log(1 + held.error)) <= held.half_width;
  std::printf(
      "    %+6.1f %% (%2.0f%s) %-52s %-5s mm %.0f att %.0f mem %.0f again %.0f ep %.0f tp %.0f cp %.0f pp %.0f dp %.0f "
      "host %.0f bubble %.0f opt %.0f\n",
      100 * held.error, 100 * held.half_width, inside ? "" : "!", row.id.c_str(), row.release.c_str(),
      p.matmul * percent, p.attention * percent, p.memory_bound * percent, p.recompute * percent,
      p.expert_exchange * percent, p.tensor_parallel * percent, p.context_parallel * percent,
      p.pipeline_transfer * percent, p.data_parallel * percent, p.host * percent, p.bubble * percent,
      p.optimizer * percent);
}

void PrintSummary(const std::string& name, const Summary& s) {
  std::printf("  %-30s %4zu  %6.1f %6.1f  %+6.1f  %5.0f  %5.0f\n", name.c_str(), s.rows, s.median, s.p90, s.bias,
              s.inside, s.half_width);
}

Summary PrintHeldOutBy(const HoldOut& by, const std::vector<HeldOutRow>& held, bool show) {
  std::printf("held-out %s, per cent\n  %-30s rows  median    p90    bias  inside  half width\n", by.name, "");
  std::map<std::string, std::vector<const HeldOutRow*>> groups;
  std::vector<const HeldOutRow*> all, complete;
  for (const HeldOutRow& row : held) {
    groups[row.group].push_back(&row);
    all.push_back(&row);
    if (row.row->complete) complete.push_back(&row);
  }
  for (const auto& [name, of_group] : groups) {
    PrintSummary(name, Summarize(of_group));
    if (!show) continue;
    for (const HeldOutRow* row : of_group) PrintHeldOut(*row);
  }
  PrintSummary("grade A", Summarize(complete));
  PrintSummary("all", Summarize(all));
  return Summarize(all);
}

void PrintDecisions(const DecisionShares& shares, std::map<std::string, double>* levels) {
  std::printf("decisions of held-out families that agree, per cent\n");
  for (const auto& [name, share] : shares) {
    std::printf("  %-12s with a figure %5.1f of %d, all %5.1f of %d:", name.c_str(), share.published.percent(),
                share.published.total, share.all.percent(), share.all.total);
    for (const auto& [family, tally] : share.families) {
      std::printf("  %s %.0f of %d", family.c_str(), tally.percent(), tally.total);
    }
    const Ceiling& most = share.ceiling;
    std::printf("\n  %-12s any rule: by question %.1f, with the layout %.1f; counted in other families %.1f\n", "",
                most.by_question.percent(), most.by_layout.percent(), most.by_other_families.percent());
    (*levels)[absl::StrCat("published-", name)] = share.published.percent();
    (*levels)[absl::StrCat("decisions-", name)] = share.all.percent();
  }
}

// One line each, its fields apart by tabs.
void PrintDisagreements(const DecisionShares& shares) {
  std::printf("decision\trecipe\trelease\torigin\tfigure\tpublished\tours\tpublished ms\tours ms\treason for ours\n");
  for (const auto& [name, share] : shares) {
    for (const Disagreement& d : share.disagreements) {
      std::printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t%.1f\t%s\n", name.c_str(), d.recipe->id.c_str(),
                  d.recipe->release.c_str(), d.recipe->origin.c_str(), d.has_figure ? "yes" : "no",
                  d.values.published.c_str(), d.values.ours.c_str(), d.published_us / 1e3, d.ours_us / 1e3,
                  d.reason.c_str());
    }
  }
}

// Replaces "value: X" of each coefficient's line.
bool Write(const std::string& path, const StepCoefficients& k) {
  std::string text = ReadDataFileOrExit(path);
  if (text.empty()) return false;
  for (const CoefficientRow& row : Rows()) {
    const std::string head = absl::StrCat("{name: ", std::string(row.name), ", value: ");
    const size_t at = text.find(head);
    if (at == std::string::npos) return false;
    const size_t begin = at + head.size(), end = text.find(',', begin);
    char number[32];
    std::snprintf(number, sizeof(number), "%.4g", k.*row.field);
    text.replace(begin, end - begin, number);
  }
  std::ofstream(path) << text;
  return true;
}

// Writes the page, or says whether it is what it would be.
bool PutPage(const std::string& path, bool check, const std::string& page) {
  if (!check) {
    std::ofstream(path) << page;
    return true;
  }
  if (SameButForRounding(ReadDataFileOrExit(path), page)) return true;
  std::printf("FAIL  %s is stale: ninja -C build/release update_accuracy\n", path.c_str());
  return false;
}

std::map<std::string, double> ReadLevels(const std::string& text) {
  std::map<std::string, double> levels;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    const std::vector<std::string> sides = absl::StrSplit(item, '=');
    if (sides.size() == 2) levels[sides[0]] = std::atof(sides[1].c_str());
  }
  return levels;
}

int Failures(const std::map<std::string, double>& levels, const std::map<std::string, double>& most,
             const std::map<std::string, double>& least) {
  int failures = 0;
  const auto check = [&](const std::string& name, double limit, bool above) {
    const auto level = levels.find(name);
    if (level != levels.end() && (above ? level->second <= limit : level->second >= limit)) return;
    std::printf("FAIL  %s: %s, %s %.1f\n", name.c_str(),
                level == levels.end() ? "not measured" : absl::StrCat(level->second).c_str(),
                above ? "at most" : "at least", limit);
    ++failures;
  };
  for (const auto& [name, limit] : most) check(name, limit, true);
  for (const auto& [name, limit] : least) check(name, limit, false);
  return failures;
}

int Main(int argc, char** argv) {
  std::vector<std::string> files;
  std::string write, page, device, hold_out = "family,model,GPU";
  bool check_page = false, decisions = false;
  std::vector<std::string> without;  // families
  std::map<std::string, double> most, least;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--write") == 0 && i + 1 < argc) {
      write = argv[++i];
    } else if ((std::strcmp(argv[i], "--page") == 0 || std::strcmp(argv[i], "--check-page") == 0) && i + 1 < argc) {
      check_page = std::strcmp(argv[i], "--check-page") == 0;
      page = argv[++i];
    } else if (std::strcmp(argv[i], "--device") == 0 && i + 1 < argc) {
      device = argv[++i];
    } else if (std::strcmp(argv[i], "--hold-out") == 0 && i + 1 < argc) {
      hold_out = argv[++i];
    } else if (std::strcmp(argv[i], "--max") == 0 && i + 1 < argc) {
      most = ReadLevels(argv[++i]);
    } else if (std::strcmp(argv[i], "--min") == 0 && i + 1 < argc) {
      least = ReadLevels(argv[++i]);
    } else if (std::strcmp(argv[i], "--prior") == 0 && i + 1 < argc && SetPrior(argv[i + 1])) {
      ++i;
    } else if (std::strcmp(argv[i], "--without") == 0 && i + 1 < argc) {
      without.emplace_back(argv[++i]);
    } else if (std::strcmp(argv[i], "--decisions") == 0) {
      decisions = true;
    } else if (std::strcmp(argv[i], "--rows") == 0) {
      show = true;
    } else {
      files.emplace_back(argv[i]);
    }
  }
  const absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  if (files.size() != 3 || !catalog.ok()) {
    std::fprintf(stderr,
                 "usage: calibrate RECIPES.jsonl EVIDENCE.jsonl MEMORY.jsonl [--write STEP_RATES.yaml] "
                 "[--hold-out family,model,GPU] [--max NAME=PERCENT,...] [--min NAME=PERCENT,...]\n");
    return 2;
  }
  TruthFile file = ReadRecipes(*catalog, ReadDataFileOrExit(files[0]));
  const std::string evidence = ReadDataFileOrExit(files[1]);
  const std::vector<AbRow> pairs = ReadEvidence(*catalog, evidence);
  for (TruthFile* more : {new TruthFile(ReadEvidenceRuns(*catalog, evidence)),
                          new TruthFile(ReadMemoryRuns(*catalog, ReadDataFileOrExit(files[2])))}) {
    for (TruthRow& row : more->rows) {
      row.extra = true;
      file.rows.push_back(std::move(row));
    }
    delete more;
  }
  StepCoefficients k = FitCoefficients(Rows(), ChooseData(file.rows, pairs, kByFamily, without));
  std::vector<double> errors, biases;
  for (const TruthRow& row : file.rows) {
    if (row.extra)
      std::printf("  extra %+6.1f %%  %s\n", 100 * (std::exp(DeviationOf(row, k).error) - 1), row.id.c_str());
    if (row.extra) continue;
    const double error = std::exp(DeviationOf(row, k).error) - 1;
    errors.push_back(std::abs(error));
    biases.push_back(error);
  }
  std::printf("coefficient, prior -> fitted (pull in spreads)\n");
  for (const CoefficientRow& row : Rows()) {
    if (row.spread <= 0) continue;
    const double z = std::log(k.*row.field / row.prior) / row.spread;
    std::printf("  %-30s %9.4g -> %9.4g  %+5.2f\n", std::string(row.name).c_str(), row.prior, k.*row.field, z);
  }
  std::printf("fitted on all: median error %.1f %%, bias %+.1f %% over %zu rows\n", 100 * Median(errors),
              100 * Median(biases), errors.size());
  std::map<std::string, double> levels;
  const std::vector<DevicePair> device_pairs =
      device.empty() ? std::vector<DevicePair>{} : ReadDevicePairs(ReadDataFileOrExit(device));
  AccuracyData accuracy{{}, {}, biases, pairs, {}, DeviceErrors(device_pairs)};
  for (const HoldOut& by : {kByFamily, kByModel, kByGpu}) {
    if (!absl::StrContains(hold_out, by.name)) continue;
    const std::vector<HeldOutRow> held = HoldOutRows(Rows(), file.rows, pairs, by, kCoverage);
    const Summary all = PrintHeldOutBy(by, held, show);
    const std::string name = by.name;
    if (name == kByFamily.name) accuracy.by_family = held;
    if (name == kByGpu.name) accuracy.by_gpu = held;
    levels[name + "-median"] = all.median;
    levels[name + "-p90"] = all.p90;
    levels[name + "-bias"] = std::abs(all.bias);
    levels[name + "-coverage"] = all.inside;
    levels[name + "-half-width"] = all.half_width;
  }
  if (decisions) {
    const absl::StatusOr<std::vector<Recipe>> recipes = ReadRecipes(files[0].c_str());
    if (recipes.ok()) accuracy.decisions = HeldOutDecisions(*catalog, *recipes, Rows(), file.rows, pairs, show);
    PrintDecisions(accuracy.decisions, &levels);
    if (show) PrintDisagreements(accuracy.decisions);
  }
  if (!write.empty()) k.interval_scale = HeldOutScale(Rows(), file.rows, pairs, kByFamily, kCoverage);
  if (!write.empty() && !Write(write, k)) {
    std::fprintf(stderr, "%s: not written\n", write.c_str());
    return 1;
  }
  const bool stale = !page.empty() && !PutPage(page, check_page, AccuracyPage(accuracy));
  return Failures(levels, most, least) == 0 && !stale ? 0 : 1;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
