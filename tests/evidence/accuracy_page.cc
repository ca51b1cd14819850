#include "tests/evidence/accuracy_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/evidence/summary.h"

namespace flightplan {
namespace {

using Key = std::function<std::string(const HeldOutRow&)>;

std::string Line(const std::string& name, const Summary& s) {
  char text[200];
  std::snprintf(text, sizeof(text), "| %s | %zu | %.1f | %.1f | %+.1f | %.0f | %.0f |\n", name.c_str(), s.rows,
                s.median, s.p90, s.bias, s.inside, s.half_width);
  return text;
}

std::string Head(const char* what) {
  return absl::StrCat("| ", what,
                      " | rows | median | p90 | bias | inside | half width |\n|---|---|---|---|---|---|---|\n");
}

std::string Table(const char* what, const std::vector<HeldOutRow>& rows, const Key& key) {
  std::map<std::string, std::vector<const HeldOutRow*>> groups;
  std::vector<const HeldOutRow*> all;
  for (const HeldOutRow& row : rows) {
    groups[key(row)].push_back(&row);
    all.push_back(&row);
  }
  std::string out = Head(what);
  for (const auto& [name, group] : groups) out += Line(name, Summarize(group));
  return absl::StrCat(out, Line("**all**", Summarize(all)), "\n");
}

// Rows by GPU and precision: where there are none, the forecast stands on kernels alone.
std::string Coverage(const std::vector<HeldOutRow>& rows) {
  std::map<std::string, std::map<std::string, int>> counts;
  std::set<std::string> precisions;
  for (const HeldOutRow& row : rows) {
    ++counts[row.row->gpu][row.row->precision];
    precisions.insert(row.row->precision);
  }
  std::string out = absl::StrCat("| GPU | ", absl::StrJoin(precisions, " | "), " |\n|---|");
  for (size_t i = 0; i < precisions.size(); ++i) out += "---|";
  out += "\n";
  for (auto& [gpu, of_gpu] : counts) {
    absl::StrAppend(&out, "| ", gpu);
    for (const std::string& precision : precisions) {
      const int count = of_gpu.count(precision) > 0 ? of_gpu[precision] : 0;
      absl::StrAppend(&out, " | ", count > 0 ? absl::StrCat(count) : "none");
    }
    out += " |\n";
  }
  return absl::StrCat(out, "\n");
}

// Coefficients by what stands behind them: a measurement of the kernel or exchange alone, or nothing but step times.
std::string Coefficients() {
  std::vector<std::string> measured, fitted;
  for (const CoefficientRow& row : kCoefficientRows) {
    const bool alone = !absl::StrContains(row.source, "calibrated") && !absl::StrContains(row.source, "guess") &&
                       !absl::StrContains(row.source, "not measured") && !absl::StrContains(row.source, "no exchange");
    (alone ? measured : fitted).emplace_back(row.name);
  }
  return absl::StrCat("Measured apart from any step, or stated by the source (", measured.size(), "): `",
                      absl::StrJoin(measured, "`, `"), "`.\n\nKnown from step times alone (", fitted.size(), "): `",
                      absl::StrJoin(fitted, "`, `"), "`.\n\n");
}

std::string Pairs(const std::vector<AbRow>& pairs) {
  constexpr double kLarge = 0.05;
  int count = 0, right = 0, wrong = 0;
  for (const AbRow& row : pairs) {
    if (row.quality != "matched" || std::abs(row.relative_change) <= kLarge) continue;
    ++count;
    if (!row.expressible) continue;
    const StepEffect effect = ForecastEffect(row, {});
    if (effect.needs_ab()) continue;
    ++((effect.change < 0) == (row.relative_change < 0) ? right : wrong);
  }
  char text[300];
  std::snprintf(
      text, sizeof(text),
      "Of %d published pairs of runs that differ in one knob and by more than 5 %%, the forecast has the sign "
      "right for %.0f %%, wrong for %.0f %%, and says of the rest that it needs an A/B.\n",
      count, 100.0 * right / std::max(1, count), 100.0 * wrong / std::max(1, count));
  return text;
}

// Decisions against what publishers set.
std::string Decisions(const DecisionShares& shares) {
  std::set<std::string> families;
  for (const auto& [name, share] : shares) {
    for (const auto& [family, tally] : share.families) families.insert(family);
  }
  const auto cell = [](const Tally& tally) {
    char text[60];
    std::snprintf(text, sizeof(text), " | %.0f of %d", tally.percent(), tally.total);
    return tally.total > 0 ? std::string(text) : std::string(" |");
  };
  std::string out =
      absl::StrCat("| decision | with a published figure | all | ", absl::StrJoin(families, " | "), " |\n|---|");
  for (size_t i = 0; i < families.size() + 2; ++i) out += "---|";
  out += "\n";
  for (const auto& [name, share] : shares) {
    absl::StrAppend(&out, "| ", name, cell(share.published), cell(share.all));
    for (const std::string& family : families) {
      const auto found = share.families.find(family);
      out += cell(found == share.families.end() ? Tally{} : found->second);
    }
    out += " |\n";
  }
  return absl::StrCat(out, "\n");
}

// What can be had of it at all.
std::string Ceilings(const DecisionShares& shares) {
  std::string out =
      "| decision | answers | other families' habit | the same question | with the layout |\n|---|---|---|---|---|\n";
  for (const auto& [name, share] : shares) {
    char text[200];
    std::snprintf(text, sizeof(text), "| %s | %.1f | %.1f | %.1f | %.1f |\n", name.c_str(), share.all.percent(),
                  share.ceiling.by_other_families.percent(), share.ceiling.by_question.percent(),
                  share.ceiling.by_layout.percent());
    out += text;
  }
  return absl::StrCat(out, "\n");
}

// What nvidia-smi shows, from what is allocated.
std::string Device(const std::vector<DeviceError>& errors) {
  constexpr const char* kAll = "**all**";
  struct Group {
    std::vector<double> sizes, signed_errors;
    int inside = 0;
  };
  std::map<std::string, Group> groups;
  for (const DeviceError& e : errors) {
    for (const std::string& name : {e.pair->family, std::string(kAll)}) {
      Group& group = groups[name];
      group.sizes.push_back(100 * std::abs(e.held_out));
      group.signed_errors.push_back(100 * e.held_out);
      group.inside += e.inside ? 1 : 0;
    }
  }
  std::string out = "| family | pairs | median | worst | bias |\n|---|---|---|---|---|\n";
  const auto line = [&](const std::string& name, const Group& group) {
    char text[200];
    std::snprintf(text, sizeof(text), "| %s | %zu | %.1f | %.1f | %+.1f |\n", name.c_str(), group.sizes.size(),
                  Median(group.sizes), Quantile(group.sizes, 1), Median(group.signed_errors));
    out += text;
  };
  for (const auto& [name, group] : groups) {
    if (name != kAll) line(name, group);
  }
  line(kAll, groups[kAll]);
  return absl::StrCat(out, "\n", groups[kAll].inside, " of the ", errors.size(),
                      " lie within the band that an answer prints, whose coefficients have seen them.\n\n");
}

}  // namespace

std::string AccuracyPage(const AccuracyData& data) {
  std::vector<double> sizes;
  for (const double error : data.in_sample) sizes.push_back(100 * std::abs(error));
  char fitted[120];
  std::snprintf(fitted, sizeof(fitted), "%.1f", Median(sizes));
  const Key family = [](const HeldOutRow& row) { return row.group; };
  const Key precision = [](const HeldOutRow& row) { return row.row->precision; };
  const Key grade = [](const HeldOutRow& row) {
    return row.row->complete ? std::string("A: every knob is stated") : std::string("B: some are not");
  };
  return absl::StrCat(
      "# How far forecasts are off\n\n"
      "<!-- Generated by build/release/bin/calibrate --page (ninja update_accuracy); evidence/held-out fails when it "
      "is "
      "stale. -->\n\n"
      "What to expect of a model that nobody has tuned: each published step time is forecast by coefficients that have "
      "not seen its model family, with an interval that has not seen it either. All figures but the numbers of rows "
      "are "
      "per cent. A positive bias: forecasts are too slow. *Inside*: rows within the interval that is printed beside a "
      "forecast; *half width*: how far it reaches to one side. Where the fit has seen the rows, the median is ",
      fitted, ": that says nothing about another model.\n\n## By model family, each held out\n\n",
      Table("family", data.by_family, family), "## The same rows by precision\n\n",
      Table("precision", data.by_family, precision), "## The same rows by what their source states\n\n",
      Table("grade", data.by_family, grade), "## By GPU, each held out\n\n", Table("GPU", data.by_gpu, family),
      "## What is measured and what is extrapolated\n\nPublished step times (grades A and B) behind a forecast; "
      "*none*: "
      "it is extrapolated from kernels and from other precisions.\n\n",
      Coverage(data.by_family), Coefficients(),
      "Scans, compressed and factorised attention, sparse indexers and natural routing have no published measurement "
      "of "
      "their backward pass or their skew: an answer names those that its model has (`unmeasured_terms`) and its "
      "interval is wider.\n\n## The effect of one knob\n\n",
      Pairs(data.pairs),
      "\n## Decisions, each family held out\n\nHow many of the published recipes, of all releases, set a knob as an "
      "answer "
      "does whose forecast has not seen their family: per cent, and of how many. No rule names a model. Most recipes "
      "have "
      "no figure: they say what somebody wrote, not what ran.\n\n",
      Decisions(data.decisions),
      "Publishers contradict one another, so that no rule agrees with all of them. *The same question*: what is "
      "reached "
      "by the most frequent answer to each question of model, GPU, precision and number of GPUs, learnt by heart with "
      "the model's name; *with the layout*: where the parallel sizes and the microbatch are told apart, too (most such "
      "questions were published once). *Other families' habit*: the most frequent answer that other families have on "
      "the same GPU and precision, with EP inside or beyond the NVLink domain and with a pipeline or without.\n\n",
      Ceilings(data.decisions),
      "## What a device shows, each family held out\n\nPyTorch's allocator keeps freed blocks, so that nvidia-smi "
      "shows "
      "more than was allocated. The most that it held in public runs, forecast from the most that was allocated by the "
      "runs of other families alone: per cent. Context and communicators come on top and are not in these figures.\n\n",
      Device(data.device));
}

bool SameButForRounding(const std::string& page, const std::string& other) {
  const std::vector<std::string> a = absl::StrSplit(page, ' '), b = absl::StrSplit(other, ' ');
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    double x = 0, y = 0;
    if (!absl::SimpleAtod(a[i], &x) || !absl::SimpleAtod(b[i], &y)) return false;
    const bool whole = !absl::StrContains(a[i], '.');
    if (std::abs(x - y) > (whole ? 1.001 : 0.301)) return false;
  }
  return true;
}

}  // namespace flightplan
