#include "resolver/read/hydra_value.h"

#include <string>

#include "gtest/gtest.h"

namespace flightplan {
namespace {

TEST(HydraValue, QuotesWhatTheGrammarWouldReadAsSomethingElse) {
  EXPECT_EQ(WriteHydraValue(Value("alltoall")), "alltoall");
  EXPECT_EQ(WriteHydraValue(Value("8")), "'8'");
  EXPECT_EQ(WriteHydraValue(Value("null")), "'null'");
  EXPECT_EQ(WriteHydraValue(Value("")), "''");
  EXPECT_EQ(WriteHydraValue(Value("Et*3|(tt|)*29,m|L")), "'Et*3|(tt|)*29,m|L'");
  EXPECT_EQ(WriteHydraValue(Value()), "null");
  EXPECT_EQ(WriteHydraValue(Value(Value::List{"attn", "moe_router"})), "[attn,moe_router]");
  EXPECT_EQ(WriteHydraValue(Value(Value::List{})), "[]");
}

TEST(HydraValue, ReadsBackWhatItWrites) {
  const Value values[] = {Value(),          Value(true),  Value(-3),
                          Value(1e-5),      Value("a b"), Value("it's"),
                          Value("back\\'"), Value("1.0"), Value("a,b"),
                          Value("[x]"),     Value("{y}"), Value("k=v"),
                          Value("None"),    Value("$x"),  Value(Value::List{1, "two", Value(), Value::List{true}})};
  for (const Value& value : values) {
    const absl::StatusOr<Value> back = ReadHydraValue(WriteHydraValue(value));
    ASSERT_TRUE(back.ok()) << WriteHydraValue(value) << ": " << back.status();
    EXPECT_EQ(back->ToJson(), value.ToJson());
  }
}

TEST(HydraValue, RefusesWhatTheLaunchWouldRefuse) {
  for (const char* text : {"a,b", "[1,2", "'open", "{a:1}", "a=b", "(x)", "[[", "x]"}) {
    EXPECT_FALSE(ReadHydraValue(text).ok()) << text;
  }
  EXPECT_FALSE(ReadHydraValue(std::string(100, '[') + std::string(100, ']')).ok());
}

TEST(HydraValue, KeepsADictAsItIsWrittenWhereOneIsTaken) {
  for (const char* text : {"{}", "{revision:b14}", "{a: {b: [1,2], c: 'x,}'}, d: null}", "[{a:1},{b:2}]"}) {
    const absl::StatusOr<Value> value = ReadHydraValue(text, HydraDicts::kAsText);
    ASSERT_TRUE(value.ok()) << text << ": " << value.status();
    EXPECT_TRUE(value->is_list() || *value == Value(text)) << text;
  }
  for (const char* text : {"{", "{a", "{a}", "{a:", "{a:1", "{a:1,}", "{:1}", "{'a':1}", "{a:1}}", "{a:1},{b:2}"}) {
    EXPECT_FALSE(ReadHydraValue(text, HydraDicts::kAsText).ok()) << text;
  }
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "{a:";
  EXPECT_FALSE(ReadHydraValue(deep + "1" + std::string(100, '}'), HydraDicts::kAsText).ok());
}

TEST(HydraValue, KeepsAReferenceAsItIsWritten) {
  for (const char* text : {"${hidden_size}", "${a.${b}}", "${oc.env:HOME}", "/run/${name}/x", "${f:1,2}"}) {
    const absl::StatusOr<Value> value = ReadHydraValue(text);
    ASSERT_TRUE(value.ok()) << text << ": " << value.status();
    EXPECT_EQ(*value, Value(text));
  }
  EXPECT_FALSE(ReadHydraValue("${open").ok());
}

// Half a character in a finding is an answer that no client reads.
TEST(HydraValue, NamesAWholeCharacterThatItDoesNotExpect) {
  EXPECT_EQ(ReadHydraValue("[1]\u00e9").status().message(), "unexpected '\u00e9'");
  EXPECT_EQ(ReadHydraValue("[1]\xc3").status().message(), "unexpected ''");
}

}  // namespace
}  // namespace flightplan
