// Real lines of public runs; each test names the thread that printed them.
#include "clients/cli/exchange_output.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace flightplan::cli {
namespace {

ExchangeOutput Read(absl::string_view text, ExchangeRun run = {}) {
  absl::StatusOr<ExchangeOutput> out = ReadExchangeOutput(text, run);
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? *out : ExchangeOutput{};
}

std::string ErrorOf(absl::string_view text, ExchangeRun run = {}) {
  const absl::StatusOr<ExchangeOutput> out = ReadExchangeOutput(text, run);
  return out.ok() ? "no error" : std::string(out.status().message());
}

// github.com/NVIDIA/nccl/issues/2169
constexpr char kFourRanks[] = R"(# nccl-tests version 2.17.8 nccl-headers=23004 nccl-library=23004
# Collective test starting: alltoall_perf
# nThread 1 nGpus 1 minBytes 524288000 maxBytes 555745280 step: 1048576(bytes) warmup iters: 1 iters: 10
#
# Using devices
#  Rank  0 Group  0 Pid 2380523 on    Node1 device  0 [0000:4e:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid 2380524 on    Node1 device  1 [0000:5f:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid 2380525 on    Node1 device  2 [0000:cb:00] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid 2380526 on    Node1 device  3 [0000:db:00] NVIDIA H100 80GB HBM3
#
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
   524288000      32768000     float    none      -1  1174.14  446.53  334.90       0  1163.40  450.65  337.99    N/A
)";

TEST(ReadExchangeOutput, NcclTestsInsideANode) {
  const ExchangeOutput out = Read(kFourRanks);
  EXPECT_EQ(out.device_name, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(out.rows.size(), 1U);
  const v1::ProbeRow& row = out.rows[0];
  EXPECT_EQ(row.id(), "a2a.nccl");
  EXPECT_EQ(row.kind(), "imported");
  EXPECT_EQ(row.labels().at("link"), "nvlink");
  EXPECT_EQ(row.parameters().at("ranks"), 4);
  EXPECT_NEAR(row.parameters().at("bytes"), 0.75 * 524288000, 1);
  EXPECT_NEAR(row.value(), 334.90e9, 0.01e9) << "its bus bandwidth";
}

// github.com/NVIDIA/nccl-tests/issues/78: 8 nodes of 8 V100, an older version without devices, redop and root.
TEST(ReadExchangeOutput, NcclTestsOverTheNetworkCountsWhatLeavesTheNode) {
  constexpr char kText[] = R"(./build/alltoall_perf -b 256M -e 512M -f 2
#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   268435456       1048576     float           520935    0.52    0.51  0e+00   519562    0.52    0.51  1e+00
   536870912       2097152     float          1041974    0.52    0.51  0e+00  1041299    0.52    0.51  1e+00
)";
  EXPECT_EQ(ErrorOf(kText),
            "names 0 ranks on 0 nodes: give the lines under '# Using devices', or --ranks N and --nodes N");
  const ExchangeOutput out = Read(kText, {.ranks = 64, .nodes = 8});
  ASSERT_EQ(out.rows.size(), 2U);
  EXPECT_EQ(out.rows[0].labels().at("link"), "network");
  EXPECT_NEAR(out.rows[0].value(), 268435456 * (56.0 / 64) / 520935 * 1e6, 1);
  EXPECT_TRUE(out.device_name.empty());
}

TEST(ReadExchangeOutput, WrongValuesAreLeftOutAndSaid) {
  std::string text = kFourRanks;
  text.replace(text.find("334.90       0"), 14, "334.90      12");
  EXPECT_EQ(ErrorOf(text), "has no line of alltoall_perf with a size and a time");
  text +=
      "   600000000      37500000     float    none      -1  1300.00  461.53  346.15       0  1300.00  461.5 346.1 "
      "N/A\n";
  EXPECT_EQ(Read(text).notes, std::vector<std::string>{"1 sizes of alltoall_perf had wrong values and are left out"});
}

TEST(ReadExchangeOutput, AnotherCollectiveIsNoExchange) {
  std::string text = kFourRanks;
  text.replace(text.find("alltoall_perf"), 13, "all_reduce_perf");
  EXPECT_EQ(ErrorOf(text), "is of 'all_reduce_perf': an exchange is alltoall_perf");
}

// github.com/deepseek-ai/DeepEP/issues/344, and a line of the same form for the way back.
constexpr char kInternode[] =
    "[tuning] SMs 24, NVL chunk 4, RDMA chunk 4: 31.25 GB/s (RDMA), 102.24 GB/s (NVL)\n"
    "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 28, RDMA chunk 12: 41.88 GB/s (RDMA), 136.70 GB/s (NVL)\n"
    "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 12, RDMA chunk 32: 42.36 GB/s (RDMA), 138.25 GB/s (NVL)\n"
    "[tuning] Best combine: SMs 24, NVL chunk 4, RDMA chunk 16, transmit: 4474.00 us, notify: 1940.00 us, "
    "BW: 41.00 GB/s (RDMA), 133.80 GB/s (NVL)\n";

TEST(ReadExchangeOutput, DeepEpOverTheNetworkLeavesOutWhatStaysOnTheNode) {
  EXPECT_EQ(ErrorOf(kInternode), "ran over several nodes and does not say how many: add --nodes N");
  const ExchangeOutput out = Read(kInternode, {.ranks = 32, .nodes = 4});
  ASSERT_EQ(out.rows.size(), 2U);
  EXPECT_EQ(out.rows[0].id(), "a2a.deepep");
  EXPECT_EQ(out.rows[0].labels().at("pass"), "dispatch");
  EXPECT_EQ(out.rows[0].labels().at("link"), "network");
  EXPECT_EQ(out.rows[0].parameters().at("sms"), 24);
  EXPECT_NEAR(out.rows[0].value(), 0.75 * 42.36e9, 1);
  EXPECT_EQ(out.rows[1].labels().at("pass"), "combine");
  EXPECT_NEAR(out.rows[1].value(), 0.75 * 41.00e9, 1) << "newer versions print times before the rates";
}

// UCCL-EP is called as DeepEP is, and its tests print what DeepEP's do. github.com/uccl-project/uccl/pull/444: two
// nodes of eight GPUs.
TEST(ReadExchangeOutput, UcclEpIsReadAsDeepEp) {
  const ExchangeOutput out = Read(
      "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 16, RDMA chunk 20, transmit: 774.87 us, notify: 44.97 us, "
      "BW: 77.84 GB/s (RDMA), 254.65 GB/s (NVL)\n"
      "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 8, RDMA chunk 20, transmit: 1403.00 us, notify: 75.61 us, "
      "BW: 83.38 GB/s (RDMA), 272.76 GB/s (NVL)\n"
      "[tuning] Best combine: SMs 24, NVL chunk 3, RDMA chunk 24, transmit: 1760.00 us, notify: 77.31 us, "
      "BW: 66.47 GB/s (RDMA), 217.43 GB/s (NVL)\n",
      {.ranks = 16, .nodes = 2});
  ASSERT_EQ(out.rows.size(), 2U);
  EXPECT_EQ(out.rows[0].id(), "a2a.deepep");
  EXPECT_NEAR(out.rows[0].value(), 0.5 * 83.38e9, 1);
  EXPECT_NEAR(out.rows[1].value(), 0.5 * 66.47e9, 1);
}

// github.com/ppl-ai/pplx-kernels/issues/10 (H800), in the form of test_intranode.py.
TEST(ReadExchangeOutput, DeepEpInsideANode) {
  const ExchangeOutput out =
      Read("[tuning] Best dispatch (BF16): SMs 24, NVL chunk 16, 160.46 GB/s (NVL), 1240.00 us\n");
  ASSERT_EQ(out.rows.size(), 1U);
  EXPECT_EQ(out.rows[0].labels().at("link"), "nvlink");
  EXPECT_NEAR(out.rows[0].value(), 160.46e9, 1);
  EXPECT_EQ(ErrorOf("[tuning] SMs 24, NVL chunk 4: 100.00 GB/s (NVL)\n"),
            "has no line 'Best dispatch (BF16)' or 'Best combine': give the whole output of the test, to its end");
}

// github.com/deepseek-ai/DeepEP/pull/588: four ranks of one node.
TEST(ReadExchangeOutput, HybridEpInsideANode) {
  const ExchangeOutput out = Read(
      "[rank 0] HybridEP dispatch torch API (BF16): 544.91 GB/s (NVL), t: 457.15 us, nvl_recv_bytes: 249.10 MB\n"
      "[rank 1] HybridEP dispatch torch API (BF16): 545.03 GB/s (NVL), t: 457.10 us, nvl_recv_bytes: 249.14 MB\n"
      "[rank 2] HybridEP dispatch torch API (BF16): 546.80 GB/s (NVL), t: 457.66 us, nvl_recv_bytes: 250.25 MB\n"
      "[rank 0] HybridEP combine torch API: 387.94 GB/s (NVL), t: 642.12 us, combine_send_bytes: 249.10 MB\n"
      "[rank 0] HybridEP dispatch+permute torch API (BF16): 498.28 GB/s (NVL), t: 499.92 us, nvl_recv_bytes: 249.10 "
      "MB\n"
      "[rank 1] HybridEP dispatch+permute torch API (BF16): 498.28 GB/s (NVL), t: 499.99 us, nvl_recv_bytes: 249.14 "
      "MB\n"
      "[rank 2] HybridEP dispatch+permute torch API (BF16): 500.15 GB/s (NVL), t: 500.35 us, nvl_recv_bytes: 250.25 "
      "MB\n");
  ASSERT_EQ(out.rows.size(), 1U) << "with the permutation; a combine with it was not printed";
  EXPECT_EQ(out.rows[0].id(), "a2a.hybridep");
  EXPECT_EQ(out.rows[0].parameters().at("ranks"), 3);
  EXPECT_EQ(out.rows[0].sample_count(), 3);
  EXPECT_NEAR(out.rows[0].value(), 498.28e9, 1) << "the median rank";
}

// github.com/deepseek-ai/DeepEP/issues/590: two nodes of eight B300.
TEST(ReadExchangeOutput, HybridEpOverTheNetwork) {
  const ExchangeOutput out = Read(
      "dispatch kernel (BF16)(NVL):       149.24 GB/s, avg_t=2638.9 us [min=2609.0, max=2671.0]\n"
      "dispatch kernel (BF16)(RDMA):      44.38 GB/s, avg_t=2638.9 us [min=2609.0, max=2671.0]\n"
      "dispatch (BF16):                   136.54 GB/s (NVL), t: 2884.3 us [min=2884.1, max=2884.6], nvl_recv_bytes: "
      "393.84 MB\n"
      "dispatch (BF16):                   40.60 GB/s (RDMA), t: 2884.3 us [min=2884.1, max=2884.6], rdma_send_bytes: "
      "117.11 MB\n"
      "combine:                           38.34 GB/s (RDMA), t: 3054.8 us [min=3054.6, max=3055.0], rdma_recv_bytes: "
      "117.11 MB\n",
      {.ranks = 16, .nodes = 2});
  ASSERT_EQ(out.rows.size(), 2U);
  EXPECT_EQ(out.rows[0].labels().at("link"), "network");
  EXPECT_NEAR(out.rows[0].value(), 40.60e9, 1);
  EXPECT_NEAR(out.rows[1].value(), 38.34e9, 1);
}

TEST(ReadExchangeOutput, AnythingElseIsRefused) {
  for (const char* text : {"", "hello", "{}", "[tuning]", "alltoall_perf", "HybridEP", "alltoall_perf\n1 2 float\n",
                           "alltoall_perf\n# Rank on\n 9 9 float none -1 0 0 0 0 0 0 0 0\n"}) {
    EXPECT_NE(ErrorOf(text), "no error") << text;
  }
}

}  // namespace
}  // namespace flightplan::cli
