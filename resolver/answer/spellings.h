// Lists where each target reads a knob ("--bf16", "model.bf16"), as answers send it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/knob.h"

namespace flightplan {

// Of all knobs, for a target's release; with the fields of a ConfigEntry that never change, as they are sent. All text
// lives as long as the process.
class Spellings {
 public:
  static const Spellings& Of(const Environment& env);

  absl::string_view Text(Knob knob) const {  // empty where the target has no place for the knob
    const Place& at = places_[static_cast<size_t>(knob)];
    return Bytes(at.begin + at.name_field + at.spelling_field - at.text, at.text);
  }
  absl::string_view NameField(Knob knob) const {
    const Place& at = places_[static_cast<size_t>(knob)];
    return Bytes(at.begin, at.name_field);
  }
  absl::string_view SpellingField(Knob knob) const {  // empty where the spelling is
    const Place& at = places_[static_cast<size_t>(knob)];
    return Bytes(at.begin + at.name_field, at.spelling_field);
  }

 private:
  // A knob's two fields, one behind the other; the spelling itself is the end of the second.
  struct Place {
    uint32_t begin = 0;
    uint16_t name_field = 0, spelling_field = 0, text = 0;  // bytes
  };
  explicit Spellings(const Environment& env);
  absl::string_view Bytes(size_t begin, size_t size) const { return {bytes_.data() + begin, size}; }

  std::vector<Place> places_;  // by knob
  std::string bytes_;          // in one piece: an answer goes through it in order
};

}  // namespace flightplan
