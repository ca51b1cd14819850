// Every kernel of every group, run thread by thread on this CPU and held against its reference in double precision, on
// the shapes of `flightplan-probe --check`; with the threads of a block in two orders, because a result that depends
// on the order is a race. Compilers and caches are not emulated, nor is time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "probe/emulation/reference_blas.h"
#include "probe/kernels/bulk.cuh"
#include "probe/kernels/corun.cuh"
#include "probe/kernels/pair.cuh"
#include "probe/kernels/routing.cuh"
#include "probe/limits.h"
#include "probe/method/row_table.h"

namespace flightplan::probe {
namespace {

std::string Describe(const RowSpec& row) {
  std::string text = row.id;
  for (const auto& [name, value] : row.labels) text += " " + name + "=" + value;
  for (const auto& [name, value] : row.parameters) text += " " + name + "=" + std::to_string(value);
  return text;
}

// A device with the shapes of a check. At its end its buffers' margins are looked at.
class OneGpu : public testing::Test {
 protected:
  OneGpu() {
    gpu_.check_only = true;
    gpu_.shape = CheckShape();
  }
  ~OneGpu() override {
    emulation::SetOrder(emulation::Order::kForward);
    gpu_.arena.Reset();
    gpu_.Close();
  }
  void SetUp() override { ASSERT_TRUE(gpu_.Open(0).ok()); }

  Gpu gpu_;
};
using GemmsTest = OneGpu;
using GateTest = OneGpu;
using ExchangeTest = OneGpu;
using LayerPairTest = OneGpu;
using RoutingTest = OneGpu;

class Kernels : public OneGpu, public testing::WithParamInterface<std::tuple<ExperimentGroup, emulation::Order>> {};

TEST_P(Kernels, AgreeWithTheirReferences) {
  const auto& [group, order] = GetParam();
  emulation::SetOrder(order);
  int prepared = 0, absent = 0, compared = 0;  // experiments; rows whose outputs agreed with a reference
  for (auto& experiment : group.make(gpu_)) {
    const Status status = experiment->Prepare();
    if (status.code == Code::kUnsupported) {  // nothing else may be left out
      EXPECT_TRUE(status.message.find("cuBLASLt") != std::string::npos ||
                  status.message.find("one device") != std::string::npos ||
                  status.message.find("no kernel of this worker") != std::string::npos)
          << Describe(experiment->rows().front()) << ": " << status.message;
      ++absent;
      continue;
    }
    EXPECT_TRUE(status.ok()) << Describe(experiment->rows().front()) << ": " << status.message;
    ++prepared;
    if (status.ok() && experiment->checked()) compared += static_cast<int>(experiment->rows().size());
    gpu_.arena.Reset();  // and look at the margins
    experiment.reset();
  }
  EXPECT_GE(prepared, 6) << group.name;
  std::printf("%s: %d experiments ran, %d rows agree with their reference, %d experiments absent\n", group.name,
              prepared, compared, absent);
}

constexpr emulation::Order kOrders[] = {emulation::Order::kForward, emulation::Order::kShuffled};

std::string CaseName(const testing::TestParamInfo<std::tuple<ExperimentGroup, emulation::Order>>& made) {
  const char* const orders[] = {"Forward", "Backward", "Shuffled"};
  return std::string(std::get<0>(made.param).name) + orders[static_cast<int>(std::get<1>(made.param))];
}

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Combine(testing::ValuesIn(kExperimentGroups), testing::ValuesIn(kOrders)), CaseName);

// More tiles than blocks: what a stage or a barrier is left with by one tile, the next one meets.
TEST_F(GemmsTest, BlocksGoThroughSeveralTiles) {
  for (const emulation::Order order : kOrders) {
    emulation::SetOrder(order);
    for (const GemmPath path : {GemmPath::kOwn, GemmPath::kTma}) {
      gpu_.arena.Reset();
      Gemms gemms;
      int sets = 0;
      ASSERT_TRUE(gemms.Open(gpu_, path, {{.m = 136, .n = 520, .k = 328}}, /*sm_count=*/2).ok());
      ASSERT_TRUE(gemms.AllocateSets(1, &sets).ok());
      ASSERT_GT(gemms.tiles(), 2 * 2);
      EXPECT_TRUE(gemms.Check().ok()) << Name(path);
    }
  }
}

// The router and the row map are built for 256, 512 and 1,024 experts: below, at and above each of them.
TEST_F(RoutingTest, TakesAsManyExpertsAsModelsHave) {
  for (const int experts : {256, 264, 512, 520, 896, 1024}) {
    gpu_.shape.experts = experts;
    for (auto& experiment : RoutingExperiments(gpu_)) {
      const Status status = experiment->Prepare();
      EXPECT_TRUE(status.ok()) << experts << ": " << Describe(experiment->rows().front()) << ": " << status.message;
      EXPECT_TRUE(experiment->checked());
      gpu_.arena.Reset();
      experiment.reset();
    }
  }
}

// By the library, too: in every storage order, for an expert without rows, and in every recipe of FP8.
TEST_F(GemmsTest, TheLibrarysAreHeldAgainstTheirReference) {
  gpu_.blas = MakeReferenceBlas();
  const std::vector<std::vector<GemmShape>> lists = {
      {{.m = 72, .n = 88, .k = 40}, {.m = 0, .n = 88, .k = 40}, {.m = 8, .n = 88, .k = 40}},
      {{.m = 72, .n = 88, .k = 40, .b_by_k = true}},
      {{.m = 72, .n = 88, .k = 40, .a_by_k = true, .b_by_k = true, .accumulate_fp32 = true}}};
  for (const auto& shapes : lists) {
    gpu_.arena.Reset();
    Gemms gemms;
    int sets = 0;
    ASSERT_TRUE(gemms.Open(gpu_, GemmPath::kLibrary, shapes).ok());
    ASSERT_TRUE(gemms.AllocateSets(1, &sets).ok());
    EXPECT_TRUE(gemms.Check().ok());
  }
  Experiments all;
  AddFp8Dense(gpu_, &all);
  AddFp8Experts(gpu_, &all);
  for (auto& experiment : all) {
    gpu_.arena.Reset();
    const Status status = experiment->Prepare();
    EXPECT_TRUE(status.ok()) << Describe(experiment->rows().front()) << ": " << status.message;
    EXPECT_TRUE(experiment->checked());
  }
  EXPECT_EQ(all.size(), 9U);
}

TEST_F(GemmsTest, WhatTheLibraryDoesWrongIsWithheld) {
  for (const BlasFault fault : {BlasFault::kNextRowsScales, BlasFault::kLeavesAColumnOut}) {
    gpu_.blas = MakeReferenceBlas(fault);
    Experiments all;
    AddFp8Dense(gpu_, &all);
    for (auto& experiment : all) {
      gpu_.arena.Reset();
      EXPECT_EQ(experiment->Prepare().code, Code::kWithheld) << Describe(experiment->rows().front());
    }
  }
}

// What is more than one window of one kernel gives a sample of every row: none is missing, none negative.
class TimedExperiments : public OneGpu {
 protected:
  TimedExperiments() { gpu_.timed_checks = true; }
  void SetUp() override { ASSERT_TRUE(gpu_.Open(0, /*alone=*/false).ok()); }
};

TEST_F(TimedExperiments, GiveASampleOfEveryRow) {
  const std::set<std::string> timed = {"mm.sustained", "mm.clock",   "corun.start",
                                       "launch.graph", "graph.cost", "a2a.meta"};
  for (const ExperimentGroup& group : kExperimentGroups) {
    std::set<std::string> seen;  // one of every kind of row; the others differ in their parameters alone
    for (auto& experiment : group.make(gpu_)) {
      const std::string id = experiment->rows().front().id;
      if (!timed.contains(id) || !seen.insert(id).second) continue;
      const Status status = experiment->Prepare();
      ASSERT_TRUE(status.ok()) << Describe(experiment->rows().front()) << ": " << status.message;
      std::vector<double> values;
      const Status taken = experiment->Take(&values);
      ASSERT_TRUE(taken.ok()) << Describe(experiment->rows().front()) << ": " << taken.message;
      ASSERT_EQ(values.size(), experiment->rows().size());
      for (size_t i = 0; i < values.size(); ++i) {
        const RowSpec& row = experiment->rows()[i];
        EXPECT_NE(FindRow(row.id), nullptr) << row.id;
        EXPECT_EQ(FindRow(row.id)->unit, row.unit) << row.id;
        EXPECT_TRUE(std::isfinite(values[i]) && values[i] >= 0) << Describe(row) << ": " << values[i];
      }
    }
  }
}

TEST(ExperimentGroups, AreThoseThatADeviceIsAskedFor) {
  std::vector<std::string> made, asked(std::begin(kGroups), std::end(kGroups));
  for (const ExperimentGroup& group : kExperimentGroups) made.push_back(group.name);
  EXPECT_EQ(made, asked);
}

// Where each of `marks` stands in a trace.
std::vector<int64_t> Places(const std::vector<std::string>& trace, const std::vector<std::string>& marks) {
  std::vector<int64_t> places;
  for (const std::string& mark : marks) {
    places.push_back(std::find(trace.begin(), trace.end(), mark) - trace.begin());
  }
  return places;
}

// Compute beside an exchange begins when the whole exchange is on the chip, whichever stream is served first.
TEST_F(GateTest, OpensForComputeWhenTheExchangeRuns) {
  Exchange exchange;
  ASSERT_TRUE(AllocateExchange(gpu_, 4096, 3, &exchange).ok());
  exchange.sms = 5;
  ASSERT_TRUE(gpu_.arena.Get(1, &exchange.started).ok());
  for (int run = 0; run < 40; ++run) {
    ASSERT_EQ(cudaMemsetAsync(exchange.started, 0, sizeof(uint32_t), gpu_.stream), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    emulation::TakeTrace();
    const uint64_t begin = GlobalNs();
    ASSERT_TRUE(LaunchGate(gpu_.stream, exchange.started, 5).ok());
    emulation::Mark(gpu_.stream, "compute");
    emulation::Mark(gpu_.urgent, "exchange");
    ASSERT_TRUE(LaunchExchange(gpu_, gpu_.urgent, exchange).ok());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(emulation::TakeTrace(), (std::vector<std::string>{"exchange", "compute"}));
    EXPECT_LT(GlobalNs() - begin, 1'000'000'000U) << "it opened, and was not given up";
  }
}

// The same exchange several times over in one launch.
TEST_F(ExchangeTest, TurnsInOneLaunchDeliverTheSame) {
  Exchange exchange;
  ASSERT_TRUE(AllocateExchange(gpu_, 300000, 3, &exchange).ok());
  exchange.sms = 2;
  exchange.turns = 3;
  EXPECT_TRUE(CheckExchange(gpu_, exchange).ok());
}

// Two microbatches cross each other in a pair step; each of them goes through its own nodes in their order, and nothing
// is left when the compute stream is done.
TEST_F(LayerPairTest, KeepsTheOrderOfBothMicrobatches) {
  LayerPair pair;
  ASSERT_TRUE(pair.Allocate(gpu_, 20).ok());
  emulation::TakeTrace();
  emulation::SetQueuesAlone(true);
  const std::vector<std::string> chains[] = {{"pre.fwd", "dispatch.fwd", "mlp.fwd", "combine.fwd"},
                                             {"combine.bwd", "mlp.bwd", "dispatch.bwd", "pre.bwd"}};
  for (const fit::PairSchedule& schedule : {fit::PairSchedule{true, false, false}, fit::PairSchedule{true, true, false},
                                            fit::PairSchedule{true, true, true}}) {
    for (int run = 0; run < 60; ++run) {
      emulation::Mark(gpu_.stream, "before");
      ASSERT_TRUE(pair.Overlapped(gpu_.stream, gpu_.side, schedule).ok());
      emulation::Mark(gpu_.stream, "after");
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      const std::vector<std::string> trace = emulation::TakeTrace();
      EXPECT_EQ(trace.front(), "before");
      EXPECT_EQ(trace.back(), "after");
      for (const std::vector<std::string>& chain : chains) {
        std::vector<std::string> marks;
        for (const std::string& node : chain) marks.insert(marks.end(), {"begin " + node, "end " + node});
        const std::vector<int64_t> places = Places(trace, marks);
        EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << testing::PrintToString(trace);
        EXPECT_LT(places.back(), static_cast<int64_t>(trace.size()));
      }
    }
  }
  emulation::SetQueuesAlone(false);
}

}  // namespace
}  // namespace flightplan::probe
