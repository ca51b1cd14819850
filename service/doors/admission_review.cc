#include "service/doors/admission_review.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"
#include "resolver/base/json.h"
#include "resolver/base/utf8.h"

namespace flightplan::doors {
namespace {

using Json = rapidjson::Value;
using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr int kForbidden = 403;
constexpr int kInternalError = 500;

const Json* Member(const Json& value, const char* key) {
  if (!value.IsObject()) return nullptr;
  const auto found = value.FindMember(key);
  return found == value.MemberEnd() ? nullptr : &found->value;
}

std::string Text(const Json& value, const char* key) {
  const Json* member = Member(value, key);
  return member != nullptr && member->IsString() ? std::string(member->GetString(), member->GetStringLength()) : "";
}

void Put(absl::string_view key, absl::string_view value, Writer* json) {
  json->Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  json->String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

struct Answer {
  bool allowed = true;
  int code = 0;  // of a refusal
  std::string message;
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> audit;  // the API server prefixes the webhook's name
};

std::string Render(const AdmissionRequest& request, const Answer& answer) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  Put("apiVersion", "admission.k8s.io/v1", &json);
  Put("kind", "AdmissionReview", &json);
  json.Key("response");
  json.StartObject();
  Put("uid", request.uid, &json);
  json.Key("allowed");
  json.Bool(answer.allowed);
  if (!answer.allowed) {
    json.Key("status");
    json.StartObject();
    json.Key("code");
    json.Int(answer.code);
    Put("message", answer.message, &json);
    json.EndObject();
  }
  if (!answer.warnings.empty()) {
    json.Key("warnings");
    json.StartArray();
    for (const std::string& warning : answer.warnings) {
      json.String(warning.data(), static_cast<rapidjson::SizeType>(warning.size()));
    }
    json.EndArray();
  }
  json.Key("auditAnnotations");
  json.StartObject();
  for (const auto& [key, value] : answer.audit) Put(key, value, &json);
  json.EndObject();
  json.EndObject();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

std::vector<std::string> Shown(const Review& review, size_t bytes_each) {
  std::vector<std::string> texts;
  for (const FindingLine& line : review.lines) {
    if (texts.size() == kMaxAdmissionFindings) break;
    texts.push_back(Utf8Clip(line.Text(), bytes_each));
  }
  return texts;
}

// A fix is worth more than what was seen, where both do not fit.
std::vector<std::string> Warnings(const Review& review) {
  std::vector<std::string> warnings;
  for (const FindingLine& line : review.lines) {
    if (warnings.size() == kMaxAdmissionFindings) break;
    const std::string fix = line.fix.empty() ? "" : absl::StrCat("; fix: ", line.fix);
    const size_t room = fix.size() < kMaxWarningBytes / 2 ? kMaxWarningBytes - fix.size() : kMaxWarningBytes / 2;
    warnings.push_back(
        Utf8Clip(absl::StrCat(Utf8Clip(absl::StrCat("flightplan: [", line.rule_id, "] ", line.seen), room), fix),
                 kMaxWarningBytes));
  }
  return warnings;
}

// As the Slurm door does: whoever submits hears of it, but for a site that only looks on.
void SayUnchecked(absl::string_view why, Policy policy, Answer* answer) {
  answer->message = Utf8Clip(absl::StrCat("flightplan could not check this job: ", why), 1024);
  if (answer->allowed && policy.mode != Mode::kShadow) {
    answer->warnings.push_back(Utf8Clip(answer->message, kMaxWarningBytes));
  }
}

}  // namespace

absl::string_view ModeWord(Mode mode) {
  switch (mode) {
    case Mode::kShadow:
      return "shadow";
    case Mode::kWarn:
      return "warn";
    case Mode::kEnforce:
      return "enforce";
  }
  return "";
}

absl::Status ParseAdmissionReview(absl::string_view json, AdmissionRequest* request) {
  rapidjson::Document document;
  if (const auto fault = ReadJson(json, JsonNumbers::kFinite, &document); fault.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("not JSON: fault at byte ", fault->offset, ": ", fault->what));
  }
  if (Text(document, "kind") != "AdmissionReview" || Text(document, "apiVersion") != "admission.k8s.io/v1") {
    return absl::InvalidArgumentError("must be kind AdmissionReview of admission.k8s.io/v1");
  }
  const Json* asked = Member(document, "request");
  if (asked == nullptr || Text(*asked, "uid").empty()) return absl::InvalidArgumentError("request.uid is required");
  request->uid = Text(*asked, "uid");
  request->operation = Text(*asked, "operation");
  const Json* object = Member(*asked, "object");
  std::string name = Text(*asked, "name");
  if (const Json* metadata = object == nullptr ? nullptr : Member(*object, "metadata");
      name.empty() && metadata != nullptr) {
    name = Text(*metadata, "generateName") + "*";
  }
  request->name = Utf8Clip(absl::StrCat(Text(*asked, "namespace"), "/", name), kMaxAdmissionNameBytes);
  if (const Json* user = Member(*asked, "userInfo"); user != nullptr) {
    request->user = Utf8Clip(Text(*user, "username"), kMaxAdmissionNameBytes);
  }
  const Json* dry_run = Member(*asked, "dryRun");
  request->dry_run = dry_run != nullptr && dry_run->IsTrue();
  const bool updates = request->operation == "UPDATE";
  if (request->operation != "CREATE" && !updates) {
    request->workload.skip = Skip{"only a CREATE and an UPDATE are judged"};
    return absl::OkStatus();
  }
  if (object == nullptr) {
    request->workload.skip = Skip{"no object"};
    return absl::OkStatus();
  }
  Workload workload = ReadWorkload(*object);
  const Json* before = updates ? Member(*asked, "oldObject") : nullptr;
  if (before != nullptr && !workload.skip.has_value() && SameLaunch(ReadWorkload(*before), workload)) {
    workload.skip = Skip{"its launch stays as it is"};
  }
  workload.kind = Utf8Clip(workload.kind, kMaxAdmissionNameBytes);
  request->workload = std::move(workload);
  return absl::OkStatus();
}

bool Allows(const Review& review, Policy policy) {
  if (review.unread) return AllowsFailed(policy);
  return policy.mode != Mode::kEnforce || review.verdict != Verdict::kRefused;
}

bool AllowsFailed(Policy policy) { return policy.mode != Mode::kEnforce || !policy.fail_closed; }

Question AskAboutWorkload(const AdmissionRequest& admission, absl::Span<const std::string> releases,
                          const Catalog& catalog, v1::ValidateConfigRequest* base) {
  const Workload& workload = admission.workload;
  if (workload.skip.has_value()) {
    Question question;
    question.skip = workload.skip;
    return question;
  }
  const JobFacts facts{workload.gpus, workload.gpu_label, workload.vars};
  return AskAboutScript(absl::StrCat(workload.kind, ".sh"), workload.script, facts, releases, catalog, base);
}

std::string RenderAdmissionReview(const AdmissionRequest& request, const Review& review, Policy policy) {
  Answer answer;
  answer.audit = {{"verdict", std::string(VerdictWord(review.verdict))}, {"mode", std::string(ModeWord(policy.mode))}};
  if (!review.digest.empty()) answer.audit.emplace_back("decision", review.digest);
  if (!review.lines.empty()) {
    std::vector<std::string> rules;
    for (const FindingLine& line : review.lines) rules.push_back(line.rule_id);
    answer.audit.emplace_back("rules", Utf8Clip(absl::StrJoin(rules, ","), 1024));
  }
  if (review.verdict == Verdict::kNotJudged) {
    answer.audit.emplace_back("reason", Utf8Clip(absl::StrJoin(review.not_judged, "; "), 1024));
  }
  answer.allowed = Allows(review, policy);
  if (review.unread) {
    SayUnchecked(absl::StrJoin(review.not_judged, "; "), policy, &answer);
    answer.code = kForbidden;
  } else if (!answer.allowed) {
    answer.code = kForbidden;
    constexpr size_t kFindingBytes = 600;
    answer.message = absl::StrCat("this job would fail (", review.target, "):\n  ",
                                  absl::StrJoin(Shown(review, kFindingBytes), "\n  "));
    if (review.lines.size() > kMaxAdmissionFindings) {
      absl::StrAppend(&answer.message, "\n  and ", review.lines.size() - kMaxAdmissionFindings, " more");
    }
    absl::StrAppend(&answer.message, "\n  decision ", review.digest);
  } else if (policy.mode != Mode::kShadow) {
    answer.warnings = Warnings(review);
  }
  return Render(request, answer);
}

std::string RenderFailedReview(const AdmissionRequest& request, absl::string_view why, Policy policy) {
  Answer answer;
  answer.audit = {{"verdict", "failed"}, {"mode", std::string(ModeWord(policy.mode))}};
  answer.allowed = AllowsFailed(policy);
  answer.code = kInternalError;
  SayUnchecked(why, policy, &answer);
  return Render(request, answer);
}

}  // namespace flightplan::doors
