#include "clients/cli/measurements.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/table.h"
#include "google/protobuf/util/json_util.h"

namespace flightplan::cli {
namespace {

std::string Shown(const v1::Measurement& m) {
  if (m.metric() == "step_time_us") return absl::StrFormat("%.4g s", m.value() / 1e6);
  if (m.metric() == "memory_high_water_bytes") return absl::StrFormat("%.4g GiB", m.value() / (1 << 30));
  return absl::StrFormat("%s %+.1f %%", m.varied_knob(), 100 * m.value());
}

}  // namespace

int ListMeasurements(const std::vector<v1::Measurement>& measurements, Context& context) {
  Table table({{.right = true},
               {.min_width = 8, .shrink = true},
               {},
               {.min_width = 8, .shrink = true},
               {},
               {.right = true},
               {},
               {}},
              0);
  std::vector<Cell> head;
  for (const char* title : {"revision", "id", "value", "model", "gpu", "gpus", "quality", "trust"}) {
    head.emplace_back(title, Style::kBold);
  }
  table.Row(head);
  for (const v1::Measurement& m : measurements) {
    table.Row({Cell(absl::StrCat(m.revision())), Cell(m.id()), Cell(Shown(m)), Cell(m.model()), Cell(m.gpu()),
               Cell(absl::StrCat(m.gpu_count())), Cell(m.quality()), Cell(m.trust())});
  }
  context.out += table.Render(context.terminal);
  return kExitOk;
}

absl::Status ExportMeasurements(const std::vector<v1::Measurement>& measurements, Context& context) {
  google::protobuf::util::JsonPrintOptions print;
  print.preserve_proto_field_names = true;
  for (const v1::Measurement& m : measurements) {
    std::string line;
    if (!google::protobuf::util::MessageToJsonString(m, &line, print).ok()) {
      return absl::DataLossError(absl::StrCat("measurement ", m.id(), " cannot be written"));
    }
    absl::StrAppend(&context.out, line, "\n");
  }
  return absl::OkStatus();
}

}  // namespace flightplan::cli
