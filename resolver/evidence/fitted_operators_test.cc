#include "resolver/evidence/fitted_operators.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace flightplan {
namespace {

using Sizes = std::map<std::string, double, std::less<>>;

ProfileRow Row(const std::string& id, double us, const Sizes& sizes) {
  ProfileRow row;
  row.id = id;
  row.value = us;
  row.low = 0.97 * us;
  row.high = 1.02 * us;
  row.unit = "us";
  row.parameters = sizes;
  row.labels = {{"library", "mamba_ssm 2.3.0"}};
  return row;
}

Sizes Mamba(double heads, double sequence = 4096) {
  return {{"tokens", 8192}, {"sequence", sequence}, {"heads", heads}, {"head_dim", 64}, {"state", 128}, {"groups", 8}};
}

TEST(FitOperators, TwoPassesOfOneShapeAreOneOperator) {
  HardwareProfile profile;
  profile.rows = {Row("mamba.scan.fwd", 100, Mamba(64)), Row("mamba.scan.bwd", 250, Mamba(64)),
                  Row("mamba.scan.fwd", 40, Mamba(16))};
  const std::vector<FittedOperator> fitted = FitOperators(profile);
  ASSERT_EQ(fitted.size(), 2);
  const FittedOperator& whole = *NearestOperator(fitted, "mamba.scan", 64 * 64 * 128, 4096);
  EXPECT_EQ(whole.width, 64 * 64 * 128);
  EXPECT_DOUBLE_EQ(whole.forward_us, 100 / (8192.0 * 64 * 64 * 128));
  EXPECT_DOUBLE_EQ(whole.backward_us, 250 / (8192.0 * 64 * 64 * 128));
  EXPECT_NEAR(whole.error, 0.03, 1e-9);
  EXPECT_EQ(whole.library, "mamba_ssm 2.3.0");
  EXPECT_EQ(NearestOperator(fitted, "mamba.scan", 8 * 64 * 128, 4096)->width, 16 * 64 * 128);
  EXPECT_EQ(NearestOperator(fitted, "mamba.scan", 8 * 64 * 128, 4096)->backward_us, 0);
  EXPECT_EQ(NearestOperator(fitted, "delta.scan", 8 * 64 * 128, 4096), nullptr);
}

TEST(FitOperators, OfOneWidthTheNearestSequenceCounts) {
  HardwareProfile profile;
  profile.rows = {Row("mamba.scan.fwd", 100, Mamba(64, 1024)), Row("mamba.scan.fwd", 90, Mamba(64, 8192))};
  const std::vector<FittedOperator> fitted = FitOperators(profile);
  EXPECT_EQ(NearestOperator(fitted, "mamba.scan", 1e5, 1500)->sequence, 1024);
  EXPECT_EQ(NearestOperator(fitted, "mamba.scan", 1e5, 32768)->sequence, 8192);
}

TEST(FitOperators, AnIndexerScoresEveryKey) {
  HardwareProfile profile;
  profile.rows = {Row("dsa.index.fwd", 5000,
                      {{"tokens", 8192}, {"sequence", 4096}, {"heads", 64}, {"head_dim", 128}, {"topk", 2048}})};
  EXPECT_DOUBLE_EQ(FitOperators(profile).at(0).forward_us, 5000 / (8192.0 * 4096 * 64 * 128));
}

TEST(FitOperators, WhatIsNotWholeIsLeftOut) {
  HardwareProfile profile;
  Sizes no_state = Mamba(64);
  no_state.erase("state");
  profile.rows = {Row("mamba.scan.fwd", 100, no_state), Row("mamba.scan.bwd", 100, Mamba(64)),
                  Row("mamba.scan.fwd", 100, Mamba(0)), Row("mamba.scan.other", 100, Mamba(64)),
                  Row("mamba.scan.fwd", 0, Mamba(64))};
  for (const RowKind kind : {RowKind::kEmulated, RowKind::kSynthetic}) {
    profile.rows.push_back(Row("mamba.scan.fwd", 100, Mamba(64)));
    profile.rows.back().kind = kind;
  }
  profile.rows.push_back(Row("mamba.scan.fwd", 100, Mamba(64)));
  profile.rows.back().unit = "ratio";
  EXPECT_TRUE(FitOperators(profile).empty());
}

}  // namespace
}  // namespace flightplan
