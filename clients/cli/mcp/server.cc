#include "clients/cli/mcp/server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "clients/cli/mcp/answers.h"
#include "clients/cli/paging.h"
#include "clients/cli/rpc/json_text.h"
#include "clients/cli/text.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/utf8.h"
#include "resolver/plan/stack.h"
#include "service/version.h"

namespace flightplan::cli {
namespace {

constexpr absl::string_view kFirstStructured = "2025-06-18";
constexpr absl::string_view kRuleUri = "flightplan://rule/";
constexpr absl::string_view kKnobUri = "flightplan://knob/";
constexpr size_t kResourcesPerPage = 200;
constexpr int kResourceNotFound = -32002;
constexpr auto kProgressPause = std::chrono::milliseconds(100);
constexpr size_t kMaxSummary = 160;
std::string Instructions() {
  return absl::StrCat(
      "Flightplan plans and judges training launches of ", StackNames(),
      " before they are queued. validate judges a launch as it stands, fix repairs it, resolve completes a layout, "
      "plan "
      "searches layouts, compare shows what a change costs, explain says why a rule or knob matters. Say gpu and gpus "
      "where they are known: without them memory and time are not judged. A figure is a forecast with its band "
      "(low..high); what is listed as not judged was neither passed nor failed.");
}

RpcError Wrong(absl::string_view message) { return {kRpcInvalidParams, std::string(message), ""}; }

std::string TextContent(absl::string_view text) {
  return JsonList({JsonObject().Text("type", "text").Text("text", text).Json()});
}

std::string ToolFailure(absl::string_view message) {
  return JsonObject().Raw("content", TextContent(message)).Bool("isError", true).Json();
}

// What a page has, in at most kMaxToolText bytes.
std::string Bounded(std::string text) {
  if (text.size() <= kMaxToolText) return text;
  const size_t cut = text.rfind('\n', kMaxToolText);
  text.resize(Utf8PrefixBytes(absl::string_view(text).substr(0, cut == std::string::npos ? kMaxToolText : cut)));
  return absl::StrCat(text, "\n(cut at ", kMaxToolText, " bytes)\n");
}

std::string ToolJson(const Tool& tool) {
  const std::string annotations = JsonObject()
                                      .Text("title", tool.title)
                                      .Bool("readOnlyHint", true)
                                      .Bool("idempotentHint", true)
                                      .Bool("openWorldHint", false)
                                      .Json();
  return JsonObject()
      .Text("name", tool.name)
      .Text("title", tool.title)
      .Text("description", tool.description)
      .Raw("inputSchema", InputSchema(tool))
      .Raw("outputSchema", OutputSchema(tool.answer))
      .Raw("annotations", annotations)
      .Json();
}

std::string ResourceJson(absl::string_view uri, absl::string_view name, absl::string_view description) {
  return JsonObject()
      .Text("uri", absl::StrCat(uri, name))
      .Text("name", name)
      .Text("description", Utf8Clip(description, kMaxSummary))
      .Text("mimeType", "text/plain")
      .Json();
}

std::string TemplateJson(absl::string_view uri, absl::string_view name, absl::string_view variable,
                         absl::string_view description) {
  return JsonObject()
      .Text("uriTemplate", absl::StrCat(uri, "{", variable, "}"))
      .Text("name", name)
      .Text("description", description)
      .Text("mimeType", "text/plain")
      .Json();
}

RpcResult ListTemplates(const RpcCall&) {
  return JsonObject()
      .Raw("resourceTemplates",
           JsonList(
               {TemplateJson(kRuleUri, "rule", "id", "A rule: what it checks, why, upstream source, fix"),
                TemplateJson(kKnobUri, "knob", "name", "A knob: class, default, spellings, rules that look at it")}))
      .Json();
}

RpcResult Pong(const RpcCall&) { return std::string("{}"); }
RpcResult Nothing(const RpcCall&) { return std::string(); }

// Sends a search's progress now and then; false once the call is cancelled.
class Progress {
 public:
  Progress(const RpcCall& call, RpcPeer* peer) : call_(call), peer_(peer) {
    const rapidjson::Value* meta = JsonObjectMember(call.params, "_meta");
    const rapidjson::Value* token = meta == nullptr ? nullptr : JsonMember(*meta, "progressToken");
    if (token != nullptr && (token->IsString() || token->IsNumber())) token_ = JsonOf(*token);
  }
  bool Show(const v1::PlanProgress& at) {
    if (call_.cancelled) return false;
    const auto now = std::chrono::steady_clock::now();
    if (token_.empty() || at.done_ratio() <= shown_ || now < next_) return true;
    next_ = now + kProgressPause;
    shown_ = at.done_ratio();
    std::string message = absl::StrCat(WithThousands(at.judged_count()), " layouts judged");
    if (at.has_best_step_time_us()) {
      absl::StrAppend(&message, absl::StrFormat(", best %.3g s", at.best_step_time_us() / 1e6));
    }
    const std::string params = JsonObject()
                                   .Raw("progressToken", token_)
                                   .Number("progress", at.done_ratio())
                                   .Number("total", 1)
                                   .Text("message", message)
                                   .Json();
    peer_->Notify("notifications/progress", params);
    return true;
  }

 private:
  const RpcCall& call_;
  RpcPeer* const peer_;
  std::string token_;
  double shown_ = 0;
  std::chrono::steady_clock::time_point next_{};
};

absl::StatusOr<std::string> ReadGiven(const ToolCommandLine& line, const std::string& path) {
  if (const auto it = line.files.find(path); it != line.files.end()) return it->second;
  return absl::InvalidArgumentError(absl::StrCat(Quoted(path), ": files are not read here; give the text itself"));
}

}  // namespace

std::vector<RpcMethod> McpServer::Methods(RpcPeer* peer) {
  const auto cancel = [peer](const RpcCall& call) -> RpcResult {
    if (const rapidjson::Value* id = JsonMember(call.params, "requestId"); id && (id->IsString() || id->IsNumber())) {
      peer->Cancel(JsonOf(*id));
    }
    return std::string();
  };
  return {
      {"initialize", false, [this](const RpcCall& call) { return Initialize(call); }},
      {"ping", false, Pong},
      {"notifications/initialized", false, Nothing},
      {"notifications/cancelled", false, cancel},
      {"tools/list", false, [this](const RpcCall&) { return ListTools(); }},
      {"tools/call", true, [this, peer](const RpcCall& call) { return CallTool(call, peer); }},
      {"resources/list", false, [this](const RpcCall& call) { return ListResources(call); }},
      {"resources/templates/list", false, ListTemplates},
      {"resources/read", false, [this](const RpcCall& call) { return ReadResource(call); }},
  };
}

RpcResult McpServer::Initialize(const RpcCall& call) {
  const absl::string_view asked = JsonTextMember(call.params, "protocolVersion");
  if (asked.empty()) return Wrong("protocolVersion is missing: text such as \"2025-06-18\"");
  absl::string_view version = *std::rbegin(kMcpVersions);
  for (const absl::string_view known : kMcpVersions) {
    if (known == asked) version = known;
  }
  structured_ = version >= kFirstStructured;
  const std::string server =
      JsonObject().Text("name", "flightplan").Text("title", "Flightplan").Text("version", service::kVersion).Json();
  return JsonObject()
      .Text("protocolVersion", version)
      .Raw("capabilities", R"({"tools":{},"resources":{}})")
      .Raw("serverInfo", server)
      .Text("instructions", Instructions())
      .Json();
}

RpcResult McpServer::ListTools() const {
  std::vector<std::string> tools;
  for (const Tool& tool : Tools()) tools.push_back(ToolJson(tool));
  return JsonObject().Raw("tools", JsonList(tools)).Json();
}

McpServer::Ran McpServer::RunTool(const Tool& tool, const ToolCommandLine& line, const RpcCall& call, RpcPeer* peer) {
  Ran ran;
  Progress progress(call, peer);
  Host host;
  host.backend = backend_;
  host.read = [&line](const std::string& path) { return ReadGiven(line, path); };
  host.progress = [&progress](const v1::PlanProgress& at) { return progress.Show(at); };
  host.answer = [&ran](const google::protobuf::Message& answer) { ran.answers.push_back(StructuredOf(answer)); };
  Context context;
  context.host = &host;
  ran.exit = FindCommand(tool.command)->run(line.args, context);
  ran.text = std::move(context.out);
  if (!ran.text.empty() && !context.err.empty()) ran.text += "\n";
  ran.text += context.err;
  return ran;
}

RpcResult McpServer::CallTool(const RpcCall& call, RpcPeer* peer) {
  const absl::string_view name = JsonTextMember(call.params, "name");
  const Tool* tool = FindTool(name);
  if (tool == nullptr) {
    return Wrong(name.empty() ? "name is missing: the tool" : absl::StrCat("no tool ", Quoted(name)));
  }
  static const rapidjson::Value kNone(rapidjson::kObjectType);
  const rapidjson::Value* arguments = JsonMember(call.params, "arguments");
  // A tool's own input is the model's to mend, so what is wrong with it is the tool's answer.
  const absl::StatusOr<ToolCommandLine> line = ToCommandLine(*tool, arguments == nullptr ? kNone : *arguments);
  if (!line.ok()) return ToolFailure(absl::StrCat(tool->name, ": ", line.status().message()));
  Ran ran = RunTool(*tool, *line, call, peer);
  if (ran.exit == kExitMisuse) ran.text = InProperties(*tool, ran.text);
  const bool failed = ran.exit != kExitOk && ran.exit != kExitFindings;
  JsonObject result;
  result.Raw("content", TextContent(Bounded(ran.text)));
  const std::string structured = failed ? "" : StructuredAnswer(tool->answer, ran.answers);
  if (structured_ && !structured.empty()) result.Raw("structuredContent", structured);
  return result.Bool("isError", failed).Json();
}

RpcResult McpServer::Entries() {
  v1::ListRulesResponse rules;
  v1::ListKnobsResponse knobs;
  absl::Status status = ListAll(*backend_, &Backend::ListRules, v1::ListRulesRequest(), &rules);
  if (status.ok()) status = ListAll(*backend_, &Backend::ListKnobs, v1::ListKnobsRequest(), &knobs);
  if (!status.ok()) return RpcError{kRpcBusy, std::string(status.message()), ""};
  for (const v1::RuleInfo& rule : rules.rules()) entries_.push_back(ResourceJson(kRuleUri, rule.id(), rule.text()));
  for (const v1::KnobInfo& knob : knobs.knobs()) {
    entries_.push_back(ResourceJson(kKnobUri, knob.name(), absl::StrCat(knob.knob_class(), ", ", knob.type())));
  }
  return std::string();
}

RpcResult McpServer::ListResources(const RpcCall& call) {
  if (entries_.empty()) {
    if (RpcResult entries = Entries(); std::holds_alternative<RpcError>(entries)) return entries;
  }
  size_t first = 0;
  const rapidjson::Value* cursor = JsonMember(call.params, "cursor");
  if (cursor != nullptr && !cursor->IsNull()) {
    if (!cursor->IsString() || !absl::SimpleAtoi(JsonTextOf(*cursor), &first) || first >= entries_.size()) {
      return Wrong("cursor is not one that resources/list gave");
    }
  }
  const size_t end = std::min(entries_.size(), first + kResourcesPerPage);
  JsonObject page;
  page.Raw("resources", JsonList({entries_.begin() + static_cast<std::ptrdiff_t>(first),
                                  entries_.begin() + static_cast<std::ptrdiff_t>(end)}));
  if (end < entries_.size()) page.Text("nextCursor", absl::StrCat(end));
  return page.Json();
}

RpcResult McpServer::ReadResource(const RpcCall& call) {
  const absl::string_view uri = JsonTextMember(call.params, "uri");
  absl::string_view name = uri;
  const bool ours = absl::ConsumePrefix(&name, kRuleUri) || absl::ConsumePrefix(&name, kKnobUri);
  ToolCommandLine line;
  if (ours && !name.empty() && name[0] != '-') line.args.emplace_back(name);
  const RpcError unknown{kResourceNotFound, absl::StrCat("no resource ", Quoted(uri)),
                         JsonObject().Text("uri", uri).Json()};
  if (line.args.empty()) return unknown;
  const Ran ran = RunTool(*FindTool("explain"), line, call, nullptr);
  if (ran.exit == kExitMisuse) return unknown;
  if (ran.exit != kExitOk) return RpcError{kRpcBusy, ran.text, ""};
  const std::string contents =
      JsonObject().Text("uri", uri).Text("mimeType", "text/plain").Text("text", Bounded(ran.text)).Json();
  return JsonObject().Raw("contents", JsonList({contents})).Json();
}

}  // namespace flightplan::cli
