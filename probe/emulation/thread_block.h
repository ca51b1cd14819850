// One block of threads, between threads.cc, which runs its threads, and blocks.cc, which runs the blocks of a launch.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace emulation {

struct ThreadBlock;

// Why a block does not go on: it is at its end; by chance; it polls for what another block or kernel does.
enum class Stop { kDone, kHeld, kWaits };

// `kernel` must live until EndBlock.
ThreadBlock* StartBlock(unsigned index, size_t threads, size_t shared_bytes, const std::function<void()>& kernel);
// Sets blockIdx and threadIdx.
Stop GoOn(ThreadBlock* block);
// Returns the stores to peers that nothing but the end of the kernel sends on.
std::vector<std::function<void()>> EndBlock(ThreadBlock* block);

// Whether the order of blocks is drawn, too.
bool AnyOrderOfBlocks();
void PassTime(uint64_t ns);
// To run `entry` on that stack when it is first switched to.
void PrepareStack(char* stack, size_t bytes, void (*entry)(), ucontext_t* context);

}  // namespace emulation
