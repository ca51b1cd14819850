#include "resolver/read/yaml_scalar.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace flightplan {
namespace {

Value Read(const char* text, bool quoted = false) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = text;
  node.quoted = quoted;
  return YamlScalar(node);
}

TEST(YamlScalar, ReadsAsPyYaml) {
  const struct {
    const char* text;
    Value value;
  } kRows[] = {
      {"YES", Value(true)},
      {"Off", Value(false)},
      {"y", Value("y")},
      {"None", Value("None")},
      {"010", Value(8)},
      {"08", Value("08")},
      {"0x1F", Value(31)},
      {"-0b101", Value(-5)},
      {"1_000", Value(1000)},
      {"1:30", Value(90)},
      {"1:30.5", Value(90.5)},
      {"1:99", Value("1:99")},
      {"1e5", Value("1e5")},
      {"1.0e5", Value("1.0e5")},
      {"1.0e+5", Value(1e5)},
      {".5", Value(0.5)},
      {"-.5", Value("-.5")},
      {"-2.", Value(-2.0)},
      {"9223372036854775808", Value(9223372036854775808.0)},
      {"-.INF", Value(-std::numeric_limits<double>::infinity())},
  };
  for (const auto& row : kRows) {
    const Value value = Read(row.text);
    EXPECT_EQ(value, row.value) << row.text;
    EXPECT_EQ(value.is_float(), row.value.is_float()) << row.text;
    EXPECT_EQ(value.is_bool(), row.value.is_bool()) << row.text;
  }
  EXPECT_TRUE(std::isnan(Read(".nan").real()));
  EXPECT_EQ(Read("1", true), Value("1"));
}

}  // namespace
}  // namespace flightplan
