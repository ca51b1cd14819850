#include "resolver/evidence/fitted_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "resolver/evidence/profile_source.h"

namespace flightplan {
namespace {

ProfileRow Row(const std::string& id, double value, const std::string& unit,
               std::map<std::string, double, std::less<>> parameters = {},
               std::map<std::string, std::string, std::less<>> labels = {}) {
  ProfileRow row;
  row.id = id;
  row.value = value;
  row.low = 0.99 * value;
  row.high = 1.01 * value;
  row.unit = unit;
  row.parameters = std::move(parameters);
  row.labels = std::move(labels);
  return row;
}

HardwareProfile Base() {
  HardwareProfile profile;
  profile.device_name = "NVIDIA H200";
  profile.sm_count = 132;
  return profile;
}

TEST(FitProfile, TheBestSizeIsTheCeiling) {
  HardwareProfile profile = Base();
  profile.rows = {Row("hbm.copy", 3e12, "bytes_per_second"), Row("hbm.copy", 4e12, "bytes_per_second"),
                  Row("hbm.copy", 9, "us")};
  const auto fitted = FitProfile(profile);
  ASSERT_NE(fitted->Figure("hbm.copy"), nullptr);
  EXPECT_EQ(fitted->Figure("hbm.copy")->value, 4e12);
  EXPECT_NEAR(fitted->Figure("hbm.copy")->error, 0.01, 1e-9);
  EXPECT_EQ(fitted->Figure("mm.dense"), nullptr);
}

// A link that was stood in for says nothing about the real one.
TEST(FitProfile, AnEmulatedExchangeIsNoExchange) {
  HardwareProfile profile = Base();
  for (double sms : {4, 8, 16, 32})
    profile.rows.push_back(Row("a2a.nccl", 1e10 * sms, "bytes_per_second", {{"sms", sms}}));
  EXPECT_TRUE(FitProfile(profile)->exchange_by_sms.has_value());
  for (ProfileRow& row : profile.rows) row.kind = RowKind::kEmulated;
  EXPECT_FALSE(FitProfile(profile)->exchange_by_sms.has_value());
}

TEST(FitProfile, HalfACellIsNoCell) {
  HardwareProfile profile = Base();
  const auto corun = [](const char* side, double value) {
    return Row("corun.matrix", value, "ratio", {{"sms", 20}},
               {{"communication", "push"}, {"compute", "gemm"}, {"side", side}});
  };
  profile.rows = {corun("compute", 1.2)};
  EXPECT_TRUE(FitProfile(profile)->corun.empty());
  profile.rows.push_back(corun("communication", 1.4));
  const auto fitted = FitProfile(profile);
  ASSERT_NE(fitted->Corun("push", "gemm"), nullptr);
  EXPECT_NEAR(fitted->Corun("push", "gemm")->curve.At(20).Gain(), 1 / 1.2 + 1 / 1.4 - 1, 1e-6);
  EXPECT_EQ(fitted->Corun("paced", "gemm"), nullptr);
  EXPECT_EQ(fitted->Corun("", "gemm"), fitted->Corun("push", ""));
}

// Drawn from the model itself with another walk's arithmetic left out: parts alone give the whole.
TEST(FitProfile, ForecastsThePairFromItsParts) {
  HardwareProfile profile = Base();
  fit::PairParts parts;
  for (size_t i = 0; i < fit::kPairNodes; ++i) {
    parts.us[i] = 100 + 20 * static_cast<double>(i);
    parts.beside[i] = {1.2, 1.4};
    const std::string_view name = fit::Name(static_cast<fit::PairNode>(i));
    profile.rows.push_back(Row("pair.part", parts.us[i], "us", {{"sms", 20}}, {{"node", std::string(name)}}));
  }
  for (const char* side : {"compute", "communication"}) {
    profile.rows.push_back(Row("corun.matrix", side == std::string("compute") ? 1.2 : 1.4, "ratio", {{"sms", 20}},
                               {{"communication", "push"}, {"compute", "gemm"}, {"side", side}}));
  }
  const double overlapped = fit::ForecastPair(parts, {}).us;
  profile.rows.push_back(Row("pair.overlap", 1.03 * overlapped, "us"));
  const auto fitted = FitProfile(profile);
  ASSERT_EQ(fitted->pairs.size(), 1U);
  EXPECT_NEAR(fitted->pairs[0].forecast_us, overlapped, 1e-6 * overlapped);
  EXPECT_NEAR(fitted->pairs[0].measured_us / fitted->pairs[0].forecast_us, 1.03, 1e-6);
  profile.rows.erase(profile.rows.begin());
  EXPECT_FALSE(FitProfile(profile)->pair_parts.has_value()) << "a part is missing";
}

TEST(FitProfile, NothingGivesNothing) {
  const auto fitted = FitProfile({});
  EXPECT_TRUE(fitted->figures.empty());
  EXPECT_FALSE(fitted->copy_by_sms.has_value() || fitted->fc1_by_rows.has_value() || fitted->exchange.has_value());
}

TEST(IsOfType, TheCataloguesNameBeatsTheDevices) {
  GpuSystem gpu;
  gpu.name = "h200-sxm";
  gpu.device_name = "NVIDIA H200";
  HardwareProfile profile = Base();
  EXPECT_TRUE(IsOfType(profile, gpu));
  profile.gpu = "h200-nvl";
  EXPECT_FALSE(IsOfType(profile, gpu));
  profile.gpu = "h200-sxm";
  profile.device_name = "something else";
  EXPECT_TRUE(IsOfType(profile, gpu));
  gpu.device_name = "";
  profile.gpu = profile.device_name = "";
  EXPECT_FALSE(IsOfType(profile, gpu)) << "two unknowns are not one type";
}

}  // namespace
}  // namespace flightplan
