// ids_check CASES.textproto ... GOLDEN.jsonl[.gz] ...
//
// Asks every conformance case, judges every golden case, and puts some hundred questions of its own (resolve, plan,
// validate with repair, convert), and collects the ids of findings, decisions and changes in the answers. Each must be
// one that `flightplan explain` knows, with an area, a kind, a sentence and a source. Exit status: 0 all are, 1 some
// are not, 2 misuse.
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/text_format.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/explain/catalog_answers.h"
#include "resolver/resolver.h"
#include "tests/conformance/conformance.pb.h"
#include "tests/golden/golden_case.h"

namespace flightplan::properties {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::shared_ptr<const Catalog> TheCatalog() {
  static const auto* const kCatalog =
      new std::shared_ptr<const Catalog>(std::make_shared<const Catalog>(*Catalog::Builtin()));
  return *kCatalog;
}

// Ids, each with the first answer that holds it.
class Ids {
 public:
  void Add(absl::string_view id, const std::string& answer) {
    ++met_;
    first_.emplace(id, answer);
  }
  // Every rule_id in the message, however deep.
  void AddAll(const Message& message, const std::string& answer);

  int met() const { return met_; }
  const std::map<std::string, std::string>& first() const { return first_; }

 private:
  int met_ = 0;
  std::map<std::string, std::string> first_;
};

void Ids::AddAll(const Message& message, const std::string& answer) {
  std::vector<const FieldDescriptor*> fields;
  const google::protobuf::Reflection& from = *message.GetReflection();
  from.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->name() == "rule_id") {
      Add(from.GetString(message, field), answer);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const int count = field->is_repeated() ? from.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        AddAll(field->is_repeated() ? from.GetRepeatedMessage(message, field, i) : from.GetMessage(message, field),
               answer);
      }
    }
  }
}

// ---- what is asked

// Asks the library; a refusal has no ids.
class Asker {
 public:
  explicit Asker(Ids* ids) : resolver_(TheCatalog()), ids_(*ids) {}

  v1::ResolveConfigResponse Resolve(const v1::ResolveConfigRequest& request, const std::string& name) {
    v1::ResolveConfigResponse response;
    Keep(resolver_.ResolveConfig(request, &response), response, name);
    return response;
  }
  void Validate(const v1::ValidateConfigRequest& request, const std::string& name) {
    v1::ValidateConfigResponse response;
    Keep(resolver_.ValidateConfig(request, &response), response, name);
  }
  void Convert(const v1::ConvertConfigRequest& request, const std::string& name) {
    v1::ConvertConfigResponse response;
    Keep(resolver_.ConvertConfig(request, &response), response, name);
  }
  void Plan(const v1::PlanLayoutsRequest& request, const std::string& name) {
    v1::PlanResult response;
    Keep(resolver_.PlanLayouts(request, PlanHooks(), &response), response, name);
  }
  int answers() const { return answers_; }

 private:
  void Keep(const absl::Status& status, const Message& response, const std::string& name) {
    if (!status.ok()) return;
    ++answers_;
    ids_.AddAll(response, name);
  }

  const Resolver resolver_;
  Ids& ids_;
  int answers_ = 0;
};

void Ask(const conformance::Case& one, Asker* asker) {
  if (one.has_resolve_config()) asker->Resolve(one.resolve_config(), one.name());
  if (one.has_validate_config()) asker->Validate(one.validate_config(), one.name());
  if (one.has_convert_config()) asker->Convert(one.convert_config(), one.name());
  if (one.has_plan_layouts()) asker->Plan(one.plan_layouts(), one.name());
  for (const v1::BatchResolveRequest& request : one.batch_resolve().requests()) {
    if (request.has_resolve()) asker->Resolve(request.resolve(), one.name());
    if (request.has_validate()) asker->Validate(request.validate(), one.name());
  }
}

absl::Status AskCases(const std::string& path, Asker* asker) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  conformance::CaseSet set;
  if (!in || !google::protobuf::TextFormat::ParseFromString(text.str(), &set)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no cases"));
  }
  for (const conformance::Case& one : set.cases()) Ask(one, asker);
  return absl::OkStatus();
}

absl::Status JudgeGolden(const std::string& path, Ids* ids) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::unique_ptr<golden::GoldenReader> reader, golden::MakeReader(path));
  return golden::ForEachLine(path, [&](absl::string_view line) -> absl::Status {
    rapidjson::Document document;
    document.Parse<rapidjson::kParseNanAndInfFlag | rapidjson::kParseFullPrecisionFlag>(line.data(), line.size());
    FLIGHTPLAN_ASSIGN_OR_RETURN(const golden::GoldenCase one, reader->Read(document));
    if (!one.exempt.empty()) return absl::OkStatus();
    const RunResult result = Run(one.config, one.env, {});
    for (const Finding& finding : one.front_end) ids->Add(finding.rule_id, one.id);
    for (const Finding& finding : result.findings) ids->Add(finding.rule_id, one.id);
    for (const ConfigChange& change : result.changes) ids->Add(change.rule_id, one.id);
    return absl::OkStatus();
  });
}

v1::ResolveConfigRequest Question(absl::string_view model, absl::string_view gpu, absl::string_view framework,
                                  v1::Stage stage) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name(std::string(model));
  request.mutable_hardware()->set_gpu(std::string(gpu));
  request.mutable_hardware()->set_gpu_count(256);
  request.mutable_workload()->set_seq_length(stage == v1::STAGE_TUNE ? 32768 : 4096);
  request.mutable_workload()->set_global_batch_size(2048);
  request.set_stage(stage);
  request.mutable_target()->set_framework(std::string(framework));
  if (stage == v1::STAGE_PRODUCTION) return request;  // an open layout
  request.mutable_layout()->set_tensor_model_parallel_size(2);
  request.mutable_layout()->set_pipeline_model_parallel_size(4);
  request.mutable_layout()->set_expert_model_parallel_size(8);
  return request;
}

// The plan's own launch: judged and repaired, and as a launch of the other stacks.
void AskAgain(const v1::ResolveConfigResponse& plan, const v1::ResolveConfigRequest& asked, const std::string& name,
              Asker* asker) {
  if (plan.launches().empty()) return;
  v1::ValidateConfigRequest validate;
  *validate.mutable_target() = asked.target();
  *validate.mutable_hardware() = asked.hardware();
  for (const std::string& word : plan.launches(0).argv()) validate.mutable_arguments()->add_values(word);
  asker->Validate(validate, name + ", validated");
  validate.set_repair(true);
  for (const char* word : {"--overlap-moe-expert-parallel-comm", "--recompute-granularity", "full"}) {
    validate.mutable_arguments()->add_values(word);
  }
  asker->Validate(validate, name + ", repaired");
  for (const char* framework : {"megatron-lm", "megatron-bridge", "loongforge"}) {
    v1::ConvertConfigRequest convert;
    *convert.mutable_source() = validate;
    convert.mutable_target()->set_framework(framework);
    asker->Convert(convert, absl::StrCat(name, ", for ", framework));
  }
}

void AskOwn(Asker* asker) {
  for (const char* model : {"deepseek-v3", "qwen3-30b-a3b", "mixtral-8x7b", "llama-3.1-8b"}) {
    for (const char* gpu : {"a100-sxm-80gb", "h100-sxm", "b200-sxm", "gb200-nvl72"}) {
      for (const char* framework : {"megatron-lm", "megatron-bridge", "loongforge"}) {
        for (const v1::Stage stage : {v1::STAGE_BRING_UP, v1::STAGE_TUNE, v1::STAGE_PRODUCTION}) {
          const std::string name = absl::StrCat(model, " on ", gpu, ", ", framework, ", ", v1::Stage_Name(stage));
          const v1::ResolveConfigRequest request = Question(model, gpu, framework, stage);
          AskAgain(asker->Resolve(request, name), request, name, asker);
        }
      }
    }
  }
}

// ---- what is known of an id

std::string Fault(const CatalogAnswers& catalog, const std::string& id) {
  v1::GetRuleRequest request;
  request.set_id(id);
  v1::RuleInfo rule;
  if (const absl::Status status = catalog.GetRule(request, &rule); !status.ok()) return "explain does not know it";
  if (rule.area().empty() || rule.kind().empty()) return "its record has no area or kind";
  if (rule.text().empty()) return "its record says nothing";
  if (rule.source().text().empty()) return "its record has no source";
  return "";
}

int Main(const std::vector<std::string>& paths) {
  if (paths.empty()) {
    std::fprintf(stderr, "usage: ids_check CASES.textproto ... GOLDEN.jsonl[.gz] ...\n");
    return 2;
  }
  Ids ids;
  Asker asker(&ids);
  for (const std::string& path : paths) {
    const absl::Status status = absl::EndsWith(path, ".textproto") ? AskCases(path, &asker) : JudgeGolden(path, &ids);
    if (!status.ok()) {
      std::fprintf(stderr, "ids_check: %s\n", std::string(status.message()).c_str());
      return 2;
    }
  }
  const int of_files = ids.met();
  AskOwn(&asker);
  const CatalogAnswers catalog(TheCatalog());
  int faults = 0;
  for (const auto& [id, answer] : ids.first()) {
    const std::string fault = Fault(catalog, id);
    if (fault.empty()) continue;
    ++faults;
    std::printf("%s: %s (%s)\n", id.c_str(), fault.c_str(), answer.c_str());
  }
  std::printf("%zu ids, met %d times in %d answers and the golden cases; %d faults\n", ids.first().size(), ids.met(),
              asker.answers(), faults);
  if (of_files == 0) std::printf("the files hold nothing\n");
  return faults == 0 && of_files > 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) { return flightplan::properties::Main({argv + 1, argv + argc}); }
