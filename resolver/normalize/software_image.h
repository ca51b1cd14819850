// What a question does not say of its software.
#pragma once

#include "resolver/plan/intent.h"

namespace flightplan {

// What the question does not say of the software is as in the stack's own image (catalog/images.yaml), for gates and
// decisions alike, and one finding says so.
void AssumeImage(NormalizedIntent* intent);

// The same for a finished configuration, which may run in any image: the versions, but not as stated ones, so that no
// rule refuses by them. The engine says of which it depends.
void TakeVersionsOfImage(Environment* env);

}  // namespace flightplan
