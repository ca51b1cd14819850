// NCCL's interface on the emulated devices, as a library that is loaded like the real one: grouped sends and receives
// of one process. What NCCL refuses is refused; a rank goes on when it has sent and received everything.
#include <cstddef>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "probe/emulation/queues.h"

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 4, kInvalidUsage = 5;

struct Communicator {
  int rank, device;
};
std::vector<Communicator*> communicators;

struct Part {
  const void* from = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
  cudaStream_t stream = nullptr;
};
std::map<std::tuple<int, int>, Part> sends, receives;  // by rank of the sender and of the receiver
int depth = 0;

// On the stream of `rank`'s device; the device that was current stays it.
template <class Work>
int On(int rank, Work work) {
  int before = 0;
  cudaGetDevice(&before);
  cudaSetDevice(communicators[static_cast<size_t>(rank)]->device);
  const bool done = work();
  cudaSetDevice(before);
  return done ? kSuccess : kInvalidUsage;
}

cudaEvent_t Recorded(int rank, cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  On(rank, [&] {
    return cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess &&
           cudaEventRecord(event, stream) == cudaSuccess;
  });
  return event;
}

int Start() {
  if (sends.size() != receives.size()) return kInvalidUsage;
  std::map<int, cudaStream_t> streams;
  for (const auto& [ranks, part] : sends) {
    const auto found = receives.find(ranks);
    if (found == receives.end() || found->second.bytes != part.bytes) return kInvalidUsage;
    streams[std::get<0>(ranks)] = part.stream;
    streams[std::get<1>(ranks)] = found->second.stream;
  }
  // Nothing moves before all ranks have come, and none leaves before all have what they get.
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<cudaEvent_t> events;
    for (const auto& [rank, stream] : streams) events.push_back(Recorded(rank, stream));
    for (const auto& [rank, stream] : streams) {
      for (cudaEvent_t event : events) cudaStreamWaitEvent(stream, event);
    }
    for (cudaEvent_t event : events) cudaEventDestroy(event);
    for (const auto& [ranks, part] : sends) {
      if (turn == 1) break;
      const Part& into = receives.at(ranks);
      emulation::Queue(into.stream,
                       [from = part.from, to = into.to, bytes = part.bytes] { std::memcpy(to, from, bytes); });
    }
  }
  return kSuccess;
}

int Add(std::map<std::tuple<int, int>, Part>* parts, int from, int to, const Part& part) {
  if (depth == 0 || from == to) return kInvalidUsage;
  if (emulation::DeviceOf(part.from != nullptr ? part.from : part.to) < 0) return kInvalidArgument;
  return parts->emplace(std::make_tuple(from, to), part).second ? kSuccess : kInvalidUsage;
}

}  // namespace

extern "C" {

int fake_nccl_refuses = 0;  // for tests: the next group ends with this

int ncclGetVersion(int* version) {
  *version = 22803;
  return kSuccess;
}
const char* ncclGetErrorString(int error) { return error == kInvalidUsage ? "invalid usage" : "invalid argument"; }
int ncclCommInitAll(void** made, int count, const int* devices) {
  for (int i = 0; i < count; ++i) {
    if (devices[i] < 0) return kInvalidArgument;
    communicators.push_back(new Communicator{i, devices[i]});
    made[i] = communicators.back();
  }
  return kSuccess;
}
int ncclCommDestroy(void* communicator) {
  std::erase(communicators, static_cast<Communicator*>(communicator));
  delete static_cast<Communicator*>(communicator);
  return kSuccess;
}
int ncclGroupStart() {
  ++depth;
  return kSuccess;
}
int ncclGroupEnd() {
  if (depth == 0 || --depth > 0) return kInvalidUsage;
  const int result = fake_nccl_refuses != 0 ? fake_nccl_refuses : Start();
  fake_nccl_refuses = 0;
  sends.clear();
  receives.clear();
  return result;
}
int ncclSend(const void* from, size_t count, int type, int peer, void* communicator, cudaStream_t stream) {
  if (type != 1) return kInvalidArgument;
  return Add(&sends, static_cast<Communicator*>(communicator)->rank, peer, {from, nullptr, count, stream});
}
int ncclRecv(void* to, size_t count, int type, int peer, void* communicator, cudaStream_t stream) {
  if (type != 1) return kInvalidArgument;
  return Add(&receives, peer, static_cast<Communicator*>(communicator)->rank, {nullptr, to, count, stream});
}
}
