// The memory forecast of launches as users write them against peaks that no coefficient and no formula was made for:
//   unseen_check FILE.jsonl[.gz] [--show K] [--max NAME=VALUE,...]
//
// A row is the launch of one of Megatron-LM's functional tests and the peak that its golden values have of the last
// rank (tests/data/README.md). Printed for each subject and all: the median error, nine of ten, and how many lie inside
// the band of what is allocated. --show lists the K worst. --max fails above a level: median, p90 (per cent), outside
// (rows).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "rapidjson/document.h"
#include "resolver/base/bytes.h"
#include "resolver/catalog/catalog.h"
#include "resolver/resolver.h"
#include "tests/evidence/summary.h"
#include "tests/support/data_file.h"

namespace flightplan {
namespace {

struct Launch {
  std::string source, subject;
  double measured_gib = 0;
  v1::ValidateConfigRequest request;
};

struct Outcome {
  const Launch* launch = nullptr;
  double forecast_gib = 0;
  bool inside = false;
  double Error() const { return 100 * (forecast_gib / launch->measured_gib - 1); }
};

bool ReadLaunch(absl::string_view line, Launch* launch) {
  rapidjson::Document row;
  row.Parse(line.data(), line.size());
  if (row.HasParseError() || !row.IsObject()) return false;
  for (const char* name : {"source", "subject", "gpu"}) {
    if (!row.HasMember(name) || !row[name].IsString()) return false;
  }
  if (!row.HasMember("gib") || !row["gib"].IsNumber() || !row.HasMember("gpus") || !row["gpus"].IsInt()) return false;
  if (!row.HasMember("arguments") || !row["arguments"].IsArray()) return false;
  launch->source = row["source"].GetString();
  launch->subject = row["subject"].GetString();
  launch->measured_gib = row["gib"].GetDouble();
  v1::ValidateConfigRequest& request = launch->request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_hardware()->set_gpu(row["gpu"].GetString());
  request.mutable_hardware()->set_gpu_count(row["gpus"].GetInt());
  for (const auto& word : row["arguments"].GetArray()) request.mutable_arguments()->add_values(word.GetString());
  if (row.HasMember("vocab")) {
    request.mutable_arguments()->add_values("--vocab-size");
    request.mutable_arguments()->add_values(std::to_string(row["vocab"].GetInt64()));
  }
  if (!row.HasMember("env")) return true;
  for (const auto& item : row["env"].GetObject()) {
    (*request.mutable_env())[item.name.GetString()] = item.value.GetString();
  }
  return true;
}

// Of the last stage; nothing is forecast of a launch that the resolver does not read.
Outcome OutcomeOf(const Resolver& resolver, const Launch& launch) {
  Outcome outcome{&launch};
  v1::ValidateConfigResponse response;
  const absl::Status status = resolver.ValidateConfig(launch.request, &response);
  if (!status.ok() || response.estimate().stages().empty()) return outcome;
  const auto& stages = response.estimate().stages();
  const v1::Range& allocated = stages[stages.size() - 1].allocated_bytes();
  outcome.forecast_gib = allocated.value() / kGib;
  outcome.inside = allocated.low() <= launch.measured_gib * kGib && launch.measured_gib * kGib <= allocated.high();
  return outcome;
}

struct Levels {
  double median = 0, p90 = 0, outside = 0;
};

Levels Print(const std::string& name, const std::vector<Outcome>& outcomes) {
  std::vector<double> sizes, errors;
  Levels levels;
  for (const Outcome& outcome : outcomes) {
    errors.push_back(outcome.Error());
    sizes.push_back(std::abs(outcome.Error()));
    levels.outside += outcome.inside ? 0 : 1;
  }
  levels.median = Median(sizes);
  levels.p90 = Quantile(sizes, 0.9);
  std::printf("%-28s %3zu rows: median %5.1f %%, p90 %5.1f %%, bias %+6.1f %%, %3.0f outside the band\n", name.c_str(),
              outcomes.size(), levels.median, levels.p90, Median(errors), levels.outside);
  return levels;
}

int Main(int argc, char** argv) {
  std::string path;
  size_t show = 0;
  std::map<std::string, double> most;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--show" && i + 1 < argc) {
      show = static_cast<size_t>(std::atoi(argv[++i]));
    } else if (arg == "--max" && i + 1 < argc) {
      for (absl::string_view item : absl::StrSplit(argv[++i], ',')) {
        const std::vector<std::string> sides = absl::StrSplit(item, '=');
        if (sides.size() == 2) most[sides[0]] = std::atof(sides[1].c_str());
      }
    } else {
      path = arg;
    }
  }
  if (path.empty())
    return std::fprintf(stderr, "usage: unseen_check FILE.jsonl [--show K] [--max name=value,...]\n"), 2;
  auto catalog = Catalog::Builtin();
  if (!catalog.ok()) return std::fprintf(stderr, "%s\n", catalog.status().ToString().c_str()), 2;
  const Resolver resolver(std::make_shared<const Catalog>(*std::move(catalog)));
  const std::string text = ReadDataFileOrExit(path);
  std::vector<Launch> launches;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (!ReadLaunch(line, &launches.emplace_back())) return std::fprintf(stderr, "%s: a bad row\n", path.c_str()), 2;
  }
  std::map<std::string, std::vector<Outcome>> subjects;
  std::vector<Outcome> all;
  for (const Launch& launch : launches) {
    all.push_back(OutcomeOf(resolver, launch));
    subjects[launch.subject].push_back(all.back());
  }
  for (const auto& [subject, outcomes] : subjects) Print(subject, outcomes);
  const Levels levels = Print("all", all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Outcome& a, const Outcome& b) { return std::abs(a.Error()) > std::abs(b.Error()); });
  for (size_t i = 0; i < std::min(show, all.size()); ++i) {
    const Outcome& outcome = all[i];
    std::printf("  %6.2f of %6.2f GiB %+6.1f %%%s  %s, %s\n", outcome.forecast_gib, outcome.launch->measured_gib,
                outcome.Error(), outcome.inside ? "" : " (outside)", outcome.launch->subject.c_str(),
                outcome.launch->source.c_str());
  }
  int failures = 0;
  for (const auto& [name, value] :
       {std::pair{"median", levels.median}, {"p90", levels.p90}, {"outside", levels.outside}}) {
    const auto limit = most.find(name);
    if (limit == most.end() || value <= limit->second) continue;
    std::printf("FAIL  %s is above the level reached before: %.1f > %.1f\n", name, value, limit->second);
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
