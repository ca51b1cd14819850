#include "service/doors/review.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/base/nearest.h"
#include "resolver/base/utf8.h"
#include "resolver/judge/read_config.h"
#include "resolver/judge/shown_launch.h"
#include "resolver/normalize/environment_message.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/stack.h"
#include "resolver/shell/reader.h"
#include "resolver/stacks/dialects.h"
#include "service/doors/gpu_label.h"
#include "service/doors/spelling.h"

namespace flightplan::doors {
namespace {

constexpr char kReadersLimit[] = "input.limit";

// The release that the site runs of this stack; empty: the newest.
std::string ReleaseOf(absl::string_view framework, absl::Span<const std::string> releases) {
  std::string version;
  for (const std::string& release : releases) {
    const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(release, absl::MaxSplits('@', 1));
    if (halves.first == framework) version = std::string(halves.second);
  }
  return version;
}

EnvVars VarsOf(const v1::ValidateConfigRequest& request) {
  EnvVars vars;
  for (const auto& [name, value] : request.env()) vars.emplace(name, value);
  return vars;
}

std::optional<Target> StatedTarget(const std::string& framework) {
  const Stack* const stack = FindStack(framework);
  return stack == nullptr ? std::nullopt : std::make_optional(stack->target);
}

void SetGpuAndSize(const JobFacts& job, const Catalog& catalog, std::optional<int64_t> count,
                   v1::ValidateConfigRequest* request) {
  if (!request->has_hardware()) {
    const std::string gpu = GpuFromLabel(catalog, job.gpu_label);
    if (!gpu.empty()) request->mutable_hardware()->set_gpu(gpu);
  }
  if (!count.has_value() || *count > kMaxGpus || request->has_world_size()) return;
  if (!request->has_hardware()) {
    request->set_world_size(static_cast<int32_t>(*count));
  } else if (request->hardware().gpu_count() == 0) {
    request->mutable_hardware()->set_gpu_count(static_cast<int32_t>(*count));
  }
}

FindingLine LineOf(const v1::Finding& finding, const Spelling& spelling) {
  FindingLine line;
  line.error = finding.severity() == v1::SEVERITY_ERROR;
  line.rule_id = finding.rule_id();
  line.line = finding.location().line();
  line.column = finding.location().column();
  line.seen = finding.seen();
  line.needs = finding.needs();
  line.other_fixes = FixTexts(finding.fixes(), spelling, std::numeric_limits<size_t>::max());
  if (!line.other_fixes.empty()) {
    line.fix = std::move(line.other_fixes.front());
    line.other_fixes.erase(line.other_fixes.begin());
  }
  return line;
}

// A launcher that starts another number of processes than the job has GPUs: legal now and then, a slip mostly.
void AddSizeWarning(const Question& question, std::vector<FindingLine>* warnings) {
  if (!question.launched.has_value() || !question.allocated.has_value()) return;
  if (*question.launched == *question.allocated) return;
  FindingLine line;
  line.rule_id = std::string(kLaunchWorldSize);
  line.seen = absl::StrCat("the launcher starts ", *question.launched, " processes, the job asks for ",
                           *question.allocated, " GPUs");
  line.needs = "one process for each GPU; judged as the launcher says";
  warnings->push_back(std::move(line));
}

}  // namespace

absl::string_view VerdictWord(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllowed:
      return "allowed";
    case Verdict::kWarned:
      return "warned";
    case Verdict::kRefused:
      return "refused";
    case Verdict::kNotJudged:
      return "not_judged";
  }
  return "";
}

JobFacts FactsOf(const SlurmJob& job) {
  JobFacts facts;
  facts.gpus = job.GpuCount();
  if (!job.mixed_gpus) facts.gpu_label = job.gpu_type;
  AddSlurmVariables(job, &facts.vars);
  return facts;
}

absl::Status CheckRelease(absl::string_view release) {
  const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(release, absl::MaxSplits('@', 1));
  if (absl::EndsWith(release, "@")) return absl::InvalidArgumentError("NAME@VERSION such as megatron-lm@0.17");
  if (FindStack(halves.first) == nullptr) {
    std::vector<absl::string_view> names;
    for (const Stack* const stack : AllStacks()) names.push_back(stack->name);
    const absl::string_view nearest = NearestName(halves.first, names);
    return absl::InvalidArgumentError(nearest.empty() ? absl::StrCat("of ", StackNames())
                                                      : absl::StrCat("of a known stack; nearest is ", nearest));
  }
  v1::TargetStack target;
  target.set_framework(std::string(halves.first));
  target.set_version(std::string(halves.second));
  Environment env;
  Violations violations;
  ReadTarget(target, "", &env, &violations);
  return violations.empty() ? absl::OkStatus()
                            : absl::InvalidArgumentError("of a release such as megatron-lm@0.17, or main");
}

std::optional<Target> StackOfText(absl::string_view name, const std::string& text, const EnvVars& vars) {
  return ReadShownLaunch(name, text, vars, std::nullopt).stack;
}

Question AskAboutScript(absl::string_view name, std::string text, const JobFacts& job,
                        absl::Span<const std::string> releases, const Catalog& catalog,
                        v1::ValidateConfigRequest* request) {
  Question question;
  question.allocated = job.gpus;
  if (text.empty()) question.skip = Skip{"an empty file"};
  if (text.size() > kMaxScriptBytes) question.skip = Skip{"larger than 1 MiB", /*unread=*/true};
  if (absl::StrContains(text, '\0')) question.skip = Skip{"a binary file", /*unread=*/true};
  if (question.skip.has_value()) return question;

  for (const auto& [variable, value] : job.vars) request->mutable_env()->insert({variable, value});
  ShownLaunch found = ReadShownLaunch(name, text, VarsOf(*request), StatedTarget(request->target().framework()));
  if (found.nothing.has_value()) {
    question.skip = Skip{std::move(found.nothing->why), found.nothing->unread, found.nothing->maybe};
    return question;
  }
  question.launched = found.launched;
  if (found.size_assumed && question.allocated.has_value()) {
    question.launched.reset();  // the job's own size is no assumption
  }
  if (request->target().framework().empty()) {
    request->mutable_target()->set_framework(std::string(StackOf(*found.stack).name));
    if (request->target().version().empty()) {  // "@0.16": a release of whichever stack it is
      request->mutable_target()->set_version(ReleaseOf(StackOf(*found.stack).name, releases));
    }
  }
  // A driver's words may say a part of the job: their reader takes the job's own lines where they do not.
  const bool own_lines = question.allocated.has_value() && question.allocated == ReadSbatchLines(text).GpuCount();
  if (own_lines && StackOf(*found.stack).own_workers) question.allocated.reset();
  // What is assumed the reader of the script assumes itself, and knows it.
  const bool states_size = question.launched.has_value() && !found.size_assumed;
  SetGpuAndSize(job, catalog, states_size ? question.launched : question.allocated, request);
  request->mutable_file()->set_name(Utf8Repaired(name));
  request->mutable_file()->set_text(std::move(text));
  return question;
}

std::string FindingLine::Text() const {
  std::string text = line > 0 ? absl::StrCat("line ", line, ": ", seen) : seen;
  if (!needs.empty()) absl::StrAppend(&text, "; needs: ", needs);
  if (!fix.empty()) absl::StrAppend(&text, "; fix: ", fix);
  for (const std::string& other : other_fixes) absl::StrAppend(&text, "; or: ", other);
  return absl::StrCat(text, " [", rule_id, "]");
}

Review NotAsked(Skip skip) {
  Review review;
  review.not_judged.push_back(std::move(skip.why));
  review.unread = skip.unread;
  return review;
}

Review Unread(absl::string_view why) { return NotAsked({std::string(why), /*unread=*/true}); }

Review ReviewOf(const Question& question, const v1::ValidateConfigResponse& response) {
  const Spelling spelling = TargetSpelling(response.config(), response.target());
  Review review;
  review.target = response.target();
  review.digest = response.digest();
  std::vector<FindingLine> warnings;
  const v1::Finding* limit = nullptr;  // the reader's own: what lies beyond it was not read
  for (const v1::Finding& finding : response.findings()) {
    if (finding.severity() != v1::SEVERITY_ERROR && finding.severity() != v1::SEVERITY_WARNING) continue;
    FindingLine line = LineOf(finding, spelling);
    if (finding.rule_id() == kReadersLimit && line.error) {
      limit = &finding;
    } else {
      (line.error ? review.lines : warnings).push_back(std::move(line));
    }
  }
  if (response.completeness() != v1::COMPLETENESS_NONE) AddSizeWarning(question, &warnings);
  review.verdict = !review.lines.empty() ? Verdict::kRefused : !warnings.empty() ? Verdict::kWarned : Verdict::kAllowed;
  if (limit != nullptr && review.verdict != Verdict::kRefused) return Unread(limit->seen());
  if (response.completeness() == v1::COMPLETENESS_NONE) review.verdict = Verdict::kNotJudged;
  review.lines.insert(review.lines.end(), warnings.begin(), warnings.end());
  review.not_judged.assign(response.not_judged().begin(), response.not_judged().end());
  return review;
}

}  // namespace flightplan::doors
