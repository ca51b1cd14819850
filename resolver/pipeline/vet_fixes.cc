#include "resolver/pipeline/vet_fixes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "resolver/base/bytes.h"
#include "resolver/estimate/effect.h"
#include "resolver/pipeline/memory_fixes.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr size_t kMostOffered = 2;  // of a memory error's fixes; of a warning's the best
constexpr size_t kMostAsked = 6;    // of each kind, best forecast first
constexpr double kDear = 0.1;       // of the step: a memory fix that costs more is worth a look at two together

struct Ranked {
  Patch patch;
  FixOutcome outcome;
};

// What fits better than that by the forecast, the shortest step first. What cannot be forecast alone goes last, in its
// order.
std::vector<Ranked> Rank(const FixTrial& trial, FitVerdict than, std::vector<Patch> patches) {
  std::vector<Ranked> ranked;
  for (Patch& patch : patches) {
    std::optional<FixOutcome> forecast = trial.forecast != nullptr ? trial.forecast(patch, than) : FixOutcome();
    if (!forecast.has_value()) continue;
    if (forecast->fit != FitVerdict::kUnknown && forecast->fit >= than) continue;
    ranked.push_back({std::move(patch), *std::move(forecast)});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    const auto rank = [](const Ranked& r) { return std::pair(r.outcome.fit, r.outcome.step_us); };
    return (a.outcome.fit != FitVerdict::kUnknown) && (b.outcome.fit == FitVerdict::kUnknown || rank(a) < rank(b));
  });
  return ranked;
}

size_t Wanted(const Finding& finding) { return finding.severity == Severity::kError ? kMostOffered : 1; }

// Asks for the best of them, until enough hold.
void Take(const FixTrial& trial, const Finding& finding, std::vector<Patch> patches, std::vector<Ranked>* taken) {
  std::vector<Ranked> ranked = Rank(trial, trial.now.fit, std::move(patches));
  for (size_t i = 0; i < std::min(ranked.size(), kMostAsked) && taken->size() < Wanted(finding); ++i) {
    const std::optional<FixOutcome> after = trial.ask(ranked[i].patch);
    if (!after.has_value() || !IsBetter(trial.now, *after, finding.rule_id)) continue;
    taken->push_back({std::move(ranked[i].patch), *after});
  }
}

// Where each way alone is dear, two of them together, if they are cheaper.
void TakeCombined(const FixTrial& trial, const Finding& finding, std::vector<Ranked>* taken) {
  const double now_us = trial.now.step_us;
  if (!taken->empty() && (now_us <= 0 || taken->front().outcome.step_us <= now_us * (1 + kDear))) return;
  std::vector<Ranked> combined;
  Take(trial, finding, CombinedFixesOf(*trial.config), &combined);
  if (combined.empty()) return;
  if (!taken->empty() && taken->front().outcome.step_us <= combined.front().outcome.step_us) return;
  taken->insert(taken->begin(), std::move(combined.front()));
  taken->resize(std::min(taken->size(), Wanted(finding)));
}

// Sizes were left open: another choice of the same search changes no word of the caller's, so it goes first where it is
// the faster one.
bool TakeRoomy(const FixTrial& trial, const Finding& finding, std::vector<Ranked>* taken) {
  if (trial.roomy == nullptr || trial.roomy->empty()) return false;
  const std::optional<FixOutcome> after = trial.ask(*trial.roomy);
  if (!after.has_value() || !IsBetter(trial.now, *after, finding.rule_id)) return false;
  if (!taken->empty() && taken->front().outcome.step_us <= after->step_us) return false;
  taken->insert(taken->begin(), {*trial.roomy, *after});
  taken->resize(std::min(taken->size(), Wanted(finding)));
  return true;
}

// Whether a plan of ours takes other graphs with the fix than without: no word of the fix says so.
bool ChangesGraphs(const FixOutcome& now, const FixOutcome& then) {
  return !now.graphs.empty() && !then.graphs.empty() && now.graphs != then.graphs;
}

// "step +8 %, 69 -> 59 GiB"
std::string Change(const FixOutcome& now, const FixOutcome& then) {
  const std::string memory =
      absl::StrFormat("%.0f -> %.0f GiB%s", now.memory_bytes / kGib, then.memory_bytes / kGib,
                      ChangesGraphs(now, then) ? absl::StrCat(", and cuda_graph_impl=", then.graphs) : "");
  if (now.step_us <= 0 || then.step_us <= 0) return absl::StrCat(memory, ", the step's change is not known");
  return absl::StrFormat("step %+.0f %%, %s", WholePercent(then.step_us / now.step_us - 1), memory);
}

constexpr double kMemoryRead = kGib / 2;  // as much as can be read of Change

// By as much as can be read. What does not run has no step to compare with.
bool Differs(const FixOutcome& now, const FixOutcome& then) {
  constexpr double kStepRead = 0.005;
  if (!now.errors.empty()) return false;
  const bool step = now.step_us > 0 && then.step_us > 0 && std::abs(then.step_us / now.step_us - 1) >= kStepRead;
  return step || ChangesGraphs(now, then) || std::abs(then.memory_bytes - now.memory_bytes) >= kMemoryRead;
}

// Of a plan of ours: a fix that makes it faster, too, is one that no search looks at.
absl::string_view WhyNotTaken(const FixOutcome& now, const Ranked& fix) {
  constexpr double kSeen = -0.005;  // what Change shows as -1 %
  const double then_us = fix.outcome.step_us;
  const bool to_host = std::any_of(fix.patch.begin(), fix.patch.end(), [](const Assignment& one) {
    return one.env_var.empty() && one.knob == K::fine_grained_activation_offloading && one.value.truthy();
  });
  if (!to_host || now.step_us <= 0 || then_us <= 0 || then_us / now.step_us - 1 > kSeen) return "";
  return ", and faster by the forecast: a plan moves activations to the host only where nothing else fits, so that it "
         "is yours to try";
}

// What each fix of the finding changes, in their order. Nothing where the memory is not forecast.
void SayChanges(const FixTrial& trial, const std::vector<Ranked>& fixes, Finding* finding) {
  static constexpr absl::string_view kHeads[] = {"with the first fix: ", "with the second: ", "with the third: "};
  const FixOutcome& now = trial.now;
  const auto known = [](const FixOutcome& outcome) { return outcome.memory_bytes > 0; };
  if (!known(now) || std::none_of(fixes.begin(), fixes.end(), [&](const Ranked& f) { return known(f.outcome); }))
    return;
  for (size_t i = 0; i < fixes.size(); ++i) {
    const Ranked& fix = fixes[i];
    const std::string head = fixes.size() == 1       ? "with the fix: "
                             : i < std::size(kHeads) ? std::string(kHeads[i])
                                                     : absl::StrCat("with the ", i + 1, "th: ");
    absl::StrAppend(&finding->needs, "; ", head, known(fix.outcome) ? Change(now, fix.outcome) : "not forecast");
    if (trial.roomy != nullptr && IsMemory(finding->rule_id)) absl::StrAppend(&finding->needs, WhyNotTaken(now, fix));
  }
}

// The modules as the fix of an error among them has them: a memory fix adds to those, and takes over no name that the
// stack refuses. Nothing: they are no error.
std::optional<Value> LegalModules(const std::vector<Finding>& findings) {
  std::optional<Value> modules;
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::kError || finding.fixes.empty()) continue;
    for (const Assignment& one : finding.fixes.front()) {
      if (one.env_var.empty() && one.knob == K::recompute_modules) modules = one.value;
    }
  }
  return modules;
}

MemoryFixes MemoryFixesWith(const std::optional<Value>& legal_modules, const Config& config) {
  if (!legal_modules.has_value()) return MemoryFixesOf(config);
  Config legal = config;
  legal.Set(K::recompute_modules, *legal_modules, Origin::kDecided);
  return MemoryFixesOf(legal);
}

// What makes room for the trial's configuration, best first.
std::vector<Ranked> WaysToRoom(const FixTrial& trial, const Finding& finding, MemoryFixes fixes) {
  if (trial.env != nullptr) {
    Patch expandable = ExpandableSegments(*trial.config, *trial.env);
    if (!expandable.empty()) fixes.execution.insert(fixes.execution.begin(), std::move(expandable));
  }
  std::vector<Ranked> taken;
  Take(trial, finding, std::move(fixes.execution), &taken);
  TakeCombined(trial, finding, &taken);
  if (taken.empty()) Take(trial, finding, std::move(fixes.layout), &taken);
  return taken;
}

std::optional<MemoryFix> FixMemory(const FixTrial& trial, const std::optional<Value>& legal_modules, Finding* finding) {
  std::vector<Ranked> taken = WaysToRoom(trial, *finding, MemoryFixesWith(legal_modules, *trial.config));
  const bool roomy = TakeRoomy(trial, *finding, &taken);
  finding->fixes.clear();
  for (const Ranked& fix : taken) finding->fixes.push_back(fix.patch);
  if (taken.empty()) return std::nullopt;
  SayChanges(trial, taken, finding);
  MemoryFix first = {std::move(taken.front().outcome), roomy};
  return first;
}

// A plan spends the room that a fix makes on other choices. Returned: the fix with those of now beside it, where that
// leaves the room to the caller.
std::optional<Ranked> KeepRoom(const FixTrial& trial, const Finding& finding, const Patch& patch,
                               const FixOutcome& after) {
  const double now = trial.now.memory_bytes;
  if (!trial.memory_bytes || !trial.now.errors.empty() || now - after.memory_bytes >= kMemoryRead) return std::nullopt;
  if (now - trial.memory_bytes(patch) < kMemoryRead) return std::nullopt;
  Patch kept = patch;
  for (Assignment& assignment : KeptRecompute(*trial.config)) kept.push_back(std::move(assignment));
  std::optional<FixOutcome> outcome = trial.ask(kept);
  if (!outcome.has_value() || !IsBetter(trial.now, *outcome, finding.rule_id)) return std::nullopt;
  if (now - outcome->memory_bytes < kMemoryRead) return std::nullopt;
  return Ranked{std::move(kept), *std::move(outcome)};
}

// Two values of one knob, or of one variable.
bool OfTheSame(const Assignment& a, const Assignment& b) { return a.env_var == b.env_var && a.knob == b.knob; }

// With the other patch over it.
Patch Together(Patch patch, const Patch& over) {
  for (const Assignment& one : over) {
    const auto at =
        std::find_if(patch.begin(), patch.end(), [&](const Assignment& known) { return OfTheSame(known, one); });
    if (at == patch.end()) {
      patch.push_back(one);
    } else {
      at->value = one.value;
    }
  }
  return patch;
}

// A fix that only leaves less room in memory, or too little, with what makes room for it: what a repair comes to.
std::optional<Ranked> MakeRoom(const FixTrial& trial, const Finding& finding, const Patch& patch,
                               const FixOutcome& tight) {
  FixOutcome roomy = tight;
  roomy.fit = trial.now.fit;
  std::erase_if(roomy.grave, IsMemory);
  if (trial.forecast == nullptr || tight.fit <= roomy.fit || !IsBetter(trial.now, roomy, finding.rule_id)) return {};
  const Config config = WithPatch(*trial.config, patch);
  FixTrial with = trial;
  with.config = &config;
  with.forecast = [&](const Patch& way, FitVerdict than) { return trial.forecast(Together(patch, way), than); };
  // What does not run now was asked without its step.
  const auto timed = [&](const Patch& way, FixOutcome outcome) {
    if (outcome.step_us <= 0) {
      const std::optional<FixOutcome> forecast = with.forecast(way, FitVerdict::kDoesNotFit);
      if (forecast.has_value()) outcome.step_us = forecast->step_us;
    }
    return outcome;
  };
  with.now = timed({}, tight);
  with.ask = [&](const Patch& way) -> std::optional<FixOutcome> {
    const std::optional<FixOutcome> outcome = trial.ask(Together(patch, way));
    if (!outcome.has_value() || !IsBetter(trial.now, *outcome, finding.rule_id)) return std::nullopt;
    return timed(way, *outcome);
  };
  MemoryFixes fixes = MemoryFixesOf(config);
  fixes.execution.push_back(KeptRecompute(*trial.config));
  Finding lack;
  lack.severity = Severity::kWarning;  // the best alone
  std::vector<Ranked> ways = WaysToRoom(with, lack, std::move(fixes));
  if (ways.empty()) return std::nullopt;
  return Ranked{Together(patch, ways.front().patch), std::move(ways.front().outcome)};
}

// Without what takes back a choice of ours, or what is not there: with the rest of the fix, the plan may make none.
Patch WithoutOurs(const FixTrial& trial, const Patch& patch) {
  Patch shorter;
  std::copy_if(patch.begin(), patch.end(), std::back_inserter(shorter), [&](const Assignment& one) {
    return !one.env_var.empty() || !one.value.is_none() ||
           (trial.config->origin(one.knob) != Origin::kDecided && !trial.config->Get(one.knob).is_none());
  });
  return shorter;
}

// With the fewest words that hold.
std::optional<FixOutcome> AskShortest(const FixTrial& trial, const Finding& finding, Patch* patch) {
  Patch shorter = WithoutOurs(trial, *patch);
  if (!shorter.empty() && shorter.size() < patch->size()) {
    std::optional<FixOutcome> after = trial.ask(shorter);
    if (after.has_value() && IsBetter(trial.now, *after, finding.rule_id)) {
      *patch = std::move(shorter);
      return after;
    }
  }
  return trial.ask(*patch);
}

// Whether all of the shorter one is in the other.
bool Contains(const Patch& patch, const Patch& shorter) {
  return std::all_of(shorter.begin(), shorter.end(),
                     [&](const Assignment& one) { return std::find(patch.begin(), patch.end(), one) != patch.end(); });
}

// Of two that hold, the one with more words, or the second of the same, says nothing that the other lacks.
void DropLonger(std::vector<Ranked>* held) {
  for (size_t i = 0; i < held->size();) {
    const Patch& patch = (*held)[i].patch;
    const bool longer = std::any_of(held->begin(), held->end(), [&](const Ranked& other) {
      const bool goes_first =
          other.patch.size() == patch.size() ? &other < &(*held)[i] : other.patch.size() < patch.size();
      return goes_first && Contains(patch, other.patch);
    });
    if (longer) {
      held->erase(held->begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

// It changes a choice of ours, and no word of the caller's.
bool ChangesOurs(const FixTrial& trial, const Patch& patch) {
  const auto of = [&](Origin origin) {
    return std::any_of(patch.begin(), patch.end(), [&](const Assignment& one) {
      return one.env_var.empty() && trial.config->origin(one.knob) == origin;
    });
  };
  return of(Origin::kDecided) && !of(Origin::kCaller);
}

// Drops the fixes that do not hold, and says what those that do cost or free. Returns those that do.
std::vector<Ranked> VetOther(const FixTrial& trial, Finding* finding) {
  std::vector<Ranked> held, tight;
  for (Patch& patch : finding->fixes) {
    std::optional<FixOutcome> after = AskShortest(trial, *finding, &patch);
    if (!after.has_value()) continue;
    if (!IsBetter(trial.now, *after, finding->rule_id)) {
      tight.push_back({std::move(patch), *std::move(after)});
      continue;
    }
    std::optional<Ranked> kept = KeepRoom(trial, *finding, patch, *after);
    held.push_back(kept.has_value() ? *std::move(kept) : Ranked{std::move(patch), *std::move(after)});
  }
  for (size_t i = 0; held.empty() && i < tight.size(); ++i) {
    std::optional<Ranked> roomy = MakeRoom(trial, *finding, tight[i].patch, tight[i].outcome);
    if (roomy.has_value()) held.push_back(*std::move(roomy));
  }
  DropLonger(&held);
  std::stable_partition(held.begin(), held.end(), [&](const Ranked& fix) { return ChangesOurs(trial, fix.patch); });
  if (std::any_of(held.begin(), held.end(), [&](const Ranked& fix) { return Differs(trial.now, fix.outcome); })) {
    SayChanges(trial, held, finding);
  }
  finding->fixes.clear();
  for (const Ranked& fix : held) finding->fixes.push_back(fix.patch);
  return held;
}

// An error with what its first fix comes to.
struct MendedError {
  Finding* finding;
  Ranked first;
};

// Two values for one knob cannot both be followed: where one of them mends both errors, both have that one first.
void ShareFixes(const FixOutcome& now, std::vector<MendedError>* errors) {
  for (MendedError& error : *errors) {
    for (const MendedError& other : *errors) {
      const Patch &own = error.first.patch, &others = other.first.patch;
      if (&other == &error || own == others) continue;
      if (!std::equal(own.begin(), own.end(), others.begin(), others.end(), OfTheSame)) continue;
      if (!IsBetter(now, other.first.outcome, error.finding->rule_id)) continue;
      const bool both_do = IsBetter(now, error.first.outcome, other.finding->rule_id);
      if (both_do && &error < &other) continue;
      std::vector<Patch>& fixes = error.finding->fixes;
      std::erase(fixes, others);
      fixes.front() = others;
      error.first = other.first;
    }
  }
}

}  // namespace

std::optional<MemoryFix> VetFixes(const FixTrial& trial, std::vector<Finding>* findings) {
  const std::optional<Value> legal_modules = LegalModules(*findings);  // before the loop takes fixes away
  std::optional<MemoryFix> of_memory;
  std::vector<MendedError> errors;
  for (Finding& finding : *findings) {
    if (finding.fixes.empty()) continue;
    if (IsMemory(finding.rule_id)) {
      of_memory = FixMemory(trial, legal_modules, &finding);
      continue;
    }
    std::vector<Ranked> held = VetOther(trial, &finding);
    if (finding.severity == Severity::kError && !held.empty()) errors.push_back({&finding, std::move(held.front())});
  }
  ShareFixes(trial.now, &errors);
  return of_memory;
}

Config WithPatch(Config config, const Patch& patch) {
  for (const Assignment& assignment : patch) {
    if (assignment.env_var.empty()) config.Set(assignment.knob, assignment.value, Origin::kCaller);
  }
  return config;
}

bool OffersFixes(View view, std::vector<Finding>* findings) {
  bool any = false;
  for (Finding& finding : *findings) {
    const bool left_out = view != View::kFull && finding.severity != Severity::kError;
    if (left_out) finding.fixes.clear();
    any = any || !finding.fixes.empty();
  }
  return any;
}

}  // namespace flightplan
