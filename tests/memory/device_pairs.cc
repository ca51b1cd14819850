#include "tests/memory/device_pairs.h"

#include <functional>
#include <map>

#include "absl/strings/str_split.h"
#include "rapidjson/document.h"
#include "resolver/estimate/device_memory.h"
#include "tests/evidence/summary.h"

namespace flightplan {
namespace {

double BytesIn(const std::string& unit) {
  if (unit == "MiB") return 1 << 20;
  return unit == "GiB" ? 1 << 30 : unit == "GB" ? 1e9 : 0;
}

bool ReadPair(absl::string_view line, DevicePair* pair) {
  rapidjson::Document row;
  row.Parse(line.data(), line.size());
  if (row.HasParseError() || !row.IsObject()) return false;
  for (const char* name : {"experts", "expandable", "offload", "experts_again"}) {
    if (!row.HasMember(name) || !row[name].IsBool()) return false;
  }
  for (const char* name : {"id", "family", "unit", "source"}) {
    if (!row.HasMember(name) || !row[name].IsString()) return false;
  }
  for (const char* name : {"allocated", "reserved"}) {
    if (!row.HasMember(name) || !row[name].IsNumber()) return false;
  }
  const double unit = BytesIn(row["unit"].GetString());
  *pair = {row["id"].GetString(),    row["family"].GetString(),           {},
           row["experts"].GetBool(), row["allocated"].GetDouble() * unit, row["reserved"].GetDouble() * unit};
  Candidate& candidate = pair->candidate;
  candidate.expandable_segments = row["expandable"].GetBool();
  candidate.offload_modules = row["offload"].GetBool() ? 1 : 0;
  if (row["experts_again"].GetBool()) {
    candidate.recompute = RecomputeMode::kSelective;
    candidate.recompute_modules = kDropMoe;
  }
  return pair->allocated > 0 && pair->reserved >= pair->allocated;
}

using Like = std::function<bool(const DevicePair&)>;

// Nothing: no other family has a pair like it.
std::vector<double> SharesByFamily(const std::vector<DevicePair>& pairs, const std::string& without, const Like& like) {
  std::map<std::string, std::vector<double>> families;
  for (const DevicePair& pair : pairs) {
    if (pair.family != without && like(pair)) families[pair.family].push_back(pair.share());
  }
  std::vector<double> medians;
  medians.reserve(families.size());
  for (const auto& [family, shares] : families) medians.push_back(Median(shares));
  return medians;
}

double HeldOutShare(const std::vector<DevicePair>& pairs, const DevicePair& held) {
  const auto* coefficient = &CachedShare(held.candidate, held.experts);
  std::vector<double> shares = SharesByFamily(pairs, held.family, [&](const DevicePair& pair) {
    return &CachedShare(pair.candidate, pair.experts) == coefficient;
  });
  if (shares.empty()) {
    shares = SharesByFamily(pairs, held.family, [&](const DevicePair& pair) {
      return pair.experts == held.experts && pair.candidate.expandable_segments == held.candidate.expandable_segments;
    });
  }
  return Median(std::move(shares));
}

}  // namespace

std::vector<DevicePair> ReadDevicePairs(const std::string& text) {
  std::vector<DevicePair> pairs;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    DevicePair pair;
    if (!ReadPair(line, &pair)) return {};
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

std::vector<DeviceError> DeviceErrors(const std::vector<DevicePair>& pairs) {
  std::vector<DeviceError> errors;
  for (const DevicePair& pair : pairs) {
    StageForecast stage;
    stage.allocated = stage.total = {pair.allocated, pair.allocated, pair.allocated};
    const Band band = DeviceBand(stage, pair.candidate, pair.experts, 0);
    errors.push_back({&pair, band.value / pair.reserved - 1, band.low <= pair.reserved && pair.reserved <= band.high,
                      pair.allocated * (1 + HeldOutShare(pairs, pair)) / pair.reserved - 1});
  }
  return errors;
}

}  // namespace flightplan
