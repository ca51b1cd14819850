#include "resolver/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace flightplan {
namespace {

rapidjson::Document Read(absl::string_view text, JsonNumbers numbers = JsonNumbers::kFinite) {
  rapidjson::Document document;
  const std::optional<JsonFault> fault = ReadJson(text, numbers, &document);
  EXPECT_FALSE(fault.has_value()) << text.substr(0, 80) << ": " << fault->what;
  return document;
}

std::string FaultOf(absl::string_view text, JsonNumbers numbers = JsonNumbers::kFinite) {
  rapidjson::Document document;
  const std::optional<JsonFault> fault = ReadJson(text, numbers, &document);
  return fault.has_value() ? absl::StrCat(fault->offset, ": ", fault->what) : "";
}

TEST(Json, OfMembersWithOneNameTheLastIsThere) {
  const rapidjson::Document document = Read(R"({"a": 1, "b": [{"c": 1, "c": 2}], "a": 3, "d": null})");
  EXPECT_EQ(document.MemberCount(), 3U);
  EXPECT_EQ(document["a"].GetInt(), 3);
  EXPECT_EQ(document["b"][0]["c"].GetInt(), 2);
  std::string many = "{";
  for (int i = 0; i < 2000; ++i) many += "\"k" + std::to_string(i % 1000) + "\": " + std::to_string(i) + ", ";
  const rapidjson::Document large = Read(many + "\"z\": {}}");
  EXPECT_EQ(large.MemberCount(), 1001U);
  EXPECT_EQ(large["k7"].GetInt(), 1007);
}

TEST(Json, ReadsWhatItSays) {
  const rapidjson::Document document = Read(R"({"a": [1, -2, 2.5, true, null, "x\u00e9"], "b": {}})");
  ASSERT_TRUE(document.IsObject());
  const auto& items = document["a"];
  ASSERT_EQ(items.Size(), 6u);
  EXPECT_EQ(items[0].GetInt(), 1);
  EXPECT_EQ(items[1].GetInt(), -2);
  EXPECT_EQ(items[2].GetDouble(), 2.5);
  EXPECT_TRUE(items[3].GetBool());
  EXPECT_TRUE(items[4].IsNull());
  EXPECT_STREQ(items[5].GetString(), "x\xc3\xa9");
  EXPECT_TRUE(document["b"].IsObject());
}

TEST(Json, AnIntegerIsOneAsFarAs64BitsReach) {
  EXPECT_EQ(Read("9223372036854775807").GetInt64(), INT64_MAX);
  EXPECT_EQ(Read("-9223372036854775808").GetInt64(), INT64_MIN);
  EXPECT_EQ(Read("18446744073709551615").GetUint64(), UINT64_MAX);
  EXPECT_TRUE(Read("0").IsInt());
  EXPECT_TRUE(Read("-0").IsInt());
  EXPECT_TRUE(Read("1.0").IsDouble());
  EXPECT_EQ(Read("18446744073709551616").GetDouble(), 18446744073709551616.0);
}

// Each of these, read by RapidJSON itself, is looked up outside a table.
TEST(Json, SmallNumbersOfAnyLengthAreRead) {
  for (const size_t zeros : {300, 400, 5'000, 16'000, 500'000}) {
    const std::string text = absl::StrCat("0.", std::string(zeros, '0'), "25");
    EXPECT_EQ(Read(text).GetDouble(), std::strtod(text.c_str(), nullptr)) << zeros;
    EXPECT_EQ(Read(absl::StrCat("-", text, "e-7")).GetDouble(), -std::strtod((text + "e-7").c_str(), nullptr)) << zeros;
  }
  EXPECT_EQ(Read("1.1e-2147483639").GetDouble(), 0);
  EXPECT_EQ(Read("1e-99999999999999999999").GetDouble(), 0);
  EXPECT_EQ(Read(absl::StrCat(std::string(300, '9'), ".", std::string(100'000, '9'))).GetDouble(), 1e300);
}

TEST(Json, ARealIsTheNearestDouble) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = absl::StrFormat("%d.%de%d", static_cast<int64_t>(random() % 100'000), random(),
                                             static_cast<int>(random() % 600) - 310);
    const double expected = std::strtod(text.c_str(), nullptr);
    if (std::isfinite(expected)) {
      ASSERT_EQ(Read(text).GetDouble(), expected) << text;
    }
  }
}

TEST(Json, NamesItsFault) {
  EXPECT_EQ(FaultOf(""), "0: The document is empty.");
  EXPECT_EQ(FaultOf("{\"a\": x}"), "6: Invalid value.");
  EXPECT_EQ(FaultOf("[1] 2").substr(0, 2), "4:");
  EXPECT_NE(FaultOf("1e999").find("Number too big"), std::string::npos);
  EXPECT_NE(FaultOf("[1.8e308]").find("Number too big"), std::string::npos);
  EXPECT_NE(FaultOf("\"\xff\"").find("Invalid encoding"), std::string::npos);
  for (const char* text : {"NaN", "-Infinity", "Inf"}) EXPECT_NE(FaultOf(text), "") << text;
  for (const char* text : {"Na", "Infinit", "-", "+1", "01", ".5", "1.", "1e", "0x10"}) {
    EXPECT_NE(FaultOf(text, JsonNumbers::kAll), "") << text;
  }
}

TEST(Json, ReadsWhatPythonWritesOfNumbersThatAreNone) {
  EXPECT_TRUE(std::isnan(Read("NaN", JsonNumbers::kAll).GetDouble()));
  EXPECT_EQ(Read("[Infinity]", JsonNumbers::kAll)[0].GetDouble(), INFINITY);
  EXPECT_EQ(Read("-Infinity", JsonNumbers::kAll).GetDouble(), -INFINITY);
  EXPECT_EQ(Read("-Inf", JsonNumbers::kAll).GetDouble(), -INFINITY);
}

TEST(Json, QuotesWhatItReadsBack) {
  const std::string text = "experts' \"rank\"\n\\ \x01 \xc3\xa9";
  EXPECT_EQ(JsonQuoted("it's"), "\"it's\"");
  EXPECT_EQ(Read(JsonQuoted(text)).GetString(), text);
}

// 4 MB of brackets took 230 MiB.
TEST(Json, NestingHasABound) {
  const auto nested = [](absl::string_view open, absl::string_view close, int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) absl::StrAppend(&text, open);
    absl::StrAppend(&text, "1");
    for (int i = 0; i < depth; ++i) absl::StrAppend(&text, close);
    return text;
  };
  EXPECT_EQ(FaultOf(nested("[", "]", kMaxJsonDepth)), "");
  EXPECT_EQ(FaultOf(nested("{\"a\":", "}", kMaxJsonDepth)), "");
  EXPECT_EQ(FaultOf(nested("[", "]", kMaxJsonDepth + 1)), "100: Nested more than 100 deep.");
  EXPECT_EQ(FaultOf(nested("{\"a\":", "}", kMaxJsonDepth + 1)), "500: Nested more than 100 deep.");
  EXPECT_EQ(FaultOf(std::string(1'000'000, '[')), "100: Nested more than 100 deep.");
  EXPECT_EQ(FaultOf(nested("[[],", "]", kMaxJsonDepth - 1)), "");  // depth, not count
}

// "[0,0,...]" of 8 MB once took 240 MB.
TEST(Json, ReadsAsManyValuesAsItMay) {
  for (const char* text : {"[1,2]", R"({"a":1})", "[[],{}]", R"(["x",null])"}) {
    rapidjson::Document document;
    EXPECT_FALSE(ReadJson(text, JsonNumbers::kFinite, &document, 3).has_value()) << text;
    const std::optional<JsonFault> fault = ReadJson(text, JsonNumbers::kFinite, &document, 2);
    ASSERT_TRUE(fault.has_value()) << text;
    EXPECT_EQ(fault->what, "More than 2 values.");
  }
}

}  // namespace
}  // namespace flightplan
