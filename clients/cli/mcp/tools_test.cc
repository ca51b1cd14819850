#include "clients/cli/mcp/tools.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/mcp/answers.h"
#include "tests/support/conversation.h"

namespace flightplan::cli {
namespace {

// "--a=1 --b=2", or what is wrong.
std::string Line(absl::string_view tool, const std::string& arguments) {
  const absl::StatusOr<ToolCommandLine> line = ToCommandLine(*FindTool(tool), Parsed(arguments));
  return line.ok() ? absl::StrJoin(line->args, " ") : std::string(line.status().message());
}

TEST(Tools, HaveACommandAndSchemasOfObjects) {
  EXPECT_EQ(Tools().size(), 10u);
  for (const Tool& tool : Tools()) {
    ASSERT_NE(FindCommand(tool.command), nullptr) << tool.name;
    for (const std::string& schema : {InputSchema(tool), OutputSchema(tool.answer)}) {
      const rapidjson::Document document = Parsed(schema);
      EXPECT_EQ(JsonTextMember(document, "type"), "object") << tool.name;
      ASSERT_NE(JsonObjectMember(document, "properties"), nullptr);
    }
    const rapidjson::Document input = Parsed(InputSchema(tool));
    for (const absl::string_view name : tool.required) {
      EXPECT_NE(JsonMember(input["properties"], std::string(name).c_str()), nullptr) << tool.name << " " << name;
    }
  }
}

TEST(Tools, OfferNothingThatReadsOrWritesFiles) {
  for (const Tool& tool : Tools()) {
    const rapidjson::Document input = Parsed(InputSchema(tool));
    for (const char* name : {"write", "server", "catalog_dir", "stack_root", "profile", "batch", "slurm_script",
                             "import", "job", "release", "door_mode"}) {
      EXPECT_EQ(JsonMember(input["properties"], name), nullptr) << tool.name << " " << name;
    }
  }
}

TEST(Tools, TakeEveryOtherFlagOfTheirCommand) {
  const rapidjson::Document input = Parsed(InputSchema(*FindTool("resolve")));
  const rapidjson::Value& properties = input["properties"];
  EXPECT_STREQ(properties["tp"]["type"].GetString(), "integer");
  EXPECT_EQ(properties["tp"]["minimum"].GetInt(), 1);
  EXPECT_STREQ(properties["profile_exposed"]["type"].GetString(), "number");
  EXPECT_EQ(properties["profile_exposed"]["maximum"].GetDouble(), 1);
  EXPECT_STREQ(properties["set"]["type"].GetString(), "array");
  EXPECT_STREQ(properties["verbose"]["type"].GetString(), "boolean");
  EXPECT_EQ(JsonOf(properties["stage"]["enum"]), R"(["bring-up","tune","production"])");
  for (const rapidjson::Value& word : properties["format"]["enum"].GetArray()) {
    EXPECT_STRNE(word.GetString(), "json");
    EXPECT_STRNE(word.GetString(), "html");
  }
}

TEST(Tools, BecomeACommandLine) {
  EXPECT_EQ(Line("resolve", R"({"model":"m","gpu":"g","gpus":8,"set":["a=1","b=2"],"verbose":true})"),
            "--model=m --gpu=g --gpus=8 --set=a=1 --set=b=2 --verbose=true");
  EXPECT_EQ(Line("resolve", R"({"gpu":"g","gpus":8.0,"model_config":"{}"})"),
            "--gpu=g --gpus=8 --model=model_config.json");
  EXPECT_EQ(Line("validate", R"({"arguments":["--num-layers",4],"gpus":8})"), "--gpus=8 -- --num-layers 4");
  EXPECT_EQ(Line("validate", R"({"text":"x","file_name":"a.yaml"})"), "a.yaml");
  EXPECT_EQ(Line("compare", R"({"gpus":8,"a":{"ep":4},"b":{"ep":8}})"), "--gpus=8 -- --ep=4 -- --ep=8");
  EXPECT_EQ(Line("compare", R"({"a":{"text":"x"},"b":{"text":"y"}})"), "a b");
  EXPECT_EQ(Line("compare", R"({"a":{"text":"x","file_name":"s"},"b":{"text":"y","file_name":"s"}})"), "s b/s");
  EXPECT_EQ(Line("explain", R"({"name":"tp_comm_overlap"})"), "tp_comm_overlap");
  EXPECT_EQ(Line("explain", R"({"name":"--format=json"})"), "format=json");  // never a flag of the command
  EXPECT_EQ(Line("resolve", R"({"gpu":"g","gpus":8,"set":{"a":1,"b":["x","y"],"c":null},"env":{"E":"v"}})"),
            "--gpu=g --gpus=8 --set=a=1 --set=b=x,y --set=c=null --env=E=v");
}

TEST(Tools, NameThePropertyThatIsWrong) {
  EXPECT_EQ(Line("resolve", R"({"modle":"m"})"), "no property 'modle'; did you mean model?");
  EXPECT_EQ(Line("resolve", R"({"gpu":"g"})"), "gpus is missing");
  EXPECT_EQ(Line("resolve", R"({"gpu":{},"gpus":1})"), "gpu wants one value");
  EXPECT_EQ(Line("resolve", R"({"gpu":"g","gpus":1,"format":"json"})").substr(0, 18), "format wants one o");
  EXPECT_EQ(Line("validate", R"({"text":1})"), "text wants text");
  EXPECT_EQ(Line("validate", R"({"text":"x","file_name":"--write"})"), "file_name is empty or begins with -");
  EXPECT_EQ(Line("explain", R"({"name":"--"})"), "name is empty");
  EXPECT_EQ(Line("resolve", R"({"gpu":"g","gpus":1,"capability":{"deepep":true}})"), "capability wants a list");
  EXPECT_EQ(Line("compare", R"({"a":{"ep":1},"b":{"text":"x"}})"),
            "a as flags and b as text: give the text as a and the flags as b");
  EXPECT_EQ(Line("fix", R"({"text":"x","write":true})"), "no property 'write'");
  EXPECT_EQ(Line("fix", "[]"), "arguments wants an object");
  EXPECT_EQ(Line("validate", "{}"), "text or arguments is missing");
  EXPECT_EQ(Line("validate", R"({"text":"x","arguments":["--bf16"]})"),
            "text stands beside arguments: give one of them");
  EXPECT_EQ(Line("resolve", R"({"gpu":"g","gpus":1,"model":"m","model_config":"{}"})"),
            "model_config stands beside model: give one of them");
  EXPECT_EQ(Line("models", R"({"name":"m","config":"{}"})"), "config stands beside name: give one of them");
  EXPECT_EQ(Line("validate", absl::StrCat(R"({"text":")", std::string(kMaxFileBytes + 1, 'x'), "\"}")),
            absl::StrCat("text is longer than ", kMaxFileBytes, " bytes"));
}

TEST(Tools, TellAMisuseByTheirProperties) {
  const Tool& resolve = *FindTool("resolve");
  EXPECT_EQ(
      InProperties(resolve, "flightplan resolve: --tp wants an integer of at least 1\nusage: flightplan resolve\n"),
      "resolve: tp wants an integer of at least 1");
  EXPECT_EQ(InProperties(resolve, "--set a=1 contradicts --gpus-per-node 3, --tp-comm 4"),
            "resolve: set a=1 contradicts gpus_per_node 3, --tp-comm 4");
}

}  // namespace
}  // namespace flightplan::cli
