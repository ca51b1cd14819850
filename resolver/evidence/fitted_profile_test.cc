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

TEST(FitProfile, APermuteOfOneExpertATokenIsAnotherOperation) {
  HardwareProfile profile = Base();
  profile.rows = {Row("permute.fwd", 3e12, "bytes_per_second", {{"topk", 8}}),
                  Row("permute.fwd", 4e12, "bytes_per_second", {{"topk", 1}})};
  EXPECT_EQ(FitProfile(profile)->Figure("permute.fwd")->value, 3e12);
}

// Attention of 32 heads over 8,192 tokens: 600 TFLOP/s over a long sequence, half of that at 430.
HardwareProfile WithAttention(const std::vector<double>& sequences, double head_size = 128) {
  HardwareProfile profile = Base();
  for (const double sequence : sequences) {
    profile.rows.push_back(Row("attn.core.fwd", 6e14 / (1 + 430 / sequence), "flops_per_second",
                               {{"sequence", sequence}, {"heads", 32}, {"tokens", 8192}, {"head_dim", head_size}}));
  }
  return profile;
}

TEST(FitProfile, AttentionIsALineOverTheInverseOfTheSequence) {
  const auto fitted = FitProfile(WithAttention({1024, 2048, 4096, 8192}));
  ASSERT_TRUE(fitted->attention_forward.has_value());
  EXPECT_NEAR(fitted->attention_forward->us_per_flop, 1e6 / 6e14, 1e-15);
  EXPECT_NEAR(fitted->attention_forward->half_sequence, 430, 0.01);
  EXPECT_NEAR(fitted->attention_forward->error, 0.01, 1e-6);
  EXPECT_EQ(fitted->attention_forward->heads_tokens, 32 * 8192);
  EXPECT_FALSE(fitted->attention_backward.has_value());
}

TEST(FitProfile, AttentionOfTwoSequencesOrOfOtherHeadsIsNoCurve) {
  EXPECT_FALSE(FitProfile(WithAttention({1024, 4096}))->attention_forward.has_value());
  EXPECT_FALSE(FitProfile(WithAttention({1024, 2048, 4096}, 64))->attention_forward.has_value());
  HardwareProfile growing = WithAttention({1024, 2048, 4096});  // faster where it is shorter: no kernel does that
  std::swap(growing.rows.front().value, growing.rows.back().value);
  EXPECT_FALSE(FitProfile(growing)->attention_forward.has_value());
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

ProfileRow ExchangeRow(const char* id, double rate, const char* link, RowKind kind) {
  ProfileRow row = Row(id, rate, "bytes_per_second", {}, {{"link", link}});
  row.low = row.high = rate;
  row.kind = kind;
  return row;
}

TEST(FitProfile, AnExchangeIsPricedByBackendAndLink) {
  HardwareProfile profile = Base();
  profile.rows = {ExchangeRow("a2a.deepep", 1.6e11, "nvlink", RowKind::kImported),
                  ExchangeRow("a2a.deepep", 2e10, "network", RowKind::kImported),
                  ExchangeRow("a2a.hybridep", 5e11, "nvlink", RowKind::kEmulated)};
  profile.rows[0].labels["pass"] = "dispatch";
  profile.rows.push_back(ExchangeRow("a2a.deepep", 1.2e11, "nvlink", RowKind::kImported));
  profile.rows.back().labels["pass"] = "combine";
  const auto fitted = FitProfile(profile);
  const FittedExchange* inside = fitted->Exchange("a2a.deepep", true);
  ASSERT_NE(inside, nullptr);
  EXPECT_NEAR(inside->us_per_byte, 1e6 * (1 / 1.6e11 + 1 / 1.2e11) / 2, 1e-12) << "as many dispatches as combines";
  EXPECT_NEAR(inside->error, kImportedError, 1e-12);
  EXPECT_NEAR(fitted->Exchange("a2a.deepep", false)->us_per_byte, 1e6 / 2e10, 1e-12);
  EXPECT_EQ(fitted->Exchange("a2a.hybridep", true), nullptr) << "emulated";
  EXPECT_EQ(fitted->Exchange("a2a.nccl", true), nullptr);
}

// What this node's GPUs do between themselves is better than what another program measured somewhere, over one link;
// PCIe is neither NVLink nor the network.
TEST(FitProfile, AMeasuredExchangeBeatsAnImportedOneOverItsLink) {
  HardwareProfile profile = Base();
  profile.rows = {ExchangeRow("a2a.nccl", 3.0e11, "nvlink", RowKind::kImported),
                  ExchangeRow("a2a.nccl", 2e10, "network", RowKind::kImported),
                  ExchangeRow("a2a.nccl", 2.5e11, "nvlink", RowKind::kMeasured)};
  const auto fitted = FitProfile(profile);
  EXPECT_NEAR(fitted->Exchange("a2a.nccl", true)->us_per_byte, 1e6 / 2.5e11, 1e-12);
  EXPECT_EQ(fitted->Exchange("a2a.nccl", true)->kind, RowKind::kMeasured);
  EXPECT_NEAR(fitted->Exchange("a2a.nccl", true)->error, 0, 1e-12);
  EXPECT_EQ(fitted->Exchange("a2a.nccl", false)->kind, RowKind::kImported);
  profile.rows.back().labels["link"] = "pcie";
  const auto over_pcie = FitProfile(profile);
  EXPECT_EQ(over_pcie->Exchange("a2a.nccl", true)->kind, RowKind::kImported);
  EXPECT_EQ(over_pcie->Exchange("a2a.nccl", false)->us_per_byte, 1e6 / 2e10);
  profile.rows.erase(profile.rows.begin(), profile.rows.begin() + 2);
  EXPECT_TRUE(FitProfile(profile)->exchanges.empty());
}

TEST(FitProfile, OnlyPeersOverNvlinkGiveTheCurveOfAnExchange) {
  HardwareProfile profile = Base();
  for (double sms : {4, 8, 16, 32})
    profile.rows.push_back(Row("a2a.p2p.push", 1e10 * sms, "bytes_per_second", {{"sms", sms}}, {{"link", "nvlink"}}));
  EXPECT_TRUE(FitProfile(profile)->exchange_by_sms.has_value());
  for (ProfileRow& row : profile.rows) row.labels["link"] = "pcie";
  EXPECT_FALSE(FitProfile(profile)->exchange_by_sms.has_value());
}

ProfileRow CorunRow(const char* communication, double link, const char* side, double value, RowKind kind) {
  ProfileRow row = Row("corun.matrix", value, "ratio", {{"sms", 20}},
                       {{"communication", communication}, {"compute", "gemm"}, {"side", side}});
  if (link > 0) row.parameters["link_bytes_per_second"] = link;
  row.kind = kind;
  return row;
}

HardwareProfile WithCells() {
  HardwareProfile profile = Base();
  struct Cell {
    const char* communication;
    double link, slowdown;
  };
  for (const Cell& cell : {Cell{"push", 0, 1.5}, Cell{"paced", 3.8e11, 1.3}, Cell{"paced", 4.2e10, 1.1}}) {
    for (const char* side : {"compute", "communication"})
      profile.rows.push_back(CorunRow(cell.communication, cell.link, side, cell.slowdown, RowKind::kEmulated));
  }
  return profile;
}

// Over a network port an exchange does not load memory as it does over NVLink, and a local copy is neither.
TEST(FitProfile, TheCellIsChosenByTheLink) {
  const auto fitted = FitProfile(WithCells());
  ASSERT_EQ(fitted->corun.size(), 3U);
  const FittedCorun* nvlink = fitted->CorunOver({3.2e11, true}, "gemm");
  const FittedCorun* network = fitted->CorunOver({5e10, false}, "gemm");
  ASSERT_TRUE(nvlink != nullptr && network != nullptr);
  EXPECT_EQ(nvlink->link_bytes_per_second, 3.8e11);
  EXPECT_EQ(network->link_bytes_per_second, 4.2e10);
  EXPECT_EQ(nvlink->kind, RowKind::kEmulated);
  EXPECT_NEAR(nvlink->Error(), nvlink->curve.error + kEmulatedError, 1e-12);
  EXPECT_EQ(fitted->CorunOver({1.4e11, false}, "gemm"), nullptr) << "more than twice, or less than half, of any pace";
  EXPECT_EQ(fitted->CorunOver({3.2e11, true}, "attention"), nullptr);
}

TEST(FitProfile, RealPeersBeatAnEmulatedLinkInsideTheDomainAlone) {
  HardwareProfile profile = WithCells();
  for (const char* side : {"compute", "communication"})
    profile.rows.push_back(CorunRow("nccl", 0, side, 1.2, RowKind::kMeasured));
  const auto fitted = FitProfile(profile);
  EXPECT_EQ(fitted->CorunOver({3.2e11, true}, "gemm")->communication, "nccl");
  EXPECT_EQ(fitted->CorunOver({5e10, false}, "gemm")->communication, "paced");
  profile.rows.back().kind = RowKind::kEmulated;
  EXPECT_EQ(FitProfile(profile)->CorunOver({3.2e11, true}, "gemm")->communication, "paced")
      << "a cell is no better than its worst row";
}

// NCCL does not say how many SMs it holds; and of two cells between real peers the one counts whose kernels are those
// of the exchange.
TEST(FitProfile, PeersAreToldApartByWhoseKernelsTheyAre) {
  HardwareProfile profile = WithCells();
  for (const char* communication : {"nccl", "pull", "push"}) {
    for (const char* side : {"compute", "communication"}) {
      profile.rows.push_back(CorunRow(communication, 0, side, 1.2, RowKind::kMeasured));
      profile.rows.back().labels["link"] = "nvlink";
      if (std::string(communication) == "nccl") profile.rows.back().parameters.erase("sms");
    }
  }
  // The one device's own push is left out of a team's profile.
  profile.rows.erase(profile.rows.begin(), profile.rows.begin() + 2);
  const auto fitted = FitProfile(profile);
  const FittedCorun* library = fitted->CorunOver({3.2e11, true, /*by_library=*/true}, "gemm");
  const FittedCorun* dispatcher = fitted->CorunOver({3.2e11, true, /*by_library=*/false}, "gemm");
  ASSERT_TRUE(library != nullptr && dispatcher != nullptr);
  EXPECT_EQ(library->communication, "nccl");
  EXPECT_NEAR(library->curve.At(kNcclSms).compute, 1.2, 1e-9);
  EXPECT_EQ(dispatcher->communication, "push");
  for (ProfileRow& row : profile.rows) {
    if (row.kind == RowKind::kMeasured) row.labels["link"] = "pcie";
  }
  EXPECT_EQ(FitProfile(profile)->CorunOver({3.2e11, true}, "gemm")->communication, "paced");
}

// An own kernel stands in where the library is missing, with a wider error, and is never mixed with it.
TEST(FitProfile, TheLibraryBeatsTheProbesOwnKernels) {
  HardwareProfile profile = Base();
  for (double rows : {64, 256, 1024, 4096}) {
    profile.rows.push_back(Row("gemm.fc1", 1e12 * rows / 10, "flops_per_second", {{"rows", rows}}, {{"path", "own"}}));
  }
  profile.rows.push_back(Row("mm.dense", 9e14, "flops_per_second", {}, {{"path", "tma"}}));
  const auto own = FitProfile(profile);
  EXPECT_TRUE(own->own_products);
  EXPECT_NEAR(own->Figure("mm.dense")->error, 0.01 + kStandInError, 1e-9);
  for (double rows : {64, 256, 1024, 4096}) {
    profile.rows.push_back(
        Row("gemm.fc1", 1e12 * rows / 20, "flops_per_second", {{"rows", rows}}, {{"path", "cublaslt"}}));
  }
  profile.rows.push_back(Row("mm.dense", 8e14, "flops_per_second", {}, {{"path", "cublaslt"}}));
  const auto library = FitProfile(profile);
  EXPECT_FALSE(library->own_products);
  EXPECT_EQ(library->Figure("mm.dense")->value, 8e14) << "what a framework runs, though the own kernel was faster";
  EXPECT_LT(library->fc1_by_rows->At(1024), own->fc1_by_rows->At(1024));
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
  EXPECT_FALSE(fitted->copy_by_sms.has_value() || fitted->fc1_by_rows.has_value() || !fitted->exchanges.empty());
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
