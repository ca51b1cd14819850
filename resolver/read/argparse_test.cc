#include "resolver/read/argparse.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "resolver/stacks/megatron_lm/dialect.h"

namespace flightplan {
namespace {

using Words = std::vector<std::string>;

ParseResult Parse(const Words& words, int release = kMain) {
  Environment env;
  env.core_release = release;
  return ParseMegatronLm(words, env);
}

std::string Json(const ParseResult& result, Knob knob) {
  std::string last = "absent";
  for (const ParsedKnob& parsed : result.knobs) {
    if (parsed.knob == knob) last = parsed.value.ToJson();
  }
  return last;
}

TEST(Argparse, ReadsEveryForm) {
  const ParseResult result =
      Parse({"--num-layers", "4", "--lr=1e-4", "--bf16", "--no-check-for-nan-in-loss-and-grad", "--recompute-modules",
             "moe_act", "layernorm", "--num-experts=8", "--no-rl-partial-rollouts", "--window-size", "(128,0)",
             "--moe-layer-freq", "([0]*1+[1]*3)", "--rampup-batch-size", "8", "8", "100"});
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(Json(result, Knob::num_layers), "4");
  EXPECT_EQ(Json(result, Knob::lr), "0.0001");
  EXPECT_EQ(Json(result, Knob::bf16), "true");
  EXPECT_EQ(Json(result, Knob::check_for_nan_in_loss_and_grad), "false");
  EXPECT_EQ(Json(result, Knob::recompute_modules), R"(["moe_act","layernorm"])");
  EXPECT_EQ(Json(result, Knob::num_moe_experts), "8");
  EXPECT_EQ(Json(result, Knob::rl_partial_rollouts), "false");
  EXPECT_EQ(Json(result, Knob::window_size), "[128,0]");
  EXPECT_EQ(Json(result, Knob::moe_layer_freq), "[0,1,1,1]");
  EXPECT_EQ(Json(result, Knob::rampup_batch_size), "[8,8,100]");
}

TEST(Argparse, LastOfRepeatedFlagsWins) {
  EXPECT_EQ(Json(Parse({"--num-layers", "4", "--num-layers", "6"}), Knob::num_layers), "6");
}

TEST(Argparse, NamesTheKnobsWhoseValueOnlyARunWouldKnow) {
  const auto unknown_of = [](const std::vector<Argument>& args) {
    Environment env;
    env.core_release = kMain;
    return ParseMegatronLm(args, env).unknown;
  };
  const Argument variable{.text = "$V", .unknown = true};
  const std::vector<Knob> layers = {Knob::num_layers};
  EXPECT_EQ(unknown_of({{.text = "--num-layers"}, variable}), layers);
  EXPECT_EQ(unknown_of({{.text = "--num-layers=$V", .unknown = true}}), layers);
  EXPECT_EQ(unknown_of({{.text = "--num-layers"}, {.text = "4"}, {.text = "--num-layers"}, variable}), layers);
  EXPECT_TRUE(unknown_of({{.text = "--num-layers"}, variable, {.text = "--num-layers"}, {.text = "4"}}).empty());
  EXPECT_TRUE(unknown_of({{.text = "--num-layers"}, {.text = "4"}, variable}).empty()) << "words that a run may add";
  EXPECT_TRUE(unknown_of({{.text = "--bf16"}, variable}).empty());
}

struct Refused {
  Words words;
  int index;
};

TEST(Argparse, RefusesWhatArgparseRefuses) {
  const std::vector<Refused> rows = {
      {{"--num-layer", "4"}, 0},                              // no abbreviations
      {{"--num-layers"}, 0},                                  // value missing
      {{"--num-layers", "--bf16"}, 0},                        // the next flag is no value
      {{"--num-layers", "four"}, 1},                          //
      {{"--num-layers", "4.0"}, 1},                           //
      {{"--num-layers="}, 0},                                 //
      {{"--bf16=true"}, 0},                                   // switches take no value
      {{"--bf16", "true"}, 1},                                // belongs to no flag
      {{"--moe-token-dispatcher-type", "alltoall_seq"}, 1},   // choice
      {{"--min-lr", "-1e-5"}, 0},                             // argparse takes it for a flag
      {{"--rampup-batch-size", "8", "8"}, 0},                 // three values
      {{"--recompute-modules"}, 0},                           // at least one
      {{"--moe-layer-freq", "([0]*2+__import__('os'))"}, 1},  // only digits and ,[]()+*
      {{"--", "--bf16"}, 0},                                  // after -- all is positional
      {{"--bf16", "--"}, 1},                                  // and itself is not lost where nothing follows
      {{"--help"}, 0},
  };
  for (const Refused& row : rows) {
    const ParseResult result = Parse(row.words);
    ASSERT_FALSE(result.findings.empty()) << row.words[0];
    EXPECT_EQ(result.findings[0].finding.rule_id, "mlm.argparse") << row.words[0];
    EXPECT_EQ(result.findings[0].at.index, row.index) << row.words[0];
  }
}

TEST(Argparse, AcceptsNumbersThatPythonAccepts) {
  EXPECT_EQ(Json(Parse({"--num-layers", " 1_000 "}), Knob::num_layers), "1000");
  EXPECT_EQ(Json(Parse({"--min-lr", "-1"}), Knob::min_lr), "-1.0");
  EXPECT_EQ(Json(Parse({"--lr", "nan"}), Knob::lr), "NaN");
  EXPECT_FALSE(Parse({"--lr", "0x10"}).ok());
  EXPECT_FALSE(Parse({"--num-layers", "1__0"}).ok());
  EXPECT_FALSE(Parse({"--num-layers", "99999999999999999999"}).ok());
}

TEST(Argparse, NamesTheNearestFlagAndChoice) {
  const ParseResult flag = Parse({"--expert-model-paralel-size", "8"});
  EXPECT_NE(flag.findings[0].finding.needs.find("--expert-model-parallel-size"), std::string::npos);
  const ParseResult choice = Parse({"--moe-token-dispatcher-type", "all2all"});
  ASSERT_EQ(choice.findings[0].finding.fixes.size(), 1u);
  EXPECT_EQ(choice.findings[0].finding.fixes[0][0].value.ToJson(), "\"alltoall\"");
}

// 0.17 cannot say YaRN; of its choices none is the same model.
TEST(Argparse, OffersNoOtherModel) {
  const ParseResult meant = Parse({"--position-embedding-type", "yarn"}, 17);
  ASSERT_EQ(meant.findings.size(), 1u);
  EXPECT_TRUE(meant.findings[0].finding.fixes.empty());
  EXPECT_NE(meant.findings[0].finding.needs.find("another would train something else"), std::string::npos);
  EXPECT_TRUE(Parse({"--position-embedding-type", "yarn"}).ok());
  const ParseResult misspelt = Parse({"--position-embedding-type", "roep"}, 17);
  ASSERT_EQ(misspelt.findings.size(), 1u);
  ASSERT_EQ(misspelt.findings[0].finding.fixes.size(), 1u);
  EXPECT_EQ(misspelt.findings[0].finding.fixes[0][0].value.ToJson(), "\"rope\"");
}

TEST(Argparse, KnowsWhichReleaseHasAFlag) {
  EXPECT_TRUE(Parse({"--cuda-graph-modules", "attn"}).ok());
  const ParseResult older = Parse({"--cuda-graph-modules", "attn"}, 17);
  ASSERT_FALSE(older.ok());
  EXPECT_NE(older.findings[0].finding.needs.find("0.18"), std::string::npos);
  EXPECT_EQ(Json(Parse({"--cuda-graph-scope", "attn"}, 17), Knob::cuda_graph_scope), R"(["attn"])");
  EXPECT_EQ(Json(Parse({"--cuda-graph-scope", "attn"}), Knob::cuda_graph_scope_deprecated), R"(["attn"])");
}

TEST(Argparse, KnowsModelOptFlagsUnlessItIsNotInstalled) {
  Environment env;
  const Words words = {"--export-kd-teacher-load", "/teacher"};
  EXPECT_TRUE(ParseMegatronLm(words, env).ok()) << "nobody says what is installed";
  env.capabilities_known = true;
  EXPECT_FALSE(ParseMegatronLm(words, env).ok());
  env.packages["modelopt"] = "0.40.0";
  EXPECT_TRUE(ParseMegatronLm(words, env).ok());
}

TEST(Argparse, HoldsItsBounds) {
  const ParseResult many = Parse(Words(100'000, "--bf16"));
  EXPECT_EQ(many.findings[0].finding.rule_id, "input.limit");
  EXPECT_EQ(many.knobs.size(), kMaxArguments);
  const ParseResult faults = Parse(Words(kMaxArguments, "--no-such-flag-at-all"));
  EXPECT_EQ(faults.findings.size(), kMaxParseFindings + 1);
  EXPECT_FALSE(Parse({"--data-path", std::string(kMaxArgumentBytes + 1, 'x')}).ok());
  EXPECT_TRUE(Parse({"--data-path", std::string(kMaxArgumentBytes, 'x')}).ok());
  EXPECT_EQ(Parse({"--data-path", "\xff\xfe"}).findings[0].finding.rule_id, "input.limit");
  EXPECT_EQ(Parse({std::string("\0", 1)}).findings[0].finding.rule_id, "input.limit");
  EXPECT_FALSE(Parse({""}).ok());
}

TEST(ListExpression, EvaluatesLikePython) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"[1]", "[1]"},
      {"([0]*3+[1]*2)", "[0,0,0,1,1]"},
      {"([1]+[0])*2", "[1,0,1,0]"},
      {"2*[1,0]", "[1,0,1,0]"},
      {"[1,0,]", "[1,0]"},
      {"[1]*0", "[]"},
      {"[2*3+1]", "[7]"},
      {"[1],[2]", "[[1],[2]]"},
      {"([1])", "[1]"},
      {"[]", "[]"},
      {"[1]*2*2", "[1,1,1,1]"},
      {"[00]", "[0]"},
  };
  for (const auto& [text, want] : rows) {
    const auto value = EvaluateListExpression(text);
    ASSERT_TRUE(value.ok()) << text << ": " << value.status();
    EXPECT_EQ(value->ToJson(), want) << text;
  }
}

TEST(ListExpression, RefusesTheRest) {
  for (const std::string& text :
       {std::string("[1"), std::string("[1]+"), std::string("[1]+2"), std::string("[1]**2"), std::string("[1]*[2]"),
        std::string("[01]"), std::string("[1]]"), std::string(""), std::string("[1] + [2]"), std::string("[,]"),
        std::string("[1]*99999999999999999999"), std::string("[1]*4097"), std::string("[[1]*4096]*4097"),
        std::string(200, '['), std::string(100, '(') + "[1]" + std::string(100, ')')}) {
    EXPECT_FALSE(EvaluateListExpression(text).ok()) << text;
  }
  EXPECT_TRUE(EvaluateListExpression("[1]*4096").ok());
}

// A launch of flags and of the files that they name has what both readers found.
TEST(Argparse, FindingsOfTwoReadersKeepOneBound) {
  const std::vector<ParseFinding> notes(kMaxParseFindings - 1,
                                        MakeParseFinding({}, "input.not-judged", Severity::kInfo, "a note", "", ""));
  std::vector<ParseFinding> all = notes;
  KeepFindings(notes, &all);
  KeepFindings({MakeParseFinding({}, "mlm.argparse", Severity::kError, "--typo", "", "")}, &all);
  ASSERT_EQ(all.size(), kMaxParseFindings + 1);
  EXPECT_EQ(all.back().finding.rule_id, "input.limit");
  EXPECT_EQ(all.back().finding.severity, Severity::kError) << "the verdict stays right";
}

}  // namespace
}  // namespace flightplan
