#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
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

std::string ExpertText(const v1::ModelSpec& model) {
  if (!model.has_num_moe_experts()) return "dense";
  return absl::StrCat(model.num_moe_experts(), " experts, top ", model.moe_router_topk());
}

void PrintList(const v1::ListModelsResponse& list, Context& context) {
  Table table({{},  // what one has to type
               {.right = true},
               {.right = true},
               {.right = true},
               {},
               {},
               {.min_width = 8, .shrink = true}},
              0);
  table.Row({Cell("model", Style::kBold), Cell("total", Style::kBold), Cell("active", Style::kBold),
             Cell("layers", Style::kBold), Cell("attention", Style::kBold), Cell("experts", Style::kBold),
             Cell("family", Style::kBold)});
  for (const v1::ModelSpec& model : list.models()) {
    table.Row({Cell(model.name()), Cell(ParameterText(model.parameters().total_count())),
               Cell(ParameterText(model.parameters().active_count())), Cell(absl::StrCat(model.num_layers())),
               Cell(model.attention()), Cell(ExpertText(model)), Cell(model.family(), Style::kDim)});
  }
  absl::StrAppend(&context.out, table.Render(context.terminal), list.models_size(), " models\n");
}

std::string FieldText(const v1::ModelSpec& model, const google::protobuf::FieldDescriptor& field) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *model.GetReflection();
  if (field.cpp_type() == Field::CPPTYPE_STRING) return reflection.GetString(model, &field);
  if (field.cpp_type() == Field::CPPTYPE_BOOL) return reflection.GetBool(model, &field) ? "true" : "false";
  if (field.cpp_type() == Field::CPPTYPE_DOUBLE) return absl::StrCat(reflection.GetDouble(model, &field));
  if (field.cpp_type() == Field::CPPTYPE_INT64) return absl::StrCat(reflection.GetInt64(model, &field));
  return absl::StrCat(reflection.GetInt32(model, &field));
}

// Every field that is there, by its own name: the page of one model is its message.
void PrintModel(const v1::ModelSpec& model, Context& context) {
  const v1::ParameterCounts& counts = model.parameters();
  absl::StrAppend(&context.out, context.terminal.Paint(context.terminal.Shown(model.name()), Style::kBold), "\n");
  Table table({{}, {.min_width = 20, .max_lines = 0, .shrink = true}});
  if (counts.total_count() > 0) {
    table.Row(
        {"parameters", absl::StrCat(WithThousands(counts.total_count()), " (", ParameterText(counts.total_count()),
                                    "), active ", ParameterText(counts.active_count()))});
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  model.GetReflection()->ListFields(model, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->is_repeated() || field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    table.Row({Cell(field->name()), Cell(FieldText(model, *field))});
  }
  for (const std::string& source : model.sources()) table.Row({Cell("source", Style::kDim), Cell(source, Style::kDim)});
  context.out += table.Render(context.terminal);
}

}  // namespace

int RunModels(Arguments args, Context& context) {
  std::string format = "table", import;
  BackendOptions where;
  const CommandLine command{
      .name = "models",
      .usage = "flightplan models [NAME | WORD] [--import config.json] [--format table|json]",
      .summary = "the catalogue's models, one model, or a Hugging Face config.json as it is understood",
      .example = "flightplan models qwen3\nflightplan models --import config.json --format json",
      .max_positional = 1,
      .groups = {{"model",
                  {{"--import", "FILE", "a config.json as downloaded; - reads standard input", ToText(&import)}}},
                 {"print", {{"--format", "F", "table (default), json", ToChoice(&format, {"table", "json"})}}},
                 BackendFlags(&where)},
      .positional = {.list = kModelNames}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (!import.empty() && !parsed.positional.empty()) {
    return Misuse(command, absl::StrCat("a NAME or --import: ", Quoted(parsed.positional[0]), " has no effect"),
                  context);
  }
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);

  v1::ListModelsResponse list;
  v1::ModelSpec model;
  absl::Status status;
  bool single = !import.empty();
  if (single) {
    absl::StatusOr<std::string> text = ReadInput(import, context);
    if (!text.ok()) return Misuse(command, text.status().message(), context);
    if (absl::StripAsciiWhitespace(*text).empty()) {
      return Misuse(command, absl::StrCat(import, " is empty; --import wants a config.json"), context);
    }
    v1::ImportModelRequest request;
    request.set_hf_config_json(*std::move(text));
    status = (*backend)->ImportModel(request, &model);
  } else {
    status = ListAll(**backend, &Backend::ListModels, v1::ListModelsRequest(), &list);
  }
  if (status.ok() && !single && !parsed.positional.empty()) {
    v1::GetModelRequest request;
    request.set_name(parsed.positional[0]);
    status = (*backend)->GetModel(request, &model);
    single = status.ok();
    if (absl::IsNotFound(status)) {  // a word, then: the models that have it in their name or family
      v1::ListModelsResponse matching;
      for (const v1::ModelSpec& candidate : list.models()) {
        if (ContainsWord(absl::StrCat(candidate.name(), " ", candidate.family()), request.name())) {
          *matching.add_models() = candidate;
        }
      }
      if (matching.models_size() > 0) status = absl::OkStatus();
      list = matching;
    }
  }
  if (!status.ok()) return Failed(command, status, context);
  if (single) {
    Answered(model, context);
  } else {
    Answered(list, context);
  }
  if (format == "json") {
    context.out += single ? ToJson(model) : ToJson(list);
  } else if (single) {
    PrintModel(model, context);
  } else {
    PrintList(list, context);
  }
  return kExitOk;
}

}  // namespace flightplan::cli
