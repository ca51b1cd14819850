#include "clients/cli/lsp/server.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/conversation.h"

namespace flightplan::cli {
namespace {

constexpr char kScript[] =
    "#!/bin/bash\n"
    "# \xF0\x9D\x84\x9E\n"
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 \\\n"
    "  --tokenizer-model \"\xF0\x9D\x84\x9E\" --recompute-granularity full --lr 1e-4 --train-iters 10 --mock-data \\\n"
    "  --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --tokenizer-type NullTokenizer "
    "--vocab-size 32000\n";
constexpr char kUri[] = "file:///w/run.sh";

std::string Message(const std::string& body) {
  return Framed(Framing::kHeaders, absl::StrCat(R"({"jsonrpc":"2.0",)", body, "}"));
}
std::string Ask(int id, const std::string& method, const std::string& params) {
  return Message(absl::StrCat(R"("id":)", id, R"(,"method":")", method, R"(","params":)", params));
}
std::string Tell(const std::string& method, const std::string& params) {
  return Message(absl::StrCat(R"("method":")", method, R"(","params":)", params));
}
std::string Hello(const std::string& options = R"({"gpu":"h100-sxm","gpus":8})") {
  return Ask(0, "initialize", absl::StrCat(R"({"capabilities":{},"initializationOptions":)", options, "}"));
}
std::string Open(const std::string& text, const std::string& uri = kUri, const std::string& language = "shellscript") {
  return Tell("textDocument/didOpen", absl::StrCat(R"({"textDocument":{"uri":")", uri, R"(","languageId":")", language,
                                                   R"(","version":1,"text":)", JsonString(text), "}}"));
}
std::string At(int line, int character) {
  return absl::StrCat(R"({"textDocument":{"uri":")", kUri, R"("},"position":{"line":)", line, R"(,"character":)",
                      character, "}}");
}

class LspServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    absl::StatusOr<std::unique_ptr<Backend>> backend = MakeLocalBackend("");
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }
  static std::vector<std::string> Talk(const std::string& input) {
    Scratch in(input), out;
    LspServer server(backend_);
    {
      RpcPeer peer(out.descriptor(), {.framing = Framing::kHeaders, .answers_cancelled = true});
      peer.Serve(server.Methods(&peer));
      (void)peer.Run(in.descriptor());
      server.Finish();
    }
    return MessagesIn(out, Framing::kHeaders);
  }
  // The last diagnostics of a document; null: none were published.
  static rapidjson::Document Published(const std::vector<std::string>& messages, const std::string& uri = kUri) {
    rapidjson::Document last;
    for (const std::string& message : messages) {
      rapidjson::Document document = Parsed(message);
      if (JsonTextMember(document, "method") != "textDocument/publishDiagnostics") continue;
      if (JsonTextMember(document["params"], "uri") == uri) last = std::move(document);
    }
    return last;
  }
  static std::string RulesOf(const rapidjson::Document& published) {
    std::string rules;
    if (published.IsNull()) return "(none published)";
    for (const rapidjson::Value& diagnostic : published["params"]["diagnostics"].GetArray()) {
      absl::StrAppend(&rules, JsonTextMember(diagnostic, "code"), " ");
    }
    return rules;
  }
  static std::shared_ptr<Backend> backend_;
};
std::shared_ptr<Backend> LspServerTest::backend_;

TEST_F(LspServerTest, MarksTheFlagInUtf16) {
  const rapidjson::Document published = Published(Talk(Hello() + Open(kScript)));
  ASSERT_FALSE(published.IsNull());
  EXPECT_EQ(RulesOf(published), "recompute.full-needs-method recompute.full-needs-num-layers ");
  const rapidjson::Value& first = published["params"]["diagnostics"][0];
  // The clef before it has four bytes and two units.
  EXPECT_EQ(JsonOf(first["range"]), R"({"start":{"line":3,"character":25},"end":{"line":3,"character":53}})");
  EXPECT_EQ(first["severity"].GetInt(), 1);
  EXPECT_TRUE(
      absl::StartsWith(first["codeDescription"]["href"].GetString(), "https://github.com/NVIDIA/Megatron-LM/blob/"));
  EXPECT_TRUE(absl::StrContains(JsonTextMember(first, "message"), "source: Megatron-LM:"));
}

TEST_F(LspServerTest, SaysNothingOfWhatIsNoLaunch) {
  EXPECT_EQ(RulesOf(Published(Talk(Hello() + Open("#!/bin/bash\necho hello\n")))), "");
  EXPECT_EQ(RulesOf(Published(Talk(Hello() + Open("a: 1\nb: [2\n", "file:///w/x.yaml", "yaml")), "file:///w/x.yaml")),
            "");
  EXPECT_EQ(RulesOf(Published(Talk(Hello() + Open("")))), "");
  const std::string notes = RulesOf(Published(
      Talk(Hello() + Open(absl::StrCat(kScript, "if [ \"$A\" = b ]; then C=1; fi\ntorchrun pretrain_gpt.py $D\n")))));
  EXPECT_FALSE(absl::StrContains(notes, "input.not-judged")) << notes;
}

TEST_F(LspServerTest, FollowsEveryChange) {
  // " --recompute-method uniform --recompute-num-layers 1" after "full", and one error goes with each.
  const auto change = [](int version, const std::string& range, const std::string& text) {
    return Tell("textDocument/didChange",
                absl::StrCat(R"({"textDocument":{"uri":")", kUri, R"(","version":)", version,
                             R"(},"contentChanges":[{)", range, R"("text":)", JsonString(text), "}]}"));
  };
  const std::string at = R"("range":{"start":{"line":3,"character":53},"end":{"line":3,"character":53}},)";
  const std::string input = Hello() + Open(kScript) + change(2, at, " --recompute-method uniform");
  rapidjson::Document published = Published(Talk(input));
  EXPECT_EQ(RulesOf(published), "recompute.full-needs-num-layers ");
  EXPECT_EQ(published["params"]["version"].GetInt(), 2);
  published = Published(Talk(input + change(3, at, " --recompute-num-layers 1")));
  EXPECT_EQ(RulesOf(published), "");
  EXPECT_EQ(RulesOf(Published(Talk(input + change(3, "", "echo")))), "");
  const std::string close = Tell("textDocument/didClose", absl::StrCat(R"({"textDocument":{"uri":")", kUri, R"("}})"));
  EXPECT_EQ(RulesOf(Published(Talk(input + close))), "");
}

TEST_F(LspServerTest, TakesManyChangesAtOnceButNotAnyNumber) {
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += "x=aaaaaaaaaaaaaaa\n";
  const auto changes = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += absl::StrCat(i == 0 ? "" : ",", R"({"range":{"start":{"line":)", i, R"(,"character":0},"end":{"line":)",
                           i, R"(,"character":1}},"text":"yy"})");
    }
    return Tell("textDocument/didChange",
                absl::StrCat(R"({"textDocument":{"uri":")", kUri, R"(","version":2},"contentChanges":[)", list, "]}"));
  };
  const auto answers = Talk(Hello() + Open(text) + changes(10'000) + Ask(9, "shutdown", "null"));
  EXPECT_FALSE(AnswerTo(answers, "9").IsNull());
  std::string said;
  for (const std::string& line : Talk(Hello() + Open(text) + changes(10'001))) said += line;
  EXPECT_NE(said.find("not judged any more"), std::string::npos);
}

TEST_F(LspServerTest, TakesSettingsAndTheFilesOwn) {
  const std::string script = absl::StrCat(kScript, "# x\n");
  const auto tp = [&](const std::string& comment) {
    return Open(absl::StrCat(comment,
                             "torchrun pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads "
                             "16 --tensor-model-parallel-size 16 --lr 1 --train-iters 1\n"));
  };
  const std::string few = RulesOf(Published(Talk(Hello(R"({"gpus":8})") + tp(""))));
  const std::string many = RulesOf(Published(Talk(Hello(R"({"gpus":8})") + tp("# flightplan: --gpus 16\n"))));
  EXPECT_NE(few, many);
  const std::string told = Tell("workspace/didChangeConfiguration", R"({"settings":{"flightplan":{"gpus":16}}})");
  EXPECT_EQ(RulesOf(Published(Talk(Hello(R"({"gpus":8})") + tp("") + told))), many);
  const rapidjson::Document wrong = Published(Talk(Hello("{}") + tp("# flightplan: --gpuz 16\n")));
  EXPECT_TRUE(absl::StrContains(wrong["params"]["diagnostics"][0]["message"].GetString(), "unknown flag --gpuz"));
  const auto messages = Talk(Hello(R"({"gpus":"many"})"));
  EXPECT_TRUE(absl::StrContains(messages[0], "setting gpus wants an integer")) << messages[0];
  const auto unknown = Talk(Hello(R"({"gpuz":"h100-sxm"})"));
  EXPECT_TRUE(absl::StrContains(unknown[0], "setting gpuz is none of gpu, gpus, stack")) << unknown[0];
}

TEST_F(LspServerTest, SaysWhichNamesOfTheSettingsAreNotKnown) {
  for (const auto& [settings, words] : std::vector<std::pair<std::string, std::string>>{
           {R"({"gpu":"h900-sxm","gpus":8})", "not judged: hardware, memory: no GPU named 'h900-sxm'"},
           {R"({"release":"9.9"})", "judged as main: setting release is 9.9, megatron-lm has 0."},
           {R"({"stack":"megatron-ml"})", "megatron-ml"}}) {
    const rapidjson::Document said = Published(Talk(Hello(settings) + Open(kScript)));
    EXPECT_TRUE(absl::StrContains(said["params"]["diagnostics"][0]["message"].GetString(), words)) << JsonOf(said);
  }
}

TEST_F(LspServerTest, ExplainsWhatIsUnderTheCursor) {
  const auto answers =
      Talk(Hello() + Open(kScript) + Ask(1, "textDocument/hover", At(3, 30)) + Ask(2, "textDocument/hover", At(3, 51)) +
           Ask(3, "textDocument/hover", At(0, 3)) + Ask(4, "textDocument/hover", At(-7, 1 << 30)));
  for (const char* id : {"1", "2"}) {
    const rapidjson::Document answer = AnswerTo(answers, id);
    const std::string text = answer["result"]["contents"]["value"].GetString();
    for (const char* words :
         {"**recompute_granularity**", "default of megatron-lm: `none`", "execution", "values: full, selective",
          "model.recompute_granularity", "recompute.full-needs-method"}) {
      EXPECT_TRUE(absl::StrContains(text, words)) << words << "\n" << text;
    }
  }
  EXPECT_TRUE(AnswerTo(answers, "3")["result"].IsNull());
  EXPECT_TRUE(AnswerTo(answers, "4")["result"].IsNull());
}

TEST_F(LspServerTest, CompletesFlagsAndValues) {
  const auto answers = Talk(Hello() + Open(kScript) + Ask(1, "textDocument/completion", At(3, 36)) +
                            Ask(2, "textDocument/completion", At(3, 49)) + Ask(3, "textDocument/completion", At(0, 1)));
  const rapidjson::Document flags = AnswerTo(answers, "1"), values = AnswerTo(answers, "2");
  bool found = false;
  for (const rapidjson::Value& item : flags["result"]["items"].GetArray()) {
    found = found || JsonTextMember(item, "label") == "--recompute-granularity";
    EXPECT_TRUE(absl::StartsWith(JsonTextMember(item, "label"), "--recompute")) << JsonOf(item);
  }
  EXPECT_TRUE(found);
  ASSERT_EQ(values["result"]["items"].Size(), 2u);
  EXPECT_STREQ(values["result"]["items"][0]["label"].GetString(), "full");
  EXPECT_EQ(AnswerTo(answers, "3")["result"]["items"].Size(), 0u);
}

TEST_F(LspServerTest, RepairsByEditsThatRemoveTheErrors) {
  const std::string ask =
      Ask(1, "textDocument/codeAction",
          absl::StrCat(R"({"textDocument":{"uri":")", kUri, R"("},"range":{},"context":{"diagnostics":)",
                       R"([{"code":"recompute.full-needs-method"}]}})"));
  const rapidjson::Document answer = AnswerTo(Talk(Hello() + Open(kScript) + ask), "1");
  ASSERT_EQ(answer["result"].Size(), 1u);
  const rapidjson::Value& action = answer["result"][0];
  EXPECT_STREQ(action["kind"].GetString(), "quickfix");
  EXPECT_EQ(action["diagnostics"].Size(), 1u);
  const rapidjson::Value& edits = action["edit"]["documentChanges"][0]["edits"];
  std::string text = kScript;
  for (rapidjson::SizeType i = edits.Size(); i-- > 0;) {
    const TextLines lines(text);
    const auto offset = [&](const char* side) {
      const rapidjson::Value& position = edits[i]["range"][side];
      return lines.OffsetOf({position["line"].GetInt64(), position["character"].GetInt64()});
    };
    const size_t begin = offset("start"), end = offset("end");
    text.replace(begin, end - begin, edits[i]["newText"].GetString());
  }
  EXPECT_TRUE(absl::StrContains(text, "--recompute-method uniform")) << text;
  EXPECT_EQ(RulesOf(Published(Talk(Hello() + Open(text)))), "");
}

TEST_F(LspServerTest, KeepsToTheProtocolsOrder) {
  EXPECT_EQ(CodeOf(AnswerTo(Talk(Ask(1, "textDocument/hover", At(0, 0))), "1")), -32002);
  EXPECT_EQ(CodeOf(AnswerTo(Talk(Hello() + Hello()), "0")), 0);
  const auto answers = Talk(Hello() + Ask(1, "shutdown", "null") + Ask(2, "textDocument/hover", At(0, 0)) +
                            Tell("exit", "null") + Ask(3, "shutdown", "null"));
  EXPECT_TRUE(AnswerTo(answers, "1")["result"].IsNull());
  EXPECT_EQ(CodeOf(AnswerTo(answers, "2")), kRpcInvalidRequest);
  EXPECT_TRUE(AnswerTo(answers, "3").IsNull());
}

TEST_F(LspServerTest, TakesNonsenseInStride) {
  std::string input = Hello() + Open(kScript);
  constexpr char kPositions[] =
      R"({"textDocument":{"uri":"file:///w/run.sh","version":2},"contentChanges":[1,{},{"range":{}},{"range":{"start":)"
      R"({"line":9e99,"character":-1},"end":{"line":-3,"character":1}},"text":"x"}]})";
  for (const char* params :
       {"{}", "[]", "null", R"({"textDocument":1})", R"({"textDocument":{"uri":"file:///w/run.sh"}})",
        R"({"textDocument":{"uri":"file:///w/run.sh"},"position":{"line":"x"}})", kPositions}) {
    for (const char* method :
         {"textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "workspace/didChangeConfiguration",
          "textDocument/hover", "textDocument/completion", "textDocument/codeAction"}) {
      input += Tell(method, params);
    }
  }
  const auto answers = Talk(input + Ask(9, "shutdown", "null"));
  EXPECT_FALSE(AnswerTo(answers, "9").IsNull());
}

}  // namespace
}  // namespace flightplan::cli
