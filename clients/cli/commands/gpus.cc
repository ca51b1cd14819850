#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/output.h"
#include "clients/cli/paging.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "flightplan/v1/catalog_service.pb.h"

namespace flightplan::cli {
namespace {

// Zero means unknown in this message.
std::string Figure(double value, double unit) { return value > 0 ? absl::StrFormat("%.4g", value / unit) : "?"; }

}  // namespace

int RunGpus(Arguments args, Context& context) {
  std::string format = "table";
  BackendOptions where;
  const CommandLine command{
      .name = "gpus",
      .usage = "flightplan gpus [NAME] [--format table|json]",
      .summary = "the GPU systems of the catalogue",
      .example = "flightplan gpus",
      .max_positional = 1,
      .groups = {{"print", {{"--format", "F", "table (default), json", ToChoice(&format, {"table", "json"})}}},
                 BackendFlags(&where)},
      .positional = {.list = kGpuNames}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);

  v1::ListGpusResponse list;
  absl::Status status;
  if (parsed.positional.empty()) {
    status = ListAll(**backend, &Backend::ListGpus, v1::ListGpusRequest(), &list);
  } else {
    v1::GetGpuRequest request;
    request.set_name(parsed.positional[0]);
    status = (*backend)->GetGpu(request, list.add_gpus());
  }
  if (!status.ok()) return Failed(command, status, context);
  Answered(list, context);
  if (format == "json") {
    context.out += parsed.positional.empty() ? ToJson(list) : ToJson(list.gpus(0));
    return kExitOk;
  }
  Table table({{},  // what one has to type
               {},
               {.right = true},
               {.right = true},
               {.right = true},
               {.right = true},
               {.right = true},
               {.min_width = 8, .shrink = true},
               {.min_width = 8, .shrink = true}},
              0);
  std::vector<Cell> head;
  for (const char* title :
       {"gpu", "cc", "GiB", "BF16 TF", "NVLink GB/s", "domain", "NIC GB/s", "flex backends", "FP8, FP4"}) {
    head.emplace_back(title, Style::kBold);
  }
  table.Row(head);
  for (const v1::GpuSystem& gpu : list.gpus()) {
    table.Row({Cell(gpu.name()), Cell(gpu.compute_capability()), Cell(GibNumber(static_cast<double>(gpu.hbm_bytes()))),
               Cell(Figure(gpu.bf16_flops_per_second(), 1e12)), Cell(Figure(gpu.nvlink_bytes_per_second(), 1e9)),
               Cell(absl::StrCat(gpu.nvlink_domain_gpu_count())), Cell(Figure(gpu.nic_bytes_per_second(), 1e9)),
               Cell(absl::StrJoin(gpu.flex_backends(), ", ")),
               Cell(absl::StrJoin(gpu.fp8_recipes(), ", "), Style::kDim)});
  }
  context.out += table.Render(context.terminal);
  if (parsed.positional.empty()) return kExitOk;
  absl::StrAppend(&context.out, list.gpus(0).notes().empty() ? "" : "\n", context.terminal.Shown(list.gpus(0).notes()),
                  "\n", context.terminal.Shown(list.gpus(0).source()), "\n");
  return kExitOk;
}

}  // namespace flightplan::cli
