#include "resolver/plan/config.h"

#include <vector>

#include "gtest/gtest.h"

namespace flightplan {
namespace {

using K = Knob;

std::vector<Knob> NotDefault(const Config& config) {
  std::vector<Knob> knobs;
  config.ForEachNotDefault([&](Knob knob) { knobs.push_back(knob); });
  return knobs;
}

TEST(Config, StartsAbsent) {
  const Config config;
  EXPECT_EQ(config.origin(K::hidden_size), Origin::kAbsent);
  EXPECT_TRUE(config.Get(K::hidden_size).is_none());
  EXPECT_TRUE(NotDefault(config).empty());
}

TEST(Config, CopiesDoNotSeeEachOthersChanges) {
  Config one;
  one.Set(K::hidden_size, Value(1), Origin::kCaller);
  Config two = one;
  two.Set(K::hidden_size, Value(2), Origin::kDecided);
  one.Set(K::num_layers, Value("three"), Origin::kDefault);
  EXPECT_EQ(one.Get(K::hidden_size), Value(1));
  EXPECT_EQ(one.origin(K::hidden_size), Origin::kCaller);
  EXPECT_EQ(two.Get(K::hidden_size), Value(2));
  EXPECT_EQ(two.origin(K::num_layers), Origin::kAbsent);
  two = one;
  EXPECT_EQ(two.Get(K::num_layers), Value("three"));
  const Config moved = std::move(one);
  EXPECT_EQ(moved.Get(K::hidden_size), Value(1));
}

TEST(Config, VisitsWhatIsNotDefaultInTheOrderOfTheTable) {
  Config config;
  std::vector<Knob> expected;
  for (int i = 0; i < kKnobCount; i += 7) {
    config.Set(static_cast<Knob>(i), Value(i), i % 2 == 0 ? Origin::kUpstream : Origin::kDefault);
    if (i % 2 == 0) expected.push_back(static_cast<Knob>(i));
  }
  EXPECT_EQ(NotDefault(config), expected);
  config.Set(expected[0], Value(), Origin::kDefault);
  expected.erase(expected.begin());
  EXPECT_EQ(NotDefault(config), expected);
}

TEST(Config, KeptForeverIsCopiedOnWrite) {
  static Config* const kKept = new Config();  // lives as long as the process, as its pages do
  kKept->Set(K::hidden_size, Value("wide"), Origin::kDefault);
  kKept->KeepForever();
  Config copy = *kKept;
  copy.Set(K::hidden_size, Value(7), Origin::kCaller);
  EXPECT_EQ(kKept->Get(K::hidden_size), Value("wide"));
  EXPECT_EQ(copy.Get(K::hidden_size), Value(7));
}

// Some values of a page are copied by their bytes, and texts and lists are counted.
TEST(Config, HoldsWhatItsCopiesLetGo) {
  Config last;
  {
    Config first;
    first.Set(K::hidden_size, Value("a text that is longer than a small one"), Origin::kCaller);
    first.Set(K::num_layers, Value(Value::List{Value(1), Value("two")}), Origin::kCaller);
    Config second = first;
    second.Set(K::ffn_hidden_size, Value(3), Origin::kCaller);  // a page of its own
    first.Set(K::hidden_size, Value(4), Origin::kCaller);
    last = second;
    second.Set(K::num_layers, Value(), Origin::kAbsent);
  }
  EXPECT_EQ(last.Get(K::hidden_size), Value("a text that is longer than a small one"));
  EXPECT_EQ(last.Get(K::num_layers).list().size(), 2u);
  EXPECT_EQ(last.Get(K::ffn_hidden_size), Value(3));
  last.Set(K::hidden_size, Value(5), Origin::kCaller);
  last.Set(K::hidden_size, Value("again"), Origin::kCaller);
  EXPECT_EQ(Config(last).Get(K::hidden_size), Value("again"));
}

}  // namespace
}  // namespace flightplan
