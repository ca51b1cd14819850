// What a device shows against public pairs of allocated and reserved memory:
//   device_check FILE.jsonl [--show] [--max NAME=VALUE,...]
//
// --max fails above a level: worst (per cent, by the catalogue), outside (pairs outside the printed band), and the
// median and p90 of what is forecast for a model family by the pairs of the others alone: held-out-median,
// held-out-p90 (per cent).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/evidence/summary.h"
#include "tests/memory/device_pairs.h"
#include "tests/support/data_file.h"

namespace flightplan {
namespace {

int Main(int argc, char** argv) {
  std::string path;
  bool show = false;
  std::map<std::string, double> most;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--show") == 0) {
      show = true;
    } else if (std::strcmp(argv[i], "--max") == 0 && i + 1 < argc) {
      for (absl::string_view item : absl::StrSplit(argv[++i], ',')) {
        const std::vector<std::string> sides = absl::StrSplit(item, '=');
        if (sides.size() == 2) most[sides[0]] = std::atof(sides[1].c_str());
      }
    } else {
      path = argv[i];
    }
  }
  if (path.empty()) return std::fprintf(stderr, "usage: device_check FILE.jsonl [--show] [--max name=value,...]\n"), 2;
  const std::vector<DevicePair> pairs = ReadDevicePairs(ReadDataFileOrExit(path));
  if (pairs.empty()) return std::fprintf(stderr, "%s: no pairs read\n", path.c_str()), 2;
  std::vector<double> errors, held_out;
  std::map<std::string, double> levels;
  for (const DeviceError& e : DeviceErrors(pairs)) {
    errors.push_back(100 * std::abs(e.error));
    held_out.push_back(100 * std::abs(e.held_out));
    levels["outside"] += e.inside ? 0 : 1;
    if (show) {
      std::printf("  %-32s %-20s %.3f of allocated, off %+5.1f %%%s, held out %+5.1f %%\n", e.pair->id.c_str(),
                  e.pair->family.c_str(), e.pair->share(), 100 * e.error, e.inside ? "" : " (outside)",
                  100 * e.held_out);
    }
  }
  levels["worst"] = Quantile(errors, 1);
  levels["held-out-median"] = Median(held_out);
  levels["held-out-p90"] = Quantile(held_out, 0.9);
  std::printf("%zu pairs: worst %.1f %%, %.0f outside the band; family held out: median %.1f %%, p90 %.1f %%\n",
              pairs.size(), levels["worst"], levels["outside"], levels["held-out-median"], levels["held-out-p90"]);
  int failures = 0;
  for (const auto& [name, limit] : most) {
    const auto level = levels.find(name);
    if (level != levels.end() && level->second <= limit) continue;
    std::printf("FAIL  %s: at most %.1f\n", name.c_str(), limit);
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
