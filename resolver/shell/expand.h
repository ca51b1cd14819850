// Why a reference is not followed: what the note about it says. Private to the scanner.
#pragma once

#include "absl/strings/string_view.h"

namespace flightplan {

inline constexpr absl::string_view kArgumentsUnknown = "the script's own arguments are not known";
inline constexpr absl::string_view kNoArguments =
    "the script's own arguments are not known: the launch is judged as it runs without any";
inline constexpr absl::string_view kOutputUnknown = "a command's output is not known without running it";
inline constexpr absl::string_view kNotSet =
    "the variable is set neither in the script nor in the environment; --env NAME=VALUE says what it will be";
inline constexpr absl::string_view kNotExported =
    "the script sets the variable and does not export it: the shell inside has it only if the caller exports it; write "
    "export in front, or double quotes around the inner script";
inline constexpr absl::string_view kNotUnderstood = "this form of a reference is not followed";

}  // namespace flightplan
