// hostile_check --corpus tests/fuzz/corpus [--reader NAME] [--count N] [--seed S] [--first K] [--bytes B] [--print]
//
// Gives every reader of strangers' text N hostile texts of at most what is served, each within the work that is
// served, and says what the dearest cost. Each must be answered, or refused as the caller's mistake: never INTERNAL,
// never without end, never with more memory than the bound. One process for each reader, so that its memory is its own.
// With --first from the K-th text on: to see again what a run has said; with --bytes of at most B bytes: what breaks an
// answer is mostly short, and a hundred times as many of these are read in the same time; with --print the first one is
// written to standard output and not read. Exit status: 0 all hold, 1 some do not, 2 misuse.
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "google/protobuf/stubs/logging.h"
#include "resolver/base/work.h"
#include "tests/properties/hostile.h"
#include "tests/properties/hostile_readers.h"

namespace flightplan::properties {
namespace {

// Of one process, with what the program itself needs and what its allocator keeps. deploy/SECURITY.md states it.
constexpr int64_t kMostMemory = int64_t{256} << 20;
// Of processor time for one text: twice what deploy/SECURITY.md promises, since the same instructions take up to twice
// as long on cores that others keep busy. Sanitizers slow everything down by more than that, so there nothing is
// promised.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMostSeconds = 60;
#else
constexpr double kMostSeconds = 0.5;
#endif
// One that takes more has no end.
constexpr int kLongestSeconds = 60;
// How many of the dearest texts are named.
constexpr size_t kNamedTexts = 5;

struct Options {
  std::string corpus, reader;
  int64_t count = 200, first = 0;
  int64_t bytes = std::numeric_limits<int64_t>::max();
  uint64_t seed = 1;
  bool print = false;
};

double ProcessorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int64_t MostMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

// What one text cost. Many nanoseconds a unit: work that is not counted (resolver/base/work.h).
struct Cost {
  double seconds = 0;
  uint64_t units = 0;
  int64_t text = 0;
};

void KeepDearest(const Cost& cost, std::vector<Cost>* dearest) {
  dearest->push_back(cost);
  std::sort(dearest->begin(), dearest->end(), [](const Cost& a, const Cost& b) { return a.seconds > b.seconds; });
  if (dearest->size() > kNamedTexts) dearest->pop_back();
}

void PrintDearest(const std::vector<Cost>& dearest) {
  for (const Cost& cost : dearest) {
    std::printf("  text %lld: %.1f ms, %.1f million units of work\n", static_cast<long long>(cost.text),
                1e3 * cost.seconds, 1e-6 * static_cast<double>(cost.units));
  }
}

// For the end of a process that a text ends, or holds for ever.
char reading[128];

// The n-th text of a reader does not depend on the others: a generator of its own.
std::string TextOf(const Reader& reader, uint64_t seed, int64_t n) {
  std::seed_seq sequence{seed, static_cast<uint64_t>(n)};
  Random random(sequence);
  return HostileText(reader.language, reader.max_bytes, &random);
}

int Check(const Reader& reader, const Options& options) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was said stands, however this ends
  for (const int fatal : {SIGVTALRM, SIGSEGV, SIGFPE, SIGABRT, SIGBUS}) {
    std::signal(fatal, [](int signal) {
      std::printf("BROKEN %s: %s\n", reading, signal == SIGVTALRM ? "has no end" : "ends the process");
      std::fflush(stdout);
      std::_Exit(1);
    });
  }
  google::protobuf::SetLogHandler(nullptr);  // of texts that are no UTF-8, which is what they are to be
  PrepareReaders();
  const int64_t at_rest = MostMemory();
  int64_t answered = 0, broken = 0, spent = 0, bytes = 0;
  double total = 0;
  std::vector<Cost> dearest;
  int64_t most = at_rest, most_of = 0;
  for (int64_t n = options.first; n < options.first + options.count; ++n) {
    const std::string text = TextOf(reader, options.seed, n);
    bytes += static_cast<int64_t>(text.size());
    std::snprintf(reading, sizeof reading, "%s: text %lld of seed %llu (%zu bytes)", reader.name.c_str(),
                  static_cast<long long>(n), static_cast<unsigned long long>(options.seed), text.size());
    const itimerval longest = {{0, 0}, {kLongestSeconds, 0}};
    setitimer(ITIMER_VIRTUAL, &longest, nullptr);
    const double start = ProcessorSeconds();
    absl::Status status;
    Cost cost{.text = n};
    {
      const Work work(reader.work);
      status = reader.read(text);
      if (Work::Spent()) ++spent;
      cost.units = work.used();
    }
    const double taken = ProcessorSeconds() - start;
    total += taken;
    cost.seconds = taken;
    KeepDearest(cost, &dearest);
    if (MostMemory() > most + (1 << 20)) most = MostMemory(), most_of = n;
    if (status.ok()) ++answered;
    if (status.code() != absl::StatusCode::kInternal && status.code() != absl::StatusCode::kUnknown) continue;
    if (++broken <= 10) std::printf("BROKEN %s: %s\n", reading, std::string(status.message()).c_str());
  }
  std::printf(
      "%-18s %8lld texts %7lld MiB  answered %8lld  refused %8lld  out of work %7lld  broken %lld  mean %7.3f ms  "
      "worst %7.1f ms  memory %lld + %lld MiB (text %lld)\n",
      reader.name.c_str(), static_cast<long long>(options.count), static_cast<long long>(bytes >> 20),
      static_cast<long long>(answered), static_cast<long long>(options.count - answered - broken),
      static_cast<long long>(spent), static_cast<long long>(broken), 1e3 * total / static_cast<double>(options.count),
      1e3 * dearest.front().seconds, static_cast<long long>(at_rest >> 20),
      static_cast<long long>((most - at_rest) >> 20), static_cast<long long>(most_of));
  PrintDearest(dearest);
  const bool dear = dearest.front().seconds > kMostSeconds;
  if (dear) std::printf("BROKEN %s: more processor time than the bound\n", reader.name.c_str());
  if (most > kMostMemory) std::printf("BROKEN %s: more memory than the bound\n", reader.name.c_str());
  return broken == 0 && !dear && most <= kMostMemory ? 0 : 1;
}

// In a process of its own.
bool Holds(const Reader& reader, const Options& options) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) std::exit(Check(reader, options));
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool ReadOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--print") {
      options->print = true;
      continue;
    }
    if (++i == argc) return false;
    if (flag == "--corpus") {
      options->corpus = argv[i];
    } else if (flag == "--reader") {
      options->reader = argv[i];
    } else if (!((flag == "--count" && absl::SimpleAtoi(argv[i], &options->count) && options->count > 0) ||
                 (flag == "--seed" && absl::SimpleAtoi(argv[i], &options->seed)) ||
                 (flag == "--bytes" && absl::SimpleAtoi(argv[i], &options->bytes) && options->bytes >= 16) ||
                 (flag == "--first" && absl::SimpleAtoi(argv[i], &options->first) && options->first >= 0))) {
      return false;
    }
  }
  return !options->corpus.empty() && (!options->print || !options->reader.empty());
}

int Main(int argc, char** argv) {
  Options options;
  if (!ReadOptions(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: hostile_check --corpus FOLDER [--reader NAME] [--count N] [--seed S] [--first K] "
                 "[--bytes B] [--print]\n");
    return 2;
  }
  int met = 0, broken = 0;
  std::vector<Reader> readers = Readers(options.corpus);
  for (Reader& reader : readers) {
    if (!options.reader.empty() && reader.name != options.reader) continue;
    ++met;
    reader.max_bytes = std::min(reader.max_bytes, static_cast<size_t>(options.bytes));
    if (options.print) {
      const std::string text = TextOf(reader, options.seed, options.first);
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else if (!Holds(reader, options)) {
      ++broken;
    }
  }
  if (met == 0) std::fprintf(stderr, "hostile_check: no reader is called %s\n", options.reader.c_str());
  if (met == 0) return 2;
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) { return flightplan::properties::Main(argc, argv); }
