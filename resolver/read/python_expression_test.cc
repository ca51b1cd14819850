#include "resolver/read/python_expression.h"

#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/match.h"
#include "resolver/read/python_program.h"

namespace flightplan {
namespace {

// x is 3 and `f` gives the number of its arguments; every other name is unknown.
class Names : public PythonNames {
 public:
  PythonResult Named(absl::string_view name) override {
    return name == "x" ? PythonResult::Of(Value(3)) : name == "cfg" ? PythonResult::Reference(7, "") : PythonResult();
  }
  PythonResult Called(absl::string_view text, const PythonResult&,
                      const std::vector<PythonArgument>& arguments) override {
    return text == "f" ? PythonResult::Of(Value(static_cast<int64_t>(arguments.size()))) : PythonResult();
  }
  PythonResult Dict(const std::vector<PythonArgument>& entries) override {
    return PythonResult::Of(Value(static_cast<int64_t>(entries.size())));
  }
  PythonResult Item(const PythonResult&, const PythonResult&) override { return {}; }
  PythonResult Read(const PythonResult& reference) override {
    return reference.path == "model.tp" ? PythonResult::Of(Value(8)) : PythonResult();
  }
};

std::string Json(absl::string_view text) {
  Names names;
  PythonResult result = EvaluatePython(text, &names);
  if (result.kind == PythonResult::Kind::kReference) result = names.Read(result);
  return result.known() ? result.value.ToJson() : "?";
}

TEST(EvaluatePython, ComputesWhatTheTextSays) {
  constexpr std::pair<const char*, const char*> kRows[] = {
      {"2 * 2", "4"},
      {"-7 // 2", "-4"},
      {"-7 % 3", "2"},
      {"7 % -3", "-2"},
      {"2 ** 3 ** 2", "512"},
      {"-2 ** 2", "-4"},
      {"10 / 4", "2.5"},
      {"1_000 + 0x10", "1016"},
      {"1e-4", "0.0001"},
      {"x * cfg.model.tp", "24"},
      {"[x] * 2 + [1,]", "[3,3,1]"},
      {"(1, 2)", "[1,2]"},
      {"1, 2", "[1,2]"},
      {"[4, 5][-1]", "5"},
      {"4 if x > 2 and not x == 5 else 8", "4"},
      {"None or 'a' \"b\"", "\"ab\""},
      {"x in [1, 3]", "true"},
      {"None is not None", "false"},
      {"f(1, [a for a in b], c=2)", "3"},
      {"{'a': 1, 'b': y}", "2"},
      {"(  # why\n 4)", "4"},
      {"True", "true"},
      {"r'\\d'", "\"\\\\d\""},
  };
  for (const auto& [text, json] : kRows) EXPECT_EQ(Json(text), json) << text;
}

TEST(EvaluatePython, LeavesWhatOnlyARunWouldKnow) {
  for (const char* text : {"y",
                           "y * 2",
                           "x + y",
                           "args.tp",
                           "[a for a in b]",
                           "f'{x}'",
                           "4 if y else 8",
                           "lambda: 4",
                           "x[1:2]",
                           "1 / 0",
                           "9223372036854775807 + 1",
                           "9223372036854775807 * 2",
                           "10 ** 60",
                           "'a' * 2",
                           "'\\n'",
                           "4 4",
                           "(4",
                           "",
                           "4,,",
                           "[1] * 1000000000",
                           "x if",
                           "1 < x < 5",
                           "await g()",
                           "a := 4",
                           "{1, 2}",
                           "*x"}) {
    EXPECT_EQ(Json(text), "?") << text;
  }
}

TEST(EvaluatePython, EndsWhereBracketsAreNestedTooDeep) {
  for (const std::string& open : {std::string("["), std::string("f("), std::string("{'a':"), std::string("(1,")}) {
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += open;
    EXPECT_EQ(Json(text), "?");
  }
  EXPECT_EQ(Json(std::string(100'000, '-') + "1"), "1");
}

TEST(PythonStatements, AreWholeHoweverManyLinesTheyTake) {
  const std::string text =
      "x = [  # of ';' and (\n  1,\n]; y = ':'\nif a == {'b': 1}: z = 2  # why\n\tdef\nclass A:\n  '''doc\nx = 9\n'''\n"
      "cfg.a = \\\n  4\nmatch = 4\n";
  const std::vector<PythonStatement> found = PythonStatements(text);
  ASSERT_EQ(found.size(), 9u);
  EXPECT_EQ(found[0].line, 1);
  EXPECT_TRUE(absl::EndsWith(found[0].text, "]"));
  EXPECT_EQ(found[1].text, "y = ':'");
  EXPECT_EQ(found[1].line, 3);
  EXPECT_TRUE(found[2].compound);
  EXPECT_EQ(found[2].text, "if a == {'b': 1}");
  EXPECT_EQ(found[3].text, "z = 2  # why");
  EXPECT_EQ(found[3].column, 19);
  EXPECT_GT(found[3].indent, found[2].indent);
  EXPECT_TRUE(found[7].continued);
  EXPECT_EQ(found[7].line, 10);
  EXPECT_FALSE(found[8].compound);
}

TEST(FindInPython, PassesBracketsQuotesAndComparisons) {
  EXPECT_EQ(FindInPython("a[b=1] == '=' <= c = d", '='), 19u);
  EXPECT_EQ(FindInPython("a == b", '='), absl::string_view::npos);
  EXPECT_EQ(SplitPython("a, (b, c), 'd,'", ','), (std::vector<absl::string_view>{"a", "(b, c)", "'d,'"}));
}

}  // namespace
}  // namespace flightplan
