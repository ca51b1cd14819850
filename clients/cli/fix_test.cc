// flightplan fix, of a launch that has no fault.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "clients/cli/command.h"

namespace flightplan::cli {
namespace {

constexpr char kLaunch[] =
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 "
    "--micro-batch-size 1 --global-batch-size 128 --bf16 --vocab-size 32000 --lr 1e-4 --train-iters 10 --mock-data "
    "--tokenizer-type NullTokenizer";

TEST(Fix, SaysInJsonThatALaunchWithoutAFaultIsAccepted) {
  std::vector<std::string> args = {"fix", "--format", "json", "--gpus", "8", "--"};
  for (const absl::string_view word : absl::StrSplit(kLaunch, ' ')) args.emplace_back(word);
  Context context;
  ASSERT_EQ(RunCommandLine(args, context), kExitOk) << context.out << context.err;
  for (const char* says : {"\"accepted_by_stack\": true", "\"will_run\": true", "\"steps\": []", "\"--num-layers\""}) {
    EXPECT_TRUE(absl::StrContains(context.out, says)) << says << "\n" << context.out;
  }
}

}  // namespace
}  // namespace flightplan::cli
