// The server over loopback against echoes of the same messages in the same run, because the machine is shared and only
// ratios keep. Every server is a process of its own on one core, the client on another; rounds are interleaved and a
// round in which any call failed is thrown away.
//
//   server_benchmark [--rounds=N] [--seconds=S] [--connections=C] [--outstanding=K]
//
// cold    the service without cache, against an echo that parses, builds and serializes the same messages; one call a
//         connection at a time, because the service refuses what would have to wait for long
// cached  the service with its cache, against an echo that sends stored bytes
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "resolver/catalog/catalog.h"
#include "resolver/resolver.h"
#include "service/server.h"
#include "tests/bench/echo_service.h"
#include "tests/bench/sample_requests.h"

namespace flightplan::bench {
namespace {

constexpr char kMethod[] = "/flightplan.v1.ResolverService/ResolveConfig";

struct Options {
  int rounds = 5;
  double seconds = 2;
  int connections = 4;
  int outstanding = 8;  // a connection, of the cached pair
};

int64_t NowNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int64_t CpuNs(pid_t pid) {
  clockid_t clock{};
  return clock_getcpuclockid(pid, &clock) == 0 ? NowNs(clock) : 0;
}

double ResidentMiB(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/statm"));
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void PinTo(int core) {
  if (std::thread::hardware_concurrency() < 2) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("free port");
    std::exit(1);
  }
  close(fd);
  return ntohs(address.sin_port);
}

int ServeEcho(std::unique_ptr<grpc::Service> service, const std::string& target) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as ServeMain does
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(target, grpc::InsecureServerCredentials());
  builder.RegisterService(service.get());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  int signal = 0;
  sigwait(&stop, &signal);
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

// The child's side: one of the servers until SIGTERM.
int Serve(absl::string_view kind, const std::string& target) {
  if (absl::ConsumePrefix(&kind, "service")) {
    return service::ServeMain({"--listen=" + target, "--http_listen=", "--drain_delay=0s", "--log_level=error",
                               kind == "-cold" ? "--cache_bytes=0" : "--cache_bytes=64MiB"});
  }
  v1::ResolveConfigResponse answer;
  const Resolver resolver(std::make_shared<const Catalog>(*Catalog::Builtin()));
  if (!resolver.ResolveConfig(SampleResolveRequest(), &answer).ok()) return 1;
  return ServeEcho(kind == "echo-raw" ? MakeRawEcho(answer) : MakeStructuredEcho(answer), target);
}

struct Measured {
  double start_ms = 0;    // from exec to the first connection
  double idle_mib = 0;    // resident before the first call
  double loaded_mib = 0;  // resident after the load
  double calls_per_second = 0;
  double server_cpu_us = 0;  // per call
  double client_cpu_us = 0;
  double p50_us = 0;
  double p99_us = 0;
  int64_t failed = 0;
};

// One call that starts again when it ends.
struct Flight {
  grpc::GenericStub* stub = nullptr;
  std::unique_ptr<grpc::ClientContext> context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer response;
  grpc::Status status;
  int64_t started_ns = 0;

  void Start(const grpc::ByteBuffer& request, grpc::CompletionQueue* queue) {
    context = std::make_unique<grpc::ClientContext>();
    response.Clear();
    started_ns = NowNs(CLOCK_MONOTONIC);
    reader = stub->PrepareUnaryCall(context.get(), kMethod, request, queue);
    reader->StartCall();
    reader->Finish(&response, &status, this);
  }
};

double Percentile(std::vector<double>* values, double share) {
  if (values->empty()) return 0;
  const auto at = values->begin() + static_cast<ptrdiff_t>(share * static_cast<double>(values->size() - 1));
  std::nth_element(values->begin(), at, values->end());
  return *at;
}

std::shared_ptr<grpc::Channel> Connect(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 5);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

void Load(const std::string& target, pid_t server, const Options& options, Measured* out) {
  const std::string bytes = SampleResolveRequest().SerializeAsString();
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  std::vector<Flight> flights(static_cast<size_t>(options.connections * options.outstanding));
  stubs.reserve(static_cast<size_t>(options.connections));
  for (int c = 0; c < options.connections; ++c) stubs.push_back(std::make_unique<grpc::GenericStub>(Connect(target)));
  {  // What is built on first use; from then on the cache has the answer.
    Flight first;
    first.stub = stubs[0].get();
    first.Start(request, &queue);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
  }
  for (size_t i = 0; i < flights.size(); ++i) {
    flights[i].stub = stubs[i % stubs.size()].get();
    flights[i].Start(request, &queue);
  }
  const int64_t warm = NowNs(CLOCK_MONOTONIC) + 500'000'000;
  int64_t from = 0, until = 0, server_cpu = 0, client_cpu = 0;
  std::vector<double> latencies;
  size_t flying = flights.size();
  for (void* tag = nullptr; flying > 0;) {
    bool ok = false;
    queue.Next(&tag, &ok);
    auto* flight = static_cast<Flight*>(tag);
    const int64_t now = NowNs(CLOCK_MONOTONIC);
    if (!flight->status.ok()) ++out->failed;
    if (from == 0 && now >= warm) {
      from = now;
      until = now + static_cast<int64_t>(options.seconds * 1e9);
      server_cpu = CpuNs(server);
      client_cpu = NowNs(CLOCK_PROCESS_CPUTIME_ID);
    } else if (from != 0 && now < until) {
      latencies.push_back(static_cast<double>(now - flight->started_ns) / 1e3);
    }
    if (from != 0 && now >= until) {
      if (flying == flights.size()) {
        const double calls = static_cast<double>(latencies.size());
        out->calls_per_second = calls / (static_cast<double>(now - from) / 1e9);
        out->server_cpu_us = static_cast<double>(CpuNs(server) - server_cpu) / 1e3 / calls;
        out->client_cpu_us = static_cast<double>(NowNs(CLOCK_PROCESS_CPUTIME_ID) - client_cpu) / 1e3 / calls;
      }
      --flying;
    } else {
      flight->Start(request, &queue);
    }
  }
  queue.Shutdown();
  out->p50_us = Percentile(&latencies, 0.5);
  out->p99_us = Percentile(&latencies, 0.99);
}

Measured Run(const char* self, const std::string& kind, const Options& options) {
  Measured measured;
  const std::string target = absl::StrCat("127.0.0.1:", FreePort());
  const int64_t start = NowNs(CLOCK_MONOTONIC);
  const pid_t child = fork();
  if (child == 0) {
    PinTo(0);
    const std::string serve = "--serve=" + kind, listen = "--target=" + target;
    execl(self, self, serve.c_str(), listen.c_str(), nullptr);
    _exit(127);
  }
  auto channel = Connect(target);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20))) {
    measured.failed = 1;
  } else {
    measured.start_ms = static_cast<double>(NowNs(CLOCK_MONOTONIC) - start) / 1e6;
    measured.idle_mib = ResidentMiB(child);
    Load(target, child, options, &measured);
    measured.loaded_mib = ResidentMiB(child);
  }
  channel.reset();  // nothing polls it any more, so it would not notice the server's goodbye
  kill(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++measured.failed;
  return measured;
}

double Median(std::vector<double> values) { return Percentile(&values, 0.5); }

double MedianOf(const std::vector<Measured>& rounds, double Measured::*member) {
  std::vector<double> values;
  values.reserve(rounds.size());
  for (const Measured& round : rounds) values.push_back(round.*member);
  return Median(std::move(values));
}

// Median over the rounds of one server's figure divided by the other's in the same round.
void PrintRatio(const char* text, const std::vector<Measured>& a, const std::vector<Measured>& b,
                double Measured::*member) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].failed == 0 && b[i].failed == 0) ratios.push_back(a[i].*member / (b[i].*member));
  }
  if (ratios.empty()) {
    std::printf("%s: no round without failures\n", text);
    return;
  }
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%s: %.3f (%.3f..%.3f)\n", text, Median(ratios), *low, *high);
}

int Compare(const char* self, const Options& options) {
  const std::vector<std::string> kinds = {"service-cold", "echo-structured", "service-cached", "echo-raw"};
  PinTo(1);
  std::map<std::string, std::vector<Measured>> rounds;
  for (int round = 0; round < options.rounds; ++round) {
    for (const std::string& kind : kinds) {
      Options those = options;
      if (kind == "service-cold" || kind == "echo-structured") those.outstanding = 1;
      rounds[kind].push_back(Run(self, kind, those));
    }
  }
  std::printf("%-16s %9s %13s %13s %8s %8s %9s %9s %10s %6s\n", "server", "calls/s", "server us/call", "client us/call",
              "p50 us", "p99 us", "start ms", "idle MiB", "loaded MiB", "failed");
  bool clean = true;
  for (const std::string& kind : kinds) {
    const std::vector<Measured>& r = rounds[kind];
    int64_t failed = 0;
    for (const Measured& one : r) failed += one.failed;
    clean = clean && failed == 0;
    std::printf("%-16s %9.0f %13.1f %13.1f %9.0f %8.0f %9.0f %9.1f %10.1f %6ld\n", kind.c_str(),
                MedianOf(r, &Measured::calls_per_second), MedianOf(r, &Measured::server_cpu_us),
                MedianOf(r, &Measured::client_cpu_us), MedianOf(r, &Measured::p50_us), MedianOf(r, &Measured::p99_us),
                MedianOf(r, &Measured::start_ms), MedianOf(r, &Measured::idle_mib), MedianOf(r, &Measured::loaded_mib),
                static_cast<long>(failed));
  }
  PrintRatio("cold: throughput / structured echo", rounds["service-cold"], rounds["echo-structured"],
             &Measured::calls_per_second);
  PrintRatio("cached: throughput / raw echo", rounds["service-cached"], rounds["echo-raw"],
             &Measured::calls_per_second);
  std::printf("cold: server CPU per call beyond the structured echo: %.1f us\n",
              MedianOf(rounds["service-cold"], &Measured::server_cpu_us) -
                  MedianOf(rounds["echo-structured"], &Measured::server_cpu_us));
  return clean ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  std::string serve, target;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    bool fine = true;
    if (absl::ConsumePrefix(&arg, "--rounds=")) {
      fine = absl::SimpleAtoi(arg, &options.rounds) && options.rounds > 0;
    } else if (absl::ConsumePrefix(&arg, "--seconds=")) {
      fine = absl::SimpleAtod(arg, &options.seconds) && options.seconds > 0 && options.seconds <= 60;
    } else if (absl::ConsumePrefix(&arg, "--connections=")) {
      fine = absl::SimpleAtoi(arg, &options.connections) && options.connections > 0;
    } else if (absl::ConsumePrefix(&arg, "--outstanding=")) {
      fine = absl::SimpleAtoi(arg, &options.outstanding) && options.outstanding > 0;
    } else if (absl::ConsumePrefix(&arg, "--serve=")) {
      serve = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--target=")) {
      target = std::string(arg);
    } else {
      fine = false;
    }
    if (!fine) {
      std::fprintf(stderr, "usage: %s [--rounds=N] [--seconds=S] [--connections=C] [--outstanding=K]\n", argv[0]);
      return 2;
    }
  }
  return serve.empty() ? Compare("/proc/self/exe", options) : Serve(serve, target);
}

}  // namespace
}  // namespace flightplan::bench

int main(int argc, char** argv) { return flightplan::bench::Main(argc, argv); }
