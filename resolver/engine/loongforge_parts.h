// LoongForge checks what a vision-language model has besides its language model by a shorter function of its
// own (baidu-baige/LoongForge@c6275661, loongforge/train/validators.py:526), and for generators of images and actions
// it makes no config class before their trainer does (models/utils.py:126). What of the rules is left for them.
#pragma once

#include "resolver/rules/rule.h"

namespace flightplan {

// Whether LoongForge asks this of the configuration at hand; true for every other target.
bool AppliesToPart(const Rule& rule, const Facts& facts);

}  // namespace flightplan
