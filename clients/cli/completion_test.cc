#include "clients/cli/completion.h"

#include <gtest/gtest.h>

#include <set>

#include "clients/cli/command.h"
#include "clients/cli/name_lists.h"

namespace flightplan::cli {
namespace {

TEST(CommandPages, AreTheTablesBehindTheHelp) {
  const std::vector<CommandPage> pages = CommandPages();
  ASSERT_EQ(pages.size(), Commands().size());
  for (size_t i = 0; i < pages.size(); ++i) {
    const CommandLine& table = pages[i].table;
    EXPECT_EQ(table.name, Commands()[i].name);
    EXPECT_FALSE(table.usage.empty() || table.summary.empty() || table.example.empty()) << table.name;
    if (table.name == "serve" || table.name == "help") continue;  // with a help text of their own
    Context context;
    Commands()[i].run(std::vector<std::string>{"--help"}, context);
    EXPECT_EQ(context.out, HelpText(table, context.terminal));
  }
}

TEST(CommandPages, LeaveNothingBehindThatPointsIntoACommand) {
  for (const CommandPage& page : CommandPages()) {
    for (const FlagGroup& group : page.table.groups) {
      for (const Flag& flag : group.flags) EXPECT_EQ(flag.set.take, nullptr) << page.table.name << " " << flag.name;
    }
  }
}

// A shell splits them at blanks, and bash expands what it completes.
TEST(Words, AreSafeInAScript) {
  const auto safe = [](const std::string& word) {
    return word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@=:/+-") ==
           std::string::npos;
  };
  const auto backend = MakeBackend({}, {});
  ASSERT_TRUE(backend.ok());
  std::set<std::string> lists;
  for (const absl::string_view list : NameLists()) {
    lists.emplace(list);
    const auto names = NamesOf(list, **backend);
    ASSERT_TRUE(names.ok()) << names.status();
    EXPECT_GT(names->size(), 5U) << list;
    for (const std::string& name : *names) EXPECT_TRUE(safe(name)) << list << ": " << name;
  }
  for (const CommandPage& page : CommandPages()) {
    std::vector<Values> all = {page.table.positional};
    for (const FlagGroup& group : page.table.groups) {
      for (const Flag& flag : group.flags) all.push_back(ValuesOf(flag));
    }
    for (const Values& values : all) {
      for (const std::string& word : values.words) EXPECT_TRUE(safe(word)) << page.table.name << ": " << word;
      EXPECT_TRUE(values.list.empty() || lists.count(std::string(values.list)) == 1) << values.list;
    }
  }
}

TEST(Values, OfAFlagKnowItsFiles) {
  EXPECT_TRUE(ValuesOf({.name = "--profile", .value_name = "FILE"}).files);
  EXPECT_TRUE(ValuesOf({.name = "--model", .value_name = "NAME|FILE"}).files);
  EXPECT_TRUE(ValuesOf({.name = "--report", .value_name = "FILE.html"}).files);
  EXPECT_TRUE(ValuesOf({.name = "--site", .value_name = "DIR"}).folders);
  EXPECT_FALSE(ValuesOf({.name = "--gpus", .value_name = "N"}).files);
}

TEST(Completion, KnowsItsShells) {
  for (const absl::string_view shell : CompletionShells()) {
    EXPECT_NE(CompletionScript(shell, "1.2.3").find("flightplan 1.2.3 for"), std::string::npos);
  }
  EXPECT_EQ(CompletionScript("tcsh", "1.2.3"), "");
}

}  // namespace
}  // namespace flightplan::cli
