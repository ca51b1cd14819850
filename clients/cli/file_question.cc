#include "clients/cli/file_question.h"

#include <memory>
#include <utility>

#include "clients/cli/request.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/shell/slurm_job.h"
#include "service/doors/review.h"

namespace flightplan::cli {

absl::StatusOr<FileQuestion> AskAsTheDoorsDo(Backend& backend, v1::ValidateConfigRequest* request) {
  FileQuestion answer;
  if (!request->has_file() || !request->input_format().empty()) return answer;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Catalog> catalog, backend.GetCatalog());
  const std::string name = request->file().name(), text = request->file().text();
  v1::ValidateConfigRequest asked = *request;
  doors::Question question =
      doors::AskAboutScript(name, text, doors::FactsOf(ReadSbatchLines(text)), {}, *catalog, &asked);
  answer.skip = std::move(question.skip);
  answer.nothing = answer.skip.has_value() && !text.empty() && !answer.skip->unread && !answer.skip->maybe;
  if (!answer.skip.has_value()) *request = std::move(asked);
  return answer;
}

absl::StatusOr<std::string> CompleteQuestion(Backend& backend, v1::ValidateConfigRequest* request) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(FileQuestion question, AskAsTheDoorsDo(backend, request));
  if (question.nothing) return std::move(question.skip->why);
  FillFramework(request);
  return "";
}

}  // namespace flightplan::cli
