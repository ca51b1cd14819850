// The conformance runner of the C++ stubs, and with --program of the command line.
#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "flightplan/channel.h"
#include "tests/conformance/cpp/call.h"
#include "tests/conformance/cpp/checks.h"

namespace flightplan::conformance {
namespace {

struct Options {
  std::string cases, server, program;
  std::string show;  // name of a case whose facts are printed
};

// What a case came to: empty `faults` is fine.
struct Outcome {
  std::vector<std::string> faults;
  std::string fingerprint = "-";  // "-": there was no answer to take one of
};

Outcome ByStub(const Case& test, const std::shared_ptr<grpc::Channel>& channel, const Options& options) {
  const Facts facts = CallByStub(test, channel);
  if (options.show == test.name()) std::printf("%s", facts.Text().c_str());
  return {Violations(test.want(), facts), absl::StrFormat("%016x", facts.Fingerprint())};
}

Outcome ByProgram(const Case& test, const Options& options) {
  const absl::StatusOr<Facts> facts = CallByProgram(test, options.program, options.server);
  if (!facts.ok()) return {{std::string(facts.status().message())}};
  if (facts->size() == 0) return {};  // ended as wanted, without an answer
  google::protobuf::RepeatedPtrField<Check> checks;
  for (const Check& check : test.want()) {
    if (!absl::StrContains(check.fact(), '~')) *checks.Add() = check;  // of the call, not of the answer
  }
  if (options.show == test.name()) std::printf("%s", facts->Text().c_str());
  return {Violations(checks, *facts), absl::StrFormat("%016x", facts->Fingerprint())};
}

int Run(const Options& options) {
  CaseSet set;
  std::ifstream file(options.cases, std::ios::binary);
  if (!file || !set.ParseFromIstream(&file)) {
    std::fprintf(stderr, "%s holds no cases; compile_cases.sh writes it\n", options.cases.c_str());
    return 2;
  }
  const auto channel = MakeChannel(options.server);
  int passed = 0, failed = 0, skipped = 0;
  for (const Case& test : set.cases()) {
    if (!options.program.empty() && !test.has_command_line()) {
      ++skipped;
      continue;
    }
    const Outcome outcome = options.program.empty() ? ByStub(test, channel, options) : ByProgram(test, options);
    outcome.faults.empty() ? ++passed : ++failed;
    const std::string line = outcome.faults.empty()
                                 ? absl::StrCat("ok ", test.name(), " ", outcome.fingerprint)
                                 : absl::StrCat("FAILED ", test.name(), ": ", absl::StrJoin(outcome.faults, "; "));
    std::printf("%s\n", line.c_str());
  }
  std::printf("%d passed, %d failed", passed, failed);
  std::printf(skipped > 0 ? ", %d skipped\n" : "\n", skipped);
  return failed > 0 || passed == 0 ? 1 : 0;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--cases") options.cases = argv[i + 1];
    if (flag == "--server") options.server = argv[i + 1];
    if (flag == "--show") options.show = argv[i + 1];
    if (flag == "--program") options.program = argv[i + 1];
  }
  if (options.cases.empty() || options.server.empty()) {
    std::fprintf(stderr,
                 "usage: conformance_runner --cases FILE --server HOST:PORT [--program FLIGHTPLAN] [--show CASE]\n");
    return 2;
  }
  return Run(options);
}

}  // namespace
}  // namespace flightplan::conformance

int main(int argc, char** argv) { return flightplan::conformance::Main(argc, argv); }
