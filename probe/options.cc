#include "probe/options.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "probe/method/row_table.h"

namespace flightplan::probe {
namespace {

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
      return Fail(Code::kBadOption, "--groups: '" + group +
                                        "' is no group; they are ceilings, dispatch, experts, exchange, overlap, "
                                        "launch, memory");
    }
    options->groups.push_back(group);
    from = comma + 1;
  }
  return Ok();
}

Status ReadDevice(const std::string& value, Options* options) {
  if (ToNumber(value, &options->device) && options->device >= 0 && options->device < 1024) return Ok();
  return Fail(Code::kBadOption, "--device: '" + value + "' is no device index; it must be a number from 0");
}

Status ReadBudget(const std::string& value, Options* options) {
  if (ToNumber(value, &options->budget_seconds) && options->budget_seconds >= kLeastBudgetSeconds &&
      options->budget_seconds <= kMostBudgetSeconds) {
    return Ok();
  }
  return Fail(Code::kBadOption, "--budget-seconds: '" + value + "' must be a number from 0.1 to 600");
}

Status ReadFault(const std::string& value, Options* options) {
  options->fault = value;
  if (std::find(std::begin(kFaults), std::end(kFaults), value) != std::end(kFaults)) return Ok();
  std::string message = "--fault: '" + value + "' must be one of";
  for (const char* fault : kFaults) message += std::string(" ") + fault;
  return Fail(Code::kBadOption, message);
}

template <std::string Options::*member>
Status ReadText(const std::string& value, Options* options) {
  options->*member = value;
  return Ok();
}

struct OptionReader {
  const char* name;
  Status (*read)(const std::string& value, Options* options);
};

constexpr OptionReader kReaders[] = {
    {"--groups", ReadGroups},
    {"--device", ReadDevice},
    {"--budget-seconds", ReadBudget},
    {"--fake", ReadText<&Options::fake_file>},
    {"--fault", ReadFault},
    {"--record", ReadText<&Options::record_file>},
    {"--lock-dir", ReadText<&Options::lock_directory>},
};

}  // namespace

Status ParseOptions(const std::vector<std::string>& arguments, Options* options) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    options->check |= argument == "--check";
    options->once |= argument == "--once";
    options->list |= argument == "--list";
    options->help |= argument == "--help" || argument == "-h";
    options->version |= argument == "--version";
    if (argument == "--check" || argument == "--once" || argument == "--list" || argument == "--help" ||
        argument == "-h" || argument == "--version")
      continue;
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto* reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                      [&](const OptionReader& each) { return name == each.name; });
    if (reader == std::end(kReaders)) return Fail(Code::kBadOption, "unknown option '" + argument + "'; see --help");
    if (equals == std::string::npos && i + 1 == arguments.size())
      return Fail(Code::kBadOption, name + ": needs a value");
    const std::string value = equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1);
    if (value.empty()) return Fail(Code::kBadOption, name + ": needs a value");
    if (Status status = reader->read(value, options); !status.ok()) return status;
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
  return R"(usage: flightplan-probe [--groups A,B] [--device N] [--budget-seconds S] [--record FILE]
Measures an NVIDIA GPU and prints JSON lines: device, progress, rows, profile (probe/README.md).
  --groups A,B        of ceilings, dispatch, experts, exchange, overlap, launch, memory (default: all)
  --device N          device index (default: the first free one)
  --budget-seconds S  start nothing new after S seconds (default 20); half as much again is the end in any case
  --record FILE       write the raw samples, in the form that --fake replays
  --lock-dir DIR      where probes of one node meet (default: XDG_RUNTIME_DIR, else /tmp)
  --fake FILE         replay samples instead of measuring; every row is tagged synthetic
  --fault NAME        of a fake device: crash, hang, garbage, truncated, flood, wrong_schema, no_profile, stderr_flood
  --check             run every kernel once, on small shapes, against its reference; for sanitizers
  --once              run every kernel a few times, on the shapes that are measured; for profilers
  --list              the rows it can report
  --version
Exit code: 0 done, 1 failed, 2 bad option, 3 no GPU, 4 busy, 5 not ours (MIG, exclusive), 6 another probe runs,
7 out of time (what was measured is printed), 8 built without CUDA,
9 --check or --once found a wrong output.
)";
}

}  // namespace flightplan::probe
