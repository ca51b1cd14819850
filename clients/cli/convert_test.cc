// flightplan convert, of files as people have them.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "clients/cli/command.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

TEST(Convert, FindsNothingInAnEmptyLaunch) {
  const TemporaryFolder folder;
  for (const char* text : {"", " \n"}) {
    std::ofstream(folder.File("empty")) << text;
    for (const std::vector<std::string>& launch :
         {std::vector<std::string>{folder.File("empty")}, std::vector<std::string>{"--"}}) {
      std::vector<std::string> args = {"convert", "--to", "megatron-bridge"};
      args.insert(args.end(), launch.begin(), launch.end());
      Context context;
      EXPECT_EQ(RunCommandLine(args, context), kExitMisuse) << context.out;
      EXPECT_TRUE(absl::StrContains(context.err, "nothing to convert")) << context.err;
      EXPECT_EQ(context.out, "");
    }
  }
}

}  // namespace
}  // namespace flightplan::cli
