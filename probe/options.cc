#include "probe/options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <span>

#include "probe/device/device.h"
#include "probe/limits.h"
#include "probe/method/row_table.h"

namespace flightplan::probe {
namespace {

using Words = std::span<const char* const>;

std::string Join(Words words, const char* between) {
  std::string text;
  for (const char* word : words) text += (text.empty() ? "" : between) + std::string(word);
  return text;
}

std::string ToText(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

// All characters of `text` as a number.
template <class T>
bool ToNumber(const std::string& text, T* number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return code == std::errc() && end == text.data() + text.size();
}

Status ReadGroups(const std::string& value, Options* options) {
  for (size_t from = 0; from <= value.size();) {
    const size_t comma = std::min(value.find(',', from), value.size());
    const std::string group = value.substr(from, comma - from);
    if (!IsGroup(group)) {
      return Fail(Code::kBadOption, "--groups: '" + group + "' is no group; they are " + Join(kGroups, ", "));
    }
    options->groups.push_back(group);
    from = comma + 1;
  }
  return Ok();
}

Status ReadDevices(const std::string& value, Options* options) {
  if (value == "all") {
    options->all_devices = true;
    return Ok();
  }
  Status bad = Fail(Code::kBadOption, "--devices: '" + value + "' must be `all`, or " + std::to_string(kLeastTeam) +
                                          " to " + std::to_string(kMostTeam) + " different device indices: 0,1,2");
  for (size_t from = 0; from <= value.size();) {
    const size_t comma = std::min(value.find(',', from), value.size());
    int device = 0;
    if (!ToNumber(value.substr(from, comma - from), &device) || device < 0 || device >= kMostDevices) return bad;
    if (std::count(options->devices.begin(), options->devices.end(), device) > 0) return bad;
    options->devices.push_back(device);
    from = comma + 1;
  }
  return options->devices.size() < kLeastTeam || options->devices.size() > kMostTeam ? bad : Ok();
}

Status ReadDevice(const std::string& value, Options* options) {
  if (ToNumber(value, &options->device) && options->device >= 0 && options->device < kMostDevices) return Ok();
  return Fail(Code::kBadOption, "--device: '" + value + "' is no device index; it must be a number from 0 to " +
                                    std::to_string(kMostDevices - 1));
}

Status ReadBudget(const std::string& value, Options* options) {
  if (ToNumber(value, &options->budget_seconds) && options->budget_seconds >= kLeastBudgetSeconds &&
      options->budget_seconds <= kMostBudgetSeconds) {
    return Ok();
  }
  return Fail(Code::kBadOption, "--budget-seconds: '" + value + "' must be a number from " +
                                    ToText(kLeastBudgetSeconds) + " to " + ToText(kMostBudgetSeconds));
}

Status ReadConnections(const std::string& value, Options* options) {
  if (ToNumber(value, &options->connections) && options->connections >= 1 && options->connections <= kMostConnections) {
    return Ok();
  }
  return Fail(Code::kBadOption,
              "--connections: '" + value + "' must be a number from 1 to " + std::to_string(kMostConnections));
}

Status ReadMemory(const std::string& value, Options* options) {
  if (ToNumber(value, &options->memory_mib) && options->memory_mib >= kLeastMemoryMib &&
      options->memory_mib <= kMostMemoryMib) {
    return Ok();
  }
  return Fail(Code::kBadOption, "--memory-mib: '" + value + "' must be a number from " +
                                    std::to_string(kLeastMemoryMib) + " to " + std::to_string(kMostMemoryMib));
}

Status ReadFault(const std::string& value, Options* options) {
  options->fault = value;
  if (std::find(std::begin(kFaults), std::end(kFaults), value) != std::end(kFaults)) return Ok();
  return Fail(Code::kBadOption, "--fault: '" + value + "' must be one of " + Join(kFaults, " "));
}

template <std::string Options::*member>
Status ReadText(const std::string& value, Options* options) {
  options->*member = value;
  return Ok();
}

template <bool Options::*member>
Status Set(const std::string&, Options* options) {
  options->*member = true;
  return Ok();
}

struct Option {
  const char* name;
  const char* value;  // what the help calls it; null: a switch, which takes none
  Status (*read)(const std::string& value, Options* options);
  const char* about;
  Words choices = {};  // told behind `about`
};

constexpr Option kOptions[] = {
    {"--groups", "A,B", ReadGroups, "what to measure (default: all):", kGroups},
    {"--device", "N", ReadDevice, "device index (default: the first free one)"},
    {"--devices", "A,B|all", ReadDevices,
     "measure exchanges between these devices too; what one device says is of the first"},
    {"--budget-seconds", "S", ReadBudget,
     "start nothing new after S seconds (default 20); half as much again is the end in any case"},
    {"--connections", "N", ReadConnections, "hardware queues, whatever CUDA_DEVICE_MAX_CONNECTIONS says (default 8)"},
    {"--shape", "NAME=N,..",
     [](const std::string& value, Options* options) { return ReadShape(value, &options->shape); },
     "the layer that is measured (default: hidden=2048,topk=8,experts=128,ffn=768,ranks=8,tokens=4096, ...)"},
    {"--memory-mib", "N", ReadMemory,
     "hold so much of the GPU, and no more than a quarter of what is free (default 2048); large layers want 8192"},
    {"--record", "FILE", ReadText<&Options::record_file>, "write the raw samples, in the form that --fake replays"},
    {"--lock-dir", "DIR", ReadText<&Options::lock_directory>,
     "where probes of one node meet (default: XDG_RUNTIME_DIR, else /tmp)"},
    {"--fake", "FILE", ReadText<&Options::fake_file>,
     "replay samples instead of measuring; every row is tagged synthetic"},
    {"--fault", "NAME", ReadFault, "of a fake device:", kFaults},
    {"--check", nullptr, Set<&Options::check>,
     "run every kernel once, on small shapes, against its reference; for sanitizers"},
    {"--once", nullptr, Set<&Options::once>,
     "run every kernel a few times, on the shapes that are measured; for profilers"},
    {"--list", nullptr, Set<&Options::list>, "the rows it can report"},
    {"--version", nullptr, Set<&Options::version>, "its version"},
    {"--help", nullptr, Set<&Options::help>, "this text"},
    {"-h", nullptr, Set<&Options::help>, "this text"},
};

std::string Names() {
  std::string names;
  for (const Option& option : kOptions) names += std::string(names.empty() ? "" : ", ") + option.name;
  return names;
}

// --name VALUE, --name=VALUE or --switch; *at is left on the last argument that it took.
Status ParseOne(const std::vector<std::string>& arguments, size_t* at, Options* options) {
  const std::string& argument = arguments[*at];
  const size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  const auto* option =
      std::find_if(std::begin(kOptions), std::end(kOptions), [&](const Option& each) { return name == each.name; });
  if (option == std::end(kOptions)) {
    return Fail(Code::kBadOption, "unknown option '" + argument + "'; they are " + Names() + "; see --help");
  }
  if (option->value == nullptr) {
    if (equals == std::string::npos) return option->read("", options);
    return Fail(Code::kBadOption, name + ": takes no value, '" + argument + "' has one");
  }
  std::string value;
  if (equals != std::string::npos) value = argument.substr(equals + 1);
  if (equals == std::string::npos && *at + 1 < arguments.size()) value = arguments[++*at];
  if (value.empty()) return Fail(Code::kBadOption, name + ": needs a value: " + name + " " + option->value);
  return option->read(value, options);
}

}  // namespace

Status ParseOptions(const std::vector<std::string>& arguments, Options* options) {
  for (size_t at = 0; at < arguments.size(); ++at) {
    if (Status status = ParseOne(arguments, &at, options); !status.ok()) return status;
  }
  const bool team = options->all_devices || !options->devices.empty();
  if (team && (options->device >= 0 || !options->fake_file.empty())) {
    return Fail(Code::kBadOption,
                std::string("--devices: ") + (options->device >= 0 ? "names the devices; leave --device out"
                                                                   : "a fake device has no peers; leave --fake out"));
  }
  if (!options->fault.empty() && options->fake_file.empty()) {
    return Fail(Code::kBadOption, "--fault: only a fake device has faults; add --fake FILE");
  }
  if ((options->check || options->once) && !options->fake_file.empty()) {
    return Fail(Code::kBadOption, std::string(options->check ? "--check" : "--once") +
                                      ": a fake device has no kernels; leave --fake out");
  }
  return Ok();
}

std::string Usage() {
  std::string text =
      R"(usage: flightplan-probe [--groups A,B] [--device N | --devices A,B] [--budget-seconds S] [--record FILE]
Measures an NVIDIA GPU and prints JSON lines: device, progress, rows, profile (probe/README.md).
)";
  constexpr size_t kColumn = 22;  // where the explanations begin
  for (const Option& option : kOptions) {
    std::string line = std::string("  ") + option.name;
    if (option.value != nullptr) line += std::string(" ") + option.value;
    line.append(kColumn - std::min(kColumn - 1, line.size()), ' ');
    line += option.about;
    if (!option.choices.empty()) line += " " + Join(option.choices, ", ");
    text += line + "\n";
  }
  return text +
         R"(Exit code: 0 done, 1 failed, 2 bad option, 3 no GPU, 4 busy, 5 not ours (MIG, exclusive), 6 another probe runs,
7 out of time (what was measured is printed), 8 built without CUDA,
9 --check or --once found a wrong output.
)";
}

}  // namespace flightplan::probe
