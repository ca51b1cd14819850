// golden_check FILE.jsonl[.gz] ... [--show K] [--tally] [--flow core|bridge] [--min-agree R]
//
// Runs every case of the files through the rules and compares with what upstream's own code said. Prints one line per
// file. Exit status: 0 done, 1 the share of agreement is below --min-agree, 2 misuse or unreadable file.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "tests/golden/golden_case.h"

namespace flightplan::golden {
namespace {

struct Options {
  std::vector<std::string> files;
  int show = 0;
  bool tally = false;
  std::string flow;        // only cases of this flow
  std::string only;        // only this case id
  double min_agree = 0.0;  // share of agreement below which the exit status is 1
};

struct Totals {
  int cases = 0, agree = 0, exempt = 0;
  int false_accept = 0, false_reject = 0, rule_missed = 0, result_differs = 0, warnings_differ = 0;
  std::map<std::string, int> keys;
  std::map<std::string, int> unmapped;
};

void Count(const GoldenCase& golden, const Judgement& judgement, Totals* totals) {
  ++totals->cases;
  totals->agree += judgement.agree() ? 1 : 0;
  totals->false_accept += judgement.false_accept ? 1 : 0;
  totals->false_reject += judgement.false_reject ? 1 : 0;
  totals->rule_missed += judgement.rule_missed ? 1 : 0;
  totals->result_differs += judgement.result_differs ? 1 : 0;
  totals->warnings_differ += judgement.warnings_differ ? 1 : 0;
  for (const std::string& key : judgement.keys) ++totals->keys[key];
  for (const std::string& name : golden.unmapped) ++totals->unmapped[name];
}

void PrintCounts(const char* heading, const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (!sorted.empty()) std::printf("%s\n", heading);
  for (const auto& [key, count] : sorted) std::printf("  %6d  %s\n", count, key.c_str());
}

absl::StatusOr<Totals> CheckFile(const std::string& path, const Options& options) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::unique_ptr<GoldenReader> reader, MakeReader(path));
  Totals totals;
  int shown = 0;
  FLIGHTPLAN_RETURN_IF_ERROR(ForEachLine(path, [&](absl::string_view line) -> absl::Status {
    rapidjson::Document document;
    document.Parse<rapidjson::kParseNanAndInfFlag | rapidjson::kParseFullPrecisionFlag>(line.data(), line.size());
    if (!document.IsObject()) return absl::InvalidArgumentError("not a JSON object");
    if (!options.only.empty() && document["id"].GetString() != options.only) return absl::OkStatus();
    if (!options.flow.empty() && document["case"]["flow"].GetString() != options.flow) return absl::OkStatus();
    FLIGHTPLAN_ASSIGN_OR_RETURN(const GoldenCase golden, reader->Read(document));
    if (!golden.exempt.empty()) {
      ++totals.exempt;
      return absl::OkStatus();
    }
    const Judgement judgement = Judge(golden);
    Count(golden, judgement, &totals);
    if (!judgement.agree() && shown++ < options.show) {
      std::printf("%s: upstream %s\n", golden.id.c_str(),
                  golden.accept ? "accepts" : absl::StrCat("rejects with ", golden.rule).c_str());
      for (const std::string& detail : judgement.details) std::printf("    %s\n", detail.c_str());
    }
    return absl::OkStatus();
  }));
  return totals;
}

void PrintLine(const std::string& path, const Totals& t) {
  std::printf("agree %d of %d; false_accept %d; false_reject %d; rule_missed %d; result_differs %d; warnings_differ %d",
              t.agree, t.cases, t.false_accept, t.false_reject, t.rule_missed, t.result_differs, t.warnings_differ);
  std::printf("  (%s; exempt %d)\n", path.c_str(), t.exempt);
}

int Misuse(const std::string& why) {
  std::fprintf(stderr,
               "golden_check: %s\nusage: golden_check FILE.jsonl[.gz] ... [--show K] [--tally] "
               "[--flow core|bridge] [--case ID] [--min-agree R]\n",
               why.c_str());
  return 2;
}

int Main(const std::vector<std::string>& args) {
  Options options;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "--tally") {
      options.tally = true;
      continue;
    }
    if (arg.empty() || arg[0] != '-') {
      options.files.push_back(arg);
      continue;
    }
    if (i + 1 >= args.size()) return Misuse(absl::StrCat(arg, " needs a value"));
    const std::string& value = args[++i];
    if (arg == "--show") {
      if (!absl::SimpleAtoi(value, &options.show)) return Misuse("--show wants a number");
    } else if (arg == "--min-agree") {
      if (!absl::SimpleAtod(value, &options.min_agree)) return Misuse("--min-agree wants a number");
    } else if (arg == "--flow") {
      options.flow = value;
    } else if (arg == "--case") {
      options.only = value;
      options.show = std::max(options.show, 1);
    } else {
      return Misuse(absl::StrCat("unknown option ", arg));
    }
  }
  if (options.files.empty()) return Misuse("no file given");
  bool below = false;
  for (const std::string& file : options.files) {
    const absl::StatusOr<Totals> totals = CheckFile(file, options);
    if (!totals.ok()) {
      std::fprintf(stderr, "golden_check: %s\n", std::string(totals.status().message()).c_str());
      return 2;
    }
    if (options.tally) PrintCounts("disagreements by cause", totals->keys);
    if (options.tally) PrintCounts("input fields without a knob", totals->unmapped);
    PrintLine(file, *totals);
    if (totals->cases == 0) std::fprintf(stderr, "golden_check: %s: no case was compared\n", file.c_str());
    below = below || totals->cases == 0 || totals->agree < options.min_agree * totals->cases;
  }
  return below ? 1 : 0;
}

}  // namespace
}  // namespace flightplan::golden

int main(int argc, char** argv) { return flightplan::golden::Main(std::vector<std::string>(argv + 1, argv + argc)); }
