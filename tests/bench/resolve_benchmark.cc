// CPU time and allocations of one Resolve (one target rendered) and one Validate in process, without cache and without
// gRPC: to the answer's bytes, as the server does; from the request's bytes; and to a message. With the server's
// allocator. And at the pace of a server that is not busy, with a sleep between two calls: then caches and branch
// predictors are cold, and the same instructions take longer. What a server costs above its instructions is that.
#include <benchmark/benchmark.h>
#include <time.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "google/protobuf/arena.h"
#include "resolver/catalog/catalog.h"
#include "resolver/resolver.h"
#include "tests/bench/allocations.h"
#include "tests/bench/sample_requests.h"

namespace flightplan::bench {
namespace {

const Resolver& SharedResolver() {
  static const auto* const kResolver = new Resolver(std::make_shared<const Catalog>(*Catalog::Builtin()));
  return *kResolver;
}

v1::ResolveConfigResponse SampleAnswer() {
  v1::ResolveConfigResponse response;
  const absl::Status status = SharedResolver().ResolveConfig(SampleResolveRequest(), &response);
  if (!status.ok()) std::fprintf(stderr, "the sample request is refused: %s\n", status.ToString().c_str());
  return response;
}

// Runs on one arena with a block that is kept, as the server does. `run` returns the size of the answer.
template <class Request, class Run>
void Loop(benchmark::State& state, const Request& sample, bool parse, Run run) {
  const std::string bytes = sample.SerializeAsString();
  const std::unique_ptr<char[]> block(new char[128 << 10]);
  int64_t before = 0;
  int64_t counted = -1;  // the first round fills what is built on first use
  size_t answer_bytes = 0;
  for ([[maybe_unused]] auto _ : state) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block.get();
    options.initial_block_size = 128 << 10;
    google::protobuf::Arena arena(options);
    const Request* request = &sample;
    if (parse) {
      auto* read = google::protobuf::Arena::CreateMessage<Request>(&arena);
      if (!read->ParseFromString(bytes)) state.SkipWithError("not read");
      request = read;
    }
    answer_bytes = run(*request, &arena);
    if (answer_bytes == 0) {
      state.SkipWithError("refused");
      break;
    }
    if (++counted == 0) before = Allocations();
  }
  if (counted > 0) {
    state.counters["allocations"] = static_cast<double>(Allocations() - before) / static_cast<double>(counted);
  }
  state.counters["request_bytes"] = static_cast<double>(bytes.size());
  state.counters["answer_bytes"] = static_cast<double>(answer_bytes);
}

size_t ResolveToBytes(const v1::ResolveConfigRequest& request, google::protobuf::Arena*) {
  ConfigAnswer answer;
  return SharedResolver().AnswerResolve(request, EvidenceSnapshot::Empty(), &answer).ok() ? answer.bytes.size() : 0;
}
size_t ResolveToMessage(const v1::ResolveConfigRequest& request, google::protobuf::Arena* arena) {
  auto* response = google::protobuf::Arena::CreateMessage<v1::ResolveConfigResponse>(arena);
  return SharedResolver().ResolveConfig(request, response).ok() ? response->ByteSizeLong() : 0;
}
size_t ValidateToBytes(const v1::ValidateConfigRequest& request, google::protobuf::Arena*) {
  ConfigAnswer answer;
  return SharedResolver().AnswerValidate(request, EvidenceSnapshot::Empty(), &answer).ok() ? answer.bytes.size() : 0;
}
size_t ValidateToMessage(const v1::ValidateConfigRequest& request, google::protobuf::Arena* arena) {
  auto* response = google::protobuf::Arena::CreateMessage<v1::ValidateConfigResponse>(arena);
  return SharedResolver().ValidateConfig(request, response).ok() ? response->ByteSizeLong() : 0;
}

void BM_Resolve(benchmark::State& state) { Loop(state, SampleResolveRequest(), false, ResolveToBytes); }
BENCHMARK(BM_Resolve)->Unit(benchmark::kMicrosecond);
template <class Request>
Request With(v1::AnswerView view, Request request) {
  request.set_view(view);
  return request;
}
void BM_ResolveBasic(benchmark::State& state) {
  Loop(state, With(v1::ANSWER_VIEW_BASIC, SampleResolveRequest()), false, ResolveToBytes);
}
BENCHMARK(BM_ResolveBasic)->Unit(benchmark::kMicrosecond);
void BM_ResolveVerdict(benchmark::State& state) {
  Loop(state, With(v1::ANSWER_VIEW_VERDICT, SampleResolveRequest()), false, ResolveToBytes);
}
BENCHMARK(BM_ResolveVerdict)->Unit(benchmark::kMicrosecond);
// What is installed left open: the backends of the stack's image, and with them more executions to weigh.
void BM_ResolveAsImage(benchmark::State& state) {
  v1::ResolveConfigRequest request = SampleResolveRequest();
  request.mutable_software()->clear_dispatchers();
  Loop(state, request, false, ResolveToBytes);
}
BENCHMARK(BM_ResolveAsImage)->Unit(benchmark::kMicrosecond);
// The virtual stages left open: a small search, and each of the best through the whole pipeline.
void BM_ResolveOpenStages(benchmark::State& state) {
  v1::ResolveConfigRequest request = With(v1::ANSWER_VIEW_VERDICT, SampleResolveRequest());
  request.mutable_layout()->clear_virtual_pipeline_model_parallel_size();
  Loop(state, request, false, ResolveToBytes);
}
BENCHMARK(BM_ResolveOpenStages)->Unit(benchmark::kMicrosecond);
void BM_ResolveFromBytes(benchmark::State& state) { Loop(state, SampleResolveRequest(), true, ResolveToBytes); }
BENCHMARK(BM_ResolveFromBytes)->Unit(benchmark::kMicrosecond);
void BM_ResolveToMessage(benchmark::State& state) { Loop(state, SampleResolveRequest(), false, ResolveToMessage); }
BENCHMARK(BM_ResolveToMessage)->Unit(benchmark::kMicrosecond);
double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// So many calls a second; each asks something else, as `load_client --cold` does. The time shown is this thread's CPU
// time without the sleep.
void BM_ResolvePaced(benchmark::State& state) {
  const auto interval = std::chrono::nanoseconds(1'000'000'000 / state.range(0));
  v1::ResolveConfigRequest sample = SampleResolveRequest();
  const std::unique_ptr<char[]> block(new char[128 << 10]);
  auto due = std::chrono::steady_clock::now();
  int64_t number = 0;
  for ([[maybe_unused]] auto _ : state) {
    sample.mutable_workload()->set_global_batch_size(8192 + ++number * 128);
    const std::string bytes = sample.SerializeAsString();
    std::this_thread::sleep_until(due += interval);
    const double before = ThreadCpuSeconds();
    {
      google::protobuf::ArenaOptions options;
      options.initial_block = block.get();
      options.initial_block_size = 128 << 10;
      google::protobuf::Arena arena(options);
      auto* request = google::protobuf::Arena::CreateMessage<v1::ResolveConfigRequest>(&arena);
      if (!request->ParseFromString(bytes) || ResolveToBytes(*request, &arena) == 0) state.SkipWithError("refused");
    }
    state.SetIterationTime(ThreadCpuSeconds() - before);
  }
}
BENCHMARK(BM_ResolvePaced)
    ->Arg(50)
    ->Arg(100)
    ->Arg(400)
    ->Arg(800)
    ->Arg(1'000'000)
    ->Iterations(500)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

void BM_Validate(benchmark::State& state) {
  Loop(state, SampleValidateRequest(SampleAnswer()), false, ValidateToBytes);
}
BENCHMARK(BM_Validate)->Unit(benchmark::kMicrosecond);
void BM_ValidateVerdict(benchmark::State& state) {
  Loop(state, With(v1::ANSWER_VIEW_VERDICT, SampleValidateRequest(SampleAnswer())), false, ValidateToBytes);
}
BENCHMARK(BM_ValidateVerdict)->Unit(benchmark::kMicrosecond);
void BM_ValidateFromBytes(benchmark::State& state) {
  Loop(state, SampleValidateRequest(SampleAnswer()), true, ValidateToBytes);
}
BENCHMARK(BM_ValidateFromBytes)->Unit(benchmark::kMicrosecond);
void BM_ValidateToMessage(benchmark::State& state) {
  Loop(state, SampleValidateRequest(SampleAnswer()), false, ValidateToMessage);
}
BENCHMARK(BM_ValidateToMessage)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace flightplan::bench

BENCHMARK_MAIN();
