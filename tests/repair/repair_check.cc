// repair_check [--allow-convergence] [--min COUNT] FILE.jsonl[.gz] ...    a flag holds for the files behind it
//
// Repairs every golden case that our rules refuse, and judges what comes out again. Prints how many have no error left,
// how many of those needed the search, and the rules that stay most often. Exit status: 1 where fewer than --min are
// repaired, 2 misuse.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "rapidjson/document.h"
#include "resolver/engine/repair.h"
#include "tests/golden/golden_case.h"

namespace flightplan::golden {
namespace {

struct Totals {
  int refused = 0, repaired = 0, searched = 0, touched = 0;
  std::map<std::string, int> left;
};

bool HasError(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::kError; });
}

void Check(GoldenCase golden, const RepairOptions& options, Totals* totals) {
  // What the reader refuses is no knob's fault.
  if (!golden.exempt.empty() || HasError(golden.front_end)) return;
  if (!HasError(Run(golden.config, golden.env).findings)) return;
  ++totals->refused;
  const Repair repair = FindRepair(golden.config, golden.env, options);
  ApplyPatch(repair.patch, &golden.config, &golden.env);
  const bool clean = !HasError(Run(golden.config, golden.env).findings);
  totals->repaired += clean ? 1 : 0;
  const bool searched = std::any_of(repair.steps.begin(), repair.steps.end(), [](const auto& s) { return s.searched; });
  totals->searched += clean && searched ? 1 : 0;
  totals->touched += !options.allow_convergence && ChangesConvergence(repair.patch) ? 1 : 0;
  for (const Finding& finding : repair.left) ++totals->left[std::string(finding.rule_id)];
}

absl::Status CheckFile(const std::string& path, const RepairOptions& options, Totals* totals) {
  auto reader = MakeReader(path);
  if (!reader.ok()) return reader.status();
  return ForEachLine(path, [&](absl::string_view line) -> absl::Status {
    rapidjson::Document document;
    document.Parse<rapidjson::kParseNanAndInfFlag | rapidjson::kParseFullPrecisionFlag>(line.data(), line.size());
    auto golden = (*reader)->Read(document);
    if (!golden.ok()) return golden.status();
    Check(*std::move(golden), options, totals);
    return absl::OkStatus();
  });
}

int Main(const std::vector<std::string>& args) {
  RepairOptions options;
  int min = 0;
  bool failed = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--allow-convergence") {
      options.allow_convergence = true;
      continue;
    }
    if (args[i] == "--min" && i + 1 < args.size()) {
      min = std::atoi(args[++i].c_str());
      continue;
    }
    Totals totals;
    const absl::Status status = CheckFile(args[i], options, &totals);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      return 2;
    }
    const double share = totals.refused == 0 ? 1 : static_cast<double>(totals.repaired) / totals.refused;
    std::printf("%s: %d refused, %d repaired (%.1f %%), %d of them by search, %d touched convergence unasked\n",
                args[i].c_str(), totals.refused, totals.repaired, 100 * share, totals.searched, totals.touched);
    std::vector<std::pair<std::string, int>> left(totals.left.begin(), totals.left.end());
    std::stable_sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    for (size_t k = 0; k < left.size() && k < 10; ++k)
      std::printf("  %5d  %s\n", left[k].second, left[k].first.c_str());
    failed = failed || totals.repaired < min || totals.touched > 0;
  }
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace flightplan::golden

int main(int argc, char** argv) { return flightplan::golden::Main({argv + 1, argv + argc}); }
