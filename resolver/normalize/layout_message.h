// Sizes of a layout between messages and values.
#pragma once

#include <utility>
#include <vector>

#include "resolver/normalize/violations.h"
#include "resolver/plan/intent.h"
#include "resolver/plan/knob.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class Layout;
}  // namespace v1

LayoutWish LayoutFromMessage(const v1::Layout& message, Violations* violations);

// A pin is the narrower word, None too: where it names a size of the layout, the layout says no other.
void LeaveToPins(const std::vector<std::pair<Knob, Value>>& pins, LayoutWish* wish);

// Virtual stages are said by the pipeline's layout, too; upstream would take its word in silence.
void CheckStages(const LayoutWish& wish, Violations* violations);

// Sets the sizes that are given; what is open stays as it is in *message.
void LayoutToMessage(const LayoutWish& wish, v1::Layout* message);

}  // namespace flightplan
