// Two configurations side by side, as data: what `flightplan diff` prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/estimate/effect.h"

namespace flightplan::cli {

// One of the two.
struct Side {
  std::string name;                   // as the caller gave it
  v1::ResolveConfigResponse answer;   // of a config that was only judged: what judging it says
  std::vector<std::string> not_said;  // parts that are missing, and why
  v1::Completeness completeness = v1::COMPLETENESS_UNSPECIFIED;  // of a config that was only judged
  v1::FitVerdict fit = v1::FIT_VERDICT_UNSPECIFIED;
};

// An answer of resolve as a side.
Side SideOf(std::string name, v1::ResolveConfigResponse answer);

// A judged config as a side.
Side SideOf(std::string name, const v1::ValidateConfigResponse& judged);

// A knob, or "env.NAME" of the launch. Text as a person types it; empty: not written, the stack's default holds.
struct ValueDifference {
  std::string name;
  std::string a, b;
  std::string why_a, why_b;  // empty where the value is not written
  bool by_stack = false;     // both values are the stack's own consequence of others
};

// Bytes or microseconds of one part.
struct AmountDifference {
  std::string name;
  double a = 0, b = 0;
  double change() const { return b - a; }
};

struct FindingDifference {
  v1::Finding finding;
  bool in_a = false;  // else in B alone
};

struct Comparison {
  std::vector<ValueDifference> values;  // the caller's and the decided ones first, then what follows from them
  // Knobs that one side alone writes, with the value that the other's stack has by default.
  std::vector<std::string> written_once;
  // Of the fullest stage of each, which may not be the same one; largest change first, parts that agree left out.
  // Total 0: not known.
  std::vector<AmountDifference> memory;
  AmountDifference memory_total{"total", 0, 0};
  // By wall, largest change first.
  std::vector<AmountDifference> time;
  AmountDifference step{"step", 0, 0};
  // Of B against A; unset where one of the two has no forecast.
  std::optional<StepEffect> effect;
  std::vector<FindingDifference> findings;
  int common_findings = 0;
};

Comparison Compare(const Side& a, const Side& b);

// The stage that needs most; null without a forecast.
const v1::StageMemory* FullestStage(const v1::Estimate& estimate);

}  // namespace flightplan::cli
