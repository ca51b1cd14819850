// Runs threads.yaml: launches of public threads through Resolver::ValidateConfig.
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "gtest/gtest.h"
#include "resolver/base/yaml.h"
#include "resolver/catalog/catalog.h"
#include "resolver/resolver.h"

namespace flightplan {
namespace {

const YamlDocument& Threads() {
  static const auto* const kDocument = [] {
    const std::string path = FLIGHTPLAN_SOURCE_DIR "/tests/user_threads/threads.yaml";
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    auto document = ParseYaml(path, text.str(), YamlAliases::kExpanded);
    if (!document.ok()) std::cerr << document.status() << "\n";
    return new YamlDocument(document.ok() ? *std::move(document) : YamlDocument());
  }();
  return *kDocument;
}

// Also where it names nothing: then the caller has what the launch exports, and no more.
void ReadSoftware(const YamlNode& node, v1::SoftwareStack* software) {
  for (const auto& [name, value] : node.keys) {
    if (name == "te_version") {
      software->set_te_version(value.text);
    } else if (name == "torch_version") {
      software->set_torch_version(value.text);
    } else if (name == "packages") {
      for (const auto& [package, version] : value.keys) (*software->mutable_packages())[package] = version.text;
    } else if (name == "dispatchers") {
      software->mutable_dispatchers();
      for (const YamlNode& item : value.items) software->mutable_dispatchers()->add_backends(item.text);
    } else {
      ADD_FAILURE() << "unknown software." << name;
    }
  }
}

struct Thread {
  v1::ValidateConfigRequest request;
  std::vector<std::string> expects, without;
  std::string accepted, will_run;  // "true", "false", or empty: not asked
};

std::vector<std::string> Texts(const YamlNode& list) {
  std::vector<std::string> texts;
  for (const YamlNode& item : list.items) texts.push_back(item.text);
  return texts;
}

Thread Read(const YamlNode& node) {
  Thread thread;
  v1::ValidateConfigRequest& request = thread.request;
  for (const auto& [name, value] : node.keys) {
    if (name == "target") {
      for (const auto& [key, text] : value.keys) {
        if (key == "framework") request.mutable_target()->set_framework(text.text);
        if (key == "version") request.mutable_target()->set_version(text.text);
      }
    } else if (name == "hardware") {
      for (const auto& [key, text] : value.keys) {
        int32_t count = 0;
        if (key == "gpu") request.mutable_hardware()->set_gpu(text.text);
        if (key == "gpu_count" && absl::SimpleAtoi(text.text, &count)) request.mutable_hardware()->set_gpu_count(count);
      }
    } else if (name == "software") {
      ReadSoftware(value, request.mutable_software());
    } else if (name == "input_format") {
      request.set_input_format(value.text);
    } else if (name == "launch") {
      request.mutable_file()->set_name("launch.sh");
      request.mutable_file()->set_text(value.text);
    } else if (name == "arguments") {
      for (const std::string& word : Texts(value)) request.mutable_arguments()->add_values(word);
    } else if (name == "expects") {
      thread.expects = Texts(value);
    } else if (name == "without") {
      thread.without = Texts(value);
    } else if (name == "accepted") {
      thread.accepted = value.text;
    } else if (name == "will_run") {
      thread.will_run = value.text;
    } else if (name != "thread" && name != "asks") {
      ADD_FAILURE() << "unknown key " << name;
    }
  }
  return thread;
}

class UserThreads : public testing::TestWithParam<size_t> {};

TEST_P(UserThreads, AreAnsweredByTheirFindings) {
  const YamlNode& node = Threads().root.items[GetParam()];
  const Thread thread = Read(node);
  ASSERT_FALSE(thread.expects.empty() && thread.without.empty() && thread.accepted.empty()) << "asks for nothing";
  auto catalog = Catalog::Builtin();
  ASSERT_TRUE(catalog.ok());
  const Resolver resolver(std::make_shared<const Catalog>(*std::move(catalog)));
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(resolver.ValidateConfig(thread.request, &response).ok());
  std::set<std::string> ids;
  std::string errors;
  for (const v1::Finding& finding : response.findings()) {
    ids.insert(finding.rule_id());
    if (finding.severity() == v1::SEVERITY_ERROR)
      absl::StrAppend(&errors, "\n  ", finding.rule_id(), ": ", finding.seen());
  }
  for (const v1::EffectiveChange& change : response.effective_changes()) ids.insert(change.rule_id());
  for (const std::string& id : thread.expects) EXPECT_TRUE(ids.count(id)) << id << " is missing; errors:" << errors;
  for (const std::string& id : thread.without) EXPECT_FALSE(ids.count(id)) << id << " is there";
  if (!thread.accepted.empty()) {
    EXPECT_EQ(response.accepted_by_stack(), thread.accepted == "true") << errors;
  }
  if (!thread.will_run.empty()) {
    EXPECT_EQ(response.will_run(), thread.will_run == "true") << errors;
  }
}

std::string NameOf(const testing::TestParamInfo<size_t>& info) {
  std::string name = absl::StrCat(info.param, "_");
  for (const auto& [key, value] : Threads().root.items[info.param].keys) {
    if (key != "thread") continue;
    for (char c : value.text.substr(0, value.text.find(',')))
      name += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Threads, UserThreads, testing::Range<size_t>(0, Threads().root.items.size()), NameOf);

TEST(UserThreadsFile, HoldsThreads) { EXPECT_GE(Threads().root.items.size(), 25U) << "threads.yaml was not read"; }

}  // namespace
}  // namespace flightplan
