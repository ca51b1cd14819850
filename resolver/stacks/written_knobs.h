// What readers of stacks with words of their own share: the knobs that were read so far, which such a stack completes
// by itself (defaults before what is written, and what it sets behind that), and how many arguments are read.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// A default of a knob that nobody writes.
struct DefaultKnob {
  Knob knob;
  Value value;
};

// The arguments, or as many of them as are read, with a finding of the stack's code at `source`.
absl::Span<const Argument> AsManyAsAreRead(absl::Span<const Argument> args, absl::string_view source,
                                           ParseResult* result);

inline constexpr int64_t kMostGpus = int64_t{1} << 20;  // of a launch's nodes, and of a node

class WrittenKnobs {
 public:
  // `result` must outlive this object.
  explicit WrittenKnobs(ParseResult* result) : result_(*result) {}

  // The last one of this knob; null: it is not written.
  const ParsedKnob* Last(Knob knob) const;
  bool Has(Knob knob) const { return Last(knob) != nullptr; }
  // It was last written with a value that only a run would know.
  bool Unknown(Knob knob) const;
  // None where it is not written.
  Value Of(Knob knob) const { return Has(knob) ? Last(knob)->value : Value(); }
  // Empty: not written, or no whole number.
  std::optional<int64_t> Number(Knob knob) const;
  // Of a number of GPUs, stages or samples: at least 1, and 1 where no number is written.
  int64_t Size(Knob knob) const;

  // GPUs that one replica of the model takes: TP x PP x CP. Empty: one of them only a run would know.
  std::optional<int64_t> GpusOfReplica() const;

  // What the caller wrote there. It is known from now on.
  void Take(Knob knob, Value value, SourcePosition at);
  void Lose(Knob knob) { result_.unknown.push_back(knob); }
  // What the stack sets by itself, whatever is written.
  void Force(Knob knob, Value value) { result_.knobs.push_back({knob, std::move(value), {}, Origin::kUpstream}); }
  // The same, but a value that only a run would know stays unknown.
  void Set(Knob knob, Value value) {
    if (!Unknown(knob)) Force(knob, std::move(value));
  }
  // How many GPUs the launch has. False, and nothing is set: one of the numbers is not known, or none of a machine.
  bool SetWorld(std::optional<int64_t> nodes, std::optional<int64_t> gpus_per_node);
  // Puts what is not none, and of which nothing is written, before all that is.
  void SetBefore(const std::vector<DefaultKnob>& defaults);

 private:
  ParseResult& result_;
};

}  // namespace flightplan
