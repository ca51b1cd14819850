// An open-loop caller: calls start at their times, whether or not earlier ones have been answered. One line of figures.
//
//   load_client --target=HOST:PORT[,HOST:PORT] --rate=CALLS_PER_SECOND --seconds=S [--token=T] [--ca=FILE] [--cold]
//               [--retry] [--max_outstanding=N]
//
// --cold   every call asks something else, so that no cache answers
// --retry  UNAVAILABLE is asked once more, as clients/service_config.json says
// p50_ms and p99_ms count from the moment a call was due. What this caller itself was late by is in them and stands
// beside them: lag_p99_ms is how late calls were sent, and sent_p99_ms counts from when they were. One thread sends,
// another takes answers, so that neither waits for the other; connections are made before the first call is due. Exit
// code 1 when nothing was answered.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "tests/bench/sample_requests.h"
#include "tests/drills/load_figures.h"

namespace flightplan::bench {
namespace {

struct Options {
  std::string target = "127.0.0.1:50051";
  double rate = 100;
  double seconds = 5;
  std::string token, ca;
  bool cold = false, retry = false;
  int64_t max_outstanding = 20'000;
};

struct Call {
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  grpc::Status status;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  Clock::time_point due, sent;
};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::shared_ptr<grpc::Channel>> Connect(const Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  if (options.retry) {
    arguments.SetServiceConfigJSON(
        R"({"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":2,"initialBackoff":"0.1s","maxBackoff":"1s",)"
        R"("backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]}}]})");
  } else {
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  }
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!options.ca.empty()) {
    grpc::SslCredentialsOptions ssl;
    ssl.pem_root_certs = ReadAll(options.ca);
    credentials = grpc::SslCredentials(ssl);
  }
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  // Four connections each: one connection carries at most 128 calls at a time.
  for (absl::string_view target : absl::StrSplit(options.target, ',')) {
    for (int i = 0; i < 4; ++i)
      channels.push_back(grpc::CreateCustomChannel(std::string(target), credentials, arguments));
  }
  return channels;
}

class Load {
 public:
  explicit Load(const Options& options) : options_(options) {
    for (const auto& channel : Connect(options)) {
      // A target that is down is one of the things to be measured: the calls say so.
      channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(1));
      stubs_.push_back(std::make_unique<grpc::GenericStub>(channel));
    }
    request_ = SampleResolveRequest();
  }

  int Run() {
    const Clock::time_point start = Clock::now();
    const int64_t total = static_cast<int64_t>(options_.rate * options_.seconds);
    const auto interval = std::chrono::duration<double>(1 / options_.rate);
    std::thread taker([this] { Take(); });
    for (int64_t number = 0; number < total; ++number) {
      const auto due = start + std::chrono::duration_cast<Clock::duration>(interval * static_cast<double>(number));
      std::this_thread::sleep_until(due);
      if (outstanding_ >= options_.max_outstanding) {
        ++figures_.not_sent;
      } else {
        Start(number, due);
      }
    }
    const auto give_up = Clock::now() + std::chrono::seconds(20);
    while (outstanding_ > 0 && Clock::now() < give_up) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop_ = true;
    taker.join();
    figures_.rate = options_.rate;
    figures_.total = total;
    figures_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    figures_.unanswered = outstanding_;
    return Report(&figures_);
  }

 private:
  void Start(int64_t number, Clock::time_point due) {
    if (options_.cold || bytes_.empty()) {
      if (options_.cold) SetQuestion(first_question_ + number, &request_);
      request_.SerializeToString(&bytes_);
    }
    auto* call = new Call;
    call->due = due;
    call->context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
    if (!options_.token.empty()) call->context.AddMetadata("authorization", "Bearer " + options_.token);
    const grpc::Slice slice(bytes_);
    call->reader = stubs_[static_cast<size_t>(number) % stubs_.size()]->PrepareUnaryCall(
        &call->context, kResolveMethod, grpc::ByteBuffer(&slice, 1), &queue_);
    ++outstanding_;
    call->sent = Clock::now();
    call->reader->StartCall();
    call->reader->Finish(&call->response, &call->status, call);
  }

  // Takes answers until it is told to stop.
  void Take() {
    void* tag = nullptr;
    bool ok = false;
    while (!stop_) {
      const auto until = std::chrono::system_clock::now() + std::chrono::milliseconds(100);
      if (queue_.AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::GOT_EVENT) continue;
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      const Clock::time_point now = Clock::now();
      if (call->status.ok()) {
        figures_.Answered(call->due, call->sent, now);
      } else if (call->status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED &&
                 SaysWhenToReturn(call->status.error_details())) {
        figures_.Refused(call->due, now);
      } else {
        figures_.Failed(call->status.error_message());
      }
      figures_.Sent(call->due, call->sent);
      --outstanding_;
    }
  }

  const Options options_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
  v1::ResolveConfigRequest request_;
  std::string bytes_;
  const int64_t first_question_ = FirstQuestion();
  std::atomic<int64_t> outstanding_{0};
  std::atomic<bool> stop_{false};
  LoadFigures figures_;  // not_sent is the sender's; the counts and times the taker's until it has ended
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    bool fine = true;
    if (absl::ConsumePrefix(&arg, "--target=")) {
      options->target = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--rate=")) {
      fine = ReadRate(arg, &options->rate);
    } else if (absl::ConsumePrefix(&arg, "--seconds=")) {
      fine = ReadSeconds(arg, &options->seconds);
    } else if (absl::ConsumePrefix(&arg, "--token=")) {
      options->token = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--ca=")) {
      options->ca = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--max_outstanding=")) {
      fine = absl::SimpleAtoi(arg, &options->max_outstanding) && options->max_outstanding > 0;
    } else if (arg == "--cold") {
      options->cold = true;
    } else if (arg == "--retry") {
      options->retry = true;
    } else {
      fine = false;
    }
    if (!fine) {
      std::fprintf(stderr, "load_client: cannot use %s\n", argv[i]);
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace flightplan::bench

int main(int argc, char** argv) {
  flightplan::bench::Options options;
  if (!flightplan::bench::Parse(argc, argv, &options)) return 2;
  return flightplan::bench::Load(options).Run();
}
