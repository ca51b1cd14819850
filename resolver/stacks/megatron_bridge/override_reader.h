// Reads the overrides that all spellings of Bridge share. Internal to its folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// Reads one override at a time into a ParseResult.
class OverrideReader {
 public:
  static constexpr absl::string_view kUnreadable = "bridge-override.unreadable";
  static constexpr absl::string_view kUnknown = "bridge-override.unknown";

  OverrideReader(int release, ParseResult* out) : release_(release), out_(out) {}
  void Read(const Argument& argument);
  // The same in parts, for a value that has been read: `mixed_precision=bf16_mixed`, `model.num_layers=4`. The argument
  // is for messages and its place.
  void ReadSection(const Argument& argument, absl::string_view section, const Value& value);
  void ReadClass(const Argument& argument, absl::string_view section);
  void ReadField(const Argument& argument, absl::string_view section, absl::string_view field, const Value& value);
  // `target`: the class that says which adapters are trained.
  void KeepAdapters(absl::string_view target, const SourcePosition& at);
  void Unknown(const Argument& argument, absl::string_view section, absl::string_view field);
  void Keep(Knob knob, Value value, const SourcePosition& at);
  // The value that was written last is none that can be known here.
  void MarkUnknown(Knob knob);
  void Refuse(const Argument& argument, absl::string_view id, std::string seen, std::string needs);

  static bool KnowsSection(absl::string_view section);
  static std::vector<absl::string_view> Sections();
  // Rules look at its fields.
  static bool LooksInside(absl::string_view section);
  // "the config container has no section x; did you mean y?"
  static std::string UnknownSection(absl::string_view section);
  // The known field of a section nearest to a misspelt one, or an empty view.
  static absl::string_view NearestField(absl::string_view section, absl::string_view field);

 private:
  void ReadUnknown(absl::string_view key);
  void ReadVariable(const Argument& argument, absl::string_view name, const Value& value);
  void NoteText(const Argument& argument, std::optional<Knob> knob, const Value& value);

  int release_;
  ParseResult* out_;
};

// What wins goes behind what it wins over; findings, too.
void PutOver(ParseResult over, ParseResult* under);

// Words without a place in a text.
std::vector<Argument> Arguments(absl::Span<const std::string> argv);

}  // namespace flightplan
