// The threads of a block as fibres of one thread of the host.
#include <setjmp.h>
#include <ucontext.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "probe/emulation/queues.h"
#include "probe/emulation/run_blocks.h"
#include "probe/emulation/thread_block.h"

uint3 threadIdx = {}, blockIdx = {};
dim3 blockDim(1), gridDim(1);

namespace emulation {
namespace {

constexpr size_t kStackBytes = 128 << 10, kAlign = 1024;
constexpr int kIdlePasses = 4'000'000;  // over a block in which threads only polled, until it counts as hung
constexpr int kPatience = 8;            // such passes, until a block that polls for another one lets it go on
constexpr int kMostHolds = 3;           // of a block

struct Deferred {
  std::vector<std::function<void()>> open;
  std::deque<std::vector<std::function<void()>>> groups;  // closed, not settled

  void Close() {
    groups.push_back(std::move(open));
    open.clear();
  }
  // Whether anything was waited for.
  bool Settle(size_t pending) {
    bool any = false;
    for (; groups.size() > pending; groups.pop_front()) {
      for (const auto& work : groups.front()) work();
      any |= !groups.front().empty();
    }
    return any;
  }
  bool empty() const { return open.empty() && groups.empty(); }
};

struct Fibre {
  ucontext_t context{};  // where it begins
  jmp_buf place{};       // where it goes on; unlike swapcontext, a jump is no system call
  bool begun = false;
  std::unique_ptr<char[]> stack;
  bool done = true;
  const uint64_t* waits_for = nullptr;  // a generation that has to pass `seen`
  uint64_t seen = 0;
  Deferred copies, matrices;
  bool begun_matrices = false;
  bool unfenced = false;  // has written what matrix instructions may not read yet
  std::vector<uint64_t*> set_up;
  std::set<const void*> acquired;
  std::vector<std::function<void()>> to_peers;  // stores that no fence has sent on yet
};

struct Landing {
  std::function<void()> work;
  int polls;  // until it lands
};

struct Warp {
  unsigned char brought[2][32][64];
  int arrived = 0;
  uint64_t generation = 0;
};

}  // namespace

struct ThreadBlock {
  ucontext_t start{};
  jmp_buf scheduler{};
  std::vector<std::unique_ptr<Fibre>> fibres;
  std::vector<Warp> warps;
  std::vector<char> shared;
  unsigned char* shared_begin = nullptr;
  const std::function<void()>* kernel = nullptr;
  uint3 index = {};
  std::vector<size_t> turns;
  size_t threads = 0, left = 0, current = 0, shared_bytes = 0;
  size_t at_barrier = 0;
  uint64_t barrier = 0;
  int idle = 0;          // passes in which threads only polled
  bool polled = false;   // a thread gave way without waiting for anything
  bool tainted = false;  // unfenced writes were handed on at a barrier
  std::vector<Landing> landings;
  std::vector<std::function<void()>> late_stores;  // to peers, that only the end of the kernel sends on
  bool waits_for_other = false;                    // a thread polls for what another block or kernel does
  bool held = false;
  int holds = 0, points_until_hold = 0;
};

namespace {

std::vector<std::unique_ptr<ThreadBlock>> unused_blocks;
ThreadBlock* now = nullptr;  // the one that runs
uint64_t now_ns = 0;
Order order_of_threads = Order::kForward;

constexpr int kMostPolls = 300, kMostMatrixTurns = 3;

int Draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(Dice()); }

Fibre& Me() { return *now->fibres[now->current]; }
#ifdef __SANITIZE_ADDRESS__  // which knows about swapcontext, and takes a jump for an unwinding
void GiveWay() { swapcontext(&Me().context, &now->start); }
void Resume(Fibre& fibre) { swapcontext(&now->start, &fibre.context); }
#else
void GiveWay() {
  if (_setjmp(Me().place) == 0) _longjmp(now->scheduler, 1);
}
void Resume(Fibre& fibre) {
  if (_setjmp(now->scheduler) != 0) return;
  if (fibre.begun) _longjmp(fibre.place, 1);
  fibre.begun = true;
  setcontext(&fibre.context);
}
#endif

// A moment passes for the bulk engine.
void Land() {
  for (size_t i = 0; i < now->landings.size();) {
    if (--now->landings[i].polls > 0) {
      ++i;
      continue;
    }
    const std::function<void()> work = std::move(now->landings[i].work);
    now->landings.erase(now->landings.begin() + static_cast<int64_t>(i));
    work();
  }
}

// Runs the kernel once for every block; the fibre outlives them.
void Body() {
  for (;;) {
    Me().begun_matrices = Me().unfenced = false;
    Me().set_up.clear();
    Me().acquired.clear();
    (*now->kernel)();
    for (auto& store : Me().to_peers) now->late_stores.push_back(std::move(store));
    Me().to_peers.clear();
    if (!Me().copies.empty() || !Me().matrices.empty()) Fault("a thread ended with work that it did not wait for");
    Me().done = true;
    GiveWay();
  }
}

void MakeFibres(size_t threads) {
  while (now->fibres.size() < threads) {
    auto fibre = std::make_unique<Fibre>();
    fibre->stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    PrepareStack(fibre->stack.get(), kStackBytes, Body, &fibre->context);
    now->fibres.push_back(std::move(fibre));
  }
}

std::vector<size_t> Turns() {
  std::vector<size_t> turns(now->threads);
  for (size_t i = 0; i < turns.size(); ++i) turns[i] = order_of_threads == Order::kBackward ? turns.size() - 1 - i : i;
  if (order_of_threads == Order::kShuffled) std::shuffle(turns.begin(), turns.end(), Dice());
  return turns;
}

// At the first of the points where a block may be held, or after a number of them of any magnitude: there are as many
// as there are stores.
int DrawPoints() { return Draw(2) == 0 ? 0 : Draw(1 << Draw(13)); }

void CheckAtItsEnd() {
  if (!now->landings.empty()) Fault("a block ended while copies into its memory were on their way");
  const int64_t offset = now->shared_begin - reinterpret_cast<unsigned char*>(now->shared.data());
  for (size_t i = static_cast<size_t>(offset) + now->shared_bytes; i < now->shared.size(); ++i) {
    if (now->shared[i] != 0) Fault("a write behind the shared memory");
  }
}

}  // namespace

void PrepareStack(char* stack, size_t bytes, void (*entry)(), ucontext_t* context) {
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = bytes;
  makecontext(context, entry, 0);
}

void Fault(const char* what) {
  std::fprintf(stderr, "emulated CUDA: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, what);
  std::abort();
}

void SetOrder(Order order) { order_of_threads = order; }
bool AnyOrderOfBlocks() { return order_of_threads == Order::kShuffled; }

ThreadBlock* StartBlock(unsigned index, size_t threads, size_t shared_bytes, const std::function<void()>& kernel) {
  if (unused_blocks.empty()) unused_blocks.push_back(std::make_unique<ThreadBlock>());
  now = unused_blocks.back().release();
  unused_blocks.pop_back();
  now->threads = now->left = threads;
  now->kernel = &kernel;
  now->warps.assign((threads + 31) / 32, {});
  MakeFibres(threads);
  now->shared_bytes = shared_bytes;
  now->shared.assign(shared_bytes + 2 * kAlign, 0);
  const size_t offset = kAlign - reinterpret_cast<uintptr_t>(now->shared.data()) % kAlign;
  now->shared_begin = reinterpret_cast<unsigned char*>(now->shared.data() + offset);
  std::memset(now->shared_begin, 0xff, shared_bytes);
  for (size_t i = 0; i < threads; ++i) {
    now->fibres[i]->done = false;
    now->fibres[i]->waits_for = nullptr;
  }
  now->index = {index, 0, 0};
  now->turns = Turns();
  now->at_barrier = 0;
  now->idle = now->holds = 0;
  now->points_until_hold = DrawPoints();
  now->tainted = now->held = now->waits_for_other = false;
  return now;
}

Stop GoOn(ThreadBlock* block) {
  now = block;
  blockIdx = now->index;
  while (now->left > 0) {
    bool ran = false;
    now->polled = false;
    for (const size_t i : now->turns) {
      Fibre& fibre = *now->fibres[i];
      if (fibre.done || (fibre.waits_for != nullptr && *fibre.waits_for == fibre.seen)) continue;
      fibre.waits_for = nullptr;
      now->current = i;
      threadIdx = {static_cast<unsigned>(i), 0, 0};
      Resume(fibre);
      ran = true;
      if (fibre.done) --now->left;
      if (std::exchange(now->held, false)) return Stop::kHeld;
    }
    if (!ran) Fault("threads wait at a barrier or a warp operation that others have left out");
    now->idle = now->polled ? now->idle + 1 : 0;
    if (now->idle > kIdlePasses) Fault("threads poll for something that does not happen");
    if (now->idle >= kPatience && std::exchange(now->waits_for_other, false)) return Stop::kWaits;
  }
  CheckAtItsEnd();
  return Stop::kDone;
}

std::vector<std::function<void()>> EndBlock(ThreadBlock* block) {
  unused_blocks.emplace_back(block);
  return std::exchange(block->late_stores, {});
}

void PassTime(uint64_t ns) { now_ns += ns; }

void* SharedMemory() { return now->shared_begin; }

void Barrier() {
  now->tainted |= Me().unfenced;
  if (++now->at_barrier == now->threads) {
    now->at_barrier = 0;
    ++now->barrier;
    return;
  }
  Me().waits_for = &now->barrier;
  Me().seen = now->barrier;
  GiveWay();
}

void Pause() {
  Land();
  now_ns += 1000;
  now->polled = true;
  GiveWay();
}

void WaitForOther() {
  now->waits_for_other = true;
  Pause();
}

void MayBeHeld() {
  if (now->holds == kMostHolds || --now->points_until_hold >= 0) return;
  ++now->holds;
  now->points_until_hold = DrawPoints();
  now->held = true;
  GiveWay();
}

void StoreToPeer(std::function<void()> store) {
  MayBeHeld();
  Me().to_peers.push_back(std::move(store));
}
void FenceSystem() {
  MayBeHeld();
  for (const auto& store : std::exchange(Me().to_peers, {})) store();
}

uint64_t NowNs() { return now_ns; }

int Lane() { return static_cast<int>(now->current % 32); }

const unsigned char (*Meet(const void* mine, size_t bytes))[64] {
  Warp& warp = now->warps[now->current / 32];
  const uint64_t generation = warp.generation;
  if (bytes > 64) Fault("too much for one meeting");
  std::memcpy(warp.brought[generation % 2][Lane()], mine, bytes);
  const size_t lanes = std::min<size_t>(32, now->threads - now->current / 32 * 32);
  if (static_cast<size_t>(++warp.arrived) == lanes) {
    warp.arrived = 0;
    ++warp.generation;
  } else {
    Me().waits_for = &warp.generation;
    Me().seen = generation;
    GiveWay();
  }
  return warp.brought[generation % 2];
}

void Defer(std::function<void()> work) {
  if (order_of_threads == Order::kShuffled && Draw(2) == 0) {  // lands at once
    work();
    work = [] {};
  }
  Me().copies.open.push_back(std::move(work));
}
void CloseGroup() { Me().copies.Close(); }
void Settle(size_t pending) { Me().unfenced |= Me().copies.Settle(pending); }

void BeginMatrices() { Me().begun_matrices = true; }
void DeferMatrices(std::function<void()> work) {
  if (!Me().begun_matrices) Fault("a matrix instruction without wgmma.fence before its group");
  if (now->tainted || Me().unfenced) Fault("a matrix instruction on memory whose writes were not fenced");
  Me().matrices.open.push_back(std::move(work));
}
void CloseMatrices() {
  Me().matrices.Close();
  Me().begun_matrices = false;
}
// Late: whoever may not write yet, and would, has had turns before. A warp waits as one, so no lane is done before all
// are.
void SettleMatrices(size_t pending) {
  for (int turns = Draw(kMostMatrixTurns + 1); turns > 0 && Me().matrices.groups.size() > pending; --turns) {
    Land();
    GiveWay();
  }
  Me().matrices.Settle(pending);
  Meet(&pending, sizeof pending);
}

void LandLater(std::function<void()> work) { now->landings.push_back({std::move(work), 1 + Draw(kMostPolls)}); }
void SetUp(uint64_t* barrier) { Me().set_up.push_back(barrier); }
std::vector<uint64_t*> TakeSetUp() { return std::exchange(Me().set_up, {}); }
void Acquire(const void* map) { Me().acquired.insert(map); }
bool HasAcquired(const void* map) { return Me().acquired.contains(map); }

}  // namespace emulation

long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
