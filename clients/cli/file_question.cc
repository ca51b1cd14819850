#include "clients/cli/file_question.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/request.h"
#include "clients/cli/text.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/plan/stack.h"
#include "resolver/shell/slurm_job.h"
#include "resolver/stacks/input_format.h"
#include "service/doors/review.h"

namespace flightplan::cli {

absl::StatusOr<std::string> AskWithoutFile(v1::ValidateConfigRequest request, Backend& backend) {
  FillFramework(&request);
  request.mutable_knobs();
  request.clear_input_format();  // which is a file's
  v1::ValidateConfigResponse unread;
  FLIGHTPLAN_RETURN_IF_ERROR(backend.ValidateConfig(request, &unread));
  if (!request.has_hardware() || unread.memory().missing_input() != "hardware.gpu") return std::string();
  for (const std::string& what : unread.not_judged()) {
    if (absl::StartsWith(what, "hardware gates: ")) return absl::StrCat("not judged: ", what, "\n");
  }
  return std::string();
}

absl::Status CheckInputFormat(const v1::ValidateConfigRequest& request) {
  const std::string& format = request.input_format();
  const Stack* const stack = FindStack(request.target().framework());
  const std::string known = stack == nullptr ? absl::StrJoin(InputFormatValues().words, ", ")
                                             : InputFormatNames(stack->target, /*file=*/true);
  const std::vector<absl::string_view> names = absl::StrSplit(known, ", ");
  if (format.empty() || std::find(names.begin(), names.end(), format) != names.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--input-format wants ", known, ", not ", Quoted(format)));
}

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

v1::ValidateConfigResponse NothingToJudge(const std::string& why) {
  v1::ValidateConfigResponse nothing;
  nothing.set_completeness(v1::COMPLETENESS_NONE);
  nothing.set_accepted_by_stack(true);  // nothing is known against it
  nothing.set_will_run(true);
  nothing.mutable_memory()->set_fit(v1::FIT_VERDICT_UNKNOWN);
  nothing.add_not_judged(why);
  return nothing;
}

absl::StatusOr<std::string> CompleteQuestion(Backend& backend, v1::ValidateConfigRequest* request) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(FileQuestion question, AskAsTheDoorsDo(backend, request));
  if (question.nothing) return std::move(question.skip->why);
  FillFramework(request);
  return "";
}

}  // namespace flightplan::cli
