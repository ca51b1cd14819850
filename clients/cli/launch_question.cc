#include "clients/cli/launch_question.h"

#include <utility>

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/shell/slurm_job.h"
#include "resolver/stacks/input_format.h"
#include "service/doors/review.h"

namespace flightplan::cli {

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
