#include "clients/cli/lsp/server.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/lsp/text_lines.h"
#include "clients/cli/paging.h"
#include "clients/cli/rpc/json_text.h"
#include "resolver/plan/stack.h"
#include "service/version.h"

namespace flightplan::cli {
namespace {

constexpr int kNotInitialized = -32002;
constexpr int kLogWarning = 2;
constexpr size_t kMaxVocabularies = 16;
constexpr char kCapabilities[] =
    R"({"positionEncoding":"utf-16","textDocumentSync":{"openClose":true,"change":2},"hoverProvider":true,)"
    R"("completionProvider":{"triggerCharacters":["-","=",".",":"," "]},)"
    R"("codeActionProvider":{"codeActionKinds":["quickfix"]}})";

RpcError Wrong(absl::string_view message) { return {kRpcInvalidParams, std::string(message), ""}; }

std::optional<TextPosition> PositionOf(const rapidjson::Value& parent, const char* name) {
  const rapidjson::Value* position = JsonObjectMember(parent, name);
  if (position == nullptr) return std::nullopt;
  const rapidjson::Value* line = JsonMember(*position, "line");
  const rapidjson::Value* character = JsonMember(*position, "character");
  if (line == nullptr || character == nullptr || !line->IsInt64() || !character->IsInt64()) return std::nullopt;
  return TextPosition{line->GetInt64(), character->GetInt64()};
}

std::string UriOf(const RpcCall& call) {
  const rapidjson::Value* document = JsonObjectMember(call.params, "textDocument");
  return document == nullptr ? "" : std::string(JsonTextMember(*document, "uri"));
}

int64_t VersionOf(const rapidjson::Value& document) {
  const rapidjson::Value* version = JsonMember(document, "version");
  return version != nullptr && version->IsInt64() ? version->GetInt64() : 0;
}

// More than editors have cursors.
constexpr rapidjson::SizeType kMaxChanges = 10'000;

// One change of didChange: of a range, or without one the whole text.
void Apply(const rapidjson::Value& change, std::string* text, TextLines* lines) {
  const std::string with(JsonTextMember(change, "text"));
  const rapidjson::Value* range = JsonObjectMember(change, "range");
  if (range == nullptr) {
    *text = with;
    *lines = TextLines(*text);
    return;
  }
  const std::optional<TextPosition> start = PositionOf(*range, "start"), end = PositionOf(*range, "end");
  if (!start.has_value() || !end.has_value()) return;
  const auto [from, to] = std::minmax({lines->OffsetOf(*start), lines->OffsetOf(*end)});
  text->replace(from, to - from, with);
  lines->Replaced(*text, from, to, with.size());
}

std::string PublishJson(const Document& document, const Judgement& judgement) {
  std::vector<std::string> diagnostics;
  for (const Judgement::Diagnostic& diagnostic : judgement.diagnostics) diagnostics.push_back(diagnostic.json);
  return JsonObject()
      .Text("uri", document.uri)
      .Integer("version", document.version)
      .Raw("diagnostics", JsonList(diagnostics))
      .Json();
}

}  // namespace

std::vector<RpcMethod> LspServer::Methods(RpcPeer* peer) {
  peer_ = peer;
  judge_ = std::make_unique<LiveJudge>(backend_, [peer](const Document& document, const Judgement& judgement) {
    peer->Notify("textDocument/publishDiagnostics", PublishJson(document, judgement));
  });
  const auto method = [this](absl::string_view name, bool queued, Handler handler) {
    const bool always = handler == &LspServer::Initialize;
    return RpcMethod{name, queued, [this, handler, always](const RpcCall& call) -> RpcResult {
                       if (shut_down_) return RpcError{kRpcInvalidRequest, "after shutdown", ""};
                       if (!always && !initialized_) return RpcError{kNotInitialized, "initialize comes first", ""};
                       return (this->*handler)(call);
                     }};
  };
  const auto nothing = [](const RpcCall&) -> RpcResult { return std::string("null"); };
  const auto cancel = [peer](const RpcCall& call) -> RpcResult {
    if (const rapidjson::Value* id = JsonMember(call.params, "id"); id && (id->IsString() || id->IsNumber())) {
      peer->Cancel(JsonOf(*id));
    }
    return std::string();
  };
  const auto exit = [this, peer](const RpcCall&) -> RpcResult {
    left_ = true;
    peer->Stop();
    return std::string();
  };
  return {method("initialize", false, &LspServer::Initialize),
          {"initialized", false, nothing},
          {"$/cancelRequest", false, cancel},
          {"$/setTrace", false, nothing},
          method("shutdown", false, &LspServer::Shutdown),
          {"exit", false, exit},
          method("textDocument/didOpen", false, &LspServer::Open),
          method("textDocument/didChange", false, &LspServer::Change),
          method("textDocument/didClose", false, &LspServer::Close),
          method("workspace/didChangeConfiguration", false, &LspServer::Configure),
          method("textDocument/hover", true, &LspServer::Hover),
          method("textDocument/completion", true, &LspServer::Complete),
          method("textDocument/codeAction", true, &LspServer::Act)};
}

void LspServer::Finish() {
  if (!shut_down_ && !left_) judge_->Finish();
  judge_.reset();
}

void LspServer::Say(absl::string_view message) {
  peer_->Notify(
      "window/logMessage",
      JsonObject().Integer("type", kLogWarning).Text("message", absl::StrCat("flightplan: ", message)).Json());
}

void LspServer::UseSettings(const rapidjson::Value& settings) {
  const absl::StatusOr<LspSettings> read = ReadLspSettings(settings);
  if (!read.ok()) return Say(read.status().message());
  judge_->Configure(*read);
}

RpcResult LspServer::Initialize(const RpcCall& call) {
  if (initialized_.exchange(true)) return RpcError{kRpcInvalidRequest, "initialize comes once", ""};
  if (const rapidjson::Value* options = JsonObjectMember(call.params, "initializationOptions")) UseSettings(*options);
  return JsonObject()
      .Raw("capabilities", kCapabilities)
      .Raw("serverInfo", JsonObject().Text("name", "flightplan").Text("version", service::kVersion).Json())
      .Json();
}

RpcResult LspServer::Shutdown(const RpcCall&) {
  shut_down_ = true;
  return std::string("null");
}

RpcResult LspServer::Open(const RpcCall& call) {
  const rapidjson::Value* item = JsonObjectMember(call.params, "textDocument");
  if (item == nullptr || JsonTextMember(*item, "uri").empty()) return Wrong("textDocument wants uri and text");
  Document document = MakeDocument(JsonTextMember(*item, "uri"), JsonTextMember(*item, "languageId"));
  document.text = std::string(JsonTextMember(*item, "text"));
  document.version = VersionOf(*item);
  const std::string name = document.name;
  if (!judge_->Put(std::move(document))) Say(absl::StrCat("not judged: ", name, ": too long, or too many are open"));
  return std::string();
}

RpcResult LspServer::Change(const RpcCall& call) {
  const rapidjson::Value* document = JsonObjectMember(call.params, "textDocument");
  const rapidjson::Value* changes = JsonArrayMember(call.params, "contentChanges");
  if (document == nullptr || changes == nullptr) return Wrong("wants textDocument and contentChanges");
  if (changes->Size() > kMaxChanges) {
    judge_->Close(UriOf(call));  // what is not changed with its editor is another text
    Say(absl::StrCat("not judged any more: ", changes->Size(), " changes at once, at most ", kMaxChanges));
    return std::string();
  }
  (void)judge_->Change(UriOf(call), VersionOf(*document), [changes](std::string* text, TextLines* lines) {
    for (const rapidjson::Value& change : changes->GetArray()) {
      if (!change.IsObject()) continue;
      Apply(change, text, lines);
      if (text->size() > LiveJudge::kMaxTextBytes) return;  // it is closed
    }
  });
  return std::string();
}

RpcResult LspServer::Close(const RpcCall& call) {
  judge_->Close(UriOf(call));
  return std::string();
}

RpcResult LspServer::Configure(const RpcCall& call) {
  if (const rapidjson::Value* settings = JsonObjectMember(call.params, "settings")) UseSettings(*settings);
  return std::string();
}

std::shared_ptr<const Vocabulary> LspServer::VocabularyOf(const Judgement* judgement) {
  std::string framework, version;
  if (judgement != nullptr) {
    framework = judgement->request.target().framework();
    version = judgement->request.target().version();
  } else {
    framework = judge_->settings().stack.target;
    framework.resize(std::min(framework.size(), framework.find('@')));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (vocabularies_.size() >= kMaxVocabularies) vocabularies_.clear();
  std::shared_ptr<const Vocabulary>& vocabulary = vocabularies_[absl::StrCat(framework, "@", version)];
  if (vocabulary == nullptr) vocabulary = std::make_shared<const Vocabulary>(StackEnvironment(framework, version));
  return vocabulary;
}

const v1::ListRulesResponse& LspServer::Rules() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (rules_.rules_size() == 0) (void)ListAll(*backend_, &Backend::ListRules, v1::ListRulesRequest(), &rules_);
  return rules_;
}

RpcResult LspServer::Hover(const RpcCall& call) {
  const std::optional<TextPosition> position = PositionOf(call.params, "position");
  if (!position.has_value()) return Wrong("wants textDocument and position");
  const std::string uri = UriOf(call);
  const std::optional<Document> document = judge_->Get(uri);
  if (!document.has_value()) return std::string("null");
  const std::shared_ptr<const Judgement> judgement = judge_->Latest(uri);
  return HoverJson(*document, *position, *VocabularyOf(judgement.get()), judgement.get(), Rules());
}

RpcResult LspServer::Complete(const RpcCall& call) {
  const std::optional<TextPosition> position = PositionOf(call.params, "position");
  if (!position.has_value()) return Wrong("wants textDocument and position");
  const std::string uri = UriOf(call);
  const std::optional<Document> document = judge_->Get(uri);
  if (!document.has_value()) return std::string("null");
  return CompletionJson(*document, *position, *VocabularyOf(judge_->Latest(uri).get()));
}

RpcResult LspServer::Act(const RpcCall& call) {
  const rapidjson::Value* context = JsonObjectMember(call.params, "context");
  const rapidjson::Value* diagnostics = context == nullptr ? nullptr : JsonArrayMember(*context, "diagnostics");
  if (diagnostics == nullptr) return Wrong("wants textDocument, range and context");
  std::set<std::string> marked;
  for (const rapidjson::Value& diagnostic : diagnostics->GetArray()) {
    if (const absl::string_view code = JsonTextMember(diagnostic, "code"); !code.empty()) marked.emplace(code);
  }
  const std::optional<Document> document = judge_->Get(UriOf(call));
  if (!document.has_value() || marked.empty()) return std::string("[]");
  // Of this very text: the last answer may be about an older one.
  const Judgement judgement = JudgeDocument(*document, judge_->settings(), *backend_);
  if (!judgement.asked || call.cancelled) return std::string("[]");
  return CodeActionsJson(*document, judgement, marked, *backend_);
}

}  // namespace flightplan::cli
