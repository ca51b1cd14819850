// flightplan observe, of files as people have them.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "clients/cli/command.h"
#include "flightplan/v1/evidence.pb.h"
#include "google/protobuf/util/json_util.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

constexpr absl::string_view kLaunch =
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 "
    "--ffn-hidden-size 4096 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 "
    "--global-batch-size 64 --bf16 --vocab-size 32000 --tokenizer-type NullTokenizer --mock-data --train-iters 100 "
    "--lr 1e-4\n";

class ObserveTest : public testing::Test {
 protected:
  ObserveTest() {
    std::ofstream(folder_.File("run.sh")) << kLaunch;
    std::ofstream log(folder_.File("run.log"));
    for (int i = 1; i <= 20; ++i) {
      log << absl::StrFormat(
          " iteration %d/ 100 | consumed samples: %d | elapsed time per iteration (ms): %d.0 | global batch size: 64 | "
          "lm loss: 2.0E+00 | number of skipped iterations: 0 | number of nan iterations: 0 |\n",
          i, i * 64, i == 1 ? 9000 : 500);
    }
  }

  int Run(const std::vector<std::string>& more) {
    std::vector<std::string> args = {"observe", folder_.File("run.log")};
    args.insert(args.end(), more.begin(), more.end());
    context_ = {};
    return RunCommandLine(args, context_);
  }

  std::vector<std::string> Report(const std::string& model, const std::string& gpu) {
    return {"--launch", folder_.File("run.sh"), "--gpu", gpu, "--gpus", "8", "--report", "--model", model};
  }

  const TemporaryFolder folder_;
  Context context_;
};

TEST_F(ObserveTest, AReportIsAllOfStandardOutput) {
  ASSERT_EQ(Run(Report("qwen3-30b-a3b", "h100-sxm")), kExitOk) << context_.err;
  const std::vector<std::string> lines = absl::StrSplit(context_.out, '\n', absl::SkipEmpty());
  ASSERT_FALSE(lines.empty());
  for (const std::string& line : lines) {
    v1::Measurement measurement;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &measurement).ok()) << line;
  }
  EXPECT_TRUE(absl::StrContains(context_.err, "iteration 20 of 100")) << context_.err;
}

TEST_F(ObserveTest, ReportsNothingThatEveryStoreRefuses) {
  for (const auto& [model, gpu] : {std::pair("nosuch", "h100-sxm"), std::pair("qwen3-30b-a3b", "b200-hgx")}) {
    EXPECT_EQ(Run(Report(model, gpu)), kExitMisuse) << context_.err;
    EXPECT_EQ(context_.out, "") << model << " " << gpu;
  }
}

TEST_F(ObserveTest, SaysWhichLaunchOfAScriptIsCompared) {
  std::ofstream(folder_.File("two.sh")) << kLaunch
                                        << absl::StrReplaceAll(kLaunch, {{"--num-layers 4", "--num-layers 8"}});
  ASSERT_EQ(Run({"--launch", folder_.File("two.sh"), "--gpu", "h100-sxm", "--gpus", "8"}), kExitOk) << context_.err;
  EXPECT_TRUE(absl::StrContains(context_.err, "one launch is compared: ")) << context_.err;
  ASSERT_EQ(Run({"--launch", folder_.File("run.sh"), "--gpu", "h100-sxm", "--gpus", "8"}), kExitOk) << context_.err;
  EXPECT_EQ(context_.err, "");
}

TEST_F(ObserveTest, LeavesOutOfItsJsonWhatIsNotKnown) {
  ASSERT_EQ(Run({"--format", "json"}), kExitOk) << context_.err;
  EXPECT_FALSE(absl::StrContains(context_.out, "\"gpu_count\"")) << context_.out;
  EXPECT_FALSE(absl::StrContains(context_.out, "\"seq_length\"")) << context_.out;
  EXPECT_TRUE(absl::StrContains(context_.out, "\"global_batch_size\": 64")) << context_.out;
}

}  // namespace
}  // namespace flightplan::cli
