#include "probe/protocol.h"

#include "probe/json.h"

namespace flightplan::probe {
namespace {

// {"<kind>": <body>}
template <class Body>
std::string Line(const char* kind, const Body& body) {
  std::string out;
  ObjectWriter line(&out);
  line.Key(kind);
  body(&out);
  line.End();
  return out;
}

void WriteTexts(const std::vector<std::string>& texts, std::string* out) {
  *out += '[';
  for (const std::string& text : texts) {
    if (out->back() != '[') *out += ',';
    AppendQuoted(text, out);
  }
  *out += ']';
}

void WriteRow(const Row& row, std::string* out) {
  ObjectWriter object(out);
  object.Text("id", row.spec.id);
  ObjectWriter parameters = object.Object("parameters");
  for (const auto& [name, value] : row.spec.parameters) parameters.Number(name, value);
  parameters.End();
  ObjectWriter labels = object.Object("labels");
  for (const auto& [name, value] : row.spec.labels) labels.Text(name, value);
  labels.End();
  object.Number("value", row.value).Number("low", row.low).Number("high", row.high).Text("unit", row.spec.unit);
  object.Number("sample_count", row.sample_count).Text("kind", row.spec.kind).Bool("checked", row.checked).End();
}

void WriteDevice(const DeviceInfo& device, const std::string& cuda_version, ObjectWriter* object) {
  object->Text("device_name", device.name).Text("device_uuid", device.uuid);
  object->Text("driver_version", device.driver_version).Text("probe_version", kProbeVersion);
  object->Text("cuda_version", cuda_version).Number("sm_count", device.sm_count);
  object->Number("memory_bytes", static_cast<double>(device.memory_bytes));
  object->Text("kind", device.synthetic ? "synthetic" : "measured");
}

void WriteConditions(const Conditions& conditions, std::string* out) {
  ObjectWriter object(out);
  object.Number("sm_clock_mhz", conditions.sm_clock_mhz).Number("memory_clock_mhz", conditions.memory_clock_mhz);
  object.Number("power_watts", conditions.power_watts).Number("power_limit_watts", conditions.power_limit_watts);
  object.Number("temperature_celsius", conditions.temperature_celsius);
  object.Key("throttle_reasons");
  WriteTexts(conditions.throttle_reasons, out);
  object.Number("dropped_sample_count", conditions.dropped_sample_count).End();
}

}  // namespace

std::string DeviceLine(const DeviceInfo& device, const std::string& cuda_version) {
  return Line("device", [&](std::string* out) {
    ObjectWriter object(out);
    WriteDevice(device, cuda_version, &object);
    object.End();
  });
}

std::string ProgressLine(double done_ratio, const std::string& current_row) {
  return Line("progress", [&](std::string* out) {
    ObjectWriter(out).Number("done_ratio", done_ratio).Text("current_row", current_row).End();
  });
}

std::string RowLine(const Row& row) {
  return Line("row", [&](std::string* out) { WriteRow(row, out); });
}

std::string ProfileLine(const Profile& profile) {
  return Line("profile", [&](std::string* out) {
    ObjectWriter object(out);
    WriteDevice(profile.device, profile.cuda_version, &object);
    object.Text("measure_time", profile.measure_time).Bool("partial", profile.partial);
    object.Number("duration_us", static_cast<double>(profile.duration_us));
    object.Key("conditions");
    WriteConditions(profile.conditions, out);
    object.Key("notes");
    WriteTexts(profile.notes, out);
    object.Key("rows");
    *out += '[';
    for (const Row& row : profile.rows) {
      if (out->back() != '[') *out += ',';
      WriteRow(row, out);
    }
    *out += ']';
    object.End();
  });
}

std::string ErrorLine(const Status& status) {
  return Line("error", [&](std::string* out) {
    ObjectWriter(out).Text("code", Name(status.code)).Text("message", status.message).End();
  });
}

void LineWriter::Write(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string whole = line + '\n';
  const bool written = std::fwrite(whole.data(), 1, whole.size(), out_) == whole.size();
  if (std::fflush(out_) != 0 || !written) *gone_ = true;
}

}  // namespace flightplan::probe
