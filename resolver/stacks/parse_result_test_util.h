// What tests of readers ask a result for.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "resolver/plan/reading.h"

namespace flightplan {

// As the last of its words says it.
inline std::optional<Value> Final(const ParseResult& parsed, Knob knob) {
  std::optional<Value> value;
  for (const ParsedKnob& word : parsed.knobs) {
    if (word.knob == knob) value = word.value;
  }
  return value;
}

// Of the rules that found something.
inline std::set<std::string> Ids(const ParseResult& parsed) {
  std::set<std::string> ids;
  for (const ParseFinding& entry : parsed.findings) ids.emplace(entry.finding.rule_id);
  return ids;
}

}  // namespace flightplan
