#include "resolver/shell/transform.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/base/work.h"

namespace flightplan {
namespace {

// What becomes of one text; "?" where the operation is not followed.
std::string Transformed(absl::string_view text, absl::string_view operation) {
  const std::optional<ShellWords> words = TransformShellWords({{TracedText::FromOutside(text), 7}}, operation);
  return words.has_value() ? words->at(0).value.text : "?";
}

// A class of a pattern is gone through at each place.
TEST(ShellTransform, PaysForTheLengthOfAClass) {
  const auto work = [](size_t length) {
    const Work budget(uint64_t{1} << 40, nullptr);
    Transformed(std::string(200, 'a'), absl::StrCat("//[", std::string(length, 'b'), "]/y"));
    return budget.used();
  };
  EXPECT_GT(work(100), 5 * work(1));
}

TEST(ShellTransform, FollowsWhatItsTableLists) {
  struct Case {
    std::string text;
    absl::string_view operation, result;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"a/b/c.d.e", "#*/", "b/c.d.e"},
           {"a/b/c.d.e", "##*/", "c.d.e"},
           {"a/b/c.d.e", "%.*", "a/b/c.d"},
           {"a/b/c.d.e", "%%.*", "a/b/c"},
           {"abc", "#x", "abc"},
           {"abc", "%", "abc"},
           {"aXbX", "/X/-", "a-bX"},
           {"aXbX", "//X/-", "a-b-"},
           {"aXbX", "//X", "ab"},
           {"aXbX", "//*/y", "y"},
           {"aXbX", "//[!X]/y", "yXyX"},
           {"aXbX", "/[a-b]X/", "bX"},
           {"aXbX", "/#a/y", "yXbX"},
           {"aXbX", "/#b/y", "aXbX"},
           {"aXbX", "/%?X/y", "aXy"},
           {"aXbX", "/#/y", "yaXbX"},
           {"aXbX", "/%/y", "aXbXy"},
           {"aXbX", "//#a/y", "aXbX"},
           {"", "/*/y", "y"},
           {"aXbX", "/X/<&>", "?"},
           {"aXbX", "/", "?"},
           {std::string(5000, 'a'), "/[a]/b", "?"},
           {std::string(5000, 'a'), "##*/", "?"},
           {"aB", "^^", "AB"},
           {"aB", ",,", "ab"},
           {"aB", "^", "AB"},
           {"Ab", ",", "ab"},
           {"", "^", ""},
           {"aB", "^a", "?"},
           {"aB", "^^a", "?"},
           {"aB", "@Q", "?"},
           {"aB", "", "?"},
       }) {
    EXPECT_EQ(Transformed(c.text, c.operation), c.result) << c.text << c.operation;
  }
}

TEST(ShellTransform, KeepsWhatIsNotKnownOfEachItem) {
  ShellWords values(2);
  values[0] = {TracedText::FromOutside("$A/b"), 3};
  values[0].value.MarkUnknown();
  values[1] = {TracedText::FromOutside("c/d"), 4};
  values[1].value.assumed = true;
  const std::optional<ShellWords> words = TransformShellWords(values, "#*/");
  ASSERT_TRUE(words.has_value());
  ASSERT_EQ(words->size(), 2u);
  EXPECT_EQ(words->at(0).value.text, "b");
  EXPECT_TRUE(words->at(0).value.unknown());
  EXPECT_FALSE(words->at(0).value.assumed);
  EXPECT_EQ(words->at(1).value.text, "d");
  EXPECT_FALSE(words->at(1).value.unknown());
  EXPECT_TRUE(words->at(1).value.assumed);
  EXPECT_EQ(words->at(1).offset, 4);
}

}  // namespace
}  // namespace flightplan
