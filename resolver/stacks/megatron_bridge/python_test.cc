#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/stacks/megatron_bridge/dialect.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kImport =
    "from megatron.bridge.recipes.qwen import qwen3_30b_a3b_pretrain_config as pretrain_config\n";

ParseResult Parsed(absl::string_view text) {
  Environment env;
  env.target = Target::kMegatronBridge;
  return ParseBridgePython(text, env);
}

// "4"; "?": written with a value that is not known; "": not written.
std::string Last(const ParseResult& parsed, K knob) {
  if (std::find(parsed.unknown.begin(), parsed.unknown.end(), knob) != parsed.unknown.end()) return "?";
  const auto last = std::find_if(parsed.knobs.rbegin(), parsed.knobs.rend(),
                                 [knob](const ParsedKnob& written) { return written.knob == knob; });
  return last == parsed.knobs.rend() ? "" : last->value.ToJson();
}
std::string Tp(absl::string_view text) { return Last(Parsed(text), K::tensor_model_parallel_size); }

size_t Errors(const ParseResult& parsed) {
  return static_cast<size_t>(std::count_if(parsed.findings.begin(), parsed.findings.end(), [](const auto& finding) {
    return finding.finding.severity == Severity::kError;
  }));
}

TEST(BridgePython, ReadsAValueHoweverItIsWritten) {
  constexpr std::pair<const char*, const char*> kRows[] = {
      {"TP = 4\ncfg.model.tensor_model_parallel_size = TP\n", "4"},
      {"cfg.model.tensor_model_parallel_size = 2 * 2\n", "4"},
      {"cfg.model.tensor_model_parallel_size: int = 4  # why\n", "4"},
      {"cfg.model.tensor_model_parallel_size = 2\ncfg.model.tensor_model_parallel_size += 2\n", "4"},
      {"cfg.model.tensor_model_parallel_size, x = 4, 2\n", "4"},
      {"(a, b) = 4, 2\ncfg.model.tensor_model_parallel_size = a\n", "4"},
      {"model = cfg.model\nmodel.tensor_model_parallel_size = 4\n", "4"},
      {"self.cfg.model.tensor_model_parallel_size = 4\n", "4"},
      {"setattr(cfg.model, 'tensor_model_parallel_size', 4)\n", "4"},
      {"cfg.model.update(tensor_model_parallel_size=4)\n", "4"},
      {"cfg.model.__dict__.update({'tensor_model_parallel_size': 4})\n", "4"},
      {"vars(cfg.model).update(dict(tensor_model_parallel_size=4))\n", "4"},
      {"for k, v in {'tensor_model_parallel_size': 4}.items(): setattr(cfg.model, k, v)\n", "4"},
      {"for tp in [1, 4]: cfg.model.tensor_model_parallel_size = tp\n", "4"},
      {"if 1 < 2: cfg.model.tensor_model_parallel_size = 4\nelse: cfg.model.tensor_model_parallel_size = 2\n", "4"},
      {"def f(c, tp=4):\n  c.model.tensor_model_parallel_size = tp\nf(cfg)\n", "4"},
      {"def f():\n  cfg.model.tensor_model_parallel_size = 4\nf()\n", "4"},
      {"def f(cfg):\n  cfg.model.tensor_model_parallel_size = 4\n  return cfg\n", "4"},
      {"def f(cfg):\n  if not cfg: raise ValueError()\n  cfg.model.tensor_model_parallel_size = 4\n", "4"},
      {"class P:\n  def setup(self, cfg):\n    cfg.model.tensor_model_parallel_size = 4\n", "4"},
      {"def main():\n  cfg.model.tensor_model_parallel_size = 4\nif __name__ == '__main__':\n  main()\n", "4"},
      {"m = GPTModelProvider(tensor_model_parallel_size=4)\ncfg = ConfigContainer(model=m)\n", "4"},
      {"cfg = ConfigContainer()\nm = Provider()\ncfg.model = m\nm.tensor_model_parallel_size = 4\n", "4"},
      {"cfg.model.tensor_model_parallel_size = (\n  4\n)\n", "4"},
      {"cfg.model.tensor_model_parallel_size = 4; x = 2\n", "4"},
  };
  for (const auto& [text, value] : kRows) {
    const ParseResult parsed = Parsed(text);
    EXPECT_EQ(Last(parsed, K::tensor_model_parallel_size), value) << text;
    EXPECT_EQ(Errors(parsed), 0u) << text;
  }
}

// Never an error, and never the value that it had before.
TEST(BridgePython, SaysThatItDoesNotKnowWhatOnlyARunWould) {
  for (const char* text :
       {"cfg.model.tensor_model_parallel_size = args.tp\n",
        "cfg.model.tensor_model_parallel_size = int(os.environ['TP'])\n",
        "cfg.model.tensor_model_parallel_size = 2 * args.tp\n", "cfg.model.tensor_model_parallel_size = f()\n",
        "if args.fast:\n  cfg.model.tensor_model_parallel_size = 4\n",
        "TP = 2\nif args.fast: TP = 4\ncfg.model.tensor_model_parallel_size = TP\n",
        "for tp in sizes(): cfg.model.tensor_model_parallel_size = tp\n",
        "while wait(): cfg.model.tensor_model_parallel_size = 4\n",
        "try:\n  f()\nexcept E:\n  cfg.model.tensor_model_parallel_size = 4\n",
        "def f(cfg, tp=4):\n  cfg.model.tensor_model_parallel_size = tp\n",
        "setattr(cfg.model, 'tensor_model_parallel_size', tp)\n", "cfg.model.tensor_model_parallel_size += 1\n",
        "cfg.model.tensor_model_parallel_size = 2 if args.fast else 4\n"}) {
    const ParseResult parsed = Parsed(text);
    EXPECT_EQ(Last(parsed, K::tensor_model_parallel_size), "?") << text;
    EXPECT_EQ(Errors(parsed), 0u) << text;
  }
  EXPECT_EQ(Tp("cfg.model.tensor_model_parallel_size = args.tp\ncfg.model.tensor_model_parallel_size = 4\n"), "4");
}

TEST(BridgePython, LeavesOtherObjectsAlone) {
  const ParseResult parsed = Parsed(
      "opt.lr = 3\npeft_cfg.dim = 8\nself.model.hidden = 3\nlayer.weight.requires_grad = False\n"
      "args.mixed_precision = 'bf16'\nhf_config.text_config.num_hidden_layers = 2\nlogger.info('x')\n"
      "torch.backends.cudnn.enabled = True\n");
  EXPECT_EQ(Errors(parsed), 0u);
  EXPECT_TRUE(parsed.knobs.empty());
}

TEST(BridgePython, RefusesAFieldThatAConfigurationDoesNotHave) {
  for (const char* text : {"cfg.model.num_layer = 4\n", "recipe.modle.num_layers = 4\n",
                           "cfg = pretrain_config()\ncfg.tensor_model_parallel_size = 2\n",
                           "c = pretrain_config()\nc.model.num_layer = 4\n",
                           "def a(cfg):\n  cfg.model.num_layer = 4\ndef b(cfg):\n  cfg.model.num_layers = 4\n"}) {
    const ParseResult parsed = Parsed(absl::StrCat(kImport, text));
    EXPECT_EQ(Errors(parsed), 1u) << text;
    EXPECT_NE(parsed.findings[0].finding.needs.find("did you mean"), std::string::npos) << text;
  }
}

TEST(BridgePython, KeepsTheRecipeUnderWhatIsWritten) {
  const ParseResult parsed = Parsed(absl::StrCat(
      kImport,
      "def main(argv):\n  base = pretrain_config()\n  cfg = copy.deepcopy(base)\n  "
      "base.model.tensor_model_parallel_size = 2\n"
      "  cfg = apply_flags(cfg, argv)\n  cfg.model.pipeline_model_parallel_size = 4\n  pretrain(cfg, step)\n"
      "if __name__ == '__main__':\n  main(sys.argv)\n"));
  EXPECT_EQ(parsed.base, "qwen3_30b_a3b_pretrain_config");
  EXPECT_EQ(Last(parsed, K::pipeline_model_parallel_size), "4");
  EXPECT_EQ(Last(parsed, K::tensor_model_parallel_size), "1");
  ASSERT_EQ(parsed.findings.size(), 1u);
  EXPECT_EQ(parsed.findings[0].finding.rule_id, "input.not-judged");
  EXPECT_TRUE(absl::StrContains(parsed.findings[0].finding.seen, "apply_flags"));
}

// It may be called from elsewhere.
TEST(BridgePython, NamesAFunctionThatNothingCalls) {
  const ParseResult parsed = Parsed(
      "cfg.model.num_layers = 2\ncfg.model.tensor_model_parallel_size = 2\n"
      "def f(c):\n  c.model.num_layers = 4\n  cfg.model.tensor_model_parallel_size = 4\n");
  EXPECT_EQ(Last(parsed, K::num_layers), "2");
  EXPECT_EQ(Last(parsed, K::tensor_model_parallel_size), "?");
  ASSERT_EQ(parsed.findings.size(), 1u);
  EXPECT_EQ(parsed.findings[0].finding.seen, "f");
}

// A statement writes one field, and upstream the other with it; a constructor writes both, the gather's last.
TEST(BridgePython, WritesBothFieldsOfAPair) {
  const std::string recipe = absl::StrCat(kImport, "cfg = pretrain_config()\n");
  EXPECT_EQ(
      Last(Parsed(absl::StrCat(recipe, "cfg.mixed_precision.fp8_param = True\n")), K::mixed_precision_fp8_param_gather),
      "true");
  EXPECT_NE(Last(Parsed(absl::StrCat(recipe, "cfg.mixed_precision = MixedPrecisionConfig(fp8_param=True)\n")),
                 K::mixed_precision_fp8_param_gather),
            "true");
}

// What the recipe's section held is gone with it.
TEST(BridgePython, KnowsNothingOfASectionThatIsReplaced) {
  const ParseResult parsed = Parsed(absl::StrCat(
      kImport, "cfg = pretrain_config()\ncfg.model = Provider(num_layers=4)\ncfg.mixed_precision = 'bf16_mixed'\n"));
  EXPECT_EQ(Last(parsed, K::num_layers), "4");
  EXPECT_EQ(Last(parsed, K::expert_model_parallel_size), "?");
  EXPECT_EQ(Last(parsed, K::mixed_precision_recipe), "\"bf16_mixed\"");
}

TEST(BridgePython, NamesTheFunctionThatItJudgesOfSeveral) {
  const ParseResult parsed = Parsed(
      "def helper(cfg):\n  cfg.model.num_layers = 2\n"
      "def a(cfg):\n  helper(cfg)\n  cfg.model.tensor_model_parallel_size = 2\n"
      "def b(cfg):\n  helper(cfg)\n  cfg.model.pipeline_model_parallel_size = 4\n");
  EXPECT_EQ(Last(parsed, K::num_layers), "2");
  EXPECT_EQ(Last(parsed, K::tensor_model_parallel_size), "");
  EXPECT_EQ(Last(parsed, K::pipeline_model_parallel_size), "4");
  ASSERT_EQ(parsed.findings.size(), 1u);
  EXPECT_EQ(parsed.findings[0].finding.seen, "2 functions that set fields of a configuration: a, b");
}

TEST(BridgePython, ReadsNamesOfTheStacksOwn) {
  const ParseResult parsed = Parsed(
      "import torch\nfrom megatron.core.transformer.enums import AttnBackend\n"
      "cfg.model.params_dtype = torch.bfloat16\ncfg.model.attention_backend = AttnBackend.flash\n"
      "cfg.model.activation_func = torch.nn.functional.silu\ncfg.model.pipeline_dtype = dtype\n"
      "cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True)\ncfg.peft = LoRA(dim=8)\ncfg.env_vars['A'] = '1'\n");
  EXPECT_EQ(Last(parsed, K::params_dtype), "\"bf16\"");
  EXPECT_EQ(Last(parsed, K::attention_backend), "\"flash\"");
  EXPECT_EQ(Last(parsed, K::activation_func), "\"silu\"");
  EXPECT_EQ(Last(parsed, K::pipeline_dtype), "?");
  EXPECT_EQ(Last(parsed, K::comm_overlap_configured), "true");
  EXPECT_EQ(Last(parsed, K::peft_scheme), "\"lora\"");
  EXPECT_EQ(Last(parsed, K::peft_dim), "8");
  EXPECT_EQ(parsed.recipe_vars.at("A"), "1");
}

TEST(BridgePython, ReadsLoopsOverTheParts) {
  constexpr std::pair<const char*, const char*> kRows[] = {
      {"for c in (cfg.model, cfg.dataset): c.seq_length = 8192\n", "8192 8192"},
      {"for c in [cfg.model, cfg.dataset,]:\n  c.seq_length = 8192\n", "8192 8192"},
      {"for c in cfg.model, cfg.dataset:\n  setattr(c, 'seq_length', 8192)\n", "8192 8192"},
      {"for c, n in ((cfg.model, 4096), (cfg.dataset, 8192)): c.seq_length = n\n", "4096 8192"},
      {"for n, (c, m) in ((1, (cfg.model, 2)), (3, (cfg.dataset, 4))): c.seq_length = n * m\n", "2 12"},
      // What is listed elsewhere may be these parts, and others.
      {"cfg.model.seq_length = 2048\nfor c in parts: c.seq_length = 8192\n", "? ?"},
      {"cfg.dataset.seq_length = 2048\nfor c in [x for x in parts]:\n  c.seq_length = 8192\n", "? ?"},
      {"for c in (cfg.model, *more): c.seq_length = 8192\ncfg.model.num_layers = 4\n", "? ?"},
      {"for c in (cfg.model, cfg.dataset):\n  if x: break\n  c.seq_length = 8192\ncfg.model.num_layers = 4\n", "? ?"},
  };
  for (const auto& [text, want] : kRows) {
    const ParseResult parsed = Parsed(absl::StrCat(kImport, "cfg = pretrain_config()\n", text));
    EXPECT_EQ(absl::StrCat(Last(parsed, K::seq_length), " ", Last(parsed, K::dataset_seq_length)), want) << text;
  }
}

TEST(BridgePython, ReadsADatasetOfItsOwn) {
  const auto read = [](absl::string_view made) {
    const ParseResult parsed = Parsed(absl::StrCat(kImport, "cfg = pretrain_config()\ncfg.dataset = ", made, "\n"));
    return absl::StrCat(Last(parsed, K::dataset_seq_length), " ", Last(parsed, K::dataset_kind));
  };
  EXPECT_EQ(read("GPTDatasetConfig(sequence_length=8192)"), "8192 \"gpt\"");
  EXPECT_EQ(read("GPTDatasetConfig(seq_length=8192, random_seed=1)"), "8192 \"gpt\"");
  EXPECT_EQ(read("GPTSFTDatasetConfig(seq_length=8192)"), "8192 \"sft\"");
  EXPECT_EQ(read("MyDataset(seq_length=8192)"), "8192 \"plain\"");
  EXPECT_EQ(read("make_dataset(8192)"), "? ?");
}

// Six loops of 64 rounds, and functions that call each other.
TEST(BridgePython, RefusesAProgramThatItWouldNotGetThrough) {
  std::string loops, calls = "def f():\n  g()\n  g()\ndef g():\n  f()\n";
  for (size_t i = 0; i < 6; ++i) absl::StrAppend(&loops, std::string(i, ' '), "for x in [1] * 64:\n");
  absl::StrAppend(&loops, "      cfg.model.num_layers = x\n");
  for (int i = 0; i < 60'000; ++i) calls += "f()\n";
  for (const std::string& text : {loops, calls}) {
    const ParseResult parsed = Parsed(text);
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.findings.back().finding.rule_id, "input.limit");
  }
}

}  // namespace
}  // namespace flightplan
