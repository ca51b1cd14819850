#include "clients/cli/config_input.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/own_flags.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"

namespace flightplan::cli {

absl::StatusOr<std::string> FillConfig(const ParsedArguments& parsed, const Context& context, StackOptions* stack,
                                       v1::ValidateConfigRequest* request) {
  const size_t given = (parsed.rest.has_value() ? 1 : 0) + parsed.positional.size();
  if (given > 1) return absl::InvalidArgumentError("more than one config: give a FILE, or -- ARGS");
  std::string name = "arguments";
  if (!parsed.positional.empty()) {
    const std::string& path = parsed.positional[0];
    FLIGHTPLAN_ASSIGN_OR_RETURN(std::string text, ReadInput(path, context));
    name = path == "-" ? "standard input" : path;
    absl::StatusOr<StackOptions> own = WithOwnFlags(text, *stack);
    if (!own.ok()) return absl::InvalidArgumentError(absl::StrCat(name, ": ", own.status().message()));
    *stack = *std::move(own);
    request->mutable_file()->set_name(Utf8Repaired(path));
    request->mutable_file()->set_text(std::move(text));
  } else if (parsed.rest.has_value()) {
    request->mutable_arguments()->mutable_values()->Add(parsed.rest->begin(), parsed.rest->end());
  } else if (stack->pins.empty()) {
    return absl::InvalidArgumentError("nothing to judge: a FILE, - for standard input, -- ARGS, or --set");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(BuildValidateRequest(*stack, ReaderOf(context), request));
  if (given == 0) {
    FLIGHTPLAN_RETURN_IF_ERROR(AddPins(stack->pins, request->mutable_knobs()->mutable_settings()));
    return std::string("knobs");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(AddPins(stack->pins, request->mutable_stated_knobs()));
  return absl::StrCat(name, StatedText(*request));
}

}  // namespace flightplan::cli
