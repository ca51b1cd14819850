#include "clients/cli/config_input.h"

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"

namespace flightplan::cli {

absl::StatusOr<std::string> FillConfig(const ParsedArguments& parsed, const StackOptions& stack, const Context& context,
                                       v1::ValidateConfigRequest* request) {
  const size_t given = (parsed.rest.has_value() ? 1 : 0) + parsed.positional.size();
  if (given > 1) return absl::InvalidArgumentError("more than one config: give a FILE, or -- ARGS");
  if (given == 0) {
    if (stack.pins.empty()) {
      return absl::InvalidArgumentError("nothing to judge: a FILE, - for standard input, -- ARGS, or --set");
    }
    FLIGHTPLAN_RETURN_IF_ERROR(AddPins(stack.pins, request->mutable_knobs()->mutable_settings()));
    return std::string("knobs");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(AddPins(stack.pins, request->mutable_stated_knobs()));
  if (parsed.rest.has_value()) {
    for (const std::string& argument : *parsed.rest) request->mutable_arguments()->add_values(argument);
    request->mutable_arguments();
    return absl::StrCat("arguments", StatedText(*request));
  }
  absl::StatusOr<std::string> text = ReadInput(parsed.positional[0], context);
  if (!text.ok()) return text.status();
  request->mutable_file()->set_name(parsed.positional[0]);
  request->mutable_file()->set_text(*std::move(text));
  return absl::StrCat(parsed.positional[0] == "-" ? "standard input" : parsed.positional[0], StatedText(*request));
}

}  // namespace flightplan::cli
