// The emulation itself sees what it is there to see, and refuses what the driver refuses.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "probe/kernels/bulk.cuh"
#include "probe/kernels/gpu.cuh"

namespace flightplan::probe {
namespace {

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

}  // namespace
}  // namespace flightplan::probe
