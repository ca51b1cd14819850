// Between the emulated streams, memory and threads.
#pragma once

#include <functional>
#include <random>

#include "probe/emulation/cuda_runtime.h"

namespace emulation {

// What a stream does next, or a node of the graph that it is captured into.
cudaError_t Queue(cudaStream_t stream, std::function<void()> work);
// Runs everything that any stream has queued.
cudaError_t Drain();
bool Capturing();
int CurrentDevice();
// Whether kernels of `device` may reach memory of `peer`.
bool Reaches(int device, int peer);
// Of device memory; -1: of the host.
int DeviceOf(const void* memory);
// Decides what the hardware leaves open: which stream goes on, when a copy lands.
std::mt19937& Dice();

// The most dynamic shared memory that a kernel may be launched with.
int MostSharedBytes(const void* kernel);

}  // namespace emulation
