// Several devices at once, on the emulation's: exchanges between them by kernels, copies and a stand-in for NCCL, held
// against what was sent, and what a real team would be refused.
#include "probe/kernels/team.cuh"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "probe/method/row_table.h"

namespace flightplan::probe {
namespace {

using Way = TeamExchange::Way;
constexpr Way kWays[] = {Way::kPush, Way::kPull, Way::kCopyEngine, Way::kNccl, Way::kCombine};
constexpr emulation::Order kOrders[] = {emulation::Order::kForward, emulation::Order::kShuffled};

class TeamTest : public testing::Test {
 protected:
  ~TeamTest() override {
    emulation::SetOrder(emulation::Order::kForward);
    team_.Close();
    for (auto& gpu : gpus_) {
      cudaSetDevice(gpu->index);
      gpu->arena.Reset();
      gpu->Close();
    }
    cudaSetDevice(0);
  }

  void Open(int ranks, bool timed = false, const std::string& nccl = FLIGHTPLAN_FAKE_NCCL) {
    std::vector<Gpu*> members;
    for (int device = 0; device < ranks; ++device) {
      auto& gpu = gpus_.emplace_back(std::make_unique<Gpu>());
      gpu->check_only = true;
      gpu->timed_checks = timed;
      gpu->shape = CheckShape();
      ASSERT_TRUE(gpu->Open(device, /*alone=*/false).ok());
      members.push_back(gpu.get());
    }
    cudaSetDevice(0);
    const Status opened = team_.Open(members, "nvlink", nccl);
    ASSERT_TRUE(opened.ok()) << opened.message;
  }
  void ResetArenas() {
    for (auto& gpu : gpus_) gpu->arena.Reset();
  }

  std::vector<std::unique_ptr<Gpu>> gpus_;
  Team team_;
};

// Every way, with two to four ranks, sizes that are no whole number of tiles, and threads, blocks and devices in any
// order.
TEST_F(TeamTest, EveryRankGetsWhatTheOthersSent) {
  for (const int ranks : {4, 3, 2}) {
    SCOPED_TRACE(ranks);
    Open(ranks);
    for (const emulation::Order order : kOrders) {
      emulation::SetOrder(order);
      for (const Way way : kWays) {
        for (const int64_t bytes : {int64_t{16}, int64_t{90000}, int64_t{280000} * (ranks - 1)}) {
          if (bytes > 90000 && ranks != 3) continue;
          ResetArenas();
          TeamExchange exchange;
          const Status allocated = exchange.Allocate(team_, way, bytes, /*sms=*/3);
          ASSERT_TRUE(allocated.ok()) << allocated.message;
          for (int turn = 0; turn < 3; ++turn) {  // what one exchange leaves, the next one meets
            const Status checked = exchange.Check();
            ASSERT_TRUE(checked.ok()) << TeamExchange::Name(way) << ", " << bytes << " bytes: " << checked.message;
          }
        }
      }
    }
    ResetArenas();
    team_.Close();
    for (auto& gpu : gpus_) gpu->Close();
    gpus_.clear();
  }
}

TEST_F(TeamTest, UnevenPartsArriveToo) {
  Open(4);
  TeamExchange exchange;
  ASSERT_TRUE(exchange.Allocate(team_, Way::kNccl, 90000, 0, /*zipf=*/1.0).ok());
  EXPECT_NEAR(exchange.busiest(), 1 / (1 + 1 / 2. + 1 / 3. + 1 / 4.) * 4, 0.01);
  EXPECT_TRUE(exchange.Check().ok());
}

// Many exchanges in a row, with ranks far apart: nobody overtakes, nobody waits for ever.
TEST_F(TeamTest, ManyExchangesInARow) {
  Open(3);
  for (const Way way : kWays) {
    ResetArenas();
    TeamExchange exchange;
    ASSERT_TRUE(exchange.Allocate(team_, way, 5000, 2).ok());
    std::vector<double> us;
    const Status status = team_.TimeHeld(
        [&]() -> Status {
          for (int i = 0; i < 40; ++i) {
            if (Status launched = exchange.Launch([](Gpu& gpu) { return gpu.stream; }); !launched.ok()) return launched;
          }
          return Ok();
        },
        &us);
    ASSERT_TRUE(status.ok()) << TeamExchange::Name(way) << ": " << status.message;
    EXPECT_EQ(us.size(), 3U);
    ASSERT_TRUE(exchange.Check().ok());
  }
}

TEST_F(TeamTest, APeerThatDoesNotComeIsToldAndForgotten) {
  Open(2);
  TeamExchange exchange;
  ASSERT_TRUE(exchange.Allocate(team_, Way::kPush, 5000, 2).ok());
  PeerExchange alone = {.rank = 0, .peers = 1};
  uint4 *from = nullptr, *to = nullptr;
  ASSERT_TRUE(team_.gpu(0).arena.Get(8, &from).ok());
  ASSERT_TRUE(team_.gpu(1).arena.Get(8, &to).ok());
  alone.from[0] = from;
  alone.to[0] = to;
  alone.of_peer[0] = team_.state(1);
  alone.rank_of[0] = 1;
  alone.own = team_.state(0);
  alone.words = 8;
  alone.sms = 1;
  ASSERT_TRUE(LaunchPeerExchange(team_.gpu(0), team_.gpu(0).stream, PeerWay::kPush, alone).ok());
  ASSERT_TRUE(team_.Synchronize().ok());
  EXPECT_EQ(team_.AllCame().message, "a peer of device 0 did not come within two seconds");
  EXPECT_TRUE(team_.AllCame().ok());
  EXPECT_TRUE(exchange.Check().ok()) << "what was left half-way is no part of the next exchange";
}

// All that a team measures, on small shapes: every row is known, once, and every sample a number.
TEST_F(TeamTest, EveryExperimentGivesItsRows) {
  Open(2, /*timed=*/true);
  for (const bool overlap : {false, true}) {
    std::set<std::string> ids;
    for (auto& experiment : overlap ? TeamOverlapExperiments(team_) : TeamExchangeExperiments(team_)) {
      for (const RowSpec& row : experiment->rows()) {
        ASSERT_NE(FindRow(row.id), nullptr) << row.id;
        EXPECT_EQ(row.unit, FindRow(row.id)->unit) << row.id;
        EXPECT_EQ(row.kind, "measured");
        EXPECT_EQ(row.labels.at("link"), "nvlink");
        EXPECT_EQ(row.parameters.at("ranks"), 2);
        ids.insert(row.id);
      }
      const Status prepared = experiment->Prepare();
      ASSERT_TRUE(prepared.ok()) << experiment->rows().front().id << ": " << prepared.message;
      EXPECT_TRUE(experiment->checked());
      std::vector<double> values;
      ASSERT_TRUE(experiment->Take(&values).ok());
      ASSERT_EQ(values.size(), experiment->rows().size());
      for (size_t i = 0; i < values.size(); ++i) {
        if (experiment->rows()[i].id == "corun.matrix")
          continue;  // whether both met is a matter of this machine's time
        EXPECT_TRUE(std::isfinite(values[i]) && values[i] >= 0) << experiment->rows()[i].id;
      }
    }
    const std::set<std::string> exchange = {"a2a.p2p.push", "a2a.p2p.pull", "a2a.ce",        "a2a.nccl",
                                            "a2a.alpha",    "a2a.skew",     "a2a.straggler", "a2a.combine"};
    const std::set<std::string> corun = {"corun.matrix", "corun.lead"};
    EXPECT_EQ(ids, overlap ? corun : exchange);
  }
}

// What one device says of an exchange with itself gives way to what two say.
TEST_F(TeamTest, NothingIsStoodInForThatCanBeMeasured) {
  const auto has = [&](Experiments experiments, const std::string& id, const std::string& communication) {
    for (const auto& experiment : experiments) {
      for (const RowSpec& row : experiment->rows()) {
        const auto label = row.labels.find("communication");
        if (row.id == id && (communication.empty() || (label != row.labels.end() && label->second == communication)))
          return true;
      }
    }
    return false;
  };
  Open(2);
  EXPECT_FALSE(has(OverlapExperiments(team_.gpu(0)), "corun.matrix", "push"));
  EXPECT_FALSE(has(ExchangeExperiments(team_.gpu(0)), "a2a.nccl", ""));
  EXPECT_TRUE(has(OverlapExperiments(team_.gpu(0)), "corun.matrix", "paced"));
  team_.Close();
  EXPECT_TRUE(has(OverlapExperiments(*gpus_[0]), "corun.matrix", "push"));
  EXPECT_TRUE(has(ExchangeExperiments(*gpus_[0]), "a2a.nccl", ""));
}

TEST_F(TeamTest, WithoutNcclItsRowsAreAbsent) {
  Open(2, /*timed=*/false, "/nowhere/libnccl.so.2");
  EXPECT_EQ(team_.nccl_absent(), "NCCL is not installed (/nowhere/libnccl.so.2)");
  int absent = 0;
  for (auto& experiment : TeamExchangeExperiments(team_)) {
    const Status status = experiment->Prepare();
    if (status.code != Code::kUnsupported) continue;
    ++absent;
    EXPECT_EQ(experiment->rows().front().id, "a2a.nccl");
    EXPECT_EQ(status.message, team_.nccl_absent());
  }
  EXPECT_EQ(absent, 1);
}

TEST_F(TeamTest, WhatNcclRefusesIsToldAndCostsTheNextNothing) {
  Open(2);
  void* fake = dlopen(FLIGHTPLAN_FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(fake, nullptr) << dlerror();
  TeamExchange exchange;
  ASSERT_TRUE(exchange.Allocate(team_, Way::kNccl, 5000, 0).ok());
  *static_cast<int*>(dlsym(fake, "fake_nccl_refuses")) = 5;
  EXPECT_EQ(exchange.Check().message, "ncclGroupEnd failed with 5 (invalid usage)");
  EXPECT_TRUE(exchange.Check().ok());
  dlclose(fake);
}

TEST_F(TeamTest, NcclOfAnotherKindIsNone) {
  std::unique_ptr<Nccl> nccl;
  EXPECT_EQ(Nccl::Load("libm.so.6", &nccl).code, Code::kUnsupported);
  EXPECT_EQ(NcclVersionText(22803), "2.28.3");
  EXPECT_EQ(NcclVersionText(2708), "2.7.8");
}

TEST(Team, OneDeviceIsNone) {
  Gpu gpu;
  gpu.check_only = true;
  ASSERT_TRUE(gpu.Open(0).ok());
  Team team;
  EXPECT_EQ(team.Open({&gpu}, "nvlink").code, Code::kUnsupported);
  gpu.Close();
}

TEST(Straggler, IsTheSlowestOverTheMiddle) {
  EXPECT_DOUBLE_EQ(StragglerOf({10, 12, 15}), 1.25);
  EXPECT_DOUBLE_EQ(StragglerOf({10, 20}), 20 / 15.0);
  EXPECT_DOUBLE_EQ(SlowestOf({10, 12, 15}), 15);
}

// ---- The emulation sees what a real team would be refused.

TEST(SeveralDevices, RefuseWhatTheDriverRefuses) {
  cudaStream_t stream;
  cudaEvent_t event;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  char *first = nullptr, *second = nullptr;
  ASSERT_EQ(cudaMalloc(&second, 64), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&first, 64), cudaSuccess);
  EXPECT_EQ(emulation::Launch({.stream = stream}, [] {}), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemcpyPeerAsync(second, 1, first, 0, 64, nullptr), cudaSuccess);
  EXPECT_NE(cudaMemcpyPeerAsync(second, 0, first, 1, 64, nullptr), cudaSuccess);
  EXPECT_NE(cudaMemcpyPeerAsync(second, 1, first, 0, 65, nullptr), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(4), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  cudaFree(first);
  cudaFree(second);
}

TEST(SeveralDevicesDeathTest, EndOnMemoryThatIsNotReached) {
  cudaSetDevice(3);
  uint4* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
  cudaSetDevice(2);
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const auto store = [&] {
    emulation::Launch({.stream = stream}, [=] { StorePeer(memory, {}); });
    cudaDeviceSynchronize();
  };
  cudaSetDevice(2);
  EXPECT_DEATH(store(), "may not reach");
  cudaSetDevice(0);
}

// A store that was not fenced is not there when its receiver looks.
TEST(SeveralDevices, StoresArriveWhenTheyAreFenced) {
  for (const bool fenced : {false, true}) {
    cudaStream_t streams[2];
    uint4* memory = nullptr;
    uint32_t* flag = nullptr;
    for (int d = 1; d >= 0; --d) {
      cudaSetDevice(d);
      ASSERT_EQ(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking), cudaSuccess);
      if (d == 1) {
        ASSERT_EQ(cudaMalloc(&memory, sizeof *memory), cudaSuccess);
        ASSERT_EQ(cudaMalloc(&flag, sizeof *flag), cudaSuccess);
      }
    }
    *memory = {};
    *flag = 0;
    cudaDeviceEnablePeerAccess(1, 0);
    unsigned seen = 9;
    uint32_t go = 0;
    ASSERT_EQ(emulation::Launch({.stream = streams[0], .threads = dim3(2)},
                                [&, memory, flag] {
                                  if (threadIdx.x == 0) StorePeer(memory, {7, 0, 0, 0});
                                  if (threadIdx.x == 0 && fenced) FenceSystem();
                                  __syncthreads();
                                  if (threadIdx.x == 1) Signal(flag, 1);
                                  while (!HasCome(&go, 1)) {
                                  }
                                }),
              cudaSuccess);
    cudaSetDevice(1);
    ASSERT_EQ(emulation::Launch({.stream = streams[1]},
                                [&, memory, flag] {
                                  while (!HasCome(flag, 1)) {
                                  }
                                  seen = memory->x;
                                  go = 1;
                                }),
              cudaSuccess);
    cudaSetDevice(0);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(seen, fenced ? 7U : 0U);
    EXPECT_EQ(memory->x, 7U) << "the end of the kernel sends everything on";
    cudaFree(memory);
    cudaFree(flag);
  }
}

// A block that has started may be at its end before another one has stored anything, and after it has.
TEST(SeveralDevices, BlocksOfALaunchAreOnTheChipTogether) {
  cudaStream_t stream;
  uint4* memory = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&memory, sizeof *memory), cudaSuccess);
  std::set<std::vector<int>> met;  // blocks that had started when one ended, in the order of their ends
  for (int run = 0; run < 40; ++run) {
    int started = 0;
    std::vector<int> at_ends;
    ASSERT_EQ(emulation::Launch({.stream = stream, .blocks = dim3(2)},
                                [&, memory] {
                                  ++started;
                                  StorePeer(memory, {});
                                  at_ends.push_back(started);
                                }),
              cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    met.insert(at_ends);
  }
  EXPECT_EQ(met, (std::set<std::vector<int>>{{1, 2}, {2, 2}}));
  cudaFree(memory);
}

}  // namespace
}  // namespace flightplan::probe
