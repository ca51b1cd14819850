// Streams, events and graphs of the emulated device. Every stream is a queue of its own; which of those that can go on
// does, is drawn at every step. So work that should wait for an event and does not will sooner or later run too early.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "probe/emulation/queues.h"
#include "probe/emulation/run_blocks.h"

using Work = std::function<void()>;

struct GraphNode {
  Work work;
  std::vector<size_t> after;
};
struct EmulatedGraph {
  std::vector<GraphNode> nodes;
};

namespace {

// Outlives the handle of an event: what was queued may still come by it.
struct EventState {
  bool timed = true;
  double us = -1;                     // not recorded
  uint64_t recorded = 0, passed = 0;  // records that were queued, and the last that the device has come by
  const EmulatedGraph* captured_in = nullptr;
  std::vector<size_t> nodes;  // of the capture: what it stands for there
};

struct Entry {
  Work work;
  std::shared_ptr<const EventState> waits_for = nullptr;
  uint64_t until = 0;  // of its records

  bool Ready() const { return waits_for == nullptr || waits_for->passed >= until; }
};

}  // namespace

struct EmulatedStream {
  int priority = 0, device = 0;
  std::deque<Entry> queue;
  void* half_way = nullptr;  // its first entry waits for another kernel
};
struct EmulatedEvent {
  int device = 0;
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

namespace {

constexpr int kGreatestPriority = -5;
constexpr int kMostInVain = 2'000'000;  // looks at whether a peer has come

struct Capture {
  std::unique_ptr<EmulatedGraph> graph = std::make_unique<EmulatedGraph>();
  EmulatedStream* origin = nullptr;
  std::map<EmulatedStream*, std::vector<size_t>> ends;  // of the streams that take part: their last nodes

  bool Has(EmulatedStream* stream) const { return ends.contains(stream); }
  void Add(EmulatedStream* stream, Work work) {
    std::vector<size_t>& end = ends[stream];
    graph->nodes.push_back({std::move(work), end});
    end = {graph->nodes.size() - 1};
  }
  // A stream that took part and was not waited for would be left behind by the graph's end.
  bool Joined() const {
    std::vector<char> reached(graph->nodes.size(), 0);
    std::vector<size_t> open = ends.at(origin);
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (std::exchange(reached[at], 1) == 1) continue;
      open.insert(open.end(), graph->nodes[at].after.begin(), graph->nodes[at].after.end());
    }
    return std::count(reached.begin(), reached.end(), 1) == static_cast<int64_t>(reached.size());
  }
};

std::vector<std::unique_ptr<EmulatedStream>> streams;  // as long as the process, like a device's
EmulatedStream default_stream;
std::optional<Capture> capture;

EmulatedStream* Of(cudaStream_t stream) { return stream == nullptr ? &default_stream : stream; }

double NowUs() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

size_t Draw(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(emulation::Dice()); }

bool MayRun(const EmulatedStream& stream) {
  return !stream.queue.empty() && (stream.half_way != nullptr || stream.queue.front().Ready());
}

// One step of one stream. The one that went on last often does again, so that streams come far apart.
void Step() {
  static EmulatedStream* last = &default_stream;
  static int in_vain = 0;
  std::vector<EmulatedStream*> ready;
  if (MayRun(default_stream)) ready.push_back(&default_stream);
  for (const auto& stream : streams) {
    if (MayRun(*stream)) ready.push_back(stream.get());
  }
  if (ready.empty()) emulation::Fault("streams wait for what will not happen");
  const bool goes_on = std::find(ready.begin(), ready.end(), last) != ready.end() && Draw(4) != 0;
  if (!goes_on) last = ready[Draw(ready.size())];
  const Entry& entry = last->queue.front();
  if (entry.work && !emulation::RunPiece(last->device, entry.work, &last->half_way)) {
    if (++in_vain > kMostInVain) emulation::Fault("kernels wait for each other in vain");
    return;
  }
  in_vain = 0;
  last->queue.pop_front();
}

template <class Done>
cudaError_t RunUntil(Done done) {
  if (capture.has_value()) emulation::Fault("a synchronisation while a stream is captured");
  while (!done()) Step();
  return cudaSuccess;
}

bool AllIdle() {
  return default_stream.queue.empty() &&
         std::all_of(streams.begin(), streams.end(), [](const auto& stream) { return stream->queue.empty(); });
}

// The nodes in some order that their dependencies allow.
void RunGraph(const EmulatedGraph& graph) {
  std::vector<size_t> open(graph.nodes.size());
  for (size_t i = 0; i < open.size(); ++i) open[i] = i;
  std::vector<char> done(graph.nodes.size(), 0);
  while (!open.empty()) {
    std::vector<size_t> ready;  // places in `open`
    for (size_t i = 0; i < open.size() && ready.size() < 8; ++i) {
      const std::vector<size_t>& after = graph.nodes[open[i]].after;
      if (std::all_of(after.begin(), after.end(), [&](size_t node) { return done[node] == 1; })) ready.push_back(i);
    }
    const size_t place = ready[Draw(ready.size())], node = open[place];
    open.erase(open.begin() + static_cast<int64_t>(place));
    graph.nodes[node].work();
    done[node] = 1;
  }
}

std::vector<std::string> trace;

}  // namespace

namespace emulation {

// FLIGHTPLAN_EMULATION_SEED: another draw of everything, to see whether a test hangs on one.
std::mt19937& Dice() {
  static std::mt19937 dice = [] {
    const char* const seed = std::getenv("FLIGHTPLAN_EMULATION_SEED");
    return std::mt19937(seed == nullptr ? 1 : static_cast<unsigned>(std::atoi(seed)));
  }();
  return dice;
}
void SetSeed(unsigned seed) { Dice().seed(seed); }
bool Capturing() { return capture.has_value(); }

cudaError_t Queue(cudaStream_t stream, Work work) {
  if (capture.has_value() && capture->Has(Of(stream))) {
    capture->Add(Of(stream), std::move(work));
  } else {
    Of(stream)->queue.push_back({std::move(work)});
  }
  return cudaSuccess;
}

cudaError_t Drain() { return RunUntil(AllIdle); }

void Mark(cudaStream_t stream, std::string what) {
  Queue(stream, [what = std::move(what)] { trace.push_back(what); });
}
std::vector<std::string> TakeTrace() { return std::exchange(trace, {}); }

}  // namespace emulation

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = kGreatestPriority;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return emulation::Drain(); }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (flags > cudaStreamNonBlocking || priority > 0 || priority < kGreatestPriority) return cudaErrorInvalidValue;
  streams.push_back(std::make_unique<EmulatedStream>());
  *stream = streams.back().get();
  (*stream)->priority = priority;
  (*stream)->device = emulation::CurrentDevice();
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return RunUntil([at = Of(stream)] { return at->queue.empty(); });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  EmulatedStream* at = Of(stream);
  const EventState& state = *event->state;
  if (capture.has_value() && state.captured_in == capture->graph.get()) {
    std::vector<size_t>& end = capture->ends[at];
    end.insert(end.end(), state.nodes.begin(), state.nodes.end());
    return cudaSuccess;
  }
  if (capture.has_value() && capture->Has(at)) emulation::Fault("a captured stream waits for what was not captured");
  if (state.recorded > 0) at->queue.push_back({nullptr, event->state, state.recorded});
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const bool captured = capture.has_value() && capture->Has(Of(stream));
  *status = captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (capture.has_value()) emulation::Fault("a capture within a capture");
  capture.emplace();
  capture->origin = Of(stream);
  capture->ends[Of(stream)] = {};
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (!capture.has_value() || capture->origin != Of(stream)) return cudaErrorInvalidValue;
  if (!capture->Joined()) emulation::Fault("a captured stream was not joined");
  *graph = capture->graph.release();
  capture.reset();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned) {
  *exec = new EmulatedGraph(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return emulation::Queue(stream, [exec] { RunGraph(*exec); });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  emulation::Drain();
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (flags > cudaEventDisableTiming) return cudaErrorInvalidValue;
  *event = new EmulatedEvent;
  (*event)->device = emulation::CurrentDevice();
  (*event)->state->timed = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event->device != Of(stream)->device) return cudaErrorInvalidResourceHandle;
  EventState& state = *event->state;
  if (capture.has_value() && capture->Has(Of(stream))) {
    state.captured_in = capture->graph.get();
    state.nodes = capture->ends[Of(stream)];
    return cudaSuccess;
  }
  state.captured_in = nullptr;
  return emulation::Queue(stream, [at = event->state, record = ++state.recorded] {
    at->us = NowUs();
    at->passed = record;
  });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (flags == cudaEventRecordDefault) return cudaEventRecord(event, stream);
  if (!capture.has_value() || !capture->Has(Of(stream))) return cudaErrorInvalidValue;  // external to nothing
  return emulation::Queue(stream, [at = event->state] {
    at->us = NowUs();
    at->passed = ++at->recorded;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return RunUntil([state = event->state] { return state->passed >= state->recorded; });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  if (begin->device != end->device) return cudaErrorInvalidResourceHandle;
  const EventState &from = *begin->state, &to = *end->state;
  if (from.us < 0 || to.us < 0 || !from.timed || !to.timed) return cudaErrorInvalidValue;
  if (from.passed < from.recorded || to.passed < to.recorded) return cudaErrorNotReady;
  *ms = static_cast<float>((to.us - from.us) / 1e3);
  return cudaSuccess;
}

namespace emulation {

cudaError_t Launch(const LaunchedKernel& launched, std::function<void()> kernel) {
  if (static_cast<int>(launched.shared_bytes) > MostSharedBytes(launched.kernel)) return cudaErrorInvalidValue;
  // All blocks at once: one of them on every SM, where its shared memory leaves no room for more.
  if (Of(launched.stream)->device != CurrentDevice()) return cudaErrorInvalidResourceHandle;
  if (launched.cooperative && launched.blocks.x > kSmCount) return cudaErrorInvalidValue;
  return Queue(launched.stream, [=] {
    if (!QueuesAlone()) RunBlocks(launched.blocks, launched.threads, launched.shared_bytes, kernel);
  });
}

}  // namespace emulation
