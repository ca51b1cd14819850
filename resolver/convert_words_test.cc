// What a converted launch keeps of the words in which no rule looks, and what it says of those that it drops.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::FileOf;
using testing::TestResolver;
using testing::WordsOf;

constexpr absl::string_view kModel =
    "--num-layers 32 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 1 --global-batch-size 64 --train-iters 100 --lr 1e-4 --bf16 --vocab-size 32000";

v1::ConvertConfigResponse Converted(v1::ValidateConfigRequest source, const char* target) {
  v1::ConvertConfigRequest request;
  *request.mutable_source() = std::move(source);
  request.mutable_target()->set_framework(target);
  v1::ConvertConfigResponse answer;
  const absl::Status status = TestResolver().ConvertConfig(request, &answer);
  EXPECT_TRUE(status.ok()) << status;
  return answer;
}

v1::ConvertConfigResponse ScriptTo(const char* target, absl::string_view words, absl::string_view head = "") {
  return Converted(FileOf("megatron-lm", "pretrain.sh",
                          absl::StrCat(head, "torchrun --nproc-per-node 8 pretrain_gpt.py ", kModel, " ", words, "\n")),
                   target);
}

bool Writes(const v1::ConvertConfigResponse& answer, absl::string_view word) {
  const auto& argv = answer.launch().argv();
  return std::any_of(argv.begin(), argv.end(), [word](const std::string& arg) { return arg == word; });
}

std::set<std::string> Dropped(const v1::ConvertConfigResponse& answer) {
  std::set<std::string> names;
  for (const v1::ConvertedKnob& knob : answer.dropped()) names.insert(knob.source_spelling());
  return names;
}

// An array of the script may hold any flags, the model's among them.
TEST(ConvertWords, KeepsTheArraysThatNobodyCanRead) {
  constexpr absl::string_view kWords = "--log-interval 1 ${MODEL_ARGS[@]} --data-path ${DATA[@]}";
  for (const char* target : {"megatron-lm", "slime"}) {
    const v1::ConvertConfigResponse answer = ScriptTo(target, kWords);
    EXPECT_TRUE(Writes(answer, "${MODEL_ARGS[@]}")) << target;
    EXPECT_EQ(std::count(answer.launch().argv().begin(), answer.launch().argv().end(), "--log-interval"), 1) << target;
    EXPECT_FALSE(Dropped(answer).contains("--log-interval")) << target;
  }
  // One that stands before what the target asks for.
  const v1::ConvertConfigResponse slime = Converted(
      FileOf(
          "slime", "run.sh",
          absl::StrCat(
              "python3 train.py ${MODEL_ARGS[@]} --hf-checkpoint /m --actor-num-nodes 1 --actor-num-gpus-per-node 8 ",
              kModel, "\n")),
      "slime");
  EXPECT_TRUE(absl::StrContains(slime.launch().text(), "\"${MODEL_ARGS[@]}\"")) << slime.launch().text();
  for (const v1::ConvertedKnob& knob : slime.dropped()) EXPECT_NE(knob.name(), "launch.num_gpus") << "its words say it";
  const std::set<std::string> dropped = Dropped(ScriptTo("megatron-bridge", kWords));
  EXPECT_TRUE(dropped.contains("${MODEL_ARGS[@]}"));
  EXPECT_FALSE(dropped.contains("--log-interval"));
}

// "--nnodes ${WORLD_SIZE:-1}" runs on as many nodes as the job has.
TEST(ConvertWords, ASizeThatIsAssumedStaysSo) {
  const v1::ConvertConfigResponse answer =
      Converted(FileOf("megatron-lm", "pretrain.sh",
                       absl::StrCat("torchrun --nnodes ${WORLD_SIZE:-1} --nproc-per-node 8 pretrain_gpt.py ", kModel,
                                    " --pipeline-model-parallel-size 16\n")),
                "megatron-lm");
  const v1::Finding* const size = testing::FindFinding(answer.target_findings(), "mlm.world-divisible");
  ASSERT_NE(size, nullptr);
  EXPECT_EQ(size->severity(), v1::SEVERITY_WARNING);
  EXPECT_TRUE(std::any_of(answer.launch().required_inputs().begin(), answer.launch().required_inputs().end(),
                          [](const v1::RequiredInput& input) { return input.name() == "nodes"; }));
}

TEST(ConvertWords, KeepsDataTokenizerAndLogs) {
  const v1::ConvertConfigResponse answer = ScriptTo(
      "megatron-bridge",
      "--data-path 0.5 /data/a 0.5 /data/b --split 99,1,0 --data-cache-path /cache --num-workers 4 "
      "--no-create-attention-mask-in-dataloader --tokenizer-type HuggingFaceTokenizer --tokenizer-model org/model "
      "--log-interval 1 --log-throughput --tensorboard-dir /tb --wandb-project p --wandb-exp-name e --wandb-save-dir "
      "/w "
      "--no-mmap-bin-files --eval-interval 100 --eval-iters 10");
  for (const absl::string_view word :
       {"dataset.data_path='0.5 /data/a 0.5 /data/b'", "dataset.split='99,1,0'", "dataset.path_to_cache=/cache",
        "dataset.num_workers=4", "dataset.skip_getting_attention_mask_from_dataset=true",
        "dataset.mmap_bin_files=false", "tokenizer.tokenizer_type=HuggingFaceTokenizer",
        "tokenizer.tokenizer_model=org/model", "logger.log_interval=1", "logger.log_throughput=true",
        "logger.tensorboard_dir=/tb", "logger.wandb_save_dir=/w", "validation.eval_interval=100",
        "validation.eval_iters=10"}) {
    EXPECT_TRUE(Writes(answer, word)) << word << " in " << answer.launch().text();
  }
  EXPECT_FALSE(absl::StrContains(answer.launch().text(), "train.eval_")) << answer.launch().text();
  EXPECT_FALSE(absl::StrContains(answer.launch().text(), "dist.local_rank")) << answer.launch().text();
  EXPECT_EQ(Dropped(answer), std::set<std::string>{"--max-position-embeddings"});
}

TEST(ConvertWords, CountsTheStagesOfLayersOnAStage) {
  const absl::string_view pipeline = "--mock-data --tokenizer-type NullTokenizer --pipeline-model-parallel-size 4 ";
  const v1::ConvertConfigResponse answer =
      ScriptTo("megatron-bridge", absl::StrCat(pipeline, "--num-layers-per-virtual-pipeline-stage 4"));
  EXPECT_TRUE(Writes(answer, "model.virtual_pipeline_model_parallel_size=2")) << answer.launch().text();
  const auto errors = std::count_if(answer.target_findings().begin(), answer.target_findings().end(),
                                    [](const v1::Finding& f) { return f.severity() == v1::SEVERITY_ERROR; });
  EXPECT_EQ(errors, 0) << answer.ShortDebugString();
}

// Megatron-LM derives the virtual stages from the layout before anything asks for them.
TEST(ConvertWords, WritesTheVirtualStagesOfALayout) {
  const v1::ConvertConfigResponse answer =
      ScriptTo("megatron-bridge",
               "--mock-data --tokenizer-type NullTokenizer --num-experts 8 --pipeline-model-parallel-size 2 "
               "--expert-model-parallel-size 4 --overlap-moe-expert-parallel-comm --moe-token-dispatcher-type alltoall "
               "--pipeline-model-parallel-layout 'Ettttttt|tttttttt|tttttttt|tttttttttL'");
  EXPECT_TRUE(Writes(answer, "model.virtual_pipeline_model_parallel_size=2")) << answer.launch().text();
}

// The shell has to work them out, in the new launch as in the old one.
TEST(ConvertWords, KeepsPathsInVariables) {
  const v1::ConvertConfigResponse answer =
      ScriptTo("megatron-bridge", "--data-path $DATA --save \"$1\" --save-interval 5 --tokenizer-type NullTokenizer");
  const std::string& text = answer.launch().text();
  EXPECT_TRUE(absl::StrContains(text, "\"dataset.data_path=${DATA:?as in the script that was converted}\"")) << text;
  EXPECT_TRUE(absl::StrContains(text, "\"checkpoint.save=$1\"")) << text;
}

TEST(ConvertWords, ThereAndBack) {
  const v1::ConvertConfigResponse answer =
      Converted(WordsOf("megatron-bridge",
                        "model.num_layers=4 model.hidden_size=1024 model.num_attention_heads=16 logger.log_interval=7 "
                        "dataset.path_to_cache=/cache dataset.skip_getting_attention_mask_from_dataset=true "
                        "validation.eval_iters=3 logger.mlflow_tracking_uri=http://x dataset.own_field=1"),
                "megatron-lm");
  const std::string& text = answer.launch().text();
  for (const absl::string_view words :
       {"--log-interval 7", "--data-cache-path /cache", "--no-create-attention-mask-in-dataloader", "--eval-iters 3"}) {
    EXPECT_TRUE(absl::StrContains(text, words)) << words << " in " << text;
  }
  const std::set<std::string> dropped = Dropped(answer);
  EXPECT_EQ(dropped.count("logger.mlflow_tracking_uri"), 1U);
  EXPECT_EQ(dropped.count("dataset.own_field"), 1U);
  EXPECT_EQ(dropped.count("validation.eval_iters"), 0U);
}

TEST(ConvertWords, AnotherReleaseOfTheStackTakesThemAsTheyAre) {
  v1::ConvertConfigRequest request;
  *request.mutable_source() =
      FileOf("megatron-bridge", "train.sh",
             "torchrun --nproc-per-node 8 scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config "
             "logger.log_interval=7 logger.own_field=1 checkpoint.save=$OUT validation.eval_micro_batch_size=1\n");
  request.mutable_target()->set_framework("megatron-bridge");
  v1::ConvertConfigResponse answer;
  ASSERT_TRUE(TestResolver().ConvertConfig(request, &answer).ok());
  const std::string& text = answer.launch().text();
  for (const absl::string_view word : {"logger.log_interval=7", "logger.own_field=1", "\"checkpoint.save=$OUT\"",
                                       "validation.eval_micro_batch_size=1"}) {
    EXPECT_TRUE(absl::StrContains(text, word)) << word << " in " << text;
  }
  EXPECT_EQ(answer.dropped_size(), 0) << answer.ShortDebugString();
}

// Megatron-LM passes over the number of groups unless it is told to use them.
TEST(ConvertWords, GroupsThatTheSourcePassesOverAreNotWritten) {
  constexpr absl::string_view kMore = "--mock-data --tokenizer-type NullTokenizer --num-query-groups 8 ";
  for (const char* target : {"megatron-lm", "megatron-bridge"}) {
    const v1::ConvertConfigResponse answer = ScriptTo(target, kMore);
    EXPECT_FALSE(absl::StrContains(answer.launch().text(), "query")) << answer.launch().text();
    EXPECT_TRUE(
        absl::StrContains(ScriptTo(target, absl::StrCat(kMore, "--group-query-attention")).launch().text(),
                          target == std::string("megatron-lm") ? "--num-query-groups 8" : "num_query_groups=8"));
  }
}

// What other programs set themselves, or have under a name of their own.
TEST(ConvertWords, ALaunchOfMegatronLmSaysWhatItsSourceDoes) {
  v1::ValidateConfigRequest source =
      WordsOf("megatron-bridge",
              "model.num_layers=4 model.hidden_size=1024 model.num_attention_heads=16 model.seq_length=1024 "
              "model.vocab_size=32000 model.tensor_model_parallel_size=2 model.bf16=true ddp.grad_reduce_in_fp32=false "
              "train.micro_batch_size=1 train.global_batch_size=8 train.train_iters=10");
  source.mutable_hardware()->set_gpu("h100-sxm");
  source.mutable_hardware()->set_gpu_count(8);
  const v1::ConvertConfigResponse bridge = Converted(source, "megatron-lm");
  EXPECT_TRUE(absl::StrContains(bridge.launch().text(), "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"));
  EXPECT_TRUE(Writes(bridge, "--grad-reduce-in-bf16")) << bridge.launch().text();
  const v1::ConvertConfigResponse slime =
      Converted(FileOf("slime", "run.sh",
                       absl::StrCat("python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 ", kModel,
                                    " --use-wandb --wandb-project p --wandb-group g\n")),
                "megatron-lm");
  EXPECT_TRUE(absl::StrContains(slime.launch().text(), "--wandb-exp-name g")) << slime.launch().text();
  const v1::ConvertConfigResponse loongforge =
      Converted(FileOf("loongforge", "run.sh",
                       absl::StrCat("torchrun --nproc-per-node 8 loongforge/train.py ", kModel,
                                    " --tokenizer-type HFTokenizer --hf-tokenizer-path $TOKENIZER\n")),
                "megatron-lm");
  EXPECT_TRUE(absl::StrContains(loongforge.launch().text(), "--tokenizer-model \"${TOKENIZER:?"))
      << loongforge.launch().text();
}

// LoongForge's Megatron-Core is 0.15, where a graph has one scope.
TEST(ConvertWords, ModulesOfGraphsBecomeTheScopeThatHoldsThem) {
  const auto lost = [](const v1::ConvertConfigResponse& answer) {
    std::string all;
    for (const v1::ConvertedKnob& knob : answer.dropped()) {
      if (!absl::StrContains(knob.source_spelling(), "--cuda-graph-")) continue;
      absl::StrAppend(&all, knob.source_spelling(), "=", knob.value().string_value());
      for (const v1::KnobValue& name : knob.value().list_value().values())
        absl::StrAppend(&all, name.string_value(), ",");
    }
    return all;
  };
  const auto refused = [](const v1::ConvertConfigResponse& answer) {
    return std::any_of(answer.target_findings().begin(), answer.target_findings().end(),
                       [](const v1::Finding& finding) { return finding.rule_id() == "mlm.argparse"; });
  };
  const absl::string_view te = "--cuda-graph-impl transformer_engine --cuda-graph-modules ";
  const v1::ConvertConfigResponse attention =
      ScriptTo("loongforge", absl::StrCat(te, "attn moe_router moe_preprocess"));
  EXPECT_TRUE(absl::StrContains(attention.launch().text(), "--cuda-graph-scope attn ")) << attention.launch().text();
  EXPECT_EQ(lost(attention), "--cuda-graph-modules=moe_router,moe_preprocess,");
  EXPECT_FALSE(refused(attention));
  const v1::ConvertConfigResponse router = ScriptTo("loongforge", absl::StrCat(te, "moe_router"));
  EXPECT_FALSE(absl::StrContains(router.launch().text(), "--cuda-graph")) << router.launch().text();
  EXPECT_EQ(lost(router), "--cuda-graph-impl=transformer_engine--cuda-graph-modules=moe_router,");
  const v1::ConvertConfigResponse iteration = ScriptTo("loongforge", "--cuda-graph-impl full_iteration");
  EXPECT_TRUE(absl::StrContains(iteration.launch().text(), "--cuda-graph-impl local "));
  EXPECT_TRUE(absl::StrContains(iteration.launch().text(), "--cuda-graph-scope full_iteration "));
  EXPECT_FALSE(refused(iteration));
}

// A pattern has had another name and more in it since 0.17, and is built by another program than GPT's.
TEST(ConvertWords, AHybridPatternHasTheNameOfItsRelease) {
  const auto to = [](const char* from, const char* version, absl::string_view words) {
    v1::ConvertConfigRequest request;
    *request.mutable_source() =
        FileOf("megatron-lm", "pretrain.sh",
               absl::StrCat("torchrun --nproc-per-node 8 pretrain_hybrid.py ", kModel,
                            " --num-experts 8 --mock-data --tokenizer-type NullTokenizer "
                            "--spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec ",
                            words, "\n"));
    request.mutable_source()->mutable_target()->set_version(from);
    request.mutable_target()->set_framework("megatron-lm");
    request.mutable_target()->set_version(version);
    v1::ConvertConfigResponse answer;
    EXPECT_TRUE(TestResolver().ConvertConfig(request, &answer).ok());
    return answer;
  };
  const v1::ConvertConfigResponse older = to("main", "0.16", "--hybrid-layer-pattern MEM*-E");
  const std::string& text = older.launch().text();
  EXPECT_TRUE(absl::StrContains(text, "pretrain_mamba.py") && absl::StrContains(text, "--is-hybrid-model")) << text;
  EXPECT_TRUE(absl::StrContains(text, "--hybrid-override-pattern 'MEM*-E'")) << text;
  EXPECT_TRUE(absl::StrContains(text, "--num-layers 6")) << text;
  EXPECT_TRUE(absl::StrContains(text, "--spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec")) << text;
  EXPECT_EQ(Dropped(older).count("--hybrid-layer-pattern"), 0U);
  const v1::ConvertConfigResponse newer = to("0.16", "main", "--hybrid-override-pattern MEM*-E");
  EXPECT_TRUE(absl::StrContains(newer.launch().text(), "--hybrid-layer-pattern 'MEM*-E'")) << newer.launch().text();
  for (const absl::string_view of_today : {"'MEM|*-E'", "MEM*-E/M", "MEMDE"}) {
    const v1::ConvertConfigResponse lost = to("main", "0.16", absl::StrCat("--hybrid-layer-pattern ", of_today));
    EXPECT_FALSE(absl::StrContains(lost.launch().text(), "-pattern")) << lost.launch().text();
    EXPECT_EQ(Dropped(lost).count("--hybrid-layer-pattern"), 1U) << of_today;
  }
}

// Recipes of Bridge set a switch to 100, and save at an interval into a folder that the launch names.
TEST(ConvertWords, ARecipesValuesAreThoseOfAnotherParser) {
  const std::string recipe =
      "torchrun --nproc-per-node 8 scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config "
      "model.expert_model_parallel_size=8 train.manual_gc_eval=100 checkpoint.save_interval=500\n";
  const v1::ConvertConfigResponse swift = Converted(FileOf("megatron-bridge", "pretrain.sh", recipe), "ms-swift");
  EXPECT_FALSE(absl::StrContains(swift.launch().text(), "manual_gc_eval 100")) << swift.launch().text();
  EXPECT_EQ(Dropped(swift).count("train.manual_gc_eval"), 0U);  // on is its default
  const v1::ConvertConfigResponse slime = Converted(FileOf("megatron-bridge", "pretrain.sh", recipe), "slime");
  EXPECT_TRUE(absl::StrContains(slime.launch().text(), "--save \"${SAVE:?")) << slime.launch().text();
  for (const v1::Finding& finding : slime.target_findings()) EXPECT_NE(finding.rule_id(), "slime.goes-with");
}

TEST(ConvertWords, KeepsTheLinesOfTheJob) {
  const absl::string_view job = "#!/bin/bash\n#SBATCH --nodes=1\n# a remark\n#SBATCH --account=me\n";
  const absl::string_view words = "--mock-data --tokenizer-type NullTokenizer --eval-interval 5 --eval-iters 1";
  for (const char* target : {"slime", "megatron-bridge", "loongforge"}) {
    const v1::ConvertConfigResponse answer = ScriptTo(target, words, job);
    EXPECT_TRUE(absl::StartsWith(answer.launch().text(), "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --account=me\n"))
        << answer.launch().text();
  }
  // What slime evaluates are answers to prompts.
  const v1::ConvertConfigResponse slime = ScriptTo("slime", words, job);
  EXPECT_FALSE(absl::StrContains(slime.launch().text(), "--eval-interval")) << slime.launch().text();
  EXPECT_EQ(Dropped(slime).count("--eval-interval"), 1U);
}

}  // namespace
}  // namespace flightplan
