// What is known about each knob: a view of the table resolver/catalog/knobs.yaml, built in at compile time.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/knob_ids.h"
#include "resolver/plan/releases.h"
#include "resolver/plan/value.h"

namespace flightplan {

// The config class that owns a knob; kArgs: on the Megatron-LM command line only.
enum class Section {
  kModel,
  kDdp,
  kOptimizer,
  kTrain,
  kDist,
  kRng,
  kRerun,
  kMixedPrecision,
  kCommOverlap,
  kDataset,
  kPeft,
  kScheduler,
  kCheckpoint,
  kProfiling,
  kLogger,
  kTokenizer,
  kFt,
  kNvrxStraggler,
  kInprocessRestart,
  kArgs,
  kLaunch
};
enum class KnobClass { kConvergence, kExecution, kBenchmarkOnly };
enum class ValueType { kBool, kInt, kFloat, kString, kIntList, kFloatList, kStringList, kFreq, kTuple, kAny };
// kSwitchPair: --x and --no-x. kListOfThree: exactly three values.
enum class FlagForm { kValue, kList, kListOrEmpty, kListOfThree, kSwitchOn, kSwitchOff, kSwitchPair };

// The releases that a fact holds for. Empty when since > until.
struct ReleaseRange {
  int since = 0;
  int until = kMain;
  constexpr bool Contains(int release) const { return since <= release && release <= until; }
};

// The newest known release that is not newer than `release`, or the oldest known one.
constexpr int NearestRelease(absl::Span<const int> known, int release) {
  int best = known[0];
  for (int candidate : known) {
    if (candidate <= release) best = candidate;
  }
  return best;
}

namespace internal {

// What one vocabulary of a stack calls a knob: "megatron_bridge.override" is the key `override` of the spellings.yaml
// in the folder megatron_bridge, which says what it means.
struct KnobWord {
  absl::string_view vocabulary;
  absl::string_view word;
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of knobs.yaml; 8 bytes a knob
struct KnobRow {
  const char* name;
  const char* aliases;  // comma separated
  Section section;
  KnobClass knob_class;
  ValueType type;
  const char* group;
  const char* choices;       // '|' separated; empty: no fixed set
  const char* default_json;  // class default in main
  const char* defaults;      // lines "class[@release]\tjson" where it differs
  ReleaseRange core;
  ReleaseRange bridge;
  const char* dest;  // argparse destination where it is not the name
  absl::Span<const KnobWord> words;
  const char* note;
  int proto;  // field number in flightplan.v1.Knobs, 0: none
};

// One spelling on the Megatron-LM command line, for the releases in which it means the same.
struct FlagRow {
  Knob knob;
  const char* flag;
  FlagForm form;
  ValueType type;  // of one value
  ReleaseRange releases;
  const char* default_json;
  const char* choices;  // '|' separated; empty: argparse takes any
};

extern const KnobRow kKnobRows[kKnobCount];
extern const FlagRow kFlagRows[];
extern const int kFlagRowCount;

}  // namespace internal

inline const internal::KnobRow& Row(Knob knob) { return internal::kKnobRows[static_cast<int>(knob)]; }
inline absl::string_view Name(Knob knob) { return Row(knob).name; }
inline absl::Span<const internal::FlagRow> Flags() {
  return absl::MakeSpan(internal::kFlagRows, static_cast<size_t>(internal::kFlagRowCount));
}

// Vocabularies that are asked for by name.
inline constexpr absl::string_view kBridgeOverride = "megatron_bridge.override";
inline constexpr absl::string_view kBridgePerf = "megatron_bridge.perf";
inline constexpr absl::string_view kLoongForgeWord = "loongforge.word";
// Empty where the vocabulary has no word for the knob.
absl::string_view WordFor(Knob knob, absl::string_view vocabulary);

// The first Megatron-LM flag of a knob in a release, or null.
const internal::FlagRow* FirstFlag(Knob knob, int core_release);

// By name or alias ("num_experts", "comm_overlap.delay_wgrad_compute"); empty when there is none.
std::optional<Knob> FindKnob(absl::string_view name);
// The known name nearest to a misspelt one, for error messages; empty when none is near.
absl::string_view NearestKnobName(absl::string_view name);

}  // namespace flightplan
