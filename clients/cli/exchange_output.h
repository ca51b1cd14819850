// What benchmarks of exchanges print, read as rows of a profile: what one GPU cannot measure, users have measured
// already.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "flightplan/v1/profile.pb.h"

namespace flightplan::cli {

// What an output does not say of its run.
struct ExchangeRun {
  int ranks = 0, nodes = 0;  // 0: not told
};

struct ExchangeOutput {
  std::string device_name;         // as the output names it; empty: it does not
  std::vector<v1::ProbeRow> rows;  // "a2a.nccl", "a2a.deepep", "a2a.hybridep", of kind "imported"
  std::vector<std::string> notes;  // what was left out, and why
};

// nccl-tests' alltoall_perf, DeepEP's test_intranode.py and test_internode.py, HybridEP's test_hybrid_ep.py, as they
// print it or with the prefix of a launcher on every line. A rate is of the bytes that leave a rank over the link that
// bounds the exchange: over the network only those for other nodes. INVALID_ARGUMENT: none of these, or nothing in it
// that can be used; the message says what is missing.
absl::StatusOr<ExchangeOutput> ReadExchangeOutput(absl::string_view text, const ExchangeRun& run);

}  // namespace flightplan::cli
