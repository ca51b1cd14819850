// Sizes of a layout between messages and values.
#pragma once

#include "resolver/normalize/violations.h"
#include "resolver/plan/intent.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class Layout;
}  // namespace v1

LayoutWish LayoutFromMessage(const v1::Layout& message, Violations* violations);

// Sets the sizes that are given; what is open stays as it is in *message.
void LayoutToMessage(const LayoutWish& wish, v1::Layout* message);

}  // namespace flightplan
