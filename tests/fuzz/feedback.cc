#include "tests/fuzz/feedback.h"

#include <cstdint>

#include "resolver/plan/knob.h"

namespace flightplan::fuzz {
namespace {

constexpr size_t kSlots = 4096;

// libFuzzer takes every byte of this section for a counter of its own and clears it before each input.
__attribute__((section("__libfuzzer_extra_counters"))) uint8_t counters[kSlots];

// FNV-1a: two things may share a slot, which costs an input and no correctness.
void Count(absl::string_view kind, absl::string_view what) {
  uint64_t hash = 1469598103934665603U;
  for (absl::string_view part : {kind, what}) {
    for (char c : part) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211U;
  }
  uint8_t& slot = counters[hash % kSlots];
  if (slot < 255) ++slot;
}

}  // namespace

void Met(absl::string_view what) { Count("", what); }

void Met(const ParseResult& parsed) {
  for (const ParsedKnob& knob : parsed.knobs) Count("knob ", Name(knob.knob));
  for (const ParseFinding& entry : parsed.findings) {
    Count(entry.finding.rule_id, entry.finding.needs.substr(0, 24));
  }
}

}  // namespace flightplan::fuzz
