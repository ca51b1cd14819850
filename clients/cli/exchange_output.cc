#include "clients/cli/exchange_output.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clients/cli/text.h"

namespace flightplan::cli {
namespace {

constexpr double kGiga = 1e9, kMicro = 1e6;
constexpr int kMostRows = 256;  // a sweep has about thirty sizes

using Words = std::vector<absl::string_view>;

Words WordsOf(absl::string_view line) { return absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty()); }

// The number that stands before `unit`: 42.36 in "BW: 42.36 GB/s (RDMA)" for " GB/s (RDMA)". 0: none.
double NumberBefore(absl::string_view line, absl::string_view unit) {
  const size_t end = line.find(unit);
  if (end == absl::string_view::npos) return 0;
  const size_t blank = line.substr(0, end).find_last_of(" \t");
  const size_t begin = blank == absl::string_view::npos ? 0 : blank + 1;
  double number = 0;
  return absl::SimpleAtod(line.substr(begin, end - begin), &number) && number > 0 ? number : 0;
}

// The whole number behind `name`: 24 in "SMs 24, NVL chunk 12" for "SMs ". 0: none.
int NumberAfter(absl::string_view line, absl::string_view name) {
  const size_t at = line.find(name);
  if (at == absl::string_view::npos) return 0;
  absl::string_view rest = line.substr(at + name.size());
  rest = rest.substr(0, rest.find_first_not_of("0123456789"));
  int number = 0;
  return absl::SimpleAtoi(rest, &number) ? number : 0;
}

v1::ProbeRow* AddRow(absl::string_view id, double bytes_per_second, bool network, const ExchangeRun& run,
                     ExchangeOutput* out) {
  v1::ProbeRow* row = &out->rows.emplace_back();
  row->set_id(std::string(id));
  row->set_unit("bytes_per_second");
  row->set_kind("imported");
  row->set_sample_count(1);
  row->set_value(bytes_per_second);
  row->set_low(bytes_per_second);
  row->set_high(bytes_per_second);
  (*row->mutable_labels())["link"] = network ? "network" : "nvlink";
  if (run.ranks > 0) (*row->mutable_parameters())["ranks"] = run.ranks;
  if (run.nodes > 0) (*row->mutable_parameters())["nodes"] = run.nodes;
  return row;
}

// ---- nccl-tests ----

// "#  Rank  0 Group  0 Pid 895544 on h100-2 device  0 [0002:00:01] NVIDIA H100 80GB HBM3"
void ReadDevice(absl::string_view line, std::set<std::string>* hosts, ExchangeRun* found, ExchangeOutput* out) {
  const Words words = WordsOf(line);
  const auto on = std::find(words.begin(), words.end(), "on");
  const size_t bracket = line.find(']', line.find(" device "));
  if (on == words.end() || on + 1 == words.end() || bracket == absl::string_view::npos) return;
  ++found->ranks;
  hosts->insert(std::string(*(on + 1)));
  out->device_name = std::string(absl::StripAsciiWhitespace(line.substr(bracket + 1)));
}

struct NcclLine {
  double bytes = 0, us = 0, wrong = 0;
};

// "size count type redop root time algbw busbw #wrong ..."; redop and root are blank in older versions.
bool ReadLine(const Words& words, NcclLine* line) {
  constexpr absl::string_view kTypes[] = {"float",  "half",  "bfloat16", "double", "int8",   "uint8",   "int32",
                                          "uint32", "int64", "uint64",   "f8e4m3", "f8e5m2", "fp8e4m3", "fp8e5m2"};
  const auto type = std::find_first_of(words.begin(), words.end(), std::begin(kTypes), std::end(kTypes));
  if (type - words.begin() < 2 || type == words.end() || !absl::SimpleAtod(*(type - 2), &line->bytes)) return false;
  auto at = type + 1;
  double number = 0;
  if (at != words.end() && !absl::SimpleAtod(*at, &number)) ++at;  // redop
  // Out of place and in place, four columns each; one more in front is root.
  if ((words.end() - at) % 2 == 1) ++at;
  if (words.end() - at < 4) return false;
  if (!absl::SimpleAtod(*(at + 3), &line->wrong)) line->wrong = 0;  // "N/A": not checked
  return absl::SimpleAtod(*at, &line->us) && line->us > 0 && line->bytes > 0;
}

absl::Status ReadNccl(absl::string_view text, ExchangeRun run, ExchangeOutput* out) {
  ExchangeRun found;
  std::set<std::string> hosts;
  std::vector<NcclLine> lines;
  int wrong = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StrContains(line, "# ") && absl::StrContains(line, " Rank ")) {
      ReadDevice(line, &hosts, &found, out);
      continue;
    }
    NcclLine read;
    if (!ReadLine(WordsOf(line), &read)) continue;
    read.wrong > 0 ? void(++wrong) : lines.push_back(read);
  }
  if (found.ranks > 0) run = {found.ranks, static_cast<int>(hosts.size())};
  if (wrong > 0) out->notes.push_back(absl::StrCat(wrong, " sizes of alltoall_perf had wrong values and are left out"));
  if (lines.empty()) return absl::InvalidArgumentError("has no line of alltoall_perf with a size and a time");
  if (run.ranks < 2 || run.nodes < 1 || run.ranks % run.nodes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("names ", run.ranks, " ranks on ", run.nodes,
                     " nodes: give the lines under '# Using devices', or --ranks N and --nodes N"));
  }
  const bool network = run.nodes > 1;
  const double ranks = run.ranks, kept = network ? ranks / run.nodes : 1;
  for (const NcclLine& line : lines) {
    const double bytes = line.bytes * (ranks - kept) / ranks;
    (*AddRow("a2a.nccl", bytes / line.us * kMicro, network, run, out)->mutable_parameters())["bytes"] = bytes;
  }
  return absl::OkStatus();
}

// ---- DeepEP, and UCCL-EP, which is called in its place and tested by the same programs ----

// "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 12, RDMA chunk 32: 42.36 GB/s (RDMA), 138.25 GB/s (NVL)". What it
// calls RDMA bytes are those of all nodes that a token reaches, the own one too.
absl::Status ReadDeepEp(absl::string_view text, ExchangeRun run, ExchangeOutput* out) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool dispatch = absl::StrContains(line, "Best dispatch (BF16)");
    if (!dispatch && !absl::StrContains(line, "Best combine")) continue;
    const double rdma = NumberBefore(line, " GB/s (RDMA)"), nvlink = NumberBefore(line, " GB/s (NVL)");
    if (rdma <= 0 && nvlink <= 0) continue;
    if (rdma > 0 && run.nodes < 2) {
      return absl::InvalidArgumentError("ran over several nodes and does not say how many: add --nodes N");
    }
    const double rate = kGiga * (rdma > 0 ? rdma * (run.nodes - 1) / run.nodes : nvlink);
    v1::ProbeRow* row = AddRow("a2a.deepep", rate, rdma > 0, run, out);
    (*row->mutable_labels())["pass"] = dispatch ? "dispatch" : "combine";
    if (const int sms = NumberAfter(line, "SMs "); sms > 0) (*row->mutable_parameters())["sms"] = sms;
  }
  if (!out->rows.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "has no line 'Best dispatch (BF16)' or 'Best combine': give the whole output of the test, to its end");
}

// ---- HybridEP ----

struct HybridKey {
  bool network, permuted, dispatch;
  bool operator<(const HybridKey& other) const {
    return std::tie(network, permuted, dispatch) < std::tie(other.network, other.permuted, other.dispatch);
  }
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// "dispatch+permute (BF16): 126.49 GB/s (NVL), t: ...", once a rank and once a link; the lines of the lone kernel leave
// out what a training step waits for. Its RDMA bytes are those for other nodes.
absl::Status ReadHybridEp(absl::string_view text, ExchangeRun run, ExchangeOutput* out) {
  std::map<HybridKey, std::vector<double>> rates;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (const int ranks = NumberAfter(line, "(BF16, "); ranks > 0) run.ranks = ranks;
    if (absl::StrContains(line, "[rank ")) run.ranks = std::max(run.ranks, NumberAfter(line, "[rank ") + 1);
    const bool dispatch = absl::StrContains(line, "dispatch");
    if ((!dispatch && !absl::StrContains(line, "combine")) || absl::StrContains(line, "kernel") ||
        absl::StrContains(line, "FP8")) {
      continue;
    }
    const double rdma = NumberBefore(line, " GB/s (RDMA)"), nvlink = NumberBefore(line, " GB/s (NVL)");
    if (rdma <= 0 && nvlink <= 0) continue;
    rates[{rdma > 0, absl::StrContains(line, "permute"), dispatch}].push_back(kGiga * (rdma > 0 ? rdma : nvlink));
  }
  if (rates.empty()) return absl::InvalidArgumentError("has no line of a BF16 dispatch or combine with its GB/s");
  // The link that bounds it, and with the permutation where that was timed: Megatron's dispatcher runs both as one.
  const bool network = rates.rbegin()->first.network;
  const bool permuted = rates.rbegin()->first.permuted;
  for (const bool dispatch : {true, false}) {
    const auto found = rates.find({network, permuted, dispatch});
    if (found == rates.end()) continue;
    v1::ProbeRow* row = AddRow("a2a.hybridep", Median(found->second), network, run, out);
    (*row->mutable_labels())["pass"] = dispatch ? "dispatch" : "combine";
    row->set_sample_count(static_cast<int>(found->second.size()));
  }
  return absl::OkStatus();
}

struct Program {
  absl::string_view mark;  // in every output of it
  absl::Status (*read)(absl::string_view text, ExchangeRun run, ExchangeOutput* out);
};

constexpr Program kPrograms[] = {{"alltoall_perf", ReadNccl},
                                 {"nvl_recv_bytes", ReadHybridEp},
                                 {"HybridEP", ReadHybridEp},
                                 {"[tuning]", ReadDeepEp}};

}  // namespace

absl::StatusOr<ExchangeOutput> ReadExchangeOutput(absl::string_view text, const ExchangeRun& run) {
  for (const Program& program : kPrograms) {
    if (!absl::StrContains(text, program.mark)) continue;
    ExchangeOutput out;
    if (absl::Status status = program.read(text, run, &out); !status.ok()) return status;
    if (out.rows.size() > kMostRows) {
      return absl::InvalidArgumentError(absl::StrCat("has more than ", kMostRows, " figures: give one run"));
    }
    return out;
  }
  if (const size_t at = text.find("_perf"); at != absl::string_view::npos && absl::StrContains(text, "busbw")) {
    const size_t begin = text.find_last_of(" /\n", at);
    return absl::InvalidArgumentError(
        absl::StrCat("is of ", Quoted(text.substr(begin + 1, at + 4 - begin)), ": an exchange is alltoall_perf"));
  }
  return absl::InvalidArgumentError(
      "is no output of nccl-tests' alltoall_perf, DeepEP's or UCCL-EP's test_intranode.py or test_internode.py, or "
      "HybridEP's test_hybrid_ep.py");
}

}  // namespace flightplan::cli
