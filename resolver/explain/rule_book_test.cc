#include "resolver/explain/rule_book.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "resolver/explain/rule_examples.h"
#include "resolver/rules/registry.h"

namespace flightplan {
namespace {

TEST(RuleExamples, SayWhatAnExampleSets) {
  const RuleExample* const shared = FindRuleExample("mlm.async-save-off");
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(shared->fires, "megatron-lm, async_save=true, ckpt_format=torch_dist, use_persistent_ckpt_worker=false");
  EXPECT_EQ(shared->passes, "use_persistent_ckpt_worker=true");
  EXPECT_EQ(shared->writes, "async_save=false");
  EXPECT_EQ(FindRuleExample("lf.hydra-override")->fires,
            "loongforge, --model-name qwen3-30b-a3b num_layerz=4, env.vars={LOONGFORGE_PATH: /opt/LoongForge}");
  EXPECT_EQ(FindRuleExample("no.such-rule"), nullptr);
}

TEST(RuleExamples, AreOfEveryRule) {
  for (const Rule* rule : AllRules()) EXPECT_NE(FindRuleExample(rule->id), nullptr) << rule->id;
}

TEST(RuleBook, HasEveryRuleOnce) {
  const std::string book = RuleBook();
  for (const Rule* rule : AllRules()) {
    const std::string title = absl::StrCat("\n### ", rule->id, "\n");
    const size_t first = book.find(title);
    EXPECT_NE(first, std::string::npos) << rule->id;
    EXPECT_EQ(book.find(title, first + 1), std::string::npos) << rule->id;
  }
  EXPECT_NE(book.find("- writes: `async_save=false`\n- neighbour: `use_persistent_ckpt_worker=true`\n"),
            std::string::npos);
}

}  // namespace
}  // namespace flightplan
