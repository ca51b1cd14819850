// What the form of a flag says of the words behind it.
#pragma once

#include "resolver/plan/knob.h"

namespace flightplan {

inline bool TakesValues(FlagForm form) {
  return form != FlagForm::kSwitchOn && form != FlagForm::kSwitchOff && form != FlagForm::kSwitchPair;
}

}  // namespace flightplan
