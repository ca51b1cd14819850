// From flags to request messages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/command.h"
#include "clients/cli/flags.h"
#include "google/protobuf/repeated_field.h"
#include "resolver/plan/knob.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class KnobSetting;
class Layout;
class ModelRef;
class ResolveConfigRequest;
class ValidateConfigRequest;
}  // namespace v1

namespace cli {

// What both questions turn on: the stack, the machine, the knobs. Everything as written; unset stays unset.
struct StackOptions {
  std::string target = "megatron-lm";  // NAME[@VERSION]; "" for a validate: by the file
  std::string gpu;
  std::optional<int64_t> gpus;
  std::optional<int64_t> nvlink_domain;
  std::optional<int64_t> gpus_per_node;
  std::optional<double> reserved_memory_gib;
  std::optional<double> host_memory_gib;
  std::string transport;
  std::string host_cpu;
  std::optional<std::string> te, torch, cuda, nccl, driver;
  std::vector<std::string> capabilities;
  std::string dispatcher_transport;
  std::vector<std::string> packages;  // NAME=VERSION
  std::vector<std::string> env;       // NAME=VALUE
  std::vector<std::string> pins;      // in the order written: "KNOB=VALUE" for --set, "KNOB" for --unset
  std::string probe_profile;          // a file of `flightplan probe --out`
};

struct ResolveOptions {
  StackOptions stack;
  std::string model;  // catalogue name, or a config.json
  std::optional<int64_t> tp, pp, vpp, cp, ep, etp, mbs;
  std::string pipeline_layout;
  std::optional<int64_t> seq, gbs, iterations;
  std::map<Knob, size_t> pins_before;  // of a flag that says a knob: how many of stack.pins stood before it
  std::string precision;
  std::string objective;
  std::string stage;
  std::optional<double> profile_step_ms, profile_exposed, profile_a2a, profile_host, profile_bubble, profile_memory_gib;
  std::string profile_wall;
  FileReader read;  // of the files that the flags above name; unset: ReadInput
};

inline constexpr int64_t kDefaultSeqLength = 4096;
inline constexpr int64_t kDefaultSamplesPerGpu = 8;  // of the global batch

std::vector<FlagGroup> ResolveFlags(ResolveOptions* options);
std::vector<FlagGroup> StackFlags(StackOptions* options);
// Of a command that judges a launch: StackFlags, and --profile.
std::vector<FlagGroup> LaunchFlags(StackOptions* options);
// The names that --input-format takes.
Values InputFormatValues();

// What --model and the flags of the layout say, into the messages that every request has of them.
absl::Status FillModel(const ResolveOptions& options, v1::ModelRef* ref);
absl::Status FillLayout(const ResolveOptions& options, v1::Layout* layout);

// Reads the model's file where --model names one. Errors are INVALID_ARGUMENT and name the flag and what would be
// right. Sequence and batch that were not given become kDefaultSeqLength and kDefaultSamplesPerGpu a GPU; the page says
// so.
absl::Status BuildResolveRequest(const ResolveOptions& options, v1::ResolveConfigRequest* request);

// The framework of a request that names none: the file's own, where it shows, else Megatron-LM.
void FillFramework(v1::ValidateConfigRequest* request);

// The words of --set and --unset; errors name the flag, and what would be right.
absl::Status AddPins(const std::vector<std::string>& pins, google::protobuf::RepeatedPtrField<v1::KnobSetting>* out);
// " with vocab_size=32000 (not in the text)"; empty: nothing is stated beside it.
std::string StatedText(const v1::ValidateConfigRequest& request);

// Everything but the configuration itself and --set, which the command puts in.
absl::Status BuildValidateRequest(const StackOptions& options, const FileReader& read,
                                  v1::ValidateConfigRequest* request);

}  // namespace cli
}  // namespace flightplan
