// property_check FILE.jsonl[.gz] ... [--show K]
//
// Holds the cases of golden files to the properties of properties.h. Prints one line a property and file, and for each
// subject that breaks it how often and one example. Exit status: 0 all hold, 1 some do not, 2 misuse or unreadable
// file.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "tests/golden/golden_case.h"
#include "tests/properties/properties.h"

namespace flightplan::properties {
namespace {

struct Property {
  const char* name;
  std::vector<Breach> (*check)(const golden::GoldenCase&);
};
constexpr Property kProperties[] = {
    {"fixes", CheckFixes}, {"again", CheckAgain}, {"short-run", CheckShortRun}, {"round-trip", CheckRoundTrip}};

struct Tally {
  int broken_cases = 0, excused_cases = 0;
  std::map<std::string, std::pair<int, std::string>> subjects;  // count, first example
};

void Count(const Property& property, const golden::GoldenCase& golden, Tally* tally) {
  bool broken = false;
  bool excused = false;
  for (const Breach& breach : property.check(golden)) {
    if (!KnownReason(property.name, breach.subject).empty()) {
      excused = true;
      continue;
    }
    broken = true;
    auto& [count, example] = tally->subjects[breach.subject];
    if (count++ == 0) example = absl::StrCat(golden.id, ": ", breach.detail);
  }
  tally->broken_cases += broken ? 1 : 0;
  tally->excused_cases += excused ? 1 : 0;
}

// The number of cases that break a property.
absl::StatusOr<int> CheckFile(const std::string& path, int show) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::unique_ptr<golden::GoldenReader> reader, golden::MakeReader(path));
  Tally tallies[std::size(kProperties)];
  int cases = 0;
  FLIGHTPLAN_RETURN_IF_ERROR(golden::ForEachLine(path, [&](absl::string_view line) -> absl::Status {
    rapidjson::Document document;
    document.Parse<rapidjson::kParseNanAndInfFlag | rapidjson::kParseFullPrecisionFlag>(line.data(), line.size());
    if (!document.IsObject()) return absl::InvalidArgumentError("not a JSON object");
    FLIGHTPLAN_ASSIGN_OR_RETURN(const golden::GoldenCase golden, reader->Read(document));
    if (!golden.exempt.empty() || !golden.front_end.empty()) return absl::OkStatus();
    ++cases;
    for (size_t i = 0; i < std::size(kProperties); ++i) Count(kProperties[i], golden, &tallies[i]);
    return absl::OkStatus();
  }));
  int broken = 0;
  for (size_t i = 0; i < std::size(kProperties); ++i) {
    const Tally& tally = tallies[i];
    broken += tally.broken_cases;
    std::printf("%s: broken in %d of %d cases, excused in %d (%s)\n", kProperties[i].name, tally.broken_cases, cases,
                tally.excused_cases, path.c_str());
    int shown = 0;
    for (const auto& [subject, found] : tally.subjects) {
      if (shown++ >= show) break;
      std::printf("  %5d  %s  %s\n", found.first, subject.c_str(), found.second.c_str());
    }
  }
  return broken;
}

int Main(const std::vector<std::string>& args) {
  std::vector<std::string> files;
  int show = 20;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] != "--show") {
      files.push_back(args[i]);
    } else if (++i >= args.size() || !absl::SimpleAtoi(args[i], &show)) {
      std::fprintf(stderr, "property_check: --show wants a number\n");
      return 2;
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: property_check FILE.jsonl[.gz] ... [--show K]\n");
    return 2;
  }
  int broken = 0;
  for (const std::string& file : files) {
    const absl::StatusOr<int> count = CheckFile(file, show);
    if (!count.ok()) {
      std::fprintf(stderr, "property_check: %s\n", std::string(count.status().message()).c_str());
      return 2;
    }
    broken += *count;
  }
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) {
  return flightplan::properties::Main(std::vector<std::string>(argv + 1, argv + argc));
}
