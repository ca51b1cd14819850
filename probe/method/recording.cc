#include "probe/method/recording.h"

#include <cstdio>

#include "probe/json.h"

namespace flightplan::probe {
namespace {

void WriteRow(const RowSpec& spec, const std::vector<double>& samples, std::string* out) {
  ObjectWriter row(out);
  row.Text("id", spec.id).Text("unit", spec.unit).Number("work", spec.work).Text("kind", spec.kind);
  ObjectWriter parameters = row.Object("parameters");
  for (const auto& [name, value] : spec.parameters) parameters.Number(name, value);
  parameters.End();
  ObjectWriter labels = row.Object("labels");
  for (const auto& [name, value] : spec.labels) labels.Text(name, value);
  labels.End();
  row.Key("samples");
  *out += '[';
  for (const double sample : samples) {
    if (out->back() != '[') *out += ',';
    AppendNumber(sample, out);
  }
  *out += ']';
  row.End();
}

}  // namespace

void Recording::Add(const std::string& group, const Experiment& experiment,
                    const std::vector<std::vector<double>>& samples) {
  if (file_.empty()) return;
  if (!experiments_.empty()) experiments_ += ",\n";
  ObjectWriter object(&experiments_);
  object.Text("group", group).Number("stage", experiment.stage()).Key("rows");
  experiments_ += '[';
  for (size_t i = 0; i < samples.size(); ++i) {
    if (i > 0) experiments_ += ',';
    WriteRow(experiment.rows()[i], samples[i], &experiments_);
  }
  experiments_ += ']';
  object.End();
}

Status Recording::Write(const DeviceInfo& device) const {
  if (file_.empty()) return Ok();
  std::string out;
  ObjectWriter object(&out);
  ObjectWriter info = object.Object("device");
  info.Text("name", device.name).Text("uuid", device.uuid).Text("driver_version", device.driver_version);
  info.Number("sm_count", device.sm_count).Number("memory_bytes", static_cast<double>(device.memory_bytes));
  info.Number("l2_bytes", static_cast<double>(device.l2_bytes)).End();
  object.Key("experiments");
  out += "[\n" + experiments_ + "\n]";
  object.End();
  out += '\n';
  std::FILE* file = std::fopen(file_.c_str(), "we");
  if (file == nullptr) return Fail(Code::kFailed, "samples were not recorded: cannot write " + file_);
  const bool written = std::fwrite(out.data(), 1, out.size(), file) == out.size();
  return std::fclose(file) == 0 && written ? Ok() : Fail(Code::kFailed, "samples were not recorded: disk full?");
}

}  // namespace flightplan::probe
