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

#include "probe/kernels/bulk.cuh"
#include "probe/kernels/corun.cuh"
#include "probe/kernels/pair.cuh"
#include "probe/method/row_table.h"

namespace flightplan::probe {
namespace {

std::string Describe(const RowSpec& row) {
  std::string text = row.id;
  for (const auto& [name, value] : row.labels) text += " " + name + "=" + value;
  for (const auto& [name, value] : row.parameters) text += " " + name + "=" + std::to_string(value);
  return text;
}

class Kernels : public testing::TestWithParam<std::tuple<ExperimentGroup, emulation::Order>> {};

TEST_P(Kernels, AgreeWithTheirReferences) {
  const auto& [group, order] = GetParam();
  emulation::SetOrder(order);
  Gpu gpu;
  gpu.check_only = true;
  gpu.shape = CheckShape();
  ASSERT_TRUE(gpu.Open(0).ok());
  int prepared = 0, absent = 0, compared = 0;  // experiments; rows whose outputs agreed with a reference
  for (auto& experiment : group.make(gpu)) {
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
    gpu.arena.Reset();  // and look at the margins
    experiment.reset();
  }
  EXPECT_GE(prepared, 6) << group.name;
  std::printf("%s: %d experiments ran, %d rows agree with their reference, %d experiments absent\n", group.name,
              prepared, compared, absent);
  gpu.Close();
}

constexpr emulation::Order kOrders[] = {emulation::Order::kForward, emulation::Order::kShuffled};

std::string CaseName(const testing::TestParamInfo<std::tuple<ExperimentGroup, emulation::Order>>& made) {
  const char* const orders[] = {"Forward", "Backward", "Shuffled"};
  return std::string(std::get<0>(made.param).name) + orders[static_cast<int>(std::get<1>(made.param))];
}

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Combine(testing::ValuesIn(kExperimentGroups), testing::ValuesIn(kOrders)), CaseName);

// More tiles than blocks: what a stage or a barrier is left with by one tile, the next one meets.
TEST(Gemms, BlocksGoThroughSeveralTiles) {
  for (const emulation::Order order : kOrders) {
    emulation::SetOrder(order);
    Gpu gpu;
    gpu.check_only = true;
    gpu.shape = CheckShape();
    ASSERT_TRUE(gpu.Open(0).ok());
    for (const GemmPath path : {GemmPath::kOwn, GemmPath::kHopper, GemmPath::kTma}) {
      gpu.arena.Reset();
      Gemms gemms;
      int sets = 0;
      ASSERT_TRUE(gemms.Open(gpu, path, {{.m = 136, .n = 520, .k = 328}}, /*sm_count=*/2).ok());
      ASSERT_TRUE(gemms.AllocateSets(1, &sets).ok());
      ASSERT_GT(gemms.tiles(), 2 * 2);
      EXPECT_TRUE(gemms.Check().ok()) << Name(path);
    }
    gpu.arena.Reset();
    gpu.Close();
  }
}

// What is more than one window of one kernel gives a sample of every row: none is missing, none negative.
TEST(Experiments, GiveASampleOfEveryRow) {
  const std::set<std::string> timed = {"mm.sustained", "mm.clock",   "corun.start",
                                       "launch.graph", "graph.cost", "a2a.meta"};
  Gpu gpu;
  gpu.check_only = gpu.timed_checks = true;
  gpu.shape = CheckShape();
  ASSERT_TRUE(gpu.Open(0, /*alone=*/false).ok());
  for (const ExperimentGroup& group : kExperimentGroups) {
    std::set<std::string> seen;  // one of every kind of row; the others differ in their parameters alone
    for (auto& experiment : group.make(gpu)) {
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
  gpu.arena.Reset();
  gpu.Close();
}

TEST(ExperimentGroups, AreThoseThatADeviceIsAskedFor) {
  std::vector<std::string> made, asked(std::begin(kGroups), std::end(kGroups));
  for (const ExperimentGroup& group : kExperimentGroups) made.push_back(group.name);
  EXPECT_EQ(made, asked);
}

// ---- The emulation itself sees what it is there to see.

void RunThreads(int threads, size_t shared_bytes, std::function<void()> kernel) {
  const dim3 size(static_cast<unsigned>(threads));
  ASSERT_EQ(emulation::Launch({.threads = size, .shared_bytes = shared_bytes}, std::move(kernel)), cudaSuccess);
  cudaDeviceSynchronize();
}

TEST(Emulation, TellsARaceByTheOrderOfThreads) {
  int last[2];
  const emulation::Order orders[] = {emulation::Order::kForward, emulation::Order::kBackward};
  for (int i = 0; i < 2; ++i) {
    emulation::SetOrder(orders[i]);
    RunThreads(64, 0, [&] { last[i] = static_cast<int>(threadIdx.x); });
  }
  EXPECT_NE(last[0], last[1]);
}

TEST(Emulation, BarriersOrderThreads) {
  for (const emulation::Order order : {emulation::Order::kForward, emulation::Order::kBackward}) {
    emulation::SetOrder(order);
    int sum[128] = {};
    RunThreads(128, sizeof(int) * 128, [&] {
      int* shared = static_cast<int*>(emulation::SharedMemory());
      shared[threadIdx.x] = static_cast<int>(threadIdx.x);
      __syncthreads();
      sum[threadIdx.x] = shared[127 - threadIdx.x] + __shfl_xor_sync(~0u, static_cast<int>(threadIdx.x), 1);
    });
    for (int i = 0; i < 128; ++i) EXPECT_EQ(sum[i], 127 - i + (i ^ 1));
  }
}

TEST(EmulationDeathTest, EndsOnADivergedBarrier) {
  EXPECT_DEATH(RunThreads(64, 0,
                          [] {
                            if (threadIdx.x != 5) __syncthreads();
                          }),
               "wait at a barrier");
  EXPECT_DEATH(RunThreads(64, 0,
                          [] {
                            if (threadIdx.x != 5) __shfl_xor_sync(~0u, 1, 1);
                          }),
               "wait at a barrier");
}

TEST(EmulationDeathTest, EndsOnAWriteBehindABuffer) {
  Arena arena;
  ASSERT_TRUE(arena.Reserve(1 << 16).ok());
  int* numbers = nullptr;
  ASSERT_TRUE(arena.Get(40, &numbers).ok());
  const auto write = [&](int count) {
    RunThreads(count, 0, [=] { numbers[threadIdx.x] = 1; });
    arena.Reset();
  };
  EXPECT_DEATH(write(41), "behind a buffer|use-after-poison");
  EXPECT_DEATH(RunThreads(1, 16, [] { static_cast<char*>(emulation::SharedMemory())[16] = 1; }),
               "behind the shared memory");
}

TEST(EmulationDeathTest, EndsOnACopyThatIsNotAligned) {
  alignas(16) Bf16 memory[32] = {};
  EXPECT_DEATH(RunThreads(1, 64, [&] { CopyAsync(reinterpret_cast<Bf16*>(DynamicShared()), memory + 1, true); }),
               "aligned");
}

TEST(EmulationDeathTest, EndsOnAnArrivalTooMany) {
  uint64_t barrier = 0;
  EXPECT_DEATH(RunThreads(1, 0,
                          [&] {
                            InitBarrier(&barrier, 1);
                            FenceBarriers();
                            ArriveAndExpect(&barrier, 16);
                            Arrive(&barrier);
                          }),
               "more arrivals");
}

// A phase ends with its arrivals and its bytes, and zeros stand beyond the edges of a matrix.
TEST(Emulation, TilesReportToTheirBarrier) {
  Bf16 matrix[3][8];
  for (Bf16& x : matrix[0]) x.bits = 1;
  for (Bf16& x : matrix[1]) x.bits = 2;
  for (Bf16& x : matrix[2]) x.bits = 3;
  TensorMap map;
  ASSERT_TRUE(MakeTensorMap(matrix[0], 8, 3, 8, &map).ok());
  RunThreads(1, 2048, [&] {
    uint64_t* barrier = reinterpret_cast<uint64_t*>(DynamicShared() + 1024);
    InitBarrier(barrier, 1);
    FenceBarriers();
    AcquireMap(&map);
    EXPECT_TRUE(PhaseIsOver(barrier, 1));
    ArriveAndExpect(barrier, 1024);
    EXPECT_FALSE(PhaseIsOver(barrier, 0));
    CopyTile(&map, 0, 1, DynamicShared(), barrier);
    EXPECT_EQ(reinterpret_cast<const Bf16*>(DynamicShared())->bits, 0xffff);  // has not landed
    while (!PhaseIsOver(barrier, 0)) {
    }
    EXPECT_FALSE(PhaseIsOver(barrier, 1));
    const Bf16* tile = reinterpret_cast<const Bf16*>(DynamicShared());
    EXPECT_EQ(tile[0].bits, 2);
    EXPECT_EQ(tile[8].bits, 0);               // of the first line, beyond its end
    EXPECT_EQ(tile[64 + 8].bits, 3);          // chunks of the second line are exchanged
    EXPECT_EQ(tile[2 * 64 + 2 * 8].bits, 0);  // beyond the last line
  });
}

// A copy lands when it is waited for, and not before.
TEST(Emulation, CopiesLandLate) {
  emulation::SetOrder(emulation::Order::kForward);
  alignas(16) Bf16 memory[16];
  for (Bf16& x : memory) x.bits = 7;
  RunThreads(1, 64, [&] {
    Bf16* shared = reinterpret_cast<Bf16*>(DynamicShared());
    CopyAsync(shared, memory, true);
    CommitCopies();
    CopyAsync(shared + 8, memory, false);
    CommitCopies();
    EXPECT_EQ(shared[0].bits, 0xffff);
    WaitForCopies<1>();
    EXPECT_EQ(shared[7].bits, 7);
    EXPECT_EQ(shared[8].bits, 0xffff);
    WaitForCopies<0>();
    EXPECT_EQ(shared[15].bits, 0);
  });
}

// ---- What waits for what.

TEST(Emulation, StreamsRunInAnyOrderThatEventsAllow) {
  cudaStream_t streams[2];
  cudaEvent_t event;
  for (cudaStream_t& stream : streams)
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  std::set<std::vector<std::string>> free, ordered;
  for (int i = 0; i < 40; ++i) {
    for (const bool wait : {false, true}) {
      emulation::Mark(streams[0], "a");
      ASSERT_EQ(cudaEventRecord(event, streams[0]), cudaSuccess);
      if (wait) cudaStreamWaitEvent(streams[1], event);
      emulation::Mark(streams[1], "b");
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      (wait ? ordered : free).insert(emulation::TakeTrace());
    }
  }
  EXPECT_EQ(free.size(), 2u);
  EXPECT_EQ(ordered, (std::set<std::vector<std::string>>{{"a", "b"}}));
}

TEST(EmulationDeathTest, EndsOnACaptureThatIsNotJoined) {
  cudaStream_t streams[2];
  cudaEvent_t event;
  for (cudaStream_t& stream : streams)
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  const auto capture = [&] {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal);
    cudaEventRecord(event, streams[0]);
    cudaStreamWaitEvent(streams[1], event);
    emulation::Mark(streams[1], "b");
    cudaStreamEndCapture(streams[0], &graph);
  };
  EXPECT_DEATH(capture(), "not joined");
}

TEST(Emulation, RefusesWhatTheDriverRefuses) {
  char* device = nullptr;
  char host[16];
  cudaStream_t stream;
  ASSERT_EQ(cudaMalloc(&device, 16), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(device, host, 16, cudaMemcpyHostToDevice, nullptr), cudaSuccess);
  EXPECT_NE(cudaMemcpyAsync(device, host, 16, cudaMemcpyDeviceToHost, nullptr), cudaSuccess);
  EXPECT_NE(cudaMemcpyAsync(device, host, 17, cudaMemcpyHostToDevice, nullptr), cudaSuccess);
  EXPECT_NE(cudaMemsetAsync(host, 0, 16, nullptr), cudaSuccess);
  EXPECT_NE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 1), cudaSuccess);
  const int no_kernel = 0;
  EXPECT_NE(emulation::Launch({.shared_bytes = 64 << 10, .kernel = &no_kernel}, [] {}), cudaSuccess);
  EXPECT_NE(cudaFuncSetAttribute(&no_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 << 10), cudaSuccess);
  TensorMap map;
  alignas(16) Bf16 matrix[64];
  EXPECT_FALSE(MakeTensorMap(matrix + 1, 8, 1, 8, &map).ok());
  EXPECT_FALSE(MakeTensorMap(matrix, 12, 1, 8, &map).ok());
  EXPECT_FALSE(MakeTensorMap(matrix, 8, 1, 257, &map).ok());
  cudaFree(device);
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
TEST(Gate, OpensForComputeWhenTheExchangeRuns) {
  Gpu gpu;
  gpu.check_only = true;
  gpu.shape = CheckShape();
  ASSERT_TRUE(gpu.Open(0).ok());
  Exchange exchange;
  ASSERT_TRUE(AllocateExchange(gpu, 4096, 3, &exchange).ok());
  exchange.sms = 5;
  ASSERT_TRUE(gpu.arena.Get(1, &exchange.started).ok());
  for (int run = 0; run < 40; ++run) {
    ASSERT_EQ(cudaMemsetAsync(exchange.started, 0, sizeof(uint32_t), gpu.stream), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    emulation::TakeTrace();
    const uint64_t begin = GlobalNs();
    ASSERT_TRUE(LaunchGate(gpu.stream, exchange.started, 5).ok());
    emulation::Mark(gpu.stream, "compute");
    emulation::Mark(gpu.urgent, "exchange");
    ASSERT_TRUE(LaunchExchange(gpu, gpu.urgent, exchange).ok());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(emulation::TakeTrace(), (std::vector<std::string>{"exchange", "compute"}));
    EXPECT_LT(GlobalNs() - begin, 1'000'000'000U) << "it opened, and was not given up";
  }
  gpu.arena.Reset();
  gpu.Close();
}

// The same exchange several times over in one launch.
TEST(Exchange, TurnsInOneLaunchDeliverTheSame) {
  Gpu gpu;
  gpu.check_only = true;
  gpu.shape = CheckShape();
  ASSERT_TRUE(gpu.Open(0).ok());
  Exchange exchange;
  ASSERT_TRUE(AllocateExchange(gpu, 300000, 3, &exchange).ok());
  exchange.sms = 2;
  exchange.turns = 3;
  EXPECT_TRUE(CheckExchange(gpu, exchange).ok());
  gpu.arena.Reset();
  gpu.Close();
}

// Two microbatches cross each other in a pair step; each of them goes through its own nodes in their order, and nothing
// is left when the compute stream is done.
TEST(LayerPair, KeepsTheOrderOfBothMicrobatches) {
  Gpu gpu;
  gpu.check_only = true;
  gpu.shape = CheckShape();
  ASSERT_TRUE(gpu.Open(0).ok());
  LayerPair pair;
  ASSERT_TRUE(pair.Allocate(gpu, 20).ok());
  emulation::TakeTrace();
  emulation::SetQueuesAlone(true);
  const std::vector<std::string> chains[] = {{"pre.fwd", "dispatch.fwd", "mlp.fwd", "combine.fwd"},
                                             {"combine.bwd", "mlp.bwd", "dispatch.bwd", "pre.bwd"}};
  for (const fit::PairSchedule& schedule : {fit::PairSchedule{true, false, false}, fit::PairSchedule{true, true, false},
                                            fit::PairSchedule{true, true, true}}) {
    for (int run = 0; run < 60; ++run) {
      emulation::Mark(gpu.stream, "before");
      ASSERT_TRUE(pair.Overlapped(gpu.stream, gpu.side, schedule).ok());
      emulation::Mark(gpu.stream, "after");
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
  gpu.arena.Reset();
  gpu.Close();
}

}  // namespace
}  // namespace flightplan::probe
