// The model of a miles launch: MODEL_ARGS_LINE="$(python3 DIR/model_args_utils.py NAME)" prints the flags that
// scripts/models/NAME.py returns (radixark/miles miles/utils/external_utils/model_args_utils.py).
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace flightplan {

inline constexpr absl::string_view kModelScriptPrinter = "model_args_utils.py";

// The file of this model, from the root of the checkout; empty: that is no name of one.
std::string ModelScriptNamed(absl::string_view name);

// What its function returns, where that is plain text; nothing: some of it is computed.
std::optional<std::string> FlagsOfModelScript(absl::string_view python);

}  // namespace flightplan
