// The blocks of a launch, and pieces of work that may wait half-way for another kernel.
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "probe/emulation/queues.h"
#include "probe/emulation/run_blocks.h"
#include "probe/emulation/thread_block.h"

namespace emulation {
namespace {

constexpr size_t kPieceStackBytes = 512 << 10, kMostTogether = 6;
constexpr uint64_t kOutsideNs = 50'000;  // what passes while other kernels go on

// On a stack of its own, so that kernels may wait for each other in any order.
struct Piece {
  std::unique_ptr<char[]> stack;
  ucontext_t context{}, outside{};
  const std::function<void()>* work = nullptr;  // null: it is at its end
  int device = 0;
  dim3 block_size{1}, grid_size{1};  // of where it waits
};
std::vector<std::unique_ptr<Piece>> unused_pieces;
Piece* now = nullptr;
bool queues_alone = false;

size_t Draw(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(Dice()); }

// Lets other kernels go on.
void WaitOutside() {
  Piece* mine = now;
  mine->block_size = blockDim;
  mine->grid_size = gridDim;
  PassTime(kOutsideNs);
  swapcontext(&mine->context, &mine->outside);
  blockDim = mine->block_size;
  gridDim = mine->grid_size;
}

// Pieces of work one after the other.
void Pieces() {
  for (;;) {
    Piece* mine = now;
    (*mine->work)();
    mine->work = nullptr;
    swapcontext(&mine->context, &mine->outside);
  }
}

std::unique_ptr<Piece> TakePiece() {
  if (!unused_pieces.empty()) {
    std::unique_ptr<Piece> taken = std::move(unused_pieces.back());
    unused_pieces.pop_back();
    return taken;
  }
  auto made = std::make_unique<Piece>();
  made->stack = std::make_unique_for_overwrite<char[]>(kPieceStackBytes);
  PrepareStack(made->stack.get(), kPieceStackBytes, Pieces, &made->context);
  return made;
}

struct Resident {
  ThreadBlock* block;
  bool waits;
};

// Of the blocks that are on the chip and those that may come next, in a drawn order. A launch whose blocks are never
// held runs one after the other.
class Launched {
 public:
  Launched(dim3 blocks, dim3 threads, size_t shared_bytes, const std::function<void()>& kernel)
      : threads_(threads.x), shared_bytes_(shared_bytes), kernel_(kernel), order_(blocks.x) {
    std::iota(order_.begin(), order_.end(), 0u);
    if (AnyOrderOfBlocks()) std::shuffle(order_.begin(), order_.end(), Dice());
  }

  void Run() {
    while (started_ < order_.size() || !resident_.empty()) {
      const size_t ready = Ready();
      if ((ready > 0 || MayStart(ready)) && (resident_.empty() || Draw(4) != 0)) {
        Step(ready);
        continue;
      }
      WaitOutside();
      for (Resident& each : resident_) each.waits = false;
    }
    for (const auto& store : late_stores_) store();
  }

 private:
  // How many blocks may go on; they stand first.
  size_t Ready() {
    const auto waiting =
        std::partition(resident_.begin(), resident_.end(), [](const Resident& each) { return !each.waits; });
    return static_cast<size_t>(waiting - resident_.begin());
  }
  // Each has threads with stacks of their own.
  bool MayStart(size_t ready) const {
    return started_ < order_.size() && (ready == 0 || resident_.size() < kMostTogether);
  }

  void Step(size_t ready) {
    size_t at = MayStart(ready) ? Draw(ready + 1) : Draw(ready);
    if (at == ready) {
      at = resident_.size();
      resident_.push_back({StartBlock(order_[started_++], threads_, shared_bytes_, kernel_), false});
    }
    const Stop stop = GoOn(resident_[at].block);
    // Whatever the others wait for, it may have happened.
    for (Resident& each : resident_) each.waits = false;
    resident_[at].waits = stop == Stop::kWaits;
    if (stop != Stop::kDone) return;
    for (auto& store : EndBlock(resident_[at].block)) late_stores_.push_back(std::move(store));
    resident_.erase(resident_.begin() + static_cast<int64_t>(at));
  }

  size_t threads_, shared_bytes_;
  const std::function<void()>& kernel_;
  std::vector<unsigned> order_;
  size_t started_ = 0;
  std::vector<Resident> resident_;
  std::vector<std::function<void()>> late_stores_;
};

}  // namespace

void RunBlocks(dim3 blocks, dim3 threads, size_t shared_bytes, const std::function<void()>& kernel) {
  if (threads.x == 0 || threads.x > 1024 || blocks.x == 0 || blocks.x > 0x7fffffff) Fault("no such grid");
  if (shared_bytes > kSharedBytesPerBlock) Fault("more shared memory than a block may have");
  gridDim = blocks;
  blockDim = threads;
  Launched(blocks, threads, shared_bytes, kernel).Run();
}

bool RunPiece(int device, const std::function<void()>& work, void** half_way) {
  std::unique_ptr<Piece> mine(static_cast<Piece*>(std::exchange(*half_way, nullptr)));
  if (mine == nullptr) {
    mine = TakePiece();
    mine->device = device;
    mine->work = &work;
  }
  now = mine.get();
  swapcontext(&now->outside, &now->context);
  now = nullptr;
  if (mine->work != nullptr) {
    *half_way = mine.release();
    return false;
  }
  unused_pieces.push_back(std::move(mine));
  return true;
}

int RunningDevice() { return now->device; }

bool QueuesAlone() { return queues_alone; }
void SetQueuesAlone(bool alone) { queues_alone = alone; }

}  // namespace emulation
