#include "resolver/stacks/loongforge/model.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/stacks/input_format.h"
#include "resolver/stacks/loongforge/dialect.h"

namespace flightplan {
namespace {

using Ids = std::vector<std::string>;

ParseResult Read(absl::string_view lines, const EnvVars& vars = {{"LOONGFORGE_PATH", "/opt/LoongForge"}}) {
  Environment env;
  env.target = Target::kLoongForge;
  for (const auto& [name, value] : vars) env.vars[name] = value;
  return ParseLoongForge(ArgumentsOfLines(std::string(lines)), env);
}

// What the last word on it says; None: nobody named it.
Value Last(const std::vector<ParsedKnob>& knobs, Knob knob) {
  Value value;
  for (const ParsedKnob& parsed : knobs) {
    if (parsed.knob == knob) value = parsed.value;
  }
  return value;
}

Ids IdsOf(const ParseResult& result) {
  Ids ids;
  for (const ParseFinding& entry : result.findings) ids.emplace_back(entry.finding.rule_id);
  return ids;
}

TEST(LoongForgeModelFile, IsReadByItsNameAndByItsPath) {
  for (const char* words : {"--model-name qwen3-30b-a3b\n", "--model-name Qwen3-30B-A3B\n",
                            "--config-file /opt/LoongForge/configs/models/qwen3/qwen3_30b_a3b.yaml\n"}) {
    SCOPED_TRACE(words);
    const ParseResult result = Read(words);
    EXPECT_EQ(IdsOf(result), Ids());
    EXPECT_EQ(Last(result.knobs, Knob::num_layers), Value(48));
    EXPECT_EQ(Last(result.knobs, Knob::num_moe_experts), Value(128));
    EXPECT_EQ(Last(result.knobs, Knob::model_family).ToText(), "qwen");
  }
}

TEST(LoongForgeModelFile, WinsOverTheFlags) {
  const ParseResult result = Read("--model-name qwen3-30b-a3b --num-layers 12 --hidden-size 2048\n");
  EXPECT_EQ(Last(result.knobs, Knob::num_layers), Value(48));
  ASSERT_EQ(IdsOf(result), Ids{"lf.yaml-overrides-args"}) << "the hidden size is the same";
  EXPECT_EQ(result.findings[0].finding.seen, "num_layers=12");
}

TEST(LoongForgeModelFile, SaysWhichAdaptersAreTrained) {
  const std::string words = "--config-file /opt/LoongForge/configs/models/qwen3/qwen3_1_7b_lora.yaml\n";
  const ParseResult result = Read(words + "peft_config.dim=64\n");
  EXPECT_EQ(IdsOf(result), Ids());
  EXPECT_EQ(Last(result.knobs, Knob::peft_scheme), Value("lora"));
  EXPECT_EQ(Last(result.knobs, Knob::peft_dim), Value(64)) << "a word over the file of adapters";
  EXPECT_EQ(Last(result.knobs, Knob::peft_alpha), Value(32));
  EXPECT_EQ(Last(result.knobs, Knob::peft_target_modules).list().size(), 4u);
  EXPECT_TRUE(Last(Read("--model-name qwen3-30b-a3b\n").knobs, Knob::peft_scheme).is_none());
  EXPECT_EQ(Last(Read("--config-file configs/models/qwen2.5vl/qwen2_5_vl_3b_lora.yaml\n").knobs, Knob::peft_scheme),
            Value("vlm_lora"));
}

TEST(LoongForgeModelFile, NeedsTheVariablesThatItRefersTo) {
  const ParseResult result = Read("--model-name deepseek-v3\n", {});
  EXPECT_EQ(IdsOf(result), Ids{"lf.yaml-variable-set"});
  EXPECT_EQ(result.findings[0].finding.seen, "LOONGFORGE_PATH unset");
}

TEST(LoongForgeModelFile, OfTheCallersOwnIsNotKnown) {
  const ParseResult unknown = Read("--config-file /home/me/mine.yaml\nnum_layers=4\n");
  EXPECT_EQ(IdsOf(unknown), Ids()) << "what a file of the caller's own holds is not known";
  EXPECT_EQ(Last(unknown.knobs, Knob::num_layers), Value(4));
  const ParseResult misspelt = Read("--config-file /opt/LoongForge/configs/models/qwen3/qwen3_30b_a3.yaml\n");
  ASSERT_EQ(IdsOf(misspelt), Ids{"lf.config-file-exists"});
  EXPECT_EQ(misspelt.findings[0].finding.severity, Severity::kWarning) << "it may be the caller's own";
  EXPECT_NE(misspelt.findings[0].finding.needs.find("qwen3_30b_a3b.yaml"), std::string::npos);
}

TEST(LoongForgeOverrides, FollowHydrasRules) {
  struct Row {
    const char* word;
    Ids ids;
    Value layers;
  };
  const std::vector<Row> rows = {
      {"num_layers=4", {}, Value(4)},
      {"++num_layers=4", {}, Value(4)},
      {"+num_layers=4", {"lf.hydra-override"}, Value(48)},
      {"+num_layers=48", {"lf.override-redundant"}, Value(48)},
      {"num_layerz=4", {"lf.hydra-override"}, Value(48)},
      {"++num_layerz=4", {"lf.yaml-unknown-key", "lf.config-class"}, Value(48)},
      {"~num_layers", {}, Value()},
      {"~num_layerz", {"lf.hydra-override"}, Value(48)},
      {"~num_layers=48", {}, Value()},
      {"~num_layers=99", {"lf.hydra-override"}, Value(48)},
      {"num_layers='4", {"lf.hydra-override"}, Value(48)},
      {"--no-such-flag", {"lf.hydra-override"}, Value(48)},
      {"stray", {"lf.hydra-override"}, Value(48)},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.word);
    const ParseResult result = Read(absl::StrCat("--model-name qwen3-30b-a3b\n", row.word, "\n"));
    EXPECT_EQ(IdsOf(result), row.ids);
    EXPECT_EQ(Last(result.knobs, Knob::num_layers), row.layers);
  }
}

TEST(LoongForgeOverrides, HoldNumbersWhereNumbersAreComputedWith) {
  struct Row {
    const char* word;
    Ids ids;
    Knob knob;
    Value value;  // None: it is not known
  };
  const std::vector<Row> rows = {
      {"num_layers=None", {"lf.value-type"}, Knob::num_layers, Value()},
      {"num_layers='4'", {"lf.value-type"}, Knob::num_layers, Value()},
      {"num_layers=48.0", {"build.value-type"}, Knob::num_layers, Value(48)},
      {"num_attention_heads=None", {"lf.value-type"}, Knob::num_attention_heads, Value()},
      {"++num_query_groups=None", {"lf.value-type"}, Knob::num_query_groups, Value()},
      {"moe_ffn_hidden_size=None", {"build.value-type"}, Knob::moe_ffn_hidden_size, Value()},
      {"++expert_model_parallel_size=4.0", {"lf.value-type"}, Knob::expert_model_parallel_size, Value(4)},
      {"num_layers=${hidden_size}", {}, Knob::num_layers, Value(2048)},
      {"num_layers=${.hidden_size}", {}, Knob::num_layers, Value(2048)},
      {"num_layers=${gone}", {"lf.yaml-reference"}, Knob::num_layers, Value()},
      {"num_layers=${oc.env:LAYERS,4}", {}, Knob::num_layers, Value()},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.word);
    const ParseResult result = Read(absl::StrCat("--model-name qwen3-30b-a3b\n", row.word, "\n"));
    EXPECT_EQ(IdsOf(result), row.ids);
    EXPECT_EQ(Last(result.knobs, row.knob), row.value);
    EXPECT_EQ(result.unknown, row.value.is_none() ? std::vector<Knob>{row.knob} : std::vector<Knob>());
  }
}

TEST(LoongForgeOverrides, OfLatentAttentionNeedAClassForIt) {
  for (const char* word :
       {"++q_lora_rank=512", "++kv_lora_rank=512", "++qk_head_dim=128", "++v_head_dim=128", "++mscale=1.0",
        "++rotary_scaling_factor=40", "++multi_latent_attention=true", "--multi-latent-attention"}) {
    EXPECT_EQ(IdsOf(Read(absl::StrCat("--model-name qwen3-30b-a3b\n", word, "\n"))), Ids{"lf.config-class"}) << word;
  }
  EXPECT_EQ(IdsOf(Read("--model-name qwen3-30b-a3b\n++multi_latent_attention=false\n")), Ids());
  EXPECT_EQ(IdsOf(Read("--model-name deepseek-v3\n++q_lora_rank=512\n++mscale=1.0\n--multi-latent-attention\n")),
            Ids());
}

TEST(LoongForgeOverrides, OfLatentAttentionNeedEveryClassForIt) {
  const ParseResult kimi = Read("--model-name kimi-k2.6\n--multi-latent-attention\n");
  ASSERT_EQ(IdsOf(kimi), Ids{"lf.config-class"}) << "that which sees, too";
  EXPECT_NE(kimi.findings[0].finding.needs.find("MoonVisionModelConfig"), std::string::npos);
  EXPECT_EQ(IdsOf(Read("--model-name kimi-k2.6\n")), Ids()) << "its language model's file says it of itself alone";
}

// The model has no part in Hydra's own settings.
TEST(LoongForgeOverrides, OfHydraItselfAreTakenAsHydraTakesThem) {
  for (const char* word : {"hydra.run.dir=.", "++hydra.run.dir=.", "hydra.output_subdir=null", "++hydra.job.name=a",
                           "+hydra.job.env_set.A=1", "hydra/job_logging=none", "hydra.job_logging.root.level=ERROR"}) {
    EXPECT_EQ(IdsOf(Read(absl::StrCat("--model-name qwen3-30b-a3b\n", word, "\n"))), Ids()) << word;
  }
  for (const char* word : {"+hydra.run.dir=.", "hydra.foo=1", "~hydra.run.dir", "hydra=x", "+model=x", "++model=x"}) {
    const ParseResult result = Read(absl::StrCat("--model-name qwen3-30b-a3b\n", word, "\n"));
    ASSERT_EQ(IdsOf(result), Ids{"lf.hydra-override"}) << word;
    EXPECT_FALSE(absl::StrContains(result.findings[0].finding.needs, "write +")) << word;
  }
  EXPECT_EQ(IdsOf(Read("--model-name kimi-k2.6\n+model.foundation=x\n")), Ids{"lf.hydra-override"});
}

TEST(LoongForgeOverrides, NameTheNearestKey) {
  const ParseResult result = Read("--model-name qwen3-30b-a3b\nnum_layrs=9\n");
  ASSERT_EQ(IdsOf(result), Ids{"lf.hydra-override"});
  EXPECT_NE(result.findings[0].finding.needs.find("num_layers"), std::string::npos) << result.findings[0].finding.needs;
}

TEST(LoongForgeOverrides, AddWhatTheClassHas) {
  const ParseResult good = Read("--model-name qwen3-30b-a3b\n+moe_router_dtype=fp32\n");
  EXPECT_EQ(IdsOf(good), Ids());
  EXPECT_EQ(Last(good.knobs, Knob::moe_router_dtype), Value("fp32"));
}

TEST(LoongForgeOverrides, OfFieldsAreThoseThatTheClassesHave) {
  struct Row {
    const char* words;
    Ids ids;
  };
  const std::vector<Row> rows = {
      // Of Megatron-Core 0.15, of the fork's, of LoongForge's.
      {"qwen3-30b-a3b\n++moe_permute_fusion=true", {}},
      {"qwen3-30b-a3b\n++moe_flex_dispatcher_backend=hybridep", {}},
      {"qwen3-30b-a3b\n++fine_grained_activation_offloading=true\n++offload_modules=[moe_act]", {}},
      {"qwen3-30b-a3b\n++mtp_standalone=true\n++chunk_keys=null", {}},
      {"qwen3-30b-a3b\n++freeze=true", {}},
      // Of other classes, and arguments alone.
      {"qwen3-30b-a3b\n++lr=1e-4", {"lf.config-class"}},
      {"qwen3-30b-a3b\n++use_distributed_optimizer=true", {"lf.config-class"}},
      {"qwen3-30b-a3b\n++bucket_size=40000000", {"lf.config-class"}},
      {"qwen3-30b-a3b\n++norm_epsilon=1e-6", {"lf.config-class"}},
      {"qwen3-30b-a3b\n++fp8_param_gather=true", {"lf.config-class"}},
      {"qwen3-30b-a3b\n++padding_v_to_qk_dim=true", {"lf.config-class"}},
      {"deepseek-v3\n++padding_v_to_qk_dim=true", {}},
      // A map that a flat file's class has no field for.
      {"qwen3-30b-a3b\n++model.foundation.num_layers=4", {"lf.config-class"}},
      {"qwen3-30b-a3b\n++model.peft_config.dim=16", {"lf.config-class"}},
      {"kimi-k2.6\n++model.foundation.num_layers=4", {}},
      {"kimi-k2.6\n++model.image_encoder.lr=1", {"lf.config-class"}},
      // No class is built of these.
      {"wan2-2-i2v\n++lr=1e-4", {}},
      {"qwen3-30b-a3b\n_target_=mine.Config", {"lf.config-class"}},
  };
  for (const Row& row : rows)
    EXPECT_EQ(IdsOf(Read(absl::StrCat("--model-name ", row.words, "\n"))), row.ids) << row.words;
  const ParseResult bucket = Read("--model-name qwen3-30b-a3b\n++bucket_size=1\n");
  EXPECT_NE(bucket.findings[0].finding.needs.find("--ddp-bucket-size"), std::string::npos);
}

TEST(LoongForgeOverrides, OfAWholePartTakeItAway) {
  for (const char* word : {"model.foundation=null", "~model.foundation"}) {
    EXPECT_EQ(IdsOf(Read(absl::StrCat("--model-name kimi-k2.6\n", word, "\n"))), Ids{"lf.model-type-known"}) << word;
  }
  const Ids refused = {"lf.hydra-override"};
  EXPECT_EQ(IdsOf(Read("--config-file configs/models/qwen3/qwen3_1_7b_lora.yaml\n~num_experts\n")), refused)
      << "null is no key to Hydra";
}

TEST(LoongForgeFlags, OfAnEmptyListOfChoicesTakeNoValue) {
  EXPECT_EQ(IdsOf(Read("--model-name qwen3-30b-a3b\n--language-model-type qwen\n")), Ids{"mlm.argparse"});
}

TEST(LoongForgeOverrides, OfAnUnknownFileAreTakenAsTheyAre) {
  const ParseResult result =
      Read("--num-layers 4\n--bf16\n+model.foundation.num_layers=8\nmodel.image_encoder.num_layers=2\nnum_layrs=9\n");
  EXPECT_EQ(Last(result.knobs, Knob::num_layers), Value(8));
  EXPECT_EQ(IdsOf(result), (Ids{"input.not-judged", "lf.yaml-unknown-key", "lf.yaml-overrides-args"}));
}

TEST(LoongForgeModelFile, HasComponentsOfItsOwn) {
  const ParseResult result = Read("--model-name qwen3-vl-30b-a3b\nmodel.image_encoder.num_layers=20\n");
  EXPECT_EQ(IdsOf(result), Ids());
  EXPECT_EQ(Last(result.knobs, Knob::num_layers), Value(48));
  ASSERT_EQ(result.components.size(), 2U);
  EXPECT_EQ(result.components[0].name, "image_encoder");
  EXPECT_EQ(Last(result.components[0].knobs, Knob::num_layers), Value(20));
  EXPECT_EQ(result.components[1].name, "image_projector");
}

}  // namespace
}  // namespace flightplan
