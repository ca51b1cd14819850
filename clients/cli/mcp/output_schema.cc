// The JSON schemas of what answers.cc writes.
#include <initializer_list>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "clients/cli/mcp/answers.h"
#include "clients/cli/rpc/json_text.h"

namespace flightplan::cli {
namespace {

struct Field {
  absl::string_view name;
  absl::string_view schema;  // JSON, or the name of a shape: "range"
  bool always = true;
};

constexpr absl::string_view kString = R"({"type":"string"})";
constexpr absl::string_view kStrings = R"({"type":"array","items":{"type":"string"}})";
constexpr absl::string_view kInteger = R"({"type":"integer"})";
constexpr absl::string_view kNumber = R"({"type":"number"})";
constexpr absl::string_view kBool = R"({"type":"boolean"})";
constexpr absl::string_view kFits = R"({"type":"string","enum":["fits","marginal","does not fit","unknown"]})";
constexpr absl::string_view kJudged = R"({"type":"string","enum":["in full","in part","nothing"]})";

constexpr Field kRange[] = {{"value", kNumber}, {"low", kNumber}, {"high", kNumber}};
constexpr Field kLayout[] = {{"tp", kInteger},           {"pp", kInteger},
                             {"vpp", kInteger},          {"cp", kInteger},
                             {"ep", kInteger},           {"etp", kInteger},
                             {"mbs", kInteger},          {"dp", kInteger},
                             {"microbatches", kInteger}, {"pipeline_layout", kString, false}};
constexpr Field kFinding[] = {{"severity", R"({"type":"string","enum":["error","warning","info"]})"},
                              {"rule", kString},
                              {"line", kInteger, false},
                              {"seen", kString},
                              {"needs", kString},
                              {"fixes", kStrings}};
constexpr Field kStep[] = {{"rule", kString}, {"fix", kString}};

std::string Shape(absl::Span<const Field> fields) {
  JsonObject properties;
  std::vector<std::string> required;
  for (const Field& field : fields) {
    properties.Raw(field.name, field.schema);
    if (field.always) required.emplace_back(field.name);
  }
  JsonObject schema;
  return schema.Text("type", "object")
      .Raw("properties", properties.Json())
      .Raw("required", JsonStrings(required))
      .Json();
}

std::string ListOf(const std::string& items) { return JsonObject().Text("type", "array").Raw("items", items).Json(); }

std::string RepairShape() {
  const std::string findings = ListOf(Shape(kFinding)), steps = ListOf(Shape(kStep));
  const Field fields[] = {{"accepted_by_stack", kBool},    {"will_run", kBool},    {"steps", steps},
                          {"not_written", kString, false}, {"findings", findings}, {"findings_left_out", kInteger}};
  return Shape(fields);
}

// What is forecast of a run, whether an answer or a plan of a list is about it.
std::vector<Field> ForecastFields(absl::string_view range) {
  return {{"fits", kFits},
          {"memory_gib", range, false},
          {"usable_gib", kNumber, false},
          {"step_seconds", range, false},
          {"tokens_per_second_per_gpu", kNumber, false},
          {"mfu", kNumber, false}};
}

std::vector<Field> Joined(std::initializer_list<absl::Span<const Field>> lists) {
  std::vector<Field> all;
  for (const absl::Span<const Field> list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::string VerdictShape() {
  const std::string range = Shape(kRange), layout = Shape(kLayout), findings = ListOf(Shape(kFinding));
  const std::string repair = RepairShape();
  constexpr Field kVerdict[] = {
      {"target", kString}, {"judged", kJudged, false}, {"accepted_by_stack", kBool, false}, {"will_run", kBool, false}};
  const Field rest[] = {{"layout", layout, false},       {"findings", findings},    {"findings_left_out", kInteger},
                        {"not_judged", kStrings, false}, {"repair", repair, false}, {"digest", kString}};
  return Shape(Joined({kVerdict, ForecastFields(range), rest}));
}

std::string PlansShape() {
  const std::string range = Shape(kRange), layout = Shape(kLayout), findings = ListOf(Shape(kFinding));
  const Field sizes[] = {{"layout", layout}};
  constexpr Field kDigest[] = {{"digest", kString}};
  const std::string plans = ListOf(Shape(Joined({sizes, ForecastFields(range), kDigest})));
  const Field fields[] = {{"plans", plans},
                          {"candidates", kInteger},
                          {"candidates_judged", kInteger},
                          {"findings", findings},
                          {"findings_left_out", kInteger}};
  return Shape(fields);
}

std::string ConversionShape() {
  const std::string findings = ListOf(Shape(kFinding));
  const Field fields[] = {{"dialect", kString},           {"accepted_by_stack", kBool},   {"converted", kInteger},
                          {"dropped", kStrings},          {"defaults_written", kInteger}, {"findings", findings},
                          {"findings_left_out", kInteger}};
  return Shape(fields);
}

std::string EntryShape() {
  constexpr Field kFields[] = {{"what", R"({"type":"string","enum":["rule","knob","variable"]})"},
                               {"name", kString},
                               {"kind", kString},
                               {"text", kString},
                               {"reads", kStrings, false},
                               {"source", kString, false},
                               {"type", kString, false},
                               {"default", kString, false},
                               {"choices", kStrings, false},
                               {"flags", kStrings, false}};
  return Shape(kFields);
}

std::string ModelsShape() {
  constexpr Field kModel[] = {{"name", kString},
                              {"total_parameters", kInteger},
                              {"active_parameters", kInteger},
                              {"layers", kInteger, false},
                              {"experts", kInteger, false}};
  const std::string models = ListOf(Shape(kModel));
  const Field fields[] = {{"models", models}};
  return Shape(fields);
}

std::string GpusShape() {
  constexpr Field kGpu[] = {{"name", kString}, {"hbm_gib", kNumber}, {"nvlink_domain", kInteger}};
  const std::string gpus = ListOf(Shape(kGpu));
  const Field fields[] = {{"gpus", gpus}};
  return Shape(fields);
}

}  // namespace

std::string OutputSchema(ToolAnswer answer) {
  switch (answer) {
    case ToolAnswer::kVerdict:
      return VerdictShape();
    case ToolAnswer::kPlans:
      return PlansShape();
    case ToolAnswer::kConversion:
      return ConversionShape();
    case ToolAnswer::kEntry:
      return EntryShape();
    case ToolAnswer::kModels:
      return ModelsShape();
    case ToolAnswer::kGpus:
      return GpusShape();
    case ToolAnswer::kReleases: {
      constexpr Field kFields[] = {{"version", kString}, {"targets", kStrings}};
      return Shape(kFields);
    }
    case ToolAnswer::kSides:
      break;
  }
  const std::string side = VerdictShape();
  const Field fields[] = {{"a", side}, {"b", R"({"$ref":"#/properties/a"})"}};
  return Shape(fields);
}

}  // namespace flightplan::cli
