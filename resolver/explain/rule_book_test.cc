#include "resolver/explain/rule_book.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "resolver/rules/registry.h"

namespace flightplan {
namespace {

TEST(ReadRuleExamples, SaysWhatAnExampleSets) {
  const auto examples = ReadRuleExamples("f",
                                         "- {id: a.b, fires: {target: core, knobs: {x: true, m: [a, b]}, env: {te: "
                                         "\"2.9\"}}, passes: {knobs: {x: null}}}\n"
                                         "- {id: c, fires: {target: bridge@0.5}}\n");
  ASSERT_TRUE(examples.ok()) << examples.status();
  ASSERT_EQ(examples->size(), 2u);
  EXPECT_EQ((*examples)[0].fires, "core, x=true, m=[a, b], env.te=\"2.9\"");
  EXPECT_EQ((*examples)[0].passes, "x=null");
  EXPECT_EQ((*examples)[1].fires, "bridge@0.5");
}

TEST(ReadRuleExamples, NamesTheLineOfABadOne) {
  const auto examples = ReadRuleExamples("f.yaml", "- {id: a}\n");
  EXPECT_NE(examples.status().message().find("f.yaml:1"), absl::string_view::npos);
}

TEST(RuleBook, HasEveryRuleOnce) {
  const std::string book = RuleBook({{"recompute.full-needs-method", "core, x=1", "x=2"}});
  for (const Rule* rule : AllRules()) {
    const std::string title = absl::StrCat("\n### ", rule->id, "\n");
    const size_t first = book.find(title);
    EXPECT_NE(first, std::string::npos) << rule->id;
    EXPECT_EQ(book.find(title, first + 1), std::string::npos) << rule->id;
  }
  EXPECT_NE(book.find("- fires: `core, x=1`\n- neighbour: `x=2`\n"), std::string::npos);
}

}  // namespace
}  // namespace flightplan
