#include "resolver/judge/tell_launches.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/first_names.h"
#include "resolver/judge/read_config.h"
#include "resolver/plan/tuning_variable.h"
#include "resolver/shell/state.h"

namespace flightplan {
namespace {

constexpr size_t kMostSettings = 3;  // of what differs
constexpr size_t kMostLaunches = 4;  // of those with one outcome whose difference is told
constexpr size_t kMostLines = 8;

// A flag with its values, or an override; and whether it sets a knob.
struct Setting {
  std::string text;
  bool knob = false;
};

std::vector<Setting> SettingsOf(const ToldLaunch& launch) {
  std::vector<Setting> settings;
  const auto is_value = [](absl::string_view word) {
    const bool flag = absl::StartsWith(word, "-") && word.size() > 1 && (word[1] < '0' || word[1] > '9');
    return !flag && !absl::StrContains(word, '=');
  };
  for (const Argument& arg : launch.command->args) {
    if (settings.empty() || !is_value(arg.text)) {
      settings.push_back({arg.text});
    } else {
      absl::StrAppend(&settings.back().text, " ", arg.text);
    }
    settings.back().knob = settings.back().knob || launch.knob_words.count(arg.at.index) > 0;
  }
  return settings;
}

// Those that `from` has not.
std::vector<std::string> Beyond(const std::vector<Setting>& settings, const std::vector<Setting>& from) {
  std::set<absl::string_view> had;
  for (const Setting& setting : from) had.insert(setting.text);
  std::vector<std::string> beyond;
  for (const bool knob : {true, false}) {
    for (const Setting& setting : settings) {
      if (setting.knob == knob && had.count(setting.text) == 0) beyond.push_back(Printable(setting.text));
    }
  }
  return beyond;
}

std::string Place(const ToldLaunch& launch, int all) {
  return absl::StrCat("launch ", launch.number, " of ", all, ", line ", launch.command->at.line);
}

// Those of one outcome: "launches 1, 2 of 5, line 12: --lr 1 | --lr 2: accepted".
std::string Seen(absl::Span<const ToldLaunch* const> group, const ToldLaunch& judged, int all) {
  std::vector<std::string> numbers, lines, differences;
  for (const ToldLaunch* launch : group) {
    numbers.push_back(absl::StrCat(launch->number));
    std::string line = absl::StrCat(launch->command->at.line);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    std::string difference = DifferenceOf(*launch, judged);
    if (!difference.empty()) differences.push_back(std::move(difference));
  }
  const ToldLaunch& first = *group.front();
  return absl::StrCat(group.size() == 1 ? "launch " : "launches ", FirstNames(numbers, ", ", 2 * kMostLines), " of ",
                      all, lines.size() == 1 ? ", line " : ", lines ", FirstNames(lines, ", ", kMostLines),
                      differences.empty() ? "" : " (", FirstNames(differences, " | ", kMostLaunches),
                      differences.empty() ? "" : ")", ": ", first.outcome,
                      first.first.empty() ? "" : absl::StrCat(", first ", first.first),
                      "; what else is said here is of ", Place(judged, all));
}

}  // namespace

std::string DifferenceOf(const ToldLaunch& told, const ToldLaunch& other) {
  const LaunchCommand &launch = *told.command, &from = *other.command;
  if (launch.script != from.script) return Printable(launch.script);
  const std::vector<Setting> own = SettingsOf(told), others = SettingsOf(other);
  if (const std::vector<std::string> more = Beyond(own, others); !more.empty()) {
    return FirstNames(more, " ", kMostSettings);
  }
  if (const std::vector<std::string> less = Beyond(others, own); !less.empty()) {
    return absl::StrCat("without ", FirstNames(less, " ", kMostSettings));
  }
  if (launch.world_size != from.world_size && launch.world_size.has_value()) {
    return absl::StrCat("on ", *launch.world_size, " GPUs");
  }
  for (const auto& [name, value] : launch.vars) {
    if (!IsTuningVariable(name)) continue;
    const auto at = from.vars.find(name);
    if (at == from.vars.end() || at->second != value) return Printable(absl::StrCat(name, "=", value));
  }
  for (const auto& [name, value] : from.vars) {
    if (IsTuningVariable(name) && launch.vars.count(name) == 0) return Printable(absl::StrCat("without ", name));
  }
  return "";
}

std::vector<ParseFinding> TellLaunches(absl::Span<const ToldLaunch> others, const ToldLaunch& judged, int all) {
  std::vector<std::vector<const ToldLaunch*>> groups;  // in the order of their first
  std::map<absl::string_view, size_t> group_of;
  for (const ToldLaunch& other : others) {
    const auto [at, fresh] = group_of.emplace(other.outcome, groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].push_back(&other);
  }
  std::vector<ParseFinding> told;
  told.reserve(groups.size());
  for (const std::vector<const ToldLaunch*>& group : groups) {
    const ToldLaunch& first = *group.front();
    told.push_back(MakeParseFinding(first.command->at, kOtherLaunches,
                                    first.refused ? Severity::kWarning : Severity::kInfo, Seen(group, judged, all),
                                    first.needs, kScriptSource));
  }
  return told;
}

}  // namespace flightplan
