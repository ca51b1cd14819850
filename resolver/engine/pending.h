// Which rules of a program have something to look at: most configurations leave most knobs alone, and most rules say
// nothing of defaults.
//
// Every rule runs once on the class defaults, and what it reads is noted. A rule that did nothing there, and read
// nothing but knobs and environment variables, does nothing for any configuration in which these are as they were: its
// function is pure. All other rules are pending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/rules/rule.h"

namespace flightplan {

// By the place of a rule in its program.
class RuleSet {
 public:
  explicit RuleSet(size_t count) : bits_((count + 63) / 64) {}
  void Add(size_t i) { bits_[i / 64] |= uint64_t{1} << (i % 64); }
  void AddAll();
  // The first at or behind `from`; any number past the last rule: none is.
  size_t Next(size_t from) const;

 private:
  std::vector<uint64_t> bits_;
};

// What the rules of one program read of the class defaults. Immutable.
class RecordedReads {
 public:
  RecordedReads(absl::Span<const Rule* const> rules, Target target, int core_release, int bridge_release, bool mla);

  // Those that may do something to the configuration.
  RuleSet PendingFor(const Config& config, const Environment& env) const;
  // Adds the rules that read what was written.
  void AddReadersOf(const Writes& writes, RuleSet* pending) const;

 private:
  // The rules that read one thing of each knob: of knob k, from rules[begin[k]] to rules[begin[k + 1]].
  struct Readers {
    std::vector<uint32_t> begin;
    std::vector<uint16_t> rules;
    void AddOf(Knob knob, RuleSet* pending) const;
  };
  static Readers ByKnob(const std::vector<std::vector<uint16_t>>& rules);
  void AddReaders(absl::string_view var, RuleSet* pending) const;

  int core_release_, bridge_release_;
  const Config* defaults_;
  RuleSet always_;
  Readers of_values_, of_origins_;
  std::map<std::string, std::vector<uint16_t>, std::less<>> of_vars_;
};

}  // namespace flightplan
