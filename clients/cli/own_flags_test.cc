#include "clients/cli/own_flags.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace flightplan::cli {
namespace {

constexpr char kLaunch[] =
    "#!/bin/bash\n"
    "  # flightplan: --target vime@0.16 --gpu h100-sxm --gpus 64 --capability deepep --set vocab_size=1 --te 2.9 --env "
    "A=1\n"
    "# flightplan: --gpus 8\n";

TEST(OwnFlags, AreThoseOfTheFirstComment) {
  const std::optional<OwnFlags> own = FindOwnFlags(kLaunch);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->words.size(), 14u);
  EXPECT_EQ(absl::string_view(kLaunch)[own->begin], '#');
  EXPECT_EQ(absl::string_view(kLaunch)[own->end], '\n');
  EXPECT_FALSE(FindOwnFlags("python train.py # flightplan: --gpus 8\n").has_value());
  EXPECT_FALSE(FindOwnFlags(std::string(200, '\n') + kLaunch).has_value());
}

TEST(OwnFlags, HoldWhereTheCommandLineIsSilent) {
  StackOptions silent;
  silent.target.clear();
  const absl::StatusOr<StackOptions> own = WithOwnFlags(kLaunch, silent);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->target, "vime@0.16");
  EXPECT_EQ(own->gpu, "h100-sxm");
  EXPECT_EQ(own->gpus, 64);
  StackOptions said;
  said.target = "miles";
  said.gpus = 128;
  said.capabilities = {"none"};
  said.te = "2.10";
  said.pins = {"vocab_size=2"};
  said.env = {"A=2"};
  const absl::StatusOr<StackOptions> both = WithOwnFlags(kLaunch, said);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->target, "miles");
  EXPECT_EQ(both->gpu, "h100-sxm");
  EXPECT_EQ(both->gpus, 128);
  EXPECT_EQ(both->capabilities, std::vector<std::string>{"none"});
  EXPECT_EQ(both->te, "2.10");
  EXPECT_EQ(both->pins, (std::vector<std::string>{"vocab_size=1", "vocab_size=2"})) << "the last one holds";
  EXPECT_EQ(both->env, (std::vector<std::string>{"A=1", "A=2"}));
}

TEST(OwnFlags, ThatAreNoneAreNamed) {
  for (const char* flags : {"--gpuz 16", "--profile secret.json", "--gpus none"}) {
    const absl::Status status = WithOwnFlags(absl::StrCat("# flightplan: ", flags, "\n"), {}).status();
    EXPECT_TRUE(absl::StrContains(status.message(), "its comment # flightplan: ")) << status;
  }
}

}  // namespace
}  // namespace flightplan::cli
