// Fits the coefficients of resolver/catalog/step_rates.yaml to published step times and A/B effects:
//   calibrate RECIPES.jsonl[.gz] EVIDENCE.jsonl[.gz] MEMORY.jsonl[.gz] [--write STEP_RATES.yaml]
//   [--no-cross-validation]
//
// Each coefficient is pulled to its prior (`prior`, `spread`) and to the data. Cross-validation holds out one model
// family at a time, fits the others and prints the error on the family it has not seen: that is the error to expect on
// a new model. --write puts the fitted values into the file, nothing else of it changes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/evidence/truth.h"
#include "tests/support/data_file.h"

namespace flightplan {
namespace {

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

struct Data {
  std::vector<const TruthRow*> rows;
  std::vector<double> weights;
  std::vector<const AbRow*> pairs;
};

// Squared for small deviations, linear for large ones: a row whose software was broken must not bend the rest.
double Loss(double deviation, double scale) {
  const double z = deviation / scale;
  return 2 * (std::sqrt(1 + z * z / 2) - 1) * 2;
}

double LogError(const TruthRow& row, const StepCoefficients& k) {
  StepForecast forecast;
  if (!ForecastStep(row.run.work, row.run.plan, RatesFor(row.run, k), &forecast) || forecast.us <= 0) return 0;
  return std::log(forecast.us / row.step_us);
}

double Cost(const Data& data, const StepCoefficients& k) {
  double cost = 0;
  for (size_t i = 0; i < data.rows.size(); ++i) cost += data.weights[i] * Loss(LogError(*data.rows[i], k), 0.05);
  for (const AbRow* row : data.pairs) {
    const double got = std::log(1 + std::max(-0.9, ForecastEffect(*row, k).change));
    cost += 0.3 * Loss(got - std::log(1 + row->relative_change), 0.06);
  }
  for (const CoefficientRow& row : Rows()) {
    if (row.spread <= 0) continue;
    const double z = std::log(k.*row.field / row.prior) / row.spread;
    cost += 0.5 * z * z;
  }
  return cost;
}

StepCoefficients Fit(const Data& data) {
  StepCoefficients k;
  for (const CoefficientRow& row : Rows()) k.*row.field = row.prior;
  double best = Cost(data, k);
  std::map<const CoefficientRow*, double> steps;
  for (const CoefficientRow& row : Rows()) steps[&row] = row.spread / 2;
  for (int round = 0; round < 60; ++round) {
    const double before = best;
    for (const CoefficientRow& row : Rows()) {
      double& step = steps[&row];
      if (step < 1e-4) continue;
      bool moved = false;
      for (double factor : {std::exp(step), std::exp(-step)}) {
        StepCoefficients trial = k;
        trial.*row.field *= factor;
        const double cost = Cost(data, trial);
        if (cost >= best) continue;
        best = cost;
        k = trial;
        moved = true;
        break;
      }
      step *= moved ? 1.3 : 0.5;
    }
    if (before - best < 1e-4) break;
  }
  return k;
}

// A family, a GPU and a precision that many rows share must not outweigh the others.
// How rows are held out together, and what one belongs to.
struct HoldOut {
  const char* name;
  std::string (*of_row)(const TruthRow&);
  std::string (*of_pair)(const AbRow&);
};
constexpr HoldOut kHoldOuts[] = {
    {"family", [](const TruthRow& row) { return row.family; }, [](const AbRow& row) { return row.family; }},
    {"model", [](const TruthRow& row) { return row.run.model_name; },
     [](const AbRow& row) { return row.from.model_name; }},
    {"GPU", [](const TruthRow& row) { return row.gpu; }, [](const AbRow& row) { return row.from.gpu_name; }}};

Data Choose(const std::vector<TruthRow>& rows, const std::vector<AbRow>& pairs, const HoldOut& by,
            const std::string& without) {
  Data data;
  std::map<std::string, int> sharing;
  const auto key = [](const TruthRow& row) { return absl::StrCat(row.run.model_name, row.gpu, row.precision); };
  const auto used = [&](const TruthRow& row) { return row.current && by.of_row(row) != without; };
  for (const TruthRow& row : rows) {
    if (used(row)) ++sharing[key(row)];
  }
  for (const TruthRow& row : rows) {
    if (!used(row)) continue;
    data.rows.push_back(&row);
    data.weights.push_back((row.extra ? 0.15 : row.partial || row.rounded ? 0.4 : 1.0) / std::sqrt(sharing[key(row)]));
  }
  for (const AbRow& row : pairs) {
    if (row.expressible && row.quality == "matched" && by.of_pair(row) != without) data.pairs.push_back(&row);
  }
  return data;
}

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

void PrintHeldOut(const TruthRow& row, const StepForecast& forecast, double error) {
  const StepParts& p = forecast.parts;
  const double percent = 100 / forecast.us;
  std::printf(
      "    %+6.1f %%  %-44s of 100: matmul %.0f attention %.0f memory %.0f again %.0f exchange %.0f tp %.0f cp %.0f pp "
      "%.0f "
      "dp %.0f host %.0f bubble %.0f optimizer %.0f\n",
      100 * error, row.id.c_str(), p.matmul * percent, p.attention * percent, p.memory_bound * percent,
      p.recompute * percent, p.expert_exchange * percent, p.tensor_parallel * percent, p.context_parallel * percent,
      p.pipeline_transfer * percent, p.data_parallel * percent, p.host * percent, p.bubble * percent,
      p.optimizer * percent);
}

void CrossValidate(const std::vector<TruthRow>& rows, const std::vector<AbRow>& pairs, const HoldOut& by, bool show) {
  std::set<std::string> groups;
  for (const TruthRow& row : rows) {
    if (row.current && !row.extra) groups.insert(by.of_row(row));
  }
  std::vector<double> all, signed_all;
  int all_inside = 0;
  std::printf("held-out %s: rows, median error, bias, inside the interval (per cent, current rows)\n", by.name);
  for (const std::string& group : groups) {
    const StepCoefficients k = Fit(Choose(rows, pairs, by, group));
    std::vector<double> errors, biases;
    int inside = 0;
    for (const TruthRow& row : rows) {
      if (!row.current || row.extra || by.of_row(row) != group) continue;
      StepForecast forecast;
      ForecastStep(row.run.work, row.run.plan, RatesFor(row.run, k), &forecast);
      inside += row.step_us >= forecast.low_us && row.step_us <= forecast.high_us;
      const double error = std::exp(LogError(row, k)) - 1;
      if (show) PrintHeldOut(row, forecast, error);
      errors.push_back(std::abs(error));
      biases.push_back(error);
      all.push_back(std::abs(error));
      signed_all.push_back(error);
    }
    all_inside += inside;
    std::printf("  %-20s %3zu  %5.1f  %+5.1f  %4.0f\n", group.c_str(), errors.size(), 100 * Median(errors),
                100 * Median(biases), errors.empty() ? 0.0 : 100.0 * inside / static_cast<double>(errors.size()));
  }
  std::printf("  %-20s %3zu  %5.1f  %+5.1f  %4.0f   p90 %.1f\n", "all", all.size(), 100 * Median(all),
              100 * Median(signed_all), all.empty() ? 0.0 : 100.0 * all_inside / static_cast<double>(all.size()),
              100 * Quantile(all, 0.9));
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

int Main(int argc, char** argv) {
  std::vector<std::string> files;
  std::string write;
  bool cross = true, show = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--write") == 0 && i + 1 < argc) {
      write = argv[++i];
    } else if (std::strcmp(argv[i], "--no-cross-validation") == 0) {
      cross = false;
    } else if (std::strcmp(argv[i], "--prior") == 0 && i + 1 < argc && SetPrior(argv[i + 1])) {
      ++i;
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
                 "[--no-cross-validation]\n");
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
  const StepCoefficients k = Fit(Choose(file.rows, pairs, kHoldOuts[0], ""));
  std::vector<double> errors, biases;
  for (const TruthRow& row : file.rows) {
    if (row.extra) std::printf("  extra %+6.1f %%  %s\n", 100 * (std::exp(LogError(row, k)) - 1), row.id.c_str());
    if (!row.current || row.extra) continue;
    const double error = std::exp(LogError(row, k)) - 1;
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
  if (cross) {
    for (const HoldOut& by : kHoldOuts) CrossValidate(file.rows, pairs, by, show);
  }
  if (!write.empty() && !Write(write, k)) {
    std::fprintf(stderr, "%s: not written\n", write.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
