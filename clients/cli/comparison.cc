#include "clients/cli/comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/findings.h"
#include "clients/cli/lsp/vocabulary.h"
#include "resolver/catalog/defaults.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/knob.h"

namespace flightplan::cli {
namespace {

constexpr double kSmallestBytes = 1 << 20;  // parts that differ by less are the same
constexpr double kSmallestUs = 1;

struct Written {
  std::string text, why;
  bool by_stack = false;
};

std::map<std::string, Written> ValuesOf(const v1::ResolveConfigResponse& answer) {
  std::set<std::string, std::less<>> changed;
  for (const v1::EffectiveChange& change : answer.effective_changes()) changed.insert(change.name());
  std::map<std::string, Written> values;
  for (const v1::ConfigEntry& entry : answer.config()) {
    // No change: the stack has only reshaped what was written, a list of one to its item.
    const bool by_stack = entry.origin() == v1::CONFIG_ORIGIN_UPSTREAM && changed.contains(entry.name());
    values[entry.name()] = {ValueText(entry.value()), entry.reason(), by_stack};
  }
  if (answer.launches_size() > 0) {
    for (const auto& [name, value] : answer.launches(0).env()) values[absl::StrCat("env.", name)] = {value, "", false};
  }
  // The entry says that something was decided, the decision says it in full, and it is all that variables have.
  for (const v1::Decision& decision : answer.decisions()) {
    const auto it = values.find(decision.name());
    if (it != values.end()) it->second.why = decision.reason();
  }
  return values;
}

// What the answer's stack has where nothing is written.
const Config& DefaultsOf(const v1::ResolveConfigResponse& answer) {
  const std::vector<std::string> target = absl::StrSplit(answer.target(), ' ');
  const Environment stack = StackEnvironment(target[0], target.size() > 1 ? target[1] : "");
  bool mla = false;
  for (const v1::ConfigEntry& entry : answer.config()) {
    if (entry.name() == Name(Knob::multi_latent_attention)) mla = entry.value().bool_value();
  }
  return DefaultsFor(stack.target, stack.core_release, stack.bridge_release, mla);
}

bool IsDefault(const std::string& name, const std::string& text, const Config& defaults) {
  const std::optional<Knob> knob = FindKnob(name);
  if (!knob.has_value() || defaults.origin(*knob) == Origin::kAbsent) return false;
  v1::KnobValue value;
  ValueToMessage(defaults.Get(*knob), &value);
  return ValueText(value) == text;
}

std::vector<ValueDifference> CompareValues(const v1::ResolveConfigResponse& a, const v1::ResolveConfigResponse& b,
                                           std::vector<std::string>* written_once) {
  const std::map<std::string, Written> in_a = ValuesOf(a), in_b = ValuesOf(b);
  const Config &defaults_a = DefaultsOf(a), &defaults_b = DefaultsOf(b);
  // Variables can only be compared where both sides have a launch.
  const bool variables = a.launches_size() > 0 && b.launches_size() > 0;
  std::map<std::string, ValueDifference> differences;
  const auto add = [&](const std::map<std::string, Written>& values, bool first) {
    for (const auto& [name, written] : values) {
      if (!variables && absl::StartsWith(name, "env.")) continue;
      const auto [it, fresh] = differences.try_emplace(name);
      ValueDifference& difference = it->second;
      difference.name = name;
      (first ? difference.a : difference.b) = written.text;
      (first ? difference.why_a : difference.why_b) = written.why;
      difference.by_stack = written.by_stack && (fresh || difference.by_stack);
    }
  };
  add(in_a, true);
  add(in_b, false);
  std::vector<ValueDifference> left;
  // In the order of the answers, which goes by topic; B's own after A's.
  const auto take = [&](const std::string& name) {
    const auto it = differences.find(name);
    if (it == differences.end()) return;
    const ValueDifference& difference = it->second;
    const bool in_both = in_a.contains(name) && in_b.contains(name);
    if (!in_both &&
        (in_a.contains(name) ? IsDefault(name, difference.a, defaults_b) : IsDefault(name, difference.b, defaults_a))) {
      written_once->push_back(name);
    } else if (difference.a != difference.b) {
      left.push_back(std::move(it->second));
    }
    differences.erase(it);
  };
  for (const v1::ConfigEntry& entry : a.config()) take(entry.name());
  for (const v1::ConfigEntry& entry : b.config()) take(entry.name());
  while (!differences.empty()) take(differences.begin()->first);
  std::stable_partition(left.begin(), left.end(), [](const ValueDifference& d) { return !d.by_stack; });
  return left;
}

void SortByChange(std::vector<AmountDifference>* amounts) {
  std::stable_sort(amounts->begin(), amounts->end(), [](const AmountDifference& x, const AmountDifference& y) {
    return std::abs(x.change()) > std::abs(y.change());
  });
}

AmountDifference& Named(const std::string& name, std::vector<AmountDifference>* amounts) {
  for (AmountDifference& amount : *amounts) {
    if (amount.name == name) return amount;
  }
  return amounts->emplace_back(AmountDifference{name, 0, 0});
}

void CompareMemory(const v1::Estimate& a, const v1::Estimate& b, Comparison* comparison) {
  const v1::StageMemory* const in_a = FullestStage(a);
  const v1::StageMemory* const in_b = FullestStage(b);
  if (in_a == nullptr || in_b == nullptr) return;
  comparison->memory_total = {"total", in_a->total_bytes().value(), in_b->total_bytes().value()};
  std::vector<AmountDifference> parts;
  for (const v1::MemoryPart& part : in_a->parts())
    Named(part.name(), &parts).a = static_cast<double>(part.part_bytes());
  for (const v1::MemoryPart& part : in_b->parts())
    Named(part.name(), &parts).b = static_cast<double>(part.part_bytes());
  SortByChange(&parts);
  for (AmountDifference& part : parts) {
    if (std::abs(part.change()) >= kSmallestBytes) comparison->memory.push_back(std::move(part));
  }
}

double WallUs(const v1::Estimate& estimate, const char* wall) {
  const auto it = estimate.wall_ratios().find(wall);
  return it == estimate.wall_ratios().end() ? 0 : it->second * estimate.step_time_us().value();
}

WallTimes TimesOf(const v1::Estimate& estimate) {
  return {estimate.step_time_us().value(), WallUs(estimate, "compute"), WallUs(estimate, "communication"),
          WallUs(estimate, "host"),        WallUs(estimate, "bubble"),  WallUs(estimate, "optimizer")};
}

void CompareTime(const v1::Estimate& a, const v1::Estimate& b, Comparison* comparison) {
  if (a.step_time_us().value() <= 0 || b.step_time_us().value() <= 0) return;
  comparison->step = {"step", a.step_time_us().value(), b.step_time_us().value()};
  comparison->effect = EffectOf(TimesOf(a), TimesOf(b));
  std::vector<AmountDifference> walls;
  for (const auto& [name, ratio] : a.wall_ratios()) Named(name, &walls).a = WallUs(a, name.c_str());
  for (const auto& [name, ratio] : b.wall_ratios()) Named(name, &walls).b = WallUs(b, name.c_str());
  // Maps have no order of their own.
  std::sort(walls.begin(), walls.end(), [](const auto& x, const auto& y) { return x.name < y.name; });
  SortByChange(&walls);
  for (AmountDifference& wall : walls) {
    if (std::max(wall.a, wall.b) >= kSmallestUs) comparison->time.push_back(std::move(wall));
  }
}

// Findings are the same when rule and sight are.
void CompareFindings(const Findings& a, const Findings& b, Comparison* comparison) {
  std::map<std::pair<std::string, std::string>, int> left;
  for (const v1::Finding& finding : b) ++left[{finding.rule_id(), finding.seen()}];
  for (const v1::Finding& finding : a) {
    const auto it = left.find({finding.rule_id(), finding.seen()});
    if (it != left.end() && it->second > 0) {
      --it->second;
      ++comparison->common_findings;
    } else {
      comparison->findings.push_back({finding, true});
    }
  }
  for (const v1::Finding& finding : b) {
    const auto it = left.find({finding.rule_id(), finding.seen()});
    if (it->second <= 0) continue;
    --it->second;
    comparison->findings.push_back({finding, false});
  }
}

}  // namespace

Side SideOf(std::string name, v1::ResolveConfigResponse answer) {
  Side side;
  side.name = std::move(name);
  side.fit = answer.estimate().fit();
  side.answer = std::move(answer);
  return side;
}

Side SideOf(std::string name, const v1::ValidateConfigResponse& judged) {
  Side side;
  side.name = std::move(name);
  v1::ResolveConfigResponse& answer = side.answer;
  answer.set_outcome(judged.will_run() ? v1::OUTCOME_RESOLVED : v1::OUTCOME_INFEASIBLE);
  answer.set_accepted_by_stack(judged.accepted_by_stack());
  answer.set_will_run(judged.will_run());
  *answer.mutable_config() = judged.config();
  *answer.add_launches()->mutable_env() = judged.env();
  *answer.mutable_findings() = judged.findings();
  *answer.mutable_effective_changes() = judged.effective_changes();
  *answer.mutable_estimate() = judged.estimate();
  answer.set_digest(judged.digest());
  answer.set_catalog_revision(judged.catalog_revision());
  answer.set_target(judged.target());
  side.completeness = judged.completeness();
  side.fit = judged.memory().fit();
  side.not_said.assign(judged.not_judged().begin(), judged.not_judged().end());
  return side;
}

const v1::StageMemory* FullestStage(const v1::Estimate& estimate) {
  const auto& stages = estimate.stages();
  const auto fullest = std::max_element(stages.begin(), stages.end(), [](const auto& a, const auto& b) {
    return a.total_bytes().value() < b.total_bytes().value();
  });
  return fullest == stages.end() ? nullptr : &*fullest;
}

Comparison Compare(const Side& a, const Side& b) {
  Comparison comparison;
  comparison.values = CompareValues(a.answer, b.answer, &comparison.written_once);
  CompareMemory(a.answer.estimate(), b.answer.estimate(), &comparison);
  CompareTime(a.answer.estimate(), b.answer.estimate(), &comparison);
  CompareFindings(a.answer.findings(), b.answer.findings(), &comparison);
  return comparison;
}

}  // namespace flightplan::cli
