#include "resolver/stacks/edit_launch.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "resolver/shell/reader.h"
#include "resolver/stacks/input_format.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_bridge/yaml.h"
#include "resolver/stacks/megatron_lm/dialect.h"
#include "resolver/stacks/megatron_lm/yaml.h"

namespace flightplan {
namespace {

using K = Knob;

std::string EditScript(const char* script, const Patch& patch, Patch* unwritten = nullptr) {
  Environment env;
  const ShellLaunch launch = ReadShellLaunch(script, {});
  env.vars = launch.vars;
  const ParseResult parsed = ParseMegatronLm(launch.args, env);
  EditedText edited = EditArgumentFile(script, {launch.args, parsed.knobs}, patch, env, true);
  if (unwritten != nullptr) *unwritten = edited.unwritten;
  return edited.text;
}

const Patch kEp32 = {{K::expert_model_parallel_size, "", Value(32)}};

TEST(EditScript, ChangesAValueInPlace) {
  EXPECT_EQ(EditScript("torchrun a.py \\\n  --num-layers 4 \\\n  --expert-model-parallel-size 64\n", kEp32),
            "torchrun a.py \\\n  --num-layers 4 \\\n  --expert-model-parallel-size 32\n");
  EXPECT_EQ(EditScript("torchrun a.py --expert-model-parallel-size=64 --bf16\n", kEp32),
            "torchrun a.py --expert-model-parallel-size=32 --bf16\n");
}

TEST(EditScript, ChangesTheVariableThatHoldsIt) {
  EXPECT_EQ(
      EditScript("EP=64\nARGS=(--bf16 --expert-model-parallel-size \"$EP\")\ntorchrun a.py \"${ARGS[@]}\"\n", kEp32),
      "EP=32\nARGS=(--bf16 --expert-model-parallel-size \"$EP\")\ntorchrun a.py \"${ARGS[@]}\"\n");
}

TEST(EditScript, AddsAFlagInTheStyleOfTheScript) {
  EXPECT_EQ(EditScript("torchrun a.py \\\n  --num-layers 4 \\\n  --bf16\n", kEp32),
            "torchrun a.py \\\n  --num-layers 4 \\\n  --expert-model-parallel-size 32 \\\n  --bf16\n");
  EXPECT_EQ(EditScript("A=(\n  --num-layers 4\n  --bf16\n)\ntorchrun a.py ${A[@]}\n", kEp32),
            "A=(\n  --num-layers 4\n  --expert-model-parallel-size 32\n  --bf16\n)\ntorchrun a.py ${A[@]}\n");
  EXPECT_EQ(EditScript("torchrun a.py --num-layers 4\n", kEp32),
            "torchrun a.py --expert-model-parallel-size 32 --num-layers 4\n");
}

TEST(EditScript, TakesAFlagAway) {
  const Patch off = {{K::moe_shared_expert_overlap, "", Value(false)}};
  EXPECT_EQ(EditScript("torchrun a.py \\\n  --moe-shared-expert-overlap \\\n  --num-layers 4\n", off),
            "torchrun a.py \\\n  --num-layers 4\n");
  EXPECT_EQ(EditScript("torchrun a.py \\\n  --num-layers 4 \\\n  --moe-shared-expert-overlap\necho\n", off),
            "torchrun a.py \\\n  --num-layers 4 \necho\n");
  EXPECT_EQ(EditScript("torchrun a.py --moe-shared-expert-overlap --num-layers 4\n", off),
            "torchrun a.py --num-layers 4\n");
}

TEST(EditScript, AValueInQuotesBehindItsEqualsSignIsOneWord) {
  const std::string head = "torchrun a.py \\\n  --num-layers 4 \\\n", tail = " \\\n  --bf16\n";
  const auto edited = [&](const char* flag, const Patch& patch) {
    Patch unwritten;
    std::string text = EditScript(absl::StrCat(head, "  ", flag, tail).c_str(), patch, &unwritten);
    EXPECT_TRUE(unwritten.empty()) << flag;
    return text;
  };
  const Patch none = {{K::pipeline_model_parallel_layout, "", Value()}};
  const Patch other = {{K::pipeline_model_parallel_layout, "", Value("Et|tttL")}};
  for (const char* flag :
       {"--pipeline-model-parallel-layout=\"Ett|ttL\"", "--pipeline-model-parallel-layout='Ett|ttL'",
        "--pipeline-model-parallel-layout \"Ett|ttL\"", "--pipeline-model-parallel-layout 'Ett|ttL'"}) {
    EXPECT_EQ(edited(flag, none), absl::StrCat(head, tail.substr(3))) << flag;
    std::string wanted = absl::StrCat(head, "  ", flag, tail);
    wanted.replace(wanted.find("Ett|ttL"), 7, "Et|tttL");
    EXPECT_EQ(edited(flag, other), wanted);
  }
  EXPECT_EQ(edited("--expert-model-parallel-size=\"64\"", kEp32),
            absl::StrCat(head, "  --expert-model-parallel-size=\"32\"", tail));
}

TEST(EditScript, AListInQuotesGrowsAndShrinks) {
  const auto edited = [](const char* words, std::vector<Value> modules) {
    const std::string script = absl::StrCat("torchrun a.py --recompute-modules ", words, " --bf16\n");
    return EditScript(script.c_str(), {{K::recompute_modules, "", Value(std::move(modules))}});
  };
  EXPECT_EQ(edited("'moe_act' \"layernorm\"", {"moe_act", "layernorm", "moe"}),
            "torchrun a.py --recompute-modules 'moe_act' \"layernorm\" moe --bf16\n");
  EXPECT_EQ(edited("moe_act layernorm", {"moe_act", "layernorm", "moe"}),
            "torchrun a.py --recompute-modules moe_act layernorm moe --bf16\n");
  EXPECT_EQ(edited("'moe_act' \"layernorm\"", {"mlp"}), "torchrun a.py --recompute-modules 'mlp' --bf16\n");
}

TEST(EditScript, AddsBesideAFlagThatGoes) {
  Patch unwritten;
  const Patch patch = {{K::expert_model_parallel_size, "", Value(32)},
                       {K::moe_shared_expert_overlap, "", Value(false)}};
  EXPECT_EQ(
      EditScript("A=(\n  --num-layers 4\n  --moe-shared-expert-overlap\n)\ntorchrun a.py ${A[@]}\n", patch, &unwritten),
      "A=(\n  --expert-model-parallel-size 32\n  --num-layers 4\n)\ntorchrun a.py ${A[@]}\n");
  EXPECT_TRUE(unwritten.empty());
}

TEST(EditScript, TakesAQuotedValueAwayWithItsQuotes) {
  const Patch none = {{K::pipeline_model_parallel_layout, "", Value()}};
  EXPECT_EQ(EditScript("torchrun a.py --pipeline-model-parallel-layout \"Ett|ttL\" --num-layers 4\n", none),
            "torchrun a.py --num-layers 4\n");
  EXPECT_EQ(EditScript("torchrun a.py \\\n  --bf16 \\\n  --pipeline-model-parallel-layout 'Ett|ttL'\n", none),
            "torchrun a.py \\\n  --bf16 \n");
  EXPECT_EQ(EditScript("A=(--bf16 --pipeline-model-parallel-layout \"Ett|ttL\")\ntorchrun a.py \"${A[@]}\"\n", none),
            "A=(--bf16)\ntorchrun a.py \"${A[@]}\"\n");
}

TEST(EditScript, TakesAFlagAwayWithTheVariableBehindIt) {
  const Patch none = {{K::pipeline_model_parallel_layout, "", Value()}};
  EXPECT_EQ(EditScript("L=\"Ett|ttL\"\ntorchrun a.py --pipeline-model-parallel-layout \"$L\" --num-layers 4\n", none),
            "L=\"Ett|ttL\"\ntorchrun a.py --num-layers 4\n");
}

// A launch may say the same any number of times; all that is said is taken away in one go.
TEST(EditScript, TakesEveryMentionAway) {
  const Patch off = {{K::moe_shared_expert_overlap, "", Value(false)}};
  std::string script = "torchrun a.py \\\n";
  for (int i = 0; i < 4000; ++i) script += "  --moe-shared-expert-overlap \\\n";
  EXPECT_EQ(EditScript((script + "  --bf16\n").c_str(), off), "torchrun a.py \\\n  --bf16\n");
}

TEST(EditScript, LeavesWhatIsPutTogetherElsewhere) {
  Patch unwritten;
  const char* script = "P=--expert-model\ntorchrun a.py --bf16 $P-parallel-size=6${X:-4}\n";
  EXPECT_EQ(EditScript(script, kEp32, &unwritten), script);
  EXPECT_EQ(unwritten.size(), 1u);
}

TEST(EditScript, SetsVariables) {
  const Patch one = {{K{}, "CUDA_DEVICE_MAX_CONNECTIONS", Value("1")}};
  EXPECT_EQ(
      EditScript("#!/bin/bash\n#SBATCH -N 4\n\nexport CUDA_DEVICE_MAX_CONNECTIONS=32\ntorchrun a.py --bf16\n", one),
      "#!/bin/bash\n#SBATCH -N 4\n\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun a.py --bf16\n");
  EXPECT_EQ(EditScript("#!/bin/bash\ntorchrun a.py --bf16\n", one),
            "#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun a.py --bf16\n");
}

// An export in front of it would lose.
TEST(EditScript, SetsAVariableWhereTheLaunchHasIt) {
  const Patch one = {{K{}, "CUDA_DEVICE_MAX_CONNECTIONS", Value("1")}};
  for (const absl::string_view launcher :
       {"CUDA_DEVICE_MAX_CONNECTIONS=$ torchrun", "env CUDA_DEVICE_MAX_CONNECTIONS=$ torchrun",
        "srun --export=ALL,CUDA_DEVICE_MAX_CONNECTIONS=$ python", "mpirun -x CUDA_DEVICE_MAX_CONNECTIONS=$ python",
        "docker run -e CUDA_DEVICE_MAX_CONNECTIONS=$ image torchrun"}) {
    const auto script = [launcher](const char* value) {
      return absl::StrCat("export CUDA_DEVICE_MAX_CONNECTIONS=4\n", absl::StrReplaceAll(launcher, {{"$", value}}),
                          " a.py --bf16\n");
    };
    EXPECT_EQ(EditScript(script("8").c_str(), one), script("1"));
  }
}

TEST(EditScript, SetsAVariableThatTheLaunchIsNotGiven) {
  const Patch one = {{K{}, "CUDA_DEVICE_MAX_CONNECTIONS", Value(1)}};
  const auto edited = [&one](absl::string_view option, const char* launch = "torchrun a.py --bf16") {
    return EditScript(absl::StrCat("export CUDA_DEVICE_MAX_CONNECTIONS=8\nenv ", option, launch, "\n").c_str(), one);
  };
  const auto with = [](absl::string_view words) {
    return absl::StrCat("export CUDA_DEVICE_MAX_CONNECTIONS=8\nenv ", words, "torchrun a.py --bf16\n");
  };
  EXPECT_EQ(edited("-u CUDA_DEVICE_MAX_CONNECTIONS "), with("CUDA_DEVICE_MAX_CONNECTIONS=1 "));
  EXPECT_EQ(edited("-uCUDA_DEVICE_MAX_CONNECTIONS "), with("CUDA_DEVICE_MAX_CONNECTIONS=1 "));
  EXPECT_EQ(edited("-u A --unset=CUDA_DEVICE_MAX_CONNECTIONS B=2 "), with("-u A CUDA_DEVICE_MAX_CONNECTIONS=1 B=2 "));
  EXPECT_EQ(edited("-u CUDA_DEVICE_MAX_CONNECTIONS ", "\\\n  torchrun a.py --bf16"),
            "export CUDA_DEVICE_MAX_CONNECTIONS=8\nenv CUDA_DEVICE_MAX_CONNECTIONS=1 \\\n  torchrun a.py --bf16\n");
  // env takes no option behind an assignment.
  EXPECT_EQ(edited("-u CUDA_DEVICE_MAX_CONNECTIONS -u A ").find("=1 -u A"), std::string::npos);
}

TEST(EditArguments, ReplacesAddsAndTakesAway) {
  std::vector<Argument> args;
  for (const char* word : {"--bf16", "--expert-model-parallel-size", "64", "--moe-shared-expert-overlap"}) {
    args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  }
  const Environment env;
  const ParseResult parsed = ParseMegatronLm(args, env);
  const EditedArguments edited = EditArguments({args, parsed.knobs},
                                               {{K::expert_model_parallel_size, "", Value(32)},
                                                {K::moe_shared_expert_overlap, "", Value(false)},
                                                {K::recompute_granularity, "", Value("selective")},
                                                {K{}, "NCCL_ALGO", Value("Ring")}},
                                               env);
  EXPECT_EQ(edited.args, (std::vector<std::string>{"--bf16", "--expert-model-parallel-size", "32",
                                                   "--recompute-granularity", "selective"}));
  ASSERT_EQ(edited.unwritten.size(), 1u);
  EXPECT_EQ(edited.unwritten[0].env_var, "NCCL_ALGO");
}

TEST(EditArguments, TakesEveryMentionAway) {
  std::vector<Argument> args(4000, {"--moe-shared-expert-overlap", {}});
  args.push_back({"--bf16", {}});
  for (size_t i = 0; i < args.size(); ++i) args[i].at.index = static_cast<int>(i);
  const Environment env;
  const ParseResult parsed = ParseMegatronLm(args, env);
  const Patch off = {{K::moe_shared_expert_overlap, "", Value(false)}};
  const EditedArguments edited = EditArguments({args, parsed.knobs}, off, env);
  EXPECT_EQ(edited.args, std::vector<std::string>({"--bf16"}));
}

TEST(EditArguments, WritesBridgesOverridesAndFlags) {
  Environment env;
  env.target = Target::kMegatronBridge;
  std::vector<Argument> args;
  for (const char* word : {"-ep", "64", "model.recompute_granularity=full"}) {
    args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  }
  const ParseResult parsed = ParseBridgePerf(args, env);
  const EditedArguments edited = EditArguments({args, parsed.knobs},
                                               {{K::expert_model_parallel_size, "", Value(32)},
                                                {K::recompute_granularity, "", Value()},
                                                {K::recompute_method, "", Value("uniform")}},
                                               env);
  EXPECT_EQ(edited.args, (std::vector<std::string>{"-ep", "32", "model.recompute_granularity=null",
                                                   "model.recompute_method=uniform"}));
}

TEST(EditYaml, ChangesValuesAndAddsKeys) {
  Environment env;
  const char* text = "language_model:\n  num_layers: 4  # few\nexpert_model_parallel_size: 64\n";
  EXPECT_EQ(EditYaml(text, ParseMegatronLmYaml(text, env).knobs,
                     {{K::expert_model_parallel_size, "", Value(32)},
                      {K::num_layers, "", Value(8)},
                      {K::recompute_granularity, "", Value("full")}},
                     env)
                .text,
            "language_model:\n  num_layers: 8  # few\nexpert_model_parallel_size: 32\nrecompute_granularity: full\n");
  env.target = Target::kMegatronBridge;
  const char* dump = "model:\n  _target_: a.B\n  recompute_modules: [mlp, core_attn]\nddp: {}\n";
  const EditedText edited = EditYaml(dump, ParseBridgeYaml(dump, env).knobs,
                                     {{K::recompute_modules, "", Value(Value::List{Value("mlp")})},
                                      {K::num_layers, "", Value(8)},
                                      {K::comm_overlap_tp_comm_overlap, "", Value(true)},
                                      {K{}, "A", Value("1")}},
                                     env);
  EXPECT_EQ(edited.text,
            "model:\n  _target_: a.B\n  num_layers: 8\n  recompute_modules: [\"mlp\"]\nddp: {}\n"
            "comm_overlap:\n  tp_comm_overlap: true\n");
  EXPECT_EQ(edited.unwritten.size(), 1u);
}

TEST(EditYaml, AddsKeysWhereTheFormatHasThem) {
  const Environment env;
  const char* text = "pretrain: a\nrole:\n  config:\n    size: 1\n  flow: {a: 1}\n";
  const auto edited = [&](YamlPlace place) {
    return EditYaml(text, {}, {{K::moe_grouped_gemm, "", Value(true)}}, env, place);
  };
  EXPECT_EQ(edited([](Knob, const YamlNode&) { return std::string("role.config.gemm"); }).text,
            "pretrain: a\nrole:\n  config:\n    gemm: true\n    size: 1\n  flow: {a: 1}\n");
  EXPECT_EQ(edited([](Knob, const YamlNode&) { return std::string("role.config.more.gemm"); }).text,
            "pretrain: a\nrole:\n  config:\n    more:\n      gemm: true\n    size: 1\n  flow: {a: 1}\n");
  for (const YamlPlace place : {YamlPlace([](Knob, const YamlNode&) { return std::string("role.flow.gemm"); }),
                                YamlPlace([](Knob, const YamlNode&) { return std::string("role.config.size"); }),
                                YamlPlace([](Knob, const YamlNode&) { return std::string(); })}) {
    EXPECT_EQ(edited(place).text, text);
    EXPECT_EQ(edited(place).unwritten.size(), 1u);
  }
}

}  // namespace
}  // namespace flightplan
