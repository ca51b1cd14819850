// What `flightplan resolve` prints for a person: the answer on one page, its parts on request.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/terminal.h"
#include "flightplan/v1/hardware.pb.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

struct ResolvePage {
  const v1::ResolveConfigRequest& request;
  const v1::ResolveConfigResponse& response;
  const v1::GpuSystem& gpu;          // empty when it is not known
  std::vector<std::string> assumed;  // "sequence 4,096 (--seq)": what the caller left to us
  bool verbose = false;
};

std::string RenderResolvePage(const ResolvePage& page, const Terminal& terminal);

// The parts that --show takes: "ab", "changes", "config", "decisions", "findings", "layout", "log", "memory".
std::vector<absl::string_view> ResolveParts();
// Empty when there is no such part.
std::string RenderResolvePart(const ResolvePage& page, absl::string_view part, const Terminal& terminal);

}  // namespace flightplan::cli
