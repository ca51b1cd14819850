#include "clients/cli/lsp/document.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/file_question.h"
#include "clients/cli/findings.h"
#include "clients/cli/fit_line.h"
#include "clients/cli/lsp/source_link.h"
#include "clients/cli/own_flags.h"
#include "clients/cli/rpc/json_text.h"
#include "clients/cli/versions_page.h"
#include "resolver/base/status_macros.h"

namespace flightplan::cli {
namespace {

constexpr absl::string_view kSource = "flightplan";
// Of every place that would have to be executed to be known: no fault, and a script of a site is full of them.
constexpr absl::string_view kNotRead = "input.not-judged";
constexpr int64_t kMaxDebounceMs = 5000;
constexpr size_t kShownFixes = 3;

std::string PositionJson(TextPosition position) {
  return JsonObject().Integer("line", position.line).Integer("character", position.character).Json();
}

std::string DiagnosticJson(const std::string& range, int severity, absl::string_view code, absl::string_view message,
                           const std::string& link) {
  JsonObject object;
  object.Raw("range", range).Integer("severity", severity).Text("source", kSource);
  if (!code.empty()) object.Text("code", code);
  if (!link.empty()) object.Raw("codeDescription", JsonObject().Text("href", link).Json());
  return object.Text("message", message).Json();
}

// LSP's own numbers.
int SeverityOf(v1::Severity severity) {
  return severity == v1::SEVERITY_ERROR ? 1 : severity == v1::SEVERITY_WARNING ? 2 : 3;
}

// Where a finding without a place of its own is shown: at the program that the script runs, else the first line.
std::pair<size_t, size_t> LaunchPlace(absl::string_view text) {
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const absl::string_view line = text.substr(start, end - start);
    const size_t program = line.find(".py");
    if (program != absl::string_view::npos && !absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#")) {
      size_t begin = program;
      while (begin > 0 && !absl::ascii_isspace(static_cast<unsigned char>(line[begin - 1]))) --begin;
      return {start + begin, start + program + 3};
    }
    start = end + 1;
  }
  return {0, std::min(text.find('\n'), text.size())};
}

std::string RangeOf(const v1::Finding& finding, const Document& document, const TextLines& lines) {
  if (!finding.location().has_line()) {
    const auto [begin, end] = LaunchPlace(document.text);
    return RangeJson(lines, begin, end);
  }
  size_t begin = OffsetOfPlace(document.text, finding.location().line(), finding.location().column());
  const size_t end = MarkedEnd(document.text, begin, document.form);
  if (document.form == LaunchForm::kYaml) {  // the place is the value's; its key is marked, too
    begin = OffsetOfPlace(document.text, finding.location().line(), 1);
    while (begin < end && (document.text[begin] == ' ' || document.text[begin] == '-')) ++begin;
  }
  return RangeJson(lines, begin, end);
}

std::string MessageOf(const v1::Finding& finding, const Spelling& spelling) {
  std::string message = finding.seen();
  if (!finding.needs().empty()) absl::StrAppend(&message, "\nneeds: ", finding.needs());
  const std::vector<std::string> fixes = doors::FixTexts(finding.fixes(), spelling, kShownFixes);
  if (!fixes.empty()) absl::StrAppend(&message, "\nfix: ", absl::StrJoin(fixes, "   or   "));
  if (!finding.source().text().empty()) absl::StrAppend(&message, "\nsource: ", finding.source().text());
  return message;
}

std::vector<Judgement::Diagnostic> OneDiagnostic(const std::string& range, int severity, absl::string_view message) {
  return {{"", DiagnosticJson(range, severity, "", message, "")}};
}

std::vector<Judgement::Diagnostic> Diagnostics(const Document& document, const v1::ValidateConfigResponse& response) {
  const TextLines lines(document.text);
  const Spelling spelling = TargetSpelling(response.config(), response.target());
  std::vector<Judgement::Diagnostic> all;
  for (const v1::Finding& finding : response.findings()) {
    // What a forecast rests on is no matter of the text.
    if (finding.rule_id() == kNotRead || finding.area() == "evidence") continue;
    all.push_back({finding.rule_id(),
                   DiagnosticJson(RangeOf(finding, document, lines), SeverityOf(finding.severity()), finding.rule_id(),
                                  MessageOf(finding, spelling), SourceLink(finding.source().text()))});
  }
  return all;
}

absl::Status ReadSetting(const std::string& name, const rapidjson::Value& value, LspSettings* settings) {
  const auto wrong = [&](absl::string_view wants) {
    return absl::InvalidArgumentError(absl::StrCat("setting ", name, " wants ", wants));
  };
  const bool text = value.IsString();
  if (name == "gpu" || name == "stack" || name == "release") {
    if (!text) return wrong("text");
    std::string* const target = name == "gpu"     ? &settings->stack.gpu
                                : name == "stack" ? &settings->stack.target
                                                  : &settings->release;
    *target = std::string(JsonTextOf(value));
  } else if (name == "gpus") {
    if (!value.IsInt64() || value.GetInt64() < 0) return wrong("an integer of at least 1, or 0 for unknown");
    if (value.GetInt64() > 0) settings->stack.gpus = value.GetInt64();
  } else if (name == "debounceMs") {
    if (!value.IsInt64() || value.GetInt64() < 0 || value.GetInt64() > kMaxDebounceMs) return wrong("0 to 5000");
    settings->debounce_ms = value.GetInt64();
  } else if (name == "set") {
    if (!value.IsArray()) return wrong("a list of KNOB=VALUE");
    for (const rapidjson::Value& pin : value.GetArray()) {
      if (!pin.IsString()) return wrong("a list of KNOB=VALUE");
      settings->stack.pins.emplace_back(JsonTextOf(pin));
    }
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("setting ", name, " is none of gpu, gpus, stack, release, set, debounceMs"));
  }
  return absl::OkStatus();
}

// The request as asked, or why there is none: empty for a text that is no launch. `note`: what of the settings does not
// hold for it.
absl::StatusOr<bool> BuildQuestion(const Document& document, const LspSettings& settings, const StackOptions& options,
                                   Backend& backend, v1::ValidateConfigRequest* request, std::string* note) {
  FLIGHTPLAN_RETURN_IF_ERROR(BuildValidateRequest(options, /*read=*/nullptr, request));
  FLIGHTPLAN_RETURN_IF_ERROR(AddPins(options.pins, request->mutable_stated_knobs()));
  const bool stated = !request->target().framework().empty();
  request->mutable_file()->set_name(document.name);
  request->mutable_file()->set_text(document.text);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const FileQuestion question, AskAsTheDoorsDo(backend, request));
  if (question.skip.has_value() && question.skip->unread) return absl::ResourceExhaustedError(question.skip->why);
  if (question.skip.has_value() && (question.nothing || !stated)) return false;
  if (!stated && !settings.release.empty()) {
    const std::vector<std::string> known = ReleasesOf(request->target().framework());
    if (std::find(known.begin(), known.end(), settings.release) != known.end()) {
      request->mutable_target()->set_version(settings.release);
    } else {
      *note = absl::StrCat("judged as main: setting release is ", settings.release, ", ", request->target().framework(),
                           " has ", known.empty() ? "no other" : absl::StrJoin(known, ", "));
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<LspSettings> ReadLspSettings(const rapidjson::Value& options) {
  LspSettings settings;
  settings.stack.target.clear();
  const rapidjson::Value* own = JsonObjectMember(options, "flightplan");
  const rapidjson::Value& members = own == nullptr ? options : *own;
  if (!members.IsObject()) return settings;
  for (const auto& member : members.GetObject()) {
    if (member.value.IsNull()) continue;
    FLIGHTPLAN_RETURN_IF_ERROR(ReadSetting(std::string(JsonTextOf(member.name)), member.value, &settings));
  }
  if (!settings.stack.target.empty() && !settings.release.empty() && !absl::StrContains(settings.stack.target, "@")) {
    absl::StrAppend(&settings.stack.target, "@", settings.release);
  }
  return settings;
}

Document MakeDocument(absl::string_view uri, absl::string_view language) {
  Document document;
  document.uri = std::string(uri);
  const size_t slash = uri.rfind('/');
  std::string name(slash == absl::string_view::npos ? uri : uri.substr(slash + 1));
  document.name = name.empty() || name[0] == '-' ? absl::StrCat("launch", name) : name;
  const bool yaml = language == "yaml" || absl::EndsWith(name, ".yaml") || absl::EndsWith(name, ".yml");
  document.form = yaml ? LaunchForm::kYaml : LaunchForm::kWords;
  return document;
}

std::string RangeJson(const TextLines& lines, size_t begin, size_t end) {
  return JsonObject()
      .Raw("start", PositionJson(lines.PositionOf(begin)))
      .Raw("end", PositionJson(lines.PositionOf(std::max(begin, end))))
      .Json();
}

Judgement JudgeDocument(const Document& document, const LspSettings& settings, Backend& backend) {
  Judgement judgement;
  judgement.generation = document.generation;
  StackOptions options = settings.stack;
  const TextLines lines(document.text);
  const std::optional<OwnFlags> own = FindOwnFlags(document.text);
  if (own.has_value()) {
    if (const absl::Status status = ApplyOwnFlags(*own, &options); !status.ok()) {
      judgement.diagnostics = OneDiagnostic(RangeJson(lines, own->begin, own->end), 2, status.message());
      return judgement;
    }
  }
  const size_t shown = own.has_value() ? own->begin : 0, shown_end = own.has_value() ? own->end : 0;
  std::string note;
  const absl::StatusOr<bool> asked = BuildQuestion(document, settings, options, backend, &judgement.request, &note);
  absl::Status status = asked.status();
  if (asked.ok() && !*asked) return judgement;
  if (asked.ok()) status = backend.ValidateConfig(judgement.request, &judgement.response);
  if (!status.ok()) {
    judgement.diagnostics =
        OneDiagnostic(RangeJson(lines, shown, shown_end), 3, absl::StrCat("not judged: ", status.message()));
    return judgement;
  }
  judgement.asked = judgement.response.completeness() != v1::COMPLETENESS_NONE;
  if (!judgement.asked) return judgement;
  judgement.diagnostics = Diagnostics(document, judgement.response);
  if (const std::string fault = GpuFault(judgement.response); !fault.empty()) {
    note = absl::StrCat("not judged: hardware, memory: ", fault, note.empty() ? "" : "\n", note);
  }
  if (!note.empty()) {
    const auto said = OneDiagnostic(RangeJson(lines, shown, shown_end), 3, note);
    judgement.diagnostics.insert(judgement.diagnostics.begin(), said.begin(), said.end());
  }
  return judgement;
}

}  // namespace flightplan::cli
