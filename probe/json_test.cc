#include "probe/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace flightplan::probe {
namespace {

TEST(ParseJson, ReadsEveryKind) {
  std::string error;
  const auto json = ParseJson(R"( {"a": [1, -2.5e3, true, null], "b": {"c": "x\n\u00e9\"" }} )", &error);
  ASSERT_TRUE(json.has_value()) << error;
  ASSERT_NE(json->Find("a"), nullptr);
  ASSERT_EQ(json->Find("a")->list.size(), 4u);
  EXPECT_EQ(json->Find("a")->list[1].number, -2500);
  EXPECT_TRUE(json->Find("a")->list[2].truth);
  EXPECT_EQ(json->Find("b")->TextOr("c", ""), "x\n\u00e9\"");
  EXPECT_EQ(json->NumberOr("b", 7), 7) << "another kind is not a number";
}

TEST(ParseJson, RefusesWithThePlace) {
  for (const char* text : {"", "{", "[1,", "[1 2]", "{\"a\" 1}", "{a:1}", "\"x", "\"\\q\"", "tru", "1e999", "nan",
                           "1 2", "{\"a\":1}}", "\"\\u12\"", "[,]", "\"a\nb\""}) {
    std::string error;
    EXPECT_FALSE(ParseJson(text, &error).has_value()) << text;
    EXPECT_NE(error.find("at byte"), std::string::npos) << text;
  }
  std::string error;
  EXPECT_FALSE(ParseJson(std::string(100000, '['), &error).has_value());
  EXPECT_NE(error.find("too deep"), std::string::npos);
}

TEST(AppendNumber, ReadsBackTheSame) {
  for (const double value : {0.0, 1.0, -3.0, 0.1, 1.0 / 3, 4.8e12, 536870912.0, 1e300, 5e-324, 9007199254740993.0}) {
    std::string text, error;
    AppendNumber(value, &text);
    const auto json = ParseJson(text, &error);
    ASSERT_TRUE(json.has_value()) << text;
    EXPECT_EQ(json->number, value) << text;
  }
  std::string text;
  AppendNumber(4.8e12, &text);
  EXPECT_EQ(text, "4800000000000") << "an integer field takes no exponent";
  text.clear();
  AppendNumber(std::numeric_limits<double>::quiet_NaN(), &text);
  EXPECT_EQ(text, "null");
}

TEST(AppendQuoted, KeepsGoodTextAndNothingElse) {
  std::string text;
  AppendQuoted("a\"b\\\n\x01\u00e9\xff\xc3", &text);
  EXPECT_EQ(text, "\"a\\\"b\\\\\\u000a\\u0001\u00e9??\"");
}

}  // namespace
}  // namespace flightplan::probe
