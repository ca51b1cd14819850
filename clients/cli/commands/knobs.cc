#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/findings.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/output.h"
#include "clients/cli/paging.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "flightplan/v1/catalog_service.pb.h"

namespace flightplan::cli {

int RunKnobs(Arguments args, Context& context) {
  std::string format = "table", knob_class;
  BackendOptions where;
  const CommandLine command{
      .name = "knobs",
      .usage = "flightplan knobs [WORD] [--class C] [--format table|json]",
      .summary = "every knob, or those with WORD in name or flag; flightplan explain NAME has the whole of one",
      .example = "flightplan knobs overlap",
      .max_positional = 1,
      .groups = {{"only",
                  {{"--class", "C", "convergence, execution or benchmark_only",
                    ToChoice(&knob_class, {"convergence", "execution", "benchmark_only"})}}},
                 {"print", {{"--format", "F", "table (default), json", ToChoice(&format, {"table", "json"})}}},
                 BackendFlags(&where)},
      .positional = {.list = kKnobNames}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);

  v1::ListKnobsResponse all, shown;
  if (const absl::Status status = ListAll(**backend, &Backend::ListKnobs, v1::ListKnobsRequest(), &all); !status.ok()) {
    return Failed(command, status, context);
  }
  const std::string word = parsed.positional.empty() ? "" : parsed.positional[0];
  for (const v1::KnobInfo& knob : all.knobs()) {
    const bool named =
        ContainsWord(knob.name(), word) || ContainsWord(absl::StrJoin(knob.megatron_lm_flags(), " "), word);
    if (named && (knob_class.empty() || knob.knob_class() == knob_class)) *shown.add_knobs() = knob;
  }
  if (format == "json") {
    context.out += ToJson(shown);
    return kExitOk;
  }
  Table table({{.min_width = 24, .shrink = true}, {}, {}, {.max_width = 14}, {.min_width = 20, .shrink = true}}, 0);
  for (const v1::KnobInfo& knob : shown.knobs()) {
    table.Row(
        {Cell(knob.name()), Cell(knob.knob_class(), Style::kDim), Cell(knob.type()),
         Cell(ValueText(knob.default_value())),
         Cell(knob.megatron_lm_flags().empty() ? knob.bridge_override() : knob.megatron_lm_flags(0), Style::kDim)});
  }
  absl::StrAppend(&context.out, table.Render(context.terminal), shown.knobs_size(), " knobs\n");
  return kExitOk;
}

}  // namespace flightplan::cli
