#include "clients/cli/config_input.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/command.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/shell/slurm_job.h"
#include "resolver/stacks/input_format.h"
#include "service/doors/review.h"

namespace flightplan::cli {

absl::StatusOr<std::string> FillConfig(const ParsedArguments& parsed, const StackOptions& stack,
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
  absl::StatusOr<std::string> text = ReadInput(parsed.positional[0]);
  if (!text.ok()) return text.status();
  request->mutable_file()->set_name(parsed.positional[0]);
  request->mutable_file()->set_text(*std::move(text));
  return absl::StrCat(parsed.positional[0] == "-" ? "standard input" : parsed.positional[0], StatedText(*request));
}

absl::StatusOr<std::string> AskAsTheDoorsDo(Backend& backend, v1::ValidateConfigRequest* request) {
  if (!request->has_file() || !request->input_format().empty()) return std::string();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Catalog> catalog, backend.GetCatalog());
  const std::string name = request->file().name(), text = request->file().text();
  const bool shell = RecogniseFile(name, text, Target()) == kShellFormat;
  v1::ValidateConfigRequest asked = *request;
  const doors::Question question =
      doors::AskAboutScript(name, text, doors::FactsOf(ReadSbatchLines(text)), {}, *catalog, &asked);
  if (question.skip.has_value()) {
    // Arguments and YAML that show no stack are taken for what the caller says, or Megatron-LM's.
    return shell && !question.skip->unread && !text.empty() ? question.skip->why : std::string();
  }
  *request = std::move(asked);
  return std::string();
}

}  // namespace flightplan::cli
