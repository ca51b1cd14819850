// Random calls of every rpc, with numbers at their extremes, over the network.
//
//   random_calls --target=HOST:PORT [--count=N] [--seed=S] [--first=K] [--in_flight=M] [--token=T] [--show]
//
// Sends the calls K to K + N - 1 of seed S, M at a time. Each is the caller's mistake, too much, or answered with
// figures that are numbers; INTERNAL, UNKNOWN, UNAVAILABLE, DATA_LOSS and answers that cannot be read have failed and
// are printed with their numbers. --show: prints requests and answers: `--first=NUMBER --count=1 --show` repeats one.
// Prints for every rpc how often it was answered with which code. Exit status: 0 none failed, 1 some did, 2 misuse.
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "flightplan/v1/finding.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/client_callback.h"
#include "resolver/catalog/catalog.h"
#include "tests/drills/random_requests.h"

namespace flightplan::drills {
namespace {

using grpc::ByteBuffer;
using grpc::StatusCode;

constexpr int kMostInFlight = 4096;
constexpr int64_t kMostShown = 40;
constexpr int kConnections = 4;
// A search is left to itself after this time: it would take all it is given.
constexpr std::chrono::seconds kSearchDeadline{1}, kCallDeadline{20};

constexpr const char* kCodes[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

struct Options {
  std::string target = "127.0.0.1:50051", token;
  int64_t count = 10'000, first = 0;
  uint64_t seed = 1;
  int in_flight = 8;
  bool show = false;
};

// A status with details is an answer of the service: of UNAVAILABLE, that one probe runs at a time.
bool IsOurFault(const grpc::Status& status) {
  const StatusCode code = status.error_code();
  if (code == StatusCode::UNAVAILABLE && !status.error_details().empty()) return false;
  return code == StatusCode::INTERNAL || code == StatusCode::UNKNOWN || code == StatusCode::UNAVAILABLE ||
         code == StatusCode::DATA_LOSS;
}

// What is wrong with an answer; empty: nothing.
std::string WrongWith(const google::protobuf::Descriptor* type, const ByteBuffer& answer, std::string* shown) {
  std::vector<grpc::Slice> slices;
  if (!answer.Dump(&slices).ok()) return "the answer has no bytes";
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  const std::unique_ptr<google::protobuf::Message> message(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
  if (!message->ParseFromString(bytes)) return absl::StrCat("the answer is no ", type->full_name());
  if (shown != nullptr) absl::StrAppend(shown, message->ShortDebugString(), "\n");
  // What a launch sets a knob to is told as it stands there (`--lr nan`), and a default of a stack is inf.
  const std::string odd = properties::NotANumber(*message, v1::KnobValue::descriptor());
  return odd.empty() ? odd : absl::StrCat(odd, " of the answer is no number");
}

class Tally {
 public:
  explicit Tally(const Options& options) : options_(options) {}

  void Sent(int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    under_way_.insert(number);
  }
  void Ended(int64_t number, const RandomCall& call, const grpc::Status& status, const std::string& wrong,
             std::chrono::steady_clock::duration took) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++total_;
    ++codes_[static_cast<size_t>(status.error_code()) % std::size(kCodes)];
    ++methods_[std::string(call.method->name())][static_cast<size_t>(status.error_code()) % std::size(kCodes)];
    if (took > slowest_) {
      slowest_ = took;
      slowest_of_ = absl::StrCat(call.method->name(), " ", number);
    }
    if (!wrong.empty() || IsOurFault(status)) Fail(number, call, status, wrong);
    if (options_.show) {
      std::printf("%lld %s, %s\n%scode %d %s\n", static_cast<long long>(number),
                  std::string(call.method->full_name()).c_str(), call.damaged ? "then damaged" : "as it is",
                  call.text.c_str(), status.error_code(), status.error_message().c_str());
    }
    under_way_.erase(number);
  }
  // A server that is gone answers nobody: there is no use in going on.
  bool lost() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return codes_[StatusCode::UNAVAILABLE] > kMostInFlight;
  }
  int Report() const {
    for (const auto& [name, codes] : methods_) std::printf("random_calls %s:%s\n", name.c_str(), Line(codes).c_str());
    std::printf("random_calls: seed=%llu total=%lld failed=%lld slowest_ms=%lld (%s)%s\n",
                static_cast<unsigned long long>(options_.seed), static_cast<long long>(total_),
                static_cast<long long>(failed_),
                static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(slowest_).count()),
                slowest_of_.c_str(), Line(codes_).c_str());
    return failed_ == 0 ? 0 : 1;
  }

 private:
  using Codes = std::array<int64_t, std::size(kCodes)>;

  static std::string Line(const Codes& codes) {
    std::string line;
    for (size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] > 0) absl::StrAppend(&line, " ", kCodes[i], "=", codes[i]);
    }
    return line;
  }

  void Fail(int64_t number, const RandomCall& call, const grpc::Status& status, const std::string& wrong) {
    if (failed_++ == 0 && status.error_code() == StatusCode::UNAVAILABLE) {
      std::printf("under way when the first call got UNAVAILABLE:");
      for (const int64_t other : under_way_) std::printf(" %lld", static_cast<long long>(other));
      std::printf("\n");
    }
    // Of a server that is gone the first calls alone say something.
    if (failed_ > (status.error_code() == StatusCode::UNAVAILABLE ? 3 : kMostShown)) return;
    std::printf("FAILED %s: code %d %s %s; again by --seed=%llu --first=%lld --count=1 --show\n",
                std::string(call.method->name()).c_str(), status.error_code(), status.error_message().c_str(),
                wrong.c_str(), static_cast<unsigned long long>(options_.seed), static_cast<long long>(number));
  }

  const Options& options_;
  mutable std::mutex mutex_;
  std::set<int64_t> under_way_;
  Codes codes_{};
  std::map<std::string, Codes> methods_;
  int64_t total_ = 0, failed_ = 0;
  std::chrono::steady_clock::duration slowest_{};
  std::string slowest_of_;
};

// One call, streamed or not: to the server they look alike. Deletes itself.
class Exchange final : public grpc::ClientBidiReactor<ByteBuffer, ByteBuffer> {
 public:
  Exchange(int64_t number, RandomCall call, const Options& options, Tally* tally, std::counting_semaphore<>* places)
      : number_(number), call_(std::move(call)), options_(options), tally_(*tally), places_(*places) {
    const bool searches = call_.method->name() == "PlanLayouts" || call_.method->name() == "RunProbe";
    context_.set_deadline(std::chrono::system_clock::now() + (searches ? kSearchDeadline : kCallDeadline));
    if (!options.token.empty()) context_.AddMetadata("authorization", "Bearer " + options.token);
  }

  void Start(grpc::GenericStub* stub) {
    tally_.Sent(number_);
    stub->PrepareBidiStreamingCall(
        &context_, absl::StrCat("/", call_.method->service()->full_name(), "/", call_.method->name()), {}, this);
    Write();
    StartRead(&answer_);
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (ok && next_ < call_.messages.size()) Write();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (wrong_.empty()) {
      wrong_ = WrongWith(call_.method->output_type(), answer_, options_.show ? &call_.text : nullptr);
    }
    StartRead(&answer_);
  }
  void OnDone(const grpc::Status& status) override {
    tally_.Ended(number_, call_, status, wrong_, std::chrono::steady_clock::now() - start_);
    std::counting_semaphore<>& places = places_;
    delete this;
    places.release();
  }

 private:
  void Write() {
    const grpc::Slice slice(call_.messages[next_++]);
    request_ = ByteBuffer(&slice, 1);
    if (next_ == call_.messages.size()) {
      StartWriteLast(&request_, {});
    } else {
      StartWrite(&request_);
    }
  }

  const int64_t number_;
  RandomCall call_;
  const Options& options_;
  Tally& tally_;
  std::counting_semaphore<>& places_;
  grpc::ClientContext context_;
  ByteBuffer request_, answer_;
  size_t next_ = 0;
  std::string wrong_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int Run(const Options& options) {
  const Catalog catalog = *Catalog::Builtin();
  const RandomRequests requests(catalog, options.seed);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  stubs.reserve(kConnections);
  for (int i = 0; i < kConnections; ++i) {
    stubs.push_back(std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(options.target, grpc::InsecureChannelCredentials(), arguments)));
  }
  Tally tally(options);
  std::counting_semaphore<> places(options.in_flight);
  const int64_t end = options.first + options.count;
  for (int64_t number = options.first; number < end && !tally.lost(); ++number) {
    RandomCall call = requests.At(number);
    places.acquire();
    (new Exchange(number, std::move(call), options, &tally, &places))
        ->Start(stubs[static_cast<size_t>(number) % stubs.size()].get());
  }
  for (int i = 0; i < options.in_flight; ++i) places.acquire();
  return tally.Report();
}

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    bool fine = true;
    if (absl::ConsumePrefix(&arg, "--target=")) {
      options->target = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--token=")) {
      options->token = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--count=")) {
      fine = absl::SimpleAtoi(arg, &options->count) && options->count > 0;
    } else if (absl::ConsumePrefix(&arg, "--first=")) {
      fine = absl::SimpleAtoi(arg, &options->first) && options->first >= 0;
    } else if (absl::ConsumePrefix(&arg, "--seed=")) {
      fine = absl::SimpleAtoi(arg, &options->seed);
    } else if (absl::ConsumePrefix(&arg, "--in_flight=")) {
      fine =
          absl::SimpleAtoi(arg, &options->in_flight) && options->in_flight > 0 && options->in_flight <= kMostInFlight;
    } else if (arg == "--show") {
      options->show = true;
    } else {
      fine = false;
    }
    if (!fine) {
      std::fprintf(stderr, "random_calls: cannot use %s\n", argv[i]);
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace flightplan::drills

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  flightplan::drills::Options options;
  if (!flightplan::drills::Parse(argc, argv, &options)) return 2;
  return flightplan::drills::Run(options);
}
