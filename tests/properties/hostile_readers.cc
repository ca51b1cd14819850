#include "tests/properties/hostile_readers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/explain/catalog_answers.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/plan/knob_value.h"
#include "resolver/resolver.h"
#include "resolver/shell/reader.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/input_format.h"
#include "service/doors/admission_review.h"
#include "service/doors/review.h"
#include "service/handlers/answer.h"
#include "service/http/webhook_endpoint.h"
#include "tests/properties/extremes.h"

namespace flightplan::properties {
namespace {

std::shared_ptr<const Catalog> TheCatalog() {
  static const auto* const kCatalog =
      new std::shared_ptr<const Catalog>(std::make_shared<const Catalog>(*Catalog::Builtin()));
  return *kCatalog;
}

const Resolver& TheResolver() {
  static const auto* const kResolver = new Resolver(TheCatalog());
  return *kResolver;
}

absl::Status Validate(const v1::ValidateConfigRequest& request) {
  v1::ValidateConfigResponse response;
  return TheResolver().ValidateConfig(request, &response);
}

// A file of one format; one in four is repaired too. Where it names other files it is judged once more with each of
// them there: as long as it is, and naming others itself.
absl::Status ReadAs(Target target, absl::string_view format, const std::string& text) {
  // As the contract bounds them.
  constexpr int kMostFiles = 64;
  constexpr size_t kMostBytes = 1 << 20;
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework(std::string(OwnDialect(target)));
  request.set_input_format(std::string(format));
  request.mutable_file()->set_text(text);
  request.set_repair(text.size() % 4 == 0);
  v1::ValidateConfigResponse response;
  absl::Status status = TheResolver().ValidateConfig(request, &response);
  if (!status.ok()) return status;
  size_t bytes = 0;
  for (const std::string& path : response.wanted_files()) {
    bytes += text.size();
    if (request.model_files_size() == kMostFiles || bytes > kMostBytes) break;
    v1::TextFile* file = request.add_model_files();
    file->set_name(path);
    file->set_text(text);
  }
  return request.model_files().empty() ? status : Validate(request);
}

absl::Status ReadHfConfig(const std::string& text) {
  static const auto* const kAnswers = new CatalogAnswers(TheCatalog());
  v1::ImportModelRequest request;
  request.set_hf_config_json(text);
  v1::ModelSpec model;
  return kAnswers->ImportModel(request, &model);
}

absl::Status ReadAdmission(const std::string& text) {
  doors::AdmissionRequest admission;
  absl::Status parsed = doors::ParseAdmissionReview(text, &admission);
  if (!parsed.ok()) return parsed;
  v1::ValidateConfigRequest request;
  const doors::Question question = doors::AskAboutWorkload(admission, {}, *TheCatalog(), &request);
  if (question.skip.has_value()) return absl::OkStatus();
  v1::ValidateConfigResponse response;
  absl::Status status = TheResolver().ValidateConfig(request, &response);
  if (status.ok()) doors::RenderAdmissionReview(admission, doors::ReviewOf(question, response), {});
  return status;
}

// A Job whose container runs `script`.
std::string AdmissionOf(absl::string_view script) {
  return absl::StrCat(
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"CREATE","object":)"
      R"({"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[{"env":)"
      R"([{"name":"A","value":"x"}],"command":["bash","-c"],"args":[")",
      absl::StrReplaceAll(script, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}, {"\t", "\\t"}, {"\r", "\\r"}}),
      R"("],"resources":{"limits":{"nvidia.com/gpu":8}}}]}}}}}})");
}

absl::Status ReadAdmissionLaunch(const std::string& script) { return ReadAdmission(AdmissionOf(script)); }

absl::Status ReadSlurmScript(const std::string& script) {
  v1::ValidateConfigRequest request;
  const doors::Question question = doors::AskAboutScript("job", script, {}, {}, *TheCatalog(), &request);
  return question.skip.has_value() ? absl::OkStatus() : Validate(request);
}

// The value of every knob that is text or a list.
absl::Status ReadKnobValues(const std::string& text) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  static constexpr absl::string_view kTexts[] = {"pipeline_model_parallel_layout",
                                                 "hybrid_layer_pattern",
                                                 "hybrid_override_pattern",
                                                 "moe_layer_freq",
                                                 "recompute_modules",
                                                 "linear_attention_freq"};
  v1::KnobSetting* setting = request.mutable_knobs()->add_settings();
  setting->set_name(std::string(kTexts[text.size() % std::size(kTexts)]));
  setting->mutable_value()->set_string_value(text);
  return Validate(request);
}

absl::Status ReadWire(const std::string& bytes) {
  v1::ResolveConfigRequest request;
  if (!request.ParseFromString(bytes)) return absl::InvalidArgumentError("no message");
  v1::ResolveConfigResponse response;
  return TheResolver().ResolveConfig(request, &response);
}

// Of a folder that is not there: none, and the check ends, since a reader without seeds is hardly read.
std::vector<std::string> Files(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    std::fprintf(stderr, "hostile_check: no %s: give each reader a text of its language there\n", folder.c_str());
    std::exit(2);
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

absl::string_view LanguageOfFormat(const InputFormat& format) {
  if (format.name == kPythonFormat) return "python";
  if (format.file != nullptr) return "yaml";
  return format.name == "argv" ? "argv" : "overrides";
}

// "verl-overrides"; of Megatron's own flags, which several stacks take, "slime-argv".
std::string NameOf(const NamedFormat& named) {
  if (named.format->name != "argv") return std::string(named.format->name);
  return absl::StrCat(OwnDialect(named.target), "-argv");
}

}  // namespace

std::vector<Reader> Readers(const std::filesystem::path& corpus) {
  const auto speak = [&](absl::string_view language, absl::string_view seeds) {
    Language spoken = LanguageOf(language);
    if (!seeds.empty()) spoken.seeds = Files(corpus / std::string(seeds));
    return spoken;
  };
  std::vector<Reader> readers;
  for (const NamedFormat& named : InputFormats()) {
    const auto read = [named](const std::string& text) { return ReadAs(named.target, named.format->name, text); };
    readers.push_back({NameOf(named), speak(LanguageOfFormat(*named.format), NameOf(named)), kMaxScriptBytes,
                       service::kMaxAnswerWork, read});
  }
  readers.push_back({"shell", speak("shell", "shell"), kMaxScriptBytes, service::kMaxAnswerWork,
                     [](const std::string& text) { return ReadAs(Target::kMegatronLm, kShellFormat, text); }});
  readers.push_back(
      {"hf-config", speak("json", "hf-config"), kMaxHfConfigBytes, service::kMaxAnswerWork, ReadHfConfig});
  readers.push_back({"knob-values", speak("pattern", ""), kMaxTextBytes, service::kMaxAnswerWork, ReadKnobValues});
  Language admission = speak("json", "");
  for (const std::string& script : Files(corpus / "shell")) admission.seeds.push_back(AdmissionOf(script));
  readers.push_back(
      {"admission-review", std::move(admission), service::kMaxAdmissionBytes, service::kMaxReviewWork, ReadAdmission});
  readers.push_back(
      {"admission-launch", speak("shell", "shell"), kMaxScriptBytes, service::kMaxReviewWork, ReadAdmissionLaunch});
  readers.push_back(
      {"slurm-script", speak("shell", "shell"), kMaxScriptBytes, service::kMaxAnswerWork, ReadSlurmScript});
  Language wire = speak("wire", "");
  for (const Sample& sample : Samples(*TheCatalog())) {
    if (sample.message->GetDescriptor() != v1::ResolveConfigRequest::descriptor()) continue;
    wire.seeds.push_back(sample.message->SerializeAsString());
  }
  readers.push_back({"wire", std::move(wire), kMaxScriptBytes, service::kMaxAnswerWork, ReadWire});
  return readers;
}

void PrepareReaders() { TheResolver(); }

}  // namespace flightplan::properties
