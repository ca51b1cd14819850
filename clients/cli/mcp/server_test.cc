#include "clients/cli/mcp/server.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/mcp/answers.h"
#include "clients/cli/mcp/skill.h"
#include "tests/support/conversation.h"

namespace flightplan::cli {
namespace {

constexpr char kLaunch[] =
    "torchrun pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --num-experts 64 "
    "--expert-model-parallel-size 16 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 "
    "--recompute-granularity full";

std::string Ask(int id, const std::string& method, const std::string& params) {
  return absl::StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"method":")", method, R"(","params":)", params, "}\n");
}

std::string Call(int id, const std::string& tool, const std::string& arguments) {
  return Ask(id, "tools/call",
             absl::StrCat(R"({"name":")", tool, R"(","arguments":)", arguments, R"(,"_meta":{"progressToken":"p"}})"));
}

class McpServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    absl::StatusOr<std::unique_ptr<Backend>> backend = MakeLocalBackend("");
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }
  static std::vector<std::string> Talk(const std::string& input) {
    McpServer server(backend_);
    return Converse(input, {.workers = 2}, [&server](RpcPeer& peer) { peer.Serve(server.Methods(&peer)); });
  }
  // The result of one call.
  static rapidjson::Document Result(const std::string& tool, const std::string& arguments) {
    rapidjson::Document answer = AnswerTo(Talk(Call(1, tool, arguments)), "1");
    rapidjson::Document result;
    if (JsonObjectMember(answer, "result") != nullptr) result.CopyFrom(answer["result"], result.GetAllocator());
    return result;
  }
  static std::string TextOf(const rapidjson::Document& result) { return result["content"][0]["text"].GetString(); }
  static std::shared_ptr<Backend> backend_;
};
std::shared_ptr<Backend> McpServerTest::backend_;

// What is missing or of another type than `schema` says; the few words of JSON Schema that ours use.
std::string Misfit(const rapidjson::Value& value, const rapidjson::Value& schema, const rapidjson::Value& root) {
  if (const absl::string_view ref = JsonTextMember(schema, "$ref"); !ref.empty()) {
    return Misfit(value, root["properties"]["a"], root);
  }
  const absl::string_view type = JsonTextMember(schema, "type");
  const bool fits = type == "string"    ? value.IsString()
                    : type == "integer" ? value.IsInt64()
                    : type == "number"  ? value.IsNumber()
                    : type == "boolean" ? value.IsBool()
                    : type == "array"   ? value.IsArray()
                                        : value.IsObject();
  if (!fits) return absl::StrCat(JsonOf(value), " is no ", type);
  if (type == "array") {
    for (const rapidjson::Value& item : value.GetArray()) {
      if (std::string misfit = Misfit(item, schema["items"], root); !misfit.empty()) return misfit;
    }
  }
  if (type != "object") return "";
  for (const auto& member : value.GetObject()) {
    const rapidjson::Value* known = JsonMember(schema["properties"], member.name.GetString());
    if (known == nullptr) return absl::StrCat(member.name.GetString(), " is not in the schema");
    if (std::string misfit = Misfit(member.value, *known, root); !misfit.empty()) return misfit;
  }
  for (const rapidjson::Value& name : schema["required"].GetArray()) {
    if (JsonMember(value, name.GetString()) == nullptr) return absl::StrCat(name.GetString(), " is missing");
  }
  return "";
}

TEST_F(McpServerTest, AgreesOnARevisionThatBothSpeak) {
  for (const char* asked : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01", "2999-01-01"}) {
    const auto answers =
        Talk(Ask(1, "initialize", absl::StrCat(R"({"protocolVersion":")", asked, R"(","capabilities":{}})")));
    const rapidjson::Document answer = AnswerTo(answers, "1");
    const bool known = absl::StartsWith(asked, "202");
    EXPECT_STREQ(answer["result"]["protocolVersion"].GetString(), known ? asked : "2025-11-25");
    EXPECT_TRUE(answer["result"]["capabilities"].HasMember("tools"));
    EXPECT_STREQ(answer["result"]["serverInfo"]["name"].GetString(), "flightplan");
  }
  EXPECT_EQ(CodeOf(AnswerTo(Talk(Ask(1, "initialize", "{}")), "1")), kRpcInvalidParams);
}

TEST_F(McpServerTest, SendsNoStructureToAnOlderClient) {
  const auto answers = Talk(Ask(1, "initialize", R"({"protocolVersion":"2024-11-05"})") + Call(2, "releases", "{}"));
  EXPECT_FALSE(AnswerTo(answers, "2")["result"].HasMember("structuredContent"));
}

TEST_F(McpServerTest, AnswersEveryToolByItsSchema) {
  const std::string launch = JsonString(kLaunch);
  const std::string size = R"("model":"qwen3-30b-a3b","gpu":"h100-sxm","gpus":16)";
  const std::pair<const char*, std::string> calls[] = {
      {"resolve", absl::StrCat("{", size, R"(,"tp":1,"pp":2,"ep":8})")},
      {"validate", absl::StrCat(R"({"text":)", launch, R"(,"gpu":"h100-sxm","gpus":24})")},
      {"fix", absl::StrCat(R"({"text":)", launch, R"(,"gpu":"h100-sxm","gpus":24})")},
      {"plan", absl::StrCat("{", size, R"(,"top":2})")},
      {"compare", absl::StrCat("{", size, R"(,"tp":1,"pp":2,"a":{"ep":4},"b":{"ep":8}})")},
      {"compare", absl::StrCat(R"({"gpus":24,"a":{"text":)", launch, R"(},"b":{"text":)", launch, "}}")},
      {"convert", absl::StrCat(R"({"text":)", launch, R"(,"to":"megatron-bridge"})")},
      {"explain", R"({"name":"recompute.full-needs-method"})"},
      {"explain", R"({"name":"recompute_granularity"})"},
      {"explain", R"({"name":"CUDA_DEVICE_MAX_CONNECTIONS"})"},
      {"fix", R"({"text":"echo hi\n"})"},
      {"models", R"({"name":"qwen3-30b-a3b"})"},
      {"models", "{}"},
      {"gpus", "{}"},
      {"releases", "{}"}};
  for (const auto& [tool, arguments] : calls) {
    const rapidjson::Document result = Result(tool, arguments);
    ASSERT_TRUE(result.IsObject()) << tool;
    EXPECT_FALSE(result["isError"].GetBool()) << tool << ": " << TextOf(result);
    EXPECT_FALSE(TextOf(result).empty()) << tool;
    EXPECT_LE(TextOf(result).size(), kMaxToolText + 64) << tool;
    ASSERT_TRUE(result.HasMember("structuredContent")) << tool;
    const rapidjson::Document schema = Parsed(OutputSchema(FindTool(tool)->answer));
    EXPECT_EQ(Misfit(result["structuredContent"], schema, schema), "") << tool;
  }
}

TEST_F(McpServerTest, GivesTheVerdictInBothForms) {
  const rapidjson::Document result = Result(
      "fix", absl::StrCat(R"({"text":)", JsonString(kLaunch), R"(,"file_name":"run.sh","gpu":"h100-sxm","gpus":24})"));
  EXPECT_TRUE(absl::StrContains(TextOf(result), "+++ run.sh"));
  EXPECT_TRUE(absl::StrContains(TextOf(result), "[recompute.full-needs-method]"));
  const rapidjson::Value& structured = result["structuredContent"];
  EXPECT_FALSE(structured["accepted_by_stack"].GetBool());
  EXPECT_TRUE(structured["repair"]["accepted_by_stack"].GetBool());
  EXPECT_EQ(structured["findings"][0]["line"].GetInt(), 1);
}

TEST_F(McpServerTest, GivesNoVerdictOnWhatIsNoLaunch) {
  for (const char* text : {"echo hello", ""}) {
    const rapidjson::Document result = Result("validate", absl::StrCat(R"({"text":")", text, R"("})"));
    const rapidjson::Value& structured = result["structuredContent"];
    EXPECT_STREQ(structured["judged"].GetString(), "nothing");
    EXPECT_FALSE(structured.HasMember("accepted_by_stack"));
    EXPECT_FALSE(structured.HasMember("will_run"));
  }
}

TEST_F(McpServerTest, TakesTheModelAsText) {
  const rapidjson::Document result = Result("models", R"({"config":"{\"model_type\":\"nothing\"}"})");
  EXPECT_TRUE(result["isError"].GetBool());
  EXPECT_TRUE(absl::StrContains(TextOf(result), "$.architectures: is missing")) << TextOf(result);
}

TEST_F(McpServerTest, ReadsNoFile) {
  for (const char* path : {"/etc/passwd", "-", "./a.json"}) {
    const rapidjson::Document result =
        Result("resolve", absl::StrCat(R"({"model":")", path, R"(","gpu":"h100-sxm","gpus":8})"));
    EXPECT_TRUE(result["isError"].GetBool()) << path;
    EXPECT_TRUE(absl::StrContains(TextOf(result), "files are not read here")) << TextOf(result);
  }
  const rapidjson::Document launch = Result("validate", R"({"file_name":"/etc/passwd"})");
  EXPECT_TRUE(launch["isError"].GetBool());
  EXPECT_FALSE(absl::StrContains(TextOf(launch), "root"));
}

TEST_F(McpServerTest, SaysWhatAToolsInputLacks) {
  EXPECT_TRUE(Result("resolve", R"({"gpu":"h100-sxm","gpus":8})")["isError"].GetBool());
  EXPECT_TRUE(Result("explain", R"({"name":"no.such-rule"})")["isError"].GetBool());
  EXPECT_EQ(CodeOf(AnswerTo(Talk(Call(1, "shell", "{}")), "1")), kRpcInvalidParams);
  EXPECT_EQ(CodeOf(AnswerTo(Talk(Ask(1, "tools/call", "{}")), "1")), kRpcInvalidParams);
  EXPECT_EQ(CodeOf(AnswerTo(Talk(Ask(1, "tools/call", "[1]")), "1")), kRpcInvalidParams);
}

TEST_F(McpServerTest, ReportsASearchAndEndsItWhenCancelled) {
  const std::string plan = R"({"model":"deepseek-v3","gpu":"h100-sxm","gpus":1024})";
  const auto whole = Talk(Call(1, "plan", plan));
  double last = 0;
  int reports = 0;
  for (const std::string& message : whole) {
    const rapidjson::Document document = Parsed(message);
    if (JsonTextMember(document, "method") != "notifications/progress") continue;
    EXPECT_STREQ(document["params"]["progressToken"].GetString(), "p");
    EXPECT_GT(document["params"]["progress"].GetDouble(), last);
    last = document["params"]["progress"].GetDouble();
    ++reports;
  }
  EXPECT_GE(reports, 1);
  const auto cut = Talk(Call(1, "plan", plan) +
                        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"
                        "\n" +
                        Ask(2, "ping", "{}"));
  EXPECT_TRUE(AnswerTo(cut, "1").IsNull());
  EXPECT_FALSE(AnswerTo(cut, "2").IsNull());
}

TEST_F(McpServerTest, ListsItsReferencePageByPage) {
  std::string cursor;
  size_t rules = 0, knobs = 0;
  for (int page = 0; page < 100; ++page) {
    const rapidjson::Document answer = AnswerTo(
        Talk(Ask(1, "resources/list", cursor.empty() ? "{}" : absl::StrCat(R"({"cursor":")", cursor, "\"}"))), "1");
    for (const rapidjson::Value& resource : answer["result"]["resources"].GetArray()) {
      (absl::StartsWith(resource["uri"].GetString(), "flightplan://rule/") ? rules : knobs) += 1;
    }
    cursor = std::string(JsonTextMember(answer["result"], "nextCursor"));
    if (cursor.empty()) break;
  }
  EXPECT_GT(rules, 500u);
  EXPECT_GT(knobs, 1000u);
  EXPECT_EQ(CodeOf(AnswerTo(Talk(Ask(1, "resources/list", R"({"cursor":"99999999"})")), "1")), kRpcInvalidParams);
}

TEST_F(McpServerTest, ReadsItsReferenceAndNothingElse) {
  for (const char* uri : {"flightplan://rule/recompute.full-needs-method", "flightplan://knob/recompute_granularity"}) {
    const rapidjson::Document answer =
        AnswerTo(Talk(Ask(1, "resources/read", absl::StrCat(R"({"uri":")", uri, "\"}"))), "1");
    EXPECT_TRUE(absl::StrContains(answer["result"]["contents"][0]["text"].GetString(), "recompute_granularity")) << uri;
  }
  for (const char* uri :
       {"file:///etc/passwd", "flightplan://rule/", "flightplan://rule/no.such", "flightplan://rule/--help"}) {
    EXPECT_EQ(CodeOf(AnswerTo(Talk(Ask(1, "resources/read", absl::StrCat(R"({"uri":")", uri, "\"}"))), "1")), -32002)
        << uri;
  }
}

TEST(Skill, IsBuiltIn) {
  EXPECT_TRUE(absl::StartsWith(SkillText(), "---\nname: flightplan\n"));
  EXPECT_TRUE(absl::StrContains(SkillText(), "flightplan validate"));
}

}  // namespace
}  // namespace flightplan::cli
