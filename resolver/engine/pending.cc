#include "resolver/engine/pending.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>

#include "resolver/catalog/defaults.h"

namespace flightplan {
namespace {

// What the rule reads of the defaults; nothing where it does something to them.
std::optional<Reads> ReadsOfDefaults(const Rule& rule, const Config& defaults, const Environment& env) {
  const Found nothing;
  Reads reads;
  if (rule.when != nullptr) {
    if (rule.when(Facts(defaults, env, nothing, &reads))) return std::nullopt;
    return reads;
  }
  Config config = defaults;
  Environment changed = env;
  Editor editor(&config, &changed, nothing, /*trace=*/nullptr, &reads);
  rule.change(editor);
  if (!editor.writes().empty()) return std::nullopt;
  return reads;
}

}  // namespace

void RuleSet::AddAll() { std::fill(bits_.begin(), bits_.end(), ~uint64_t{0}); }

size_t RuleSet::Next(size_t from) const {
  size_t word = from / 64;
  if (word >= bits_.size()) return from;
  uint64_t bits = bits_[word] & ~uint64_t{0} << (from % 64);
  while (bits == 0) {
    if (++word == bits_.size()) return word * 64;
    bits = bits_[word];
  }
  return word * 64 + static_cast<size_t>(std::countr_zero(bits));
}

void RecordedReads::Readers::AddOf(Knob knob, RuleSet* pending) const {
  const auto k = static_cast<size_t>(knob);
  for (uint32_t i = begin[k]; i < begin[k + 1]; ++i) pending->Add(rules[i]);
}

RecordedReads::Readers RecordedReads::ByKnob(const std::vector<std::vector<uint16_t>>& rules) {
  Readers readers;
  readers.begin.reserve(rules.size() + 1);
  for (const std::vector<uint16_t>& of_knob : rules) {
    readers.begin.push_back(static_cast<uint32_t>(readers.rules.size()));
    std::unique_copy(of_knob.begin(), of_knob.end(), std::back_inserter(readers.rules));
  }
  readers.begin.push_back(static_cast<uint32_t>(readers.rules.size()));
  return readers;
}

RecordedReads::RecordedReads(absl::Span<const Rule* const> rules, Target target, int core_release, int bridge_release,
                             bool mla)
    : core_release_(core_release),
      bridge_release_(bridge_release),
      defaults_(&DefaultsFor(target, core_release, bridge_release, mla)),
      always_(rules.size()) {
  Environment env;
  env.target = target;
  env.core_release = core_release;
  env.bridge_release = bridge_release;
  std::vector<std::vector<uint16_t>> values(kKnobCount), origins(kKnobCount);
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::optional<Reads> reads = ReadsOfDefaults(*rules[i], *defaults_, env);
    if (!reads.has_value() || reads->elsewhere) {
      always_.Add(i);
      continue;
    }
    const auto place = static_cast<uint16_t>(i);
    for (Knob knob : reads->knobs) values[static_cast<size_t>(knob)].push_back(place);
    for (Knob knob : reads->origins) origins[static_cast<size_t>(knob)].push_back(place);
    for (const std::string& name : reads->vars) of_vars_[name].push_back(place);
  }
  of_values_ = ByKnob(values);
  of_origins_ = ByKnob(origins);
}

RuleSet RecordedReads::PendingFor(const Config& config, const Environment& env) const {
  RuleSet pending = always_;
  // A release that was not read itself is judged by the rules of the nearest one, which may ask for its number.
  if (env.core_release != core_release_ || env.bridge_release != bridge_release_) {
    pending.AddAll();
    return pending;
  }
  config.ForEachDifference(*defaults_, [&](Knob knob, bool same_value) {
    if (!same_value) of_values_.AddOf(knob, &pending);
    of_origins_.AddOf(knob, &pending);
  });
  if (env.vars.size() <= of_vars_.size()) {
    for (const auto& [name, value] : env.vars) AddReaders(name, &pending);
    return pending;
  }
  // A launch may set a thousand variables, and rules read a few; a repair asks this for each of its trials.
  for (const auto& [name, readers] : of_vars_) {
    if (!env.vars.contains(name)) continue;
    for (const uint16_t i : readers) pending.Add(i);
  }
  return pending;
}

void RecordedReads::AddReadersOf(const Writes& writes, RuleSet* pending) const {
  for (Knob knob : writes.knobs) {
    of_values_.AddOf(knob, pending);
    of_origins_.AddOf(knob, pending);
  }
  for (const std::string& name : writes.vars) AddReaders(name, pending);
}

void RecordedReads::AddReaders(absl::string_view var, RuleSet* pending) const {
  const auto it = of_vars_.find(var);
  if (it == of_vars_.end()) return;
  for (uint16_t i : it->second) pending->Add(i);
}

}  // namespace flightplan
