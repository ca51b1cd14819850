// CPU time and allocations of one Resolve (one target rendered) and one Validate in process, without cache and without
// gRPC: the call alone, and with reading the request and writing the answer. With the server's allocator.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>

#include "google/protobuf/arena.h"
#include "resolver/catalog/catalog.h"
#include "resolver/resolver.h"
#include "tests/bench/sample_requests.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

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

enum class Wire { kNo, kYes };

// Runs on one arena with a block that is kept, as the server does; with Wire::kYes it also parses the request and
// serializes the answer, which the server's echo does too.
template <class Request, class Response, class Run>
void Loop(benchmark::State& state, const Request& sample, Wire wire, Run run) {
  const std::string bytes = sample.SerializeAsString();
  const std::unique_ptr<char[]> block(new char[128 << 10]);
  std::string answer;
  int64_t before = 0;
  int64_t counted = -1;  // the first round fills what is built on first use
  for (auto _ : state) {
    if (++counted == 0) before = allocations.load();
    google::protobuf::ArenaOptions options;
    options.initial_block = block.get();
    options.initial_block_size = 128 << 10;
    google::protobuf::Arena arena(options);
    const Request* request = &sample;
    if (wire == Wire::kYes) {
      auto* read = google::protobuf::Arena::CreateMessage<Request>(&arena);
      if (!read->ParseFromString(bytes)) state.SkipWithError("not read");
      request = read;
    }
    auto* response = google::protobuf::Arena::CreateMessage<Response>(&arena);
    if (!run(*request, response).ok()) {
      state.SkipWithError("refused");
      break;
    }
    if (wire == Wire::kYes || counted == 0) response->SerializeToString(&answer);
    if (counted == 0) before = allocations.load();
  }
  if (counted > 0) {
    state.counters["allocations"] = static_cast<double>(allocations.load() - before) / static_cast<double>(counted);
  }
  state.counters["request_bytes"] = static_cast<double>(bytes.size());
  state.counters["answer_bytes"] = static_cast<double>(answer.size());
}

void Resolve(benchmark::State& state, Wire wire) {
  Loop<v1::ResolveConfigRequest, v1::ResolveConfigResponse>(
      state, SampleResolveRequest(), wire,
      [](const auto& request, auto* response) { return SharedResolver().ResolveConfig(request, response); });
}
void BM_Resolve(benchmark::State& state) { Resolve(state, Wire::kNo); }
BENCHMARK(BM_Resolve)->Unit(benchmark::kMicrosecond);
void BM_ResolveAndWire(benchmark::State& state) { Resolve(state, Wire::kYes); }
BENCHMARK(BM_ResolveAndWire)->Unit(benchmark::kMicrosecond);

void Validate(benchmark::State& state, Wire wire) {
  Loop<v1::ValidateConfigRequest, v1::ValidateConfigResponse>(
      state, SampleValidateRequest(SampleAnswer()), wire,
      [](const auto& request, auto* response) { return SharedResolver().ValidateConfig(request, response); });
}
void BM_Validate(benchmark::State& state) { Validate(state, Wire::kNo); }
BENCHMARK(BM_Validate)->Unit(benchmark::kMicrosecond);
void BM_ValidateAndWire(benchmark::State& state) { Validate(state, Wire::kYes); }
BENCHMARK(BM_ValidateAndWire)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace flightplan::bench

BENCHMARK_MAIN();
