#include "clients/cli/slurm_script.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/command.h"
#include "clients/cli/file_question.h"
#include "clients/cli/text.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/shell/slurm_job.h"

namespace flightplan::cli {
namespace {

absl::StatusOr<SlurmJob> ReadJob(absl::string_view script, const std::vector<std::string>& fields) {
  SlurmJob job = ReadSbatchLines(script);
  for (const std::string& field : fields) {
    const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(field, absl::MaxSplits('=', 1));
    if (const absl::Status status = SetSlurmField(halves.first, halves.second, &job); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--job ", status.message()));
    }
  }
  return job;
}

// Text of users on a terminal of users: one line, harmless, of a bounded length.
void AppendPart(absl::string_view indent, absl::string_view label, absl::string_view text, std::string* out) {
  if (text.empty()) return;
  absl::StrAppend(out, indent, label, Cut(Harmless(text), static_cast<int>(kMaxSlurmText), "..."), "\n");
}

std::string Headline(const doors::Review& review) {
  switch (review.verdict) {
    case doors::Verdict::kRefused:
      return absl::StrCat("flightplan: this job would fail (", review.target, ")\n");
    case doors::Verdict::kWarned:
      return absl::StrCat("flightplan: this job may not do what you want (", review.target, ")\n");
    case doors::Verdict::kAllowed:
    case doors::Verdict::kNotJudged:
      return "";
  }
  return "";
}

}  // namespace

absl::StatusOr<doors::Review> ReviewSlurmScript(const SlurmScriptOptions& options,
                                                const v1::ValidateConfigRequest& base, Backend& backend) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Catalog> catalog, backend.GetCatalog());
  absl::StatusOr<std::string> text = ReadInput(options.path);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const SlurmJob job, ReadJob(text.ok() ? *text : "", options.fields));
  if (!text.ok()) return doors::Unread(text.status().message());
  const std::string name = options.path == "-" ? "job script" : options.path;
  v1::ValidateConfigRequest request = base;
  const doors::Question question =
      doors::AskAboutScript(name, *std::move(text), doors::FactsOf(job), options.releases, *catalog, &request);
  if (question.skip.has_value()) return doors::NotAsked(*question.skip);
  v1::ValidateConfigResponse response;
  const absl::Status status = backend.ValidateConfig(request, &response);
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    FLIGHTPLAN_RETURN_IF_ERROR(AskWithoutFile(base, backend).status());  // the site's word would let every job through
    return doors::Unread(status.message());
  }
  FLIGHTPLAN_RETURN_IF_ERROR(status);
  return doors::ReviewOf(question, response);
}

std::string RenderSlurmReview(const doors::Review& review) {
  const absl::string_view judged = review.digest.empty() ? absl::string_view("-") : review.digest;
  const absl::string_view id = review.unread ? kUnreadId : judged;
  std::string out = absl::StrCat(doors::VerdictWord(review.verdict), " ", id, "\n");
  absl::StrAppend(&out, Headline(review));
  if (review.verdict == doors::Verdict::kNotJudged) {
    for (const std::string& why : review.not_judged) AppendPart("", "flightplan: not judged: ", why, &out);
    return out;
  }
  size_t shown = 0;
  for (const doors::FindingLine& line : review.lines) {
    if (++shown > kMaxSlurmFindings) continue;
    AppendPart("  ", line.line > 0 ? absl::StrCat("line ", line.line, ": ") : "", line.seen, &out);
    AppendPart("    ", "needs: ", line.needs, &out);
    AppendPart("    ", "fix: ", line.fix, &out);
    for (const std::string& other : line.other_fixes) AppendPart("    ", "or:  ", other, &out);
  }
  if (shown > kMaxSlurmFindings) {
    absl::StrAppend(&out, "  and ", shown - kMaxSlurmFindings, " more: flightplan validate says all\n");
  }
  return out;
}

}  // namespace flightplan::cli
