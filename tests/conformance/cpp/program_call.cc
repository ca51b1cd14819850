#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/util/json_util.h"
#include "tests/conformance/cpp/answers.h"
#include "tests/conformance/cpp/call.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::conformance {
namespace {

struct Ended {
  int exit_code;
  std::string out, err;
};

std::string Quote(absl::string_view word) {
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::string Read(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Ended Execute(const std::string& command, const google::protobuf::Map<std::string, std::string>& files) {
  const TemporaryFolder folder, output;
  for (const auto& [name, text] : files) std::ofstream(folder.File(name), std::ios::binary) << text;
  const auto in_output = [&](const char* name) { return Quote(output.File(name)); };
  const int status = std::system(absl::StrCat("cd ", Quote(folder.path()), " && ", command, " >", in_output("out"),
                                              " 2>", in_output("err"), " </dev/null")
                                     .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Read(output.File("out")), Read(output.File("err"))};
}

// "--" ends the flags, so these stand before it.
std::string Command(const CommandLine& line, const std::string& program, const std::string& server) {
  std::string command = Quote(program);
  const auto add_own = [&] { absl::StrAppend(&command, " --format json --server ", Quote(server)); };
  bool added = false;
  for (const std::string& word : line.args()) {
    if (word == "--" && !added) {
      add_own();
      added = true;
    }
    absl::StrAppend(&command, " ", Quote(word));
  }
  if (!added) add_own();
  return command;
}

template <class Answer>
absl::StatusOr<Facts> FromJson(const std::string& json) {
  Answer answer;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &answer);
  if (!status.ok()) return absl::InternalError(absl::StrCat("prints no answer: ", std::string(status.message())));
  Facts facts;
  AddAnswer("", answer, &facts);
  AddStatus("", google::rpc::Status(), &facts);
  return facts;
}

absl::StatusOr<Facts> FactsOf(const Case& test, const std::string& json) {
  switch (test.call_case()) {
    case Case::kResolveConfig:
      return FromJson<v1::ResolveConfigResponse>(json);
    case Case::kValidateConfig:
      return FromJson<v1::ValidateConfigResponse>(json);
    case Case::kPlanLayouts:
      return FromJson<v1::PlanResult>(json);
    case Case::kConvertConfig:
      return FromJson<v1::ConvertConfigResponse>(json);
    case Case::kGetModel:
    case Case::kImportModel:
      return FromJson<v1::ModelSpec>(json);
    case Case::kListModels:
      return FromJson<v1::ListModelsResponse>(json);
    case Case::kGetGpu:
      return FromJson<v1::GpuSystem>(json);
    case Case::kListGpus:
      return FromJson<v1::ListGpusResponse>(json);
    case Case::kGetKnob:
      return FromJson<v1::KnobInfo>(json);
    case Case::kListKnobs:
      return FromJson<v1::ListKnobsResponse>(json);
    case Case::kGetRule:
      return FromJson<v1::RuleInfo>(json);
    case Case::kListRules:
      return FromJson<v1::ListRulesResponse>(json);
    case Case::kImportProfile:
      return FromJson<v1::HardwareProfile>(json);
    case Case::kListProfiles:
      return FromJson<v1::ListProfilesResponse>(json);
    case Case::kBatchResolve:
    case Case::kReportMeasurement:
    case Case::kGetMeasurement:
    case Case::kListMeasurements:
    case Case::kGetProfile:
    case Case::CALL_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("the command line has no words for this call");
}

}  // namespace

absl::StatusOr<Facts> CallByProgram(const Case& test, const std::string& program, const std::string& server) {
  constexpr int kExitFindings = 1;
  const CommandLine& line = test.command_line();
  const Ended ended = Execute(Command(line, std::filesystem::absolute(program).string(), server), line.files());
  if (ended.exit_code != line.exit_code()) {
    return absl::InternalError(
        absl::StrCat("ends with ", ended.exit_code, ", not ", line.exit_code(), ": ", ended.err));
  }
  for (const std::string& text : line.stderr_has()) {
    if (!absl::StrContains(ended.err, text)) {
      return absl::InternalError(absl::StrCat("standard error lacks '", text, "': ", ended.err));
    }
  }
  if (line.exit_code() > kExitFindings) return Facts();
  return FactsOf(test, ended.out);
}

}  // namespace flightplan::conformance
