#include "clients/cli/flags.h"

#include <gtest/gtest.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/request.h"

namespace flightplan::cli {
namespace {

struct Parsed {
  ResolveOptions options;
  absl::StatusOr<ParsedArguments> result;
};

Parsed ParseResolve(const std::vector<std::string>& args) {
  Parsed parsed;
  CommandLine command;
  command.max_positional = 1;
  command.takes_rest = true;
  command.groups = ResolveFlags(&parsed.options);
  parsed.result = ParseArguments(command, args);
  return parsed;
}

TEST(Flags, TakesBothSpellingsAndTheLastWord) {
  const Parsed parsed = ParseResolve({"--gpu", "h100", "--gpus=16", "--tp", "2", "--tp=4", "--capability",
                                      "deepep,hybridep", "--capability", "paged_stash", "--env", "A=b=c"});
  ASSERT_TRUE(parsed.result.ok()) << parsed.result.status();
  EXPECT_EQ(parsed.options.stack.gpu, "h100");
  EXPECT_EQ(parsed.options.stack.gpus, 16);
  EXPECT_EQ(parsed.options.tp, 4);
  EXPECT_EQ(parsed.options.stack.capabilities, (std::vector<std::string>{"deepep", "hybridep", "paged_stash"}));
  EXPECT_EQ(parsed.options.stack.env, (std::vector<std::string>{"A=b=c"}));
}

TEST(Flags, LeavesWhatFollowsTheDashesAlone) {
  const Parsed parsed = ParseResolve({"-", "--", "--gpus", "x", "--help"});
  ASSERT_TRUE(parsed.result.ok()) << parsed.result.status();
  EXPECT_EQ(parsed.result->positional, (std::vector<std::string>{"-"}));
  EXPECT_EQ(parsed.result->rest, (std::vector<std::string>{"--gpus", "x", "--help"}));
  EXPECT_FALSE(parsed.result->help);
}

struct Wrong {
  std::vector<std::string> args;
  const char* says;
};

TEST(Flags, SayWhatWouldBeRight) {
  const Wrong rows[] = {
      {{"--gpsu", "8"}, "unknown flag --gpsu; did you mean --gpu"},
      {{"--zzzzzzzzzzzz"}, "unknown flag --zzzzzzzzzzzz"},
      {{"--gpus"}, "--gpus wants N"},
      {{"--gpus", "many"}, "--gpus wants an integer of at least 1, not 'many'"},
      {{"--tp", "0"}, "--tp wants an integer of at least 1, not '0'"},
      {{"--tp", "99999999999999999999"}, "--tp wants an integer"},
      {{"--seq", "128k"}, "--seq wants an integer of at least 1, not '128k'; did you mean 131072?"},
      {{"--gbs", "4k"}, "--gbs wants an integer of at least 1, not '4k'; did you mean 4096?"},
      {{"--gpus", "1,024"}, "--gpus wants an integer of at least 1, not '1,024'; did you mean 1024?"},
      {{"--stage", "finetune"}, "production, not 'finetune'; did you mean --set sft=true?"},
      {{"--stage", "LoRA"}, "did you mean --target megatron-bridge --set peft.scheme=lora?"},
      {{"--stage", "prod"}, "--stage wants one of bring-up, tune, production, not 'prod'"},
      {{"--profile-host", "1.5"}, "--profile-host wants a number of 0 to 1, not '1.5'"},
      {{"--profile-host", "nan"}, "--profile-host wants a number"},
      {{"--profile-memory-gib", "1e300"}, "--profile-memory-gib wants a number of 0 to 931323"},
      {{"--set", "moe_token_dispatcher_type"}, "--set wants KNOB=VALUE"},
      {{"--unset", "a=b"}, "--unset wants a knob's name alone"},
      {{"a", "b"}, "unexpected argument 'b'"},
      {{"--gpu", ""}, "--gpu is empty, as with a shell variable that is not set; it wants NAME"},
      {{"--profile="}, "--profile is empty"},
      {{"--capability", ""}, "--capability is empty"},
      {{""}, "an argument is empty"},
  };
  for (const Wrong& row : rows) {
    const Parsed parsed = ParseResolve(row.args);
    ASSERT_FALSE(parsed.result.ok()) << row.says;
    EXPECT_EQ(parsed.result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(parsed.result.status().message()).find(row.says), std::string::npos)
        << parsed.result.status();
  }
}

TEST(Help, FitsAScreen) {
  for (const Command& command : Commands()) {
    if (command.name == "serve") continue;  // the server's own text
    Context context;
    EXPECT_EQ(RunCommandLine(std::vector<std::string>{"help", std::string(command.name)}, context), kExitOk);
    EXPECT_LE(std::count(context.out.begin(), context.out.end(), '\n'), 50) << command.name;
    EXPECT_TRUE(context.err.empty()) << context.err;
  }
}

}  // namespace
}  // namespace flightplan::cli
