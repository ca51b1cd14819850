// Values of a YAML file that a command line's arguments are overwritten with, one knob a key. Shared by Megatron-LM's
// --yaml-cfg files and LoongForge's model files, which differ in how they refer to variables and in what they nest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "resolver/base/yaml.h"
#include "resolver/plan/reading.h"

namespace flightplan {

class YamlKnobs {
 public:
  // Whose reader takes the values: an argument's own type, or, where keys are put into the arguments as they are, any
  // number for a number.
  enum class Numbers : uint8_t { kTyped, kAny };

  // What `source` says of findings. `env`'s variables are what ${NAME} and ${oc.env:NAME} stand for.
  YamlKnobs(const Environment& env, absl::string_view source, Numbers numbers = Numbers::kTyped)
      : env_(env), source_(source), numbers_(numbers) {}

  // Replaces references in a scalar's text. Empty: one cannot be known, which has been reported.
  using Substitution = std::optional<std::string> (*)(const YamlNode& node, YamlKnobs* reader);

  // Reads the value and keeps it; a value of the wrong type is a finding.
  void Take(Knob knob, const YamlNode& node, Substitution substitute);
  void Keep(Knob knob, Value value, const YamlNode& node);
  void Report(SourcePosition at, absl::string_view rule_id, Severity severity, std::string seen, std::string needs);

  const Environment& env() const { return env_; }
  ParseResult Finish() { return std::move(result_); }

  static SourcePosition At(const YamlNode& node) { return {-1, node.line, node.column}; }
  static SourcePosition AtKey(const YamlNode& node) { return {-1, node.key_line, node.key_column}; }

 private:
  std::optional<Value> List(Knob knob, const YamlNode& node, Substitution substitute);
  std::optional<Value> Scalar(Knob knob, const YamlNode& node, Substitution substitute);
  std::optional<Value> Refuse(Knob knob, const YamlNode& node, std::string needs);

  const Environment& env_;
  absl::string_view source_;
  Numbers numbers_;
  ParseResult result_;
};

}  // namespace flightplan
