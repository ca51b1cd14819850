// The files of catalog/profiles as they were when the binary was built: JSON of flightplan.v1.HardwareProfile.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

struct RecordedProfileFile {
  absl::string_view name;  // "h200-sxm.json"
  absl::string_view text;
};

extern const absl::Span<const RecordedProfileFile> kRecordedProfileFiles;

}  // namespace flightplan
