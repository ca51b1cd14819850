#include "clients/cli/lsp/vocabulary.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "clients/cli/versions_page.h"

namespace flightplan::cli {
namespace {

TEST(Vocabulary, HasTheWordsOfItsStackAndRelease) {
  const Vocabulary megatron(StackEnvironment("megatron-lm", ""));
  ASSERT_EQ(megatron.words().count("--recompute-granularity"), 1u);
  EXPECT_EQ(megatron.words().at("--recompute-granularity").values, (std::vector<std::string>{"full", "selective"}));
  const Vocabulary bridge(StackEnvironment("megatron-bridge", "0.6"));
  EXPECT_EQ(bridge.words().count("--recompute-granularity"), 0u);
  ASSERT_EQ(bridge.words().count("model.recompute_granularity"), 1u);
  EXPECT_EQ(bridge.words().at("model.moe_shared_expert_overlap").values, (std::vector<std::string>{"true", "false"}));
  // Every target that can be asked for has words; a trainer with words of its own has fewer than Megatron has flags.
  const std::map<std::string, size_t> of_their_own = {{"ms-swift", 100}, {"verl", 20}, {"nemo-rl", 40}, {"roll", 40}};
  for (const std::string& name : TargetNames()) {
    const size_t at = name.find('@');
    const std::string version = at == std::string::npos ? "" : name.substr(at + 1);
    const auto own = of_their_own.find(name.substr(0, at));
    const size_t least = own == of_their_own.end() ? 200 : own->second;
    EXPECT_GT(Vocabulary(StackEnvironment(name.substr(0, at), version)).words().size(), least) << name;
  }
}

TEST(Vocabulary, FindsAKnobByAnyOfItsNames) {
  const Vocabulary megatron(StackEnvironment("megatron-lm", "0.17"));
  for (const char* name : {"--recompute-granularity", "model.recompute_granularity", "recompute_granularity",
                           "+model.recompute_granularity", "args.recompute_granularity"}) {
    const VocabularyWord* word = megatron.Find(name);
    ASSERT_NE(word, nullptr) << name;
    EXPECT_EQ(Name(word->knob), "recompute_granularity") << name;
  }
  EXPECT_EQ(megatron.Find("--no-such-flag"), nullptr);
  EXPECT_EQ(megatron.Find(""), nullptr);
  EXPECT_EQ(megatron.Find("."), nullptr);
}

TEST(DefaultsText, SaysWhereReleasesDiffer) {
  const Environment megatron = StackEnvironment("megatron-lm", "");
  EXPECT_EQ(DefaultsText(*FindKnob("recompute_granularity"), megatron), "none");
  int differing = 0;
  for (int i = 0; i < kKnobCount; ++i) {
    differing += absl::StrContains(DefaultsText(static_cast<Knob>(i), megatron), "..main: ") ? 1 : 0;
  }
  EXPECT_GT(differing, 10);
}

}  // namespace
}  // namespace flightplan::cli
