#include "probe/device/fake_device.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "probe/json.h"
#include "probe/method/row_table.h"

namespace flightplan::probe {
namespace {

std::string NoGroup(const std::string& where, const std::string& group) {
  return where + ".group: '" + group + "' is no group";
}

constexpr long kMostBytes = 64 << 20;

class Replay : public Experiment {
 public:
  static Status Make(const std::string& where, const Json& json, double sample_ms, std::unique_ptr<Replay>* made) {
    auto replay = std::make_unique<Replay>();
    replay->sample_ms_ = sample_ms;
    replay->stage_ = static_cast<int>(json.NumberOr("stage", 0));
    replay->absent_ = json.TextOr("absent", "");
    replay->failure_ = json.TextOr("failure", "");
    const Json* rows = json.Find("rows");
    if (rows == nullptr || rows->kind != Json::Kind::kList || rows->list.empty()) {
      return Fail(Code::kBadOption, where + ".rows: must be a list of at least one row");
    }
    for (size_t i = 0; i < rows->list.size(); ++i) {
      if (Status s = replay->AddRow(where + ".rows[" + std::to_string(i) + "]", rows->list[i]); !s.ok()) return s;
    }
    *made = std::move(replay);
    return Ok();
  }

  Status Prepare() override {
    if (!absent_.empty()) return Fail(Code::kUnsupported, absent_);
    if (!failure_.empty()) return Fail(Code::kFailed, failure_);
    return Ok();
  }

  Status Take(std::vector<double>* values) override {
    if (sample_ms_ > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(sample_ms_));
    for (const std::vector<double>& samples : samples_) values->push_back(samples[taken_ % samples.size()]);
    ++taken_;
    return Ok();
  }

  // As many as were recorded.
  int sample_count() const override { return static_cast<int>(samples_.front().size()); }

 private:
  Status AddRow(const std::string& where, const Json& json) {
    RowSpec spec;
    spec.id = json.TextOr("id", "");
    const RowKindInfo* info = FindRow(spec.id);
    if (info == nullptr) return Fail(Code::kBadOption, where + ".id: '" + spec.id + "' is no row of the probe");
    spec.unit = json.TextOr("unit", info->unit);
    spec.work = json.NumberOr("work", 0);
    spec.kind = "synthetic";
    if (const Json* parameters = json.Find("parameters"); parameters != nullptr) {
      for (const auto& [name, value] : parameters->members) spec.parameters[name] = value.number;
    }
    if (const Json* labels = json.Find("labels"); labels != nullptr) {
      for (const auto& [name, value] : labels->members) spec.labels[name] = value.text;
    }
    const Json* samples = json.Find("samples");
    if (samples == nullptr || samples->list.empty()) {
      return Fail(Code::kBadOption, where + ".samples: must be a list of at least one number");
    }
    std::vector<double>& numbers = samples_.emplace_back();
    for (const Json& sample : samples->list) {
      if (sample.kind != Json::Kind::kNumber) return Fail(Code::kBadOption, where + ".samples: must be numbers");
      numbers.push_back(sample.number);
    }
    rows_.push_back(std::move(spec));
    return Ok();
  }

  std::vector<std::vector<double>> samples_;
  std::string absent_, failure_;
  double sample_ms_ = 0;
  size_t taken_ = 0;
};

DeviceState ReadState(const Json& json) {
  DeviceState state;
  state.sm_clock_mhz = static_cast<int>(json.NumberOr("sm_clock_mhz", -1));
  state.memory_clock_mhz = static_cast<int>(json.NumberOr("memory_clock_mhz", -1));
  state.power_watts = json.NumberOr("power_watts", -1);
  state.power_limit_watts = json.NumberOr("power_limit_watts", -1);
  state.temperature_celsius = static_cast<int>(json.NumberOr("temperature_celsius", -1));
  state.foreign_process_count = static_cast<int>(json.NumberOr("foreign_process_count", 0));
  if (const Json* reasons = json.Find("throttle_reasons"); reasons != nullptr) {
    for (const Json& reason : reasons->list) state.throttle_reasons.push_back(reason.text);
  }
  return state;
}

class FakeDevice : public Device {
 public:
  Status Read(const std::string& name, const Json& json) {
    const Json* device = json.Find("device");
    if (device == nullptr || device->TextOr("name", "").empty()) {
      return Fail(Code::kBadOption, name + ": device.name: must be a text");
    }
    info_.name = device->TextOr("name", "");
    info_.uuid = device->TextOr("uuid", "GPU-00000000-0000-0000-0000-000000000000");
    info_.driver_version = device->TextOr("driver_version", "");
    info_.sm_count = static_cast<int>(device->NumberOr("sm_count", 0));
    info_.memory_bytes = static_cast<int64_t>(device->NumberOr("memory_bytes", 0));
    info_.l2_bytes = static_cast<int64_t>(device->NumberOr("l2_bytes", 0));
    info_.synthetic = true;
    recovers_ = device->NumberOr("recovers", 1) != 0;
    if (const Json* states = json.Find("states"); states != nullptr) {
      for (const Json& state : states->list) states_.push_back(ReadState(state));
    }
    const Json* experiments = json.Find("experiments");
    if (experiments == nullptr || experiments->kind != Json::Kind::kList) {
      return Fail(Code::kBadOption, name + ": experiments: must be a list");
    }
    const double sample_ms = json.NumberOr("sample_ms", 0);
    for (size_t i = 0; i < experiments->list.size(); ++i) {
      const std::string where = name + ": experiments[" + std::to_string(i) + "]";
      const std::string group = experiments->list[i].TextOr("group", "");
      if (!IsGroup(group)) return Fail(Code::kBadOption, NoGroup(where, group));
      std::unique_ptr<Replay> replay;
      if (Status s = Replay::Make(where, experiments->list[i], sample_ms, &replay); !s.ok()) return s;
      experiments_.emplace_back(group, std::move(replay));
    }
    return Ok();
  }

  DeviceInfo Info() override { return info_; }
  std::string CudaVersion() override { return ""; }
  Status Recover() override { return recovers_ ? Ok() : Fail(Code::kFailed, "the device answers no call any more"); }
  // In turn; the last one stays.
  DeviceState State() override {
    if (states_.empty()) return {};
    const DeviceState& state = states_[std::min(asked_, states_.size() - 1)];
    ++asked_;
    return state;
  }
  std::vector<std::unique_ptr<Experiment>> Experiments(const std::string& group) override {
    std::vector<std::unique_ptr<Experiment>> found;
    for (auto& [its_group, experiment] : experiments_) {
      if (its_group == group && experiment != nullptr) found.push_back(std::move(experiment));
    }
    return found;
  }
  std::vector<std::string> Notes() override { return {"replayed by a fake device; no figure was measured"}; }

 private:
  DeviceInfo info_;
  bool recovers_ = true;
  std::vector<DeviceState> states_;
  size_t asked_ = 0;
  std::vector<std::pair<std::string, std::unique_ptr<Replay>>> experiments_;
};

}  // namespace

Status ParseFakeDevice(const std::string& name, const std::string& text, std::unique_ptr<Device>* device) {
  std::string error;
  const std::optional<Json> json = ParseJson(text, &error);
  if (!json.has_value()) return Fail(Code::kBadOption, name + ": " + error);
  auto fake = std::make_unique<FakeDevice>();
  if (Status status = fake->Read(name, *json); !status.ok()) return status;
  *device = std::move(fake);
  return Ok();
}

Status OpenFakeDevice(const std::string& file, std::unique_ptr<Device>* device) {
  struct stat info {};
  if (stat(file.c_str(), &info) == 0 && S_ISFIFO(info.st_mode)) {  // whose opening may wait for ever
    return Fail(Code::kBadOption, "--fake: " + file + " is a named pipe, not a file");
  }
  std::FILE* in = std::fopen(file.c_str(), "re");
  if (in == nullptr) return Fail(Code::kBadOption, "--fake: cannot read " + file);
  std::string text;
  char buffer[1 << 16];
  for (size_t read; (read = std::fread(buffer, 1, sizeof buffer, in)) > 0 && text.size() <= kMostBytes;) {
    text.append(buffer, read);
  }
  std::fclose(in);
  if (text.size() > kMostBytes) return Fail(Code::kBadOption, "--fake: " + file + " is larger than 64 MiB");
  return ParseFakeDevice(file, text, device);
}

}  // namespace flightplan::probe
