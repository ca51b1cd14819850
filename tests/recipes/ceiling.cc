#include "tests/recipes/ceiling.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace flightplan {
namespace {

using Counts = std::map<std::string, int>;  // by answer

const Counts::value_type& MostFrequent(const Counts& counts) {
  return *std::max_element(counts.begin(), counts.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

Tally MostFrequentOf(const std::vector<Published>& rows, std::string Published::*key) {
  std::map<std::string, Counts> groups;
  for (const Published& row : rows) ++groups[row.*key][row.value];
  Tally tally{0, static_cast<int>(rows.size())};
  for (const auto& [name, counts] : groups) tally.agree += MostFrequent(counts).second;
  return tally;
}

Tally ByOtherFamilies(const std::vector<Published>& rows) {
  std::map<std::string, std::map<std::string, Counts>> situations;  // then by family
  for (const Published& row : rows) {
    for (const std::string& situation : row.situations) ++situations[situation][row.family][row.value];
  }
  Tally tally{0, static_cast<int>(rows.size())};
  for (const Published& row : rows) {
    for (const std::string& situation : row.situations) {
      Counts others;
      for (const auto& [family, counts] : situations[situation]) {
        if (family == row.family) continue;
        for (const auto& [value, count] : counts) others[value] += count;
      }
      if (others.empty()) continue;
      tally.agree += MostFrequent(others).first == row.value ? 1 : 0;
      break;
    }
  }
  return tally;
}

}  // namespace

Published AsPublished(const Recipe& recipe, const NormalizedIntent& intent, std::string family, std::string value) {
  const rapidjson::Value& r = recipe.json;
  const auto size = [&](const char* name) { return Number(r, name).value_or(1); };
  Published row{std::move(family), std::move(value), {}, {}, {}};
  row.question = absl::StrCat(intent.model.name, " ", recipe.gpu, " ", recipe.precision, " ", recipe.gpus);
  row.layout = row.question;
  for (const char* name : {"tp", "pp", "vp", "cp", "ep", "etp", "mbs"}) absl::StrAppend(&row.layout, " ", size(name));
  const int64_t ep = size("ep");
  const char* span = ep <= 1 ? "none" : ep <= intent.gpu.nvlink_domain_gpus ? "inside" : "between";
  const char* pipeline = size("pp") > 1 ? "pipeline" : "whole";
  row.situations = {absl::StrCat(recipe.gpu, " ", recipe.precision, " ", span, " ", pipeline),
                    absl::StrCat(recipe.gpu, " ", span, " ", pipeline), absl::StrCat(recipe.gpu, " ", span), span, ""};
  return row;
}

Ceiling CeilingOf(const std::vector<Published>& rows) {
  return {MostFrequentOf(rows, &Published::question), MostFrequentOf(rows, &Published::layout), ByOtherFamilies(rows)};
}

}  // namespace flightplan
