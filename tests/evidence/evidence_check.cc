// Forecasts against published measurements:
//   evidence_check EVIDENCE.jsonl[.gz] [--recipes RECIPES.jsonl[.gz]] [--memory MEMORY.jsonl[.gz]] [--show K] [--max
//   NAME=VALUE,...] [--parts] [--profiles PROFILE.json,...]
//
// Step times: published tokens/s/GPU (else step time, else TFLOP/s) of recipes that state their configuration.
// `current` rows are those of the newest release of their model, GPU, GPU count and precision; older ones are counted
// apart. A/B pairs: sign, size, and how often the answer is "needs an A/B". --max fails above a level: step-median,
// step-p90, step-bias, adapter-median, adapter-max, ab-wrong-sign, ab-needs-ab, ab-effect-median (all in per cent, on
// current rows and matched pairs).
//
// --profiles: rates of the GPUs that these profiles (`flightplan probe --out`) are of come from them, as they do in an
// answer, instead of from the catalogue.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/estimate/probe_outlook.h"
#include "resolver/normalize/recorded_profiles.h"
#include "tests/evidence/forecast.h"
#include "tests/evidence/truth.h"
#include "tests/support/data_file.h"

namespace flightplan {
namespace {

struct Options {
  std::string evidence, recipes, memory;
  size_t show = 0;
  bool parts = false;
  std::vector<std::string> profiles;
  std::map<std::string, double> most;
};

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

double Absolute(double value) { return std::abs(value); }

struct Judged {
  const TruthRow* row;
  StepForecast forecast;
  double error;  // relative, positive: forecast too slow
};

void PrintGroup(const std::string& name, const std::vector<Judged>& rows) {
  std::vector<double> errors, sizes;
  int inside = 0;
  for (const Judged& judged : rows) {
    errors.push_back(judged.error);
    sizes.push_back(Absolute(judged.error));
    inside += judged.row->step_us >= judged.forecast.low_us && judged.row->step_us <= judged.forecast.high_us;
  }
  std::printf("  %-34s %4zu   %6.1f %6.1f %6.1f   %+6.1f   %4.0f\n", name.c_str(), rows.size(),
              100 * Quantile(sizes, 0.5), 100 * Quantile(sizes, 0.9), 100 * Quantile(sizes, 1.0),
              100 * Quantile(errors, 0.5), rows.empty() ? 0.0 : 100.0 * inside / static_cast<double>(rows.size()));
}

void PrintRow(const Judged& judged, bool parts) {
  const StepParts& p = judged.forecast.parts;
  std::printf("    %+6.1f %%  published %9.1f ms  forecast %9.1f (%.1f..%.1f)  %s%s\n", 100 * judged.error,
              judged.row->step_us / 1e3, judged.forecast.us / 1e3, judged.forecast.low_us / 1e3,
              judged.forecast.high_us / 1e3, judged.row->id.c_str(), judged.row->partial ? " (partial)" : "");
  if (!parts) return;
  const double ms = 1e-3;
  std::printf(
      "              matmul %.0f attention %.0f memory %.0f again %.0f | exchange %.0f (hidden %.0f) tp %.0f pp "
      "%.0f dp %.0f | host %.0f bubble %.0f optimizer %.0f\n",
      p.matmul * ms, p.attention * ms, p.memory_bound * ms, p.recompute * ms, p.expert_exchange * ms,
      judged.forecast.hidden_exchange_us * ms, p.tensor_parallel * ms, p.pipeline_transfer * ms, p.data_parallel * ms,
      p.host * ms, p.bubble * ms, p.optimizer * ms);
}

// Runs that train adapters alone: none of them was fitted to. Those graded C run the loader and packing inside their
// step, and are shown alone.
void CheckAdapters(const TruthFile& file, const Options& options, std::map<std::string, double>* levels) {
  std::vector<Judged> sound, doubtful;
  for (const TruthRow& row : file.adapters) {
    Judged judged{&row, {}, 0};
    if (!ForecastRow(row, {}, &judged.forecast)) continue;
    judged.error = judged.forecast.us / row.step_us - 1;
    (row.doubtful ? doubtful : sound).push_back(judged);
  }
  PrintGroup("adapters, held out", sound);
  for (const Judged& judged : sound) {
    if (options.show > 0) PrintRow(judged, options.parts);
  }
  PrintGroup("adapters, graded C", doubtful);
  for (const Judged& judged : doubtful) {
    if (options.show > 0) PrintRow(judged, options.parts);
  }
  std::vector<double> sizes;
  sizes.reserve(sound.size());
  for (const Judged& judged : sound) sizes.push_back(Absolute(judged.error));
  if (sizes.empty()) return;  // not measured
  (*levels)["adapter-median"] = 100 * Quantile(sizes, 0.5);
  (*levels)["adapter-max"] = 100 * Quantile(sizes, 1.0);
}

// Fills the levels reached, for --max.
void CheckSteps(const Catalog& catalog, const Options& options, std::map<std::string, double>* levels) {
  const TruthFile file = ReadRecipes(catalog, ReadDataFileOrExit(options.recipes));
  std::vector<Judged> current, older;
  for (const TruthRow& row : file.rows) {
    Judged judged{&row, {}, 0};
    if (!ForecastRow(row, {}, &judged.forecast)) continue;
    judged.error = judged.forecast.us / row.step_us - 1;
    (row.current ? current : older).push_back(judged);
  }
  std::printf("step time, %zu published rows (%zu without a forecast)\n", file.rows.size(), file.left_out.size());
  std::printf("  %-34s rows   median    p90    max     bias   inside the interval, %%\n", "error, per cent");
  PrintGroup("current", current);
  const auto by = [&](const std::function<std::string(const TruthRow&)>& key) {
    std::map<std::string, std::vector<Judged>> groups;
    for (const Judged& judged : current) groups[key(*judged.row)].push_back(judged);
    for (const auto& [name, rows] : groups) PrintGroup("  " + name, rows);
  };
  by([](const TruthRow& row) { return absl::StrCat(row.gpu, " ", row.precision); });
  by([](const TruthRow& row) { return absl::StrCat("family ", row.family); });
  std::vector<Judged> complete;
  for (const Judged& judged : current) {
    if (!judged.row->partial && !judged.row->rounded) complete.push_back(judged);
  }
  PrintGroup("current, every knob stated", complete);
  PrintGroup("superseded by a newer release", older);
  CheckAdapters(file, options, levels);
  std::sort(current.begin(), current.end(),
            [](const Judged& a, const Judged& b) { return Absolute(a.error) > Absolute(b.error); });
  for (size_t i = 0; i < std::min(options.show, current.size()); ++i) PrintRow(current[i], options.parts);
  if (options.show > 0) {
    for (const std::string& reason : file.left_out) std::printf("    left out  %s\n", reason.c_str());
  }
  std::vector<double> errors, sizes;
  for (const Judged& judged : current) errors.push_back(judged.error), sizes.push_back(Absolute(judged.error));
  (*levels)["step-median"] = 100 * Quantile(sizes, 0.5);
  (*levels)["step-p90"] = 100 * Quantile(sizes, 0.9);
  (*levels)["step-bias"] = 100 * Absolute(Quantile(errors, 0.5));
}

// Step times that stand beside memory figures: shortened models, one node, other software.
void CheckMemoryRuns(const Catalog& catalog, const Options& options) {
  const TruthFile file = ReadMemoryRuns(catalog, ReadDataFileOrExit(options.memory));
  std::vector<Judged> runs;
  for (const TruthRow& row : file.rows) {
    Judged judged{&row, {}, 0};
    if (!ForecastRow(row, {}, &judged.forecast)) continue;
    judged.error = judged.forecast.us / row.step_us - 1;
    runs.push_back(judged);
  }
  std::printf("step time beside memory figures, %zu rows (%zu without a forecast)\n", runs.size(),
              file.left_out.size());
  PrintGroup("all", runs);
  std::sort(runs.begin(), runs.end(),
            [](const Judged& a, const Judged& b) { return Absolute(a.error) > Absolute(b.error); });
  for (size_t i = 0; i < std::min(options.show, runs.size()); ++i) PrintRow(runs[i], options.parts);
}

struct AbTally {
  int pairs = 0, needs_ab = 0, wrong = 0, right = 0;
  std::vector<double> errors;
};

void PrintTally(const std::string& name, const AbTally& tally) {
  const double n = std::max(1, tally.pairs);
  std::printf(
      "  %-34s %4d   right sign %5.1f   needs an A/B %5.1f   wrong %5.1f   effect error, points: median %5.1f p90 "
      "%5.1f\n",
      name.c_str(), tally.pairs, 100 * tally.right / n, 100 * tally.needs_ab / n, 100 * tally.wrong / n,
      100 * Quantile(tally.errors, 0.5), 100 * Quantile(tally.errors, 0.9));
}

void CheckPairs(const Catalog& catalog, const Options& options, std::map<std::string, double>* levels) {
  const std::vector<AbRow> rows = ReadEvidence(catalog, ReadDataFileOrExit(options.evidence));
  const StepCoefficients coefficients;
  constexpr double kLarge = 0.05;
  std::map<std::string, AbTally> tallies;
  AbTally matched, small;
  std::map<std::string, int> not_expressible;
  struct Line {
    double error;
    std::string text;
  };
  std::vector<Line> lines;
  for (const AbRow& row : rows) {
    const bool counted = row.quality == "matched" && Absolute(row.relative_change) > kLarge;
    StepEffect effect{0, -1, 1};
    if (row.expressible) {
      effect = ForecastEffect(row, coefficients);
    } else {
      ++not_expressible[row.quality];
      if (!counted) continue;
    }
    const double error = effect.change - row.relative_change;
    const bool right = (effect.change < 0) == (row.relative_change < 0);
    const auto add = [&](AbTally* tally) {
      ++tally->pairs;
      if (row.expressible) tally->errors.push_back(Absolute(error));
      ++(effect.needs_ab() ? tally->needs_ab : right ? tally->right : tally->wrong);
    };
    if (Absolute(row.relative_change) > kLarge) {
      add(&tallies[row.quality]);
      if (counted) add(&matched);
      if (counted) add(&tallies["matched: " + row.knob]);
    } else if (row.quality == "matched") {
      add(&small);
    }
    lines.push_back({Absolute(error), absl::StrCat(row.id, " ", row.quality, " ", row.from.model_name, " ",
                                                   row.from.gpu_name, " ", row.knob)});
    char text[160];
    std::snprintf(text, sizeof(text), "    measured %+6.1f %%  forecast %+6.1f %% (%+.1f..%+.1f)%s  ",
                  100 * row.relative_change, 100 * effect.change, 100 * effect.low, 100 * effect.high,
                  !row.expressible    ? "  not expressible"
                  : effect.needs_ab() ? "  needs an A/B"
                  : right             ? ""
                                      : "  WRONG SIGN");
    lines.back().text = text + lines.back().text;
  }
  std::printf("A/B pairs with an effect above 5 %%, per cent of the pairs\n");
  for (const auto& [name, tally] : tallies) PrintTally(name, tally);
  PrintTally("matched, effect below 5 %", small);
  for (const auto& [quality, count] : not_expressible)
    std::printf("  %d %s pairs vary something without a place in the forecast\n", count, quality.c_str());
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.error > b.error; });
  for (size_t i = 0; i < std::min(options.show, lines.size()); ++i) std::printf("%s\n", lines[i].text.c_str());
  const double n = std::max(1, matched.pairs);
  (*levels)["ab-wrong-sign"] = 100 * matched.wrong / n;
  (*levels)["ab-needs-ab"] = 100 * matched.needs_ab / n;
  (*levels)["ab-effect-median"] = 100 * Quantile(matched.errors, 0.5);
}

std::vector<std::shared_ptr<const ProbeEvidence>> ReadProfiles(const std::vector<std::string>& paths) {
  std::vector<std::shared_ptr<const ProbeEvidence>> profiles;
  for (const std::string& path : paths) {
    const auto profile = ReadRecordedProfile({path, ReadDataFileOrExit(path)});
    if (!profile.ok()) {
      std::fprintf(stderr, "%s\n", std::string(profile.status().message()).c_str());
      std::exit(2);
    }
    profiles.push_back(MakeProbeEvidence({*profile, ProfileOrigin::kRecorded}));
  }
  return profiles;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--recipes" && i + 1 < argc) {
      options.recipes = argv[++i];
    } else if (arg == "--memory" && i + 1 < argc) {
      options.memory = argv[++i];
    } else if (arg == "--show" && i + 1 < argc) {
      options.show = static_cast<size_t>(std::atoi(argv[++i]));
    } else if (arg == "--parts") {
      options.parts = true;
    } else if (arg == "--profiles" && i + 1 < argc) {
      options.profiles = absl::StrSplit(argv[++i], ',');
    } else if (arg == "--max" && i + 1 < argc) {
      for (absl::string_view item : absl::StrSplit(argv[++i], ',')) {
        const std::vector<std::string> parts = absl::StrSplit(item, '=');
        if (parts.size() == 2) options.most[parts[0]] = std::atof(parts[1].c_str());
      }
    } else {
      options.evidence = arg;
    }
  }
  if (options.evidence.empty() && options.recipes.empty()) {
    std::fprintf(stderr,
                 "usage: evidence_check EVIDENCE.jsonl[.gz] [--recipes RECIPES.jsonl[.gz]] [--show K] [--parts] [--max "
                 "NAME=PERCENT,...]\n");
    return 2;
  }
  const absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  if (!catalog.ok()) {
    std::fprintf(stderr, "%s\n", catalog.status().ToString().c_str());
    return 2;
  }
  if (!options.profiles.empty()) UseProfiles(ReadProfiles(options.profiles));
  std::map<std::string, double> levels;
  if (!options.recipes.empty()) CheckSteps(*catalog, options, &levels);
  if (!options.memory.empty()) CheckMemoryRuns(*catalog, options);
  if (!options.evidence.empty()) CheckPairs(*catalog, options, &levels);
  int failures = 0;
  for (const auto& [name, most] : options.most) {
    const auto level = levels.find(name);
    if (level != levels.end() && level->second <= most) continue;
    std::printf("FAIL  %s: %s, at most %.1f\n", name.c_str(),
                level == levels.end() ? "not measured" : absl::StrCat(level->second).c_str(), most);
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
