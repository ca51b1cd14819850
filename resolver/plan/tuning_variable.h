// Which environment variables tune a run: their values are switches and sizes, so that they may be shown and kept where
// another variable of a launch may not.
#pragma once

#include "absl/strings/string_view.h"

namespace flightplan {

// What the names of variables and flags are made of, wherever a text is searched for a secret's.
bool IsNameCharacter(char c);

// "KEY", "HF_TOKEN", "WANDB_API_KEY" ...: the name ends like that of a secret.
bool NamesASecret(absl::string_view name);

// Of a library that training runs on, or of the rank itself, by the name's first letters; never one that names a
// secret.
bool IsTuningVariable(absl::string_view name);

}  // namespace flightplan
