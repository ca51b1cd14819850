// Golden cases: configurations with what the real upstream code said about them, and how we compare.
//
// Each file format has one reader (core_bridge_reader.cc, command_line_reader.cc). A reader turns one line into a
// GoldenCase: a configuration ready for flightplan::Run and the expectations. Judging is the same for all formats.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rapidjson/document.h"
#include "resolver/engine/engine.h"
#include "resolver/plan/reading.h"

namespace flightplan::golden {

// One final value that an accepted case must have.
struct Expected {
  Knob knob{};
  Value value;
  bool argument = false;  // true: compare with RunResult::arguments, else with RunResult::config
};

struct GoldenCase {
  std::string id;
  Config config;
  Environment env;
  ParseResult parsed;              // a command line's words
  std::vector<Finding> front_end;  // findings made while the input was read (an unknown flag ...); come before Run's

  bool whole_launch = false;  // upstream went on to process groups and the schedule's entry
  bool accept = false;
  std::string rule;                                       // rejects: upstream's first failing rule
  bool has_warnings = false;                              // the file says which warnings upstream gave
  std::vector<std::string> warnings;                      // rule ids, sorted
  std::vector<Expected> finals;                           // accepts
  std::vector<std::pair<std::string, std::string>> vars;  // accepts: environment variables upstream leaves set

  std::optional<int64_t> num_microbatches;    // accepts
  std::optional<int64_t> data_parallel_size;  // accepts

  std::vector<std::string> unmapped;  // input fields for which no knob exists
  std::string exempt;                 // why the case cannot be put into typed form; empty: it can
};

class GoldenReader {
 public:
  virtual ~GoldenReader() = default;
  virtual absl::StatusOr<GoldenCase> Read(const rapidjson::Value& line) const = 0;
};

// Readers are chosen by file name: "core_bridge...jsonl", "mlm_cli...jsonl" or "loongforge...jsonl".
absl::StatusOr<std::unique_ptr<GoldenReader>> MakeReader(const std::string& path);
absl::StatusOr<std::unique_ptr<GoldenReader>> MakeCoreBridgeReader(const std::string& path);
absl::StatusOr<std::unique_ptr<GoldenReader>> MakeMlmCliReader(const std::string& path);
absl::StatusOr<std::unique_ptr<GoldenReader>> MakeLoongForgeReader(const std::string& path);

struct Judgement {
  bool false_accept = false;    // upstream rejects, we have no error finding
  bool false_reject = false;    // upstream accepts, we have one
  bool rule_missed = false;     // both reject, but upstream's rule is not among our findings
  bool result_differs = false;  // both accept, a final value differs
  bool warnings_differ = false;
  std::vector<std::string> keys;     // what --tally counts: rule ids and knob names
  std::vector<std::string> details;  // one line each, for --show

  bool agree() const { return !(false_accept || false_reject || rule_missed || result_differs || warnings_differ); }
};

Judgement Judge(const GoldenCase& golden);
// Compares a run with the expectations; Judge runs the case and calls this.
Judgement Compare(const GoldenCase& golden, const RunResult& result);

// Shared by readers.
absl::StatusOr<Value> ToValue(const rapidjson::Value& node);
// Calls `use` for every line that is not empty, until it fails.
absl::Status ForEachLine(const std::string& path, const std::function<absl::Status(absl::string_view)>& use);
// The release in a name such as "core_bridge@core-0.17.jsonl.gz": "core-0.17"; "" for main.
std::string ReleaseInName(const std::string& path);

}  // namespace flightplan::golden
