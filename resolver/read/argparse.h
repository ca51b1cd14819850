// Python's argparse, as far as Megatron-LM and its children use it: long flags only, no abbreviations, `--flag value`
// and `--flag=value`, lists that end at the next flag, the last of repeated flags wins. What argparse refuses becomes
// a finding, and reading goes on, so that all faults of a command line come at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// One flag of a parser. All text must live as long as the process.
struct FlagSpec {
  absl::string_view flag;
  std::optional<Knob> knob;  // empty: the parser knows the flag, but no rule or renderer needs its value
  FlagForm form = FlagForm::kValue;
  ValueType type = ValueType::kString;  // of one value
  absl::string_view choices = "";       // '|' separated; empty: any
};

// The flags one parser knows.
class FlagTable {
 public:
  FlagTable() = default;
  // Megatron-LM's own flags in a release (the nearest known one), from the knob table.
  explicit FlagTable(int core_release);
  // Adds a child's flags; one that exists already is replaced.
  void Add(absl::Span<const FlagSpec> specs);

  const FlagSpec* Find(absl::string_view flag) const;
  absl::Span<const absl::string_view> names() const { return names_; }

 private:
  absl::flat_hash_map<absl::string_view, FlagSpec> specs_;
  std::vector<absl::string_view> names_;
};

struct ArgparseOptions {
  absl::string_view rule_id = "mlm.argparse";
  absl::string_view source = "Megatron-LM:megatron/training/arguments.py:117";
  absl::string_view parser_name = "Megatron-LM";
  // For a flag that this table lacks: a sentence to add ("it came with 0.19"), or "".
  std::string (*explain_unknown)(absl::string_view flag) = nullptr;
  // For a flag that this table lacks: the package that brings it, or "".
  absl::string_view (*package_of)(absl::string_view flag) = nullptr;
  // What stops at a flag that this table lacks; "": rule_id.
  absl::string_view unknown_rule_id = "";
  Severity unknown_severity = Severity::kError;
  // Where given, words that belong to no flag are put here instead of being refused: Hydra's overrides.
  std::vector<Argument>* leftover = nullptr;
};

ParseResult ParseArguments(absl::Span<const Argument> args, const FlagTable& table, const ArgparseOptions& options);

// One value as argparse converts it: int("1_000"), float("1e-5"), "([0]*3+[1]*5)". The error says what was expected.
absl::StatusOr<Value> ReadFlagValue(absl::string_view text, ValueType type);

// Evaluates the list expressions that Megatron-LM accepts for layer patterns: integers, lists, tuples, parentheses,
// + and *. At most kMaxListItems items, integers of 64 bits, 64 levels deep.
absl::StatusOr<Value> EvaluateListExpression(absl::string_view text);

}  // namespace flightplan
