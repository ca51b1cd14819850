// `flightplan evidence` on a store of its own.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/command.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

std::string Line(const char* id, const char* gpu) {
  return absl::StrCat(
      R"({"id":")", id, R"(","metric":"step_time_us","value":7e6,"model":"qwen3-30b-a3b","gpu":")", gpu,
      R"(","gpu_count":16,"quality":"matched","workload":{"seq_length":4096,"global_batch_size":1024},)",
      R"("layout":{"expert_model_parallel_size":16},"target":{"framework":"megatron-lm"},)",
      R"("software":{"te_version":"2.15.0","torch_version":"2.11.0"}})", "\n");
}

class EvidenceCommandTest : public testing::Test {
 protected:
  // What is printed, errors first.
  std::string Ask(std::vector<std::string> args, int exit = kExitOk) const {
    args.insert(args.begin(), "evidence");
    args.push_back(absl::StrCat("--evidence-store=sqlite:", folder_.File("e.db")));
    Context context;
    EXPECT_EQ(RunCommandLine(args, context), exit) << context.err;
    return context.err + context.out;
  }
  void Import(const std::string& lines) const {
    std::ofstream(folder_.File("e.jsonl")) << lines;
    Ask({"import", folder_.File("e.jsonl")});
  }
  std::vector<std::string> Listed(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), "list");
    const std::string table = Ask(std::move(more));
    std::vector<std::string> ids;
    for (const char* id : {"run-a", "run-b", "run-c"}) {
      if (absl::StrContains(table, id)) ids.emplace_back(id);
    }
    return ids;
  }

  const TemporaryFolder folder_;
};

TEST_F(EvidenceCommandTest, ErasesWhatIsAskedForAlone) {
  Import(absl::StrCat(Line("run-a", "h100-sxm"), Line("run-b", "h100-sxm"), Line("run-c", "b200-sxm")));
  EXPECT_EQ(Ask({"prune", "--id", "run-a"}), "1 taken out\n");
  EXPECT_EQ(Ask({"prune", "--id", "run-b", "--erase"}), "1 taken out\n1 erased\n");
  EXPECT_EQ(Listed(), std::vector<std::string>{"run-c"});
  EXPECT_EQ(Ask({"prune", "--erase"}), "1 erased\n") << "what was taken out before was there yet";
}

TEST_F(EvidenceCommandTest, FindsAGpuAndAModelByEveryName) {
  Import(absl::StrCat(Line("run-a", "h100"), Line("run-b", "b200-sxm")));
  for (const char* gpu : {"h100", "h100-sxm"}) {
    EXPECT_EQ(Listed({"--gpu", gpu, "--model", "Qwen/Qwen3-30B-A3B"}), std::vector<std::string>{"run-a"}) << gpu;
  }
  EXPECT_TRUE(absl::StrContains(Ask({"list", "--gpu", "h1000"}, kExitMisuse), "nearest known: h100"));
  EXPECT_TRUE(absl::StrContains(Ask({"prune", "--model", "qwen3-30b"}, kExitMisuse), "nearest known: qwen3"));
  EXPECT_EQ(Ask({"prune", "--gpu", "h100"}), "1 taken out\n");
}

TEST_F(EvidenceCommandTest, PassesOverNoFlag) {
  Import(Line("run-a", "h100"));
  EXPECT_TRUE(absl::StrContains(Ask({"list", "--id", "run-a"}, kExitMisuse), "list takes no --id"));
  EXPECT_TRUE(absl::StrContains(Ask({"export", "--erase"}, kExitMisuse), "export takes no --erase"));
  EXPECT_TRUE(absl::StrContains(Ask({"import", "x", "--gpu", "h100"}, kExitMisuse), "import takes no --gpu"));
}

}  // namespace
}  // namespace flightplan::cli
