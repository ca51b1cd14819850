#include "resolver/explain/catalog_answers.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "gtest/gtest.h"
#include "resolver/base/reason.h"
#include "resolver/catalog/catalog.h"
#include "resolver/explain/records.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/plan/cpu_binding.h"
#include "resolver/rules/registry.h"

namespace flightplan {
namespace {

const CatalogAnswers& Answers() {
  static const auto* const kAnswers = new CatalogAnswers(std::make_shared<const Catalog>(*Catalog::Builtin()));
  return *kAnswers;
}

// Reads a list page by page; `items` picks the repeated field.
template <class Request, class Response, class Items>
std::vector<std::string> Names(absl::Status (CatalogAnswers::*list)(const Request&, Response*) const, int page_size,
                               Items items) {
  std::vector<std::string> names;
  Request request;
  request.set_page_size(page_size);
  for (;;) {
    Response response;
    const absl::Status status = (Answers().*list)(request, &response);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return names;
    EXPECT_LE(items(response).size(), page_size);
    for (const auto& item : items(response)) {
      if constexpr (std::is_same_v<Response, v1::ListRulesResponse>) {
        names.push_back(item.id());
      } else {
        names.push_back(item.name());
      }
    }
    if (response.next_page_token().empty()) return names;
    request.set_page_token(response.next_page_token());
  }
}

TEST(CatalogAnswers, PagesOfEverySizeGiveTheWholeList) {
  const auto knobs = [](const v1::ListKnobsResponse& r) -> auto& { return r.knobs(); };
  const std::vector<std::string> all = Names(&CatalogAnswers::ListKnobs, 1000, knobs);
  EXPECT_EQ(all.size(), static_cast<size_t>(kKnobCount));
  for (int size : {1, 7, 100, 999}) EXPECT_EQ(Names(&CatalogAnswers::ListKnobs, size, knobs), all) << size;

  const auto rules = [](const v1::ListRulesResponse& r) -> auto& { return r.rules(); };
  const std::vector<std::string> ids = Names(&CatalogAnswers::ListRules, 13, rules);
  std::set<absl::string_view> distinct;
  for (const Rule* rule : AllRules()) distinct.insert(rule->id);
  for (const Record& record : Records()) distinct.insert(record.id);
  EXPECT_EQ(ids.size(), distinct.size());
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
}

TEST(CatalogAnswers, ListsFilterByArea) {
  v1::ListRulesRequest request;
  request.set_area("recompute");
  v1::ListRulesResponse response;
  ASSERT_TRUE(Answers().ListRules(request, &response).ok());
  EXPECT_GT(response.rules_size(), 0);
  for (const auto& rule : response.rules()) EXPECT_EQ(rule.area(), "recompute");
}

TEST(CatalogAnswers, PageSizeIsJudgedAtItsLimits) {
  v1::ListKnobsRequest request;
  v1::ListKnobsResponse response;
  request.set_page_size(-1);
  EXPECT_EQ(Answers().ListKnobs(request, &response).code(), absl::StatusCode::kInvalidArgument);
  request.set_page_size(0);
  ASSERT_TRUE(Answers().ListKnobs(request, &response).ok());
  EXPECT_EQ(response.knobs_size(), kDefaultPageSize);
  request.set_page_size(kMaxPageSize + 1);
  response.Clear();
  ASSERT_TRUE(Answers().ListKnobs(request, &response).ok());
  EXPECT_LE(response.knobs_size(), kMaxPageSize);
}

TEST(CatalogAnswers, ABadPageTokenIsRefused) {
  v1::ListModelsRequest request;
  request.set_page_token("no-such-model");
  v1::ListModelsResponse response;
  const absl::Status status = Answers().ListModels(request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "page_token")) << status;
}

template <class Request, class Response>
void ExpectUnknown(absl::Status (CatalogAnswers::*get)(const Request&, Response*) const, const Request& request,
                   const char* reason, const char* nearest) {
  Response response;
  const absl::Status status = (Answers().*get)(request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_EQ(ReasonOf(status), reason);
  EXPECT_TRUE(absl::StrContains(status.message(), nearest)) << status;
}

TEST(CatalogAnswers, UnknownNamesComeWithTheNearestOne) {
  v1::GetModelRequest model;
  model.set_name("deepsek-v3");
  ExpectUnknown(&CatalogAnswers::GetModel, model, "MODEL_UNKNOWN", "deepseek-v3");
  v1::GetGpuRequest gpu;
  gpu.set_name("h100-smx");
  ExpectUnknown(&CatalogAnswers::GetGpu, gpu, "GPU_UNKNOWN", "h100-sxm");
  v1::GetKnobRequest knob;
  knob.set_name("recompute_granularty");
  ExpectUnknown(&CatalogAnswers::GetKnob, knob, "KNOB_UNKNOWN", "recompute_granularity");
  v1::GetRuleRequest rule;
  rule.set_id("recompute.full-needs-metod");
  ExpectUnknown(&CatalogAnswers::GetRule, rule, "RULE_UNKNOWN", "recompute.full-needs-method");
}

TEST(CatalogAnswers, AnEmptyNameIsARequestWithoutMeaning) {
  v1::ModelSpec model;
  EXPECT_EQ(Answers().GetModel({}, &model).code(), absl::StatusCode::kInvalidArgument);
  v1::RuleInfo rule;
  EXPECT_EQ(Answers().GetRule({}, &rule).code(), absl::StatusCode::kInvalidArgument);
}

TEST(CatalogAnswers, AModelCarriesItsArchitecture) {
  v1::GetModelRequest request;
  request.set_name("DeepSeek_V3");  // case and '_' do not matter
  v1::ModelSpec model;
  ASSERT_TRUE(Answers().GetModel(request, &model).ok());
  EXPECT_EQ(model.name(), "deepseek-v3");
  EXPECT_EQ(model.num_layers(), 61);
  EXPECT_EQ(model.num_moe_experts(), 256);
  EXPECT_EQ(model.moe_router_topk(), 8);
  EXPECT_EQ(model.kv_lora_rank(), 512);
  EXPECT_EQ(model.moe_layer_freq(), "[0]*3+[1]*58");
  EXPECT_GT(model.parameters().total_count(), int64_t{670'000'000'000});
}

TEST(CatalogAnswers, DimensionsOfFewFamiliesTravelByName) {
  v1::GetModelRequest request;
  request.set_name("qwen3-next-80b-a3b");
  v1::ModelSpec model;
  ASSERT_TRUE(Answers().GetModel(request, &model).ok());
  EXPECT_TRUE(model.extra_dimensions().contains("linear_num_key_heads"));
  EXPECT_FALSE(model.extra_dimensions().contains("num_layers"));
}

TEST(CatalogAnswers, AKnobCarriesItsSpellings) {
  v1::GetKnobRequest request;
  request.set_name("recompute_granularity");
  v1::KnobInfo knob;
  ASSERT_TRUE(Answers().GetKnob(request, &knob).ok());
  EXPECT_EQ(knob.knob_class(), "execution");
  EXPECT_EQ(knob.bridge_override(), "model.recompute_granularity");
  ASSERT_GT(knob.megatron_lm_flags_size(), 0);
  EXPECT_EQ(knob.megatron_lm_flags(0), "--recompute-granularity");
  knob.Clear();
  request.set_name("cuda_graph_impl");  // other choices in 0.16
  ASSERT_TRUE(Answers().GetKnob(request, &knob).ok());
  EXPECT_EQ(knob.megatron_lm_flags_size(), 1);
}

TEST(CatalogAnswers, ARuleSaysWhatItNeedsAndHowToFixIt) {
  v1::GetRuleRequest request;
  request.set_id("recompute.full-needs-method");
  v1::RuleInfo rule;
  ASSERT_TRUE(Answers().GetRule(request, &rule).ok());
  EXPECT_EQ(rule.kind(), "error");
  EXPECT_EQ(rule.verdict(), v1::VERDICT_KIND_ACCEPTED_BY_STACK);
  EXPECT_EQ(rule.stage(), "post_init");
  EXPECT_FALSE(rule.text().empty());
  ASSERT_GE(rule.fixes_size(), 2);
  EXPECT_EQ(rule.fixes(0).knobs(0).name(), "recompute_method");
  EXPECT_EQ(rule.fixes(0).knobs(0).value().string_value(), "uniform");
  EXPECT_FALSE(rule.source().text().empty());
  EXPECT_EQ(rule.core_releases(), "0.15..main");
}

TEST(CatalogAnswers, ADecisionSaysWhatItChoosesAndByWhat) {
  v1::GetRuleRequest request;
  request.set_id("decide.ep-overlap");
  v1::RuleInfo rule;
  ASSERT_TRUE(Answers().GetRule(request, &rule).ok());
  EXPECT_EQ(rule.kind(), "decision");
  EXPECT_EQ(rule.area(), "overlap");
  EXPECT_EQ(rule.stage(), "decide");
  EXPECT_EQ(rule.reads(0), "overlap_moe_expert_parallel_comm");
  EXPECT_FALSE(rule.text().empty());
  EXPECT_FALSE(rule.source().text().empty());
}

TEST(CatalogAnswers, AFormerIdFindsTheRecordUnderItsPresentOne) {
  v1::GetRuleRequest request;
  v1::RuleInfo rule;
  request.set_id("plan.recompute");
  ASSERT_TRUE(Answers().GetRule(request, &rule).ok());
  EXPECT_EQ(rule.id(), "plan.execution");
  request.set_id("fit.static-memory-tight");
  rule.Clear();
  ASSERT_TRUE(Answers().GetRule(request, &rule).ok());
  EXPECT_EQ(rule.id(), "fit.memory-marginal");
}

TEST(CatalogAnswers, AnAreaThatIsNoneIsRefused) {
  v1::ListRulesRequest request;
  v1::ListRulesResponse response;
  request.set_area("overlp");
  const absl::Status refused = Answers().ListRules(request, &response);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("did you mean overlap?"), absl::string_view::npos) << refused;
}

// A check that moved into another class may have its old id on the command line, where the old one has it still.
TEST(CatalogAnswers, ARulesOwnIdGoesBeforeAnothersOnTheCommandLine) {
  for (const Rule* rule : AllRules()) EXPECT_EQ(FindRule(rule->id)->id, rule->id);
  EXPECT_EQ(FindRule("opt.pao-adam")->cli_id, "opt.pao-adam");
  EXPECT_EQ(FindRule("ddp.buckets-xor")->id, "ddp.buckets-xor");
}

TEST(Records, AFormerIdNamesOneThingOfToday) {
  std::set<absl::string_view> former;
  const auto add = [&former](absl::string_view id) { EXPECT_TRUE(id.empty() || former.insert(id).second) << id; };
  for (const Record& record : Records()) add(record.formerly);
  for (const Rule* rule : AllRules()) add(rule->formerly);
  for (absl::string_view id : former) {
    EXPECT_TRUE(FindRule(id) == nullptr && FindRecord(id) == nullptr) << id << " is in use";
    EXPECT_NE(PresentId(id), id);
  }
  EXPECT_GE(former.size(), 3);
  EXPECT_EQ(PresentId("decide.nothing"), "decide.nothing");
}

TEST(Records, AreInOrderAndReadWhatThereIs) {
  const auto by_id = [](const Record& a, const Record& b) { return a.id < b.id; };
  EXPECT_TRUE(std::is_sorted(Records().begin(), Records().end(), by_id));
  for (const Record& record : Records()) {
    EXPECT_EQ(FindRecord(record.id), &record);
    EXPECT_EQ(FindRule(record.id), nullptr) << record.id;
    EXPECT_FALSE(record.text.empty() || record.source.empty()) << record.id;
    for (absl::string_view name : absl::StrSplit(record.reads, ' ', absl::SkipEmpty())) {
      const bool variable = std::none_of(name.begin(), name.end(), absl::ascii_islower);
      EXPECT_TRUE(variable || FindKnob(name).has_value() || name == kNumaBindingName) << record.id << " reads " << name;
    }
  }
  EXPECT_EQ(FindRecord("decide.nothing"), nullptr);
}

TEST(CatalogAnswers, ImportsAConfigAndNamesTheFieldThatIsWrong) {
  v1::ImportModelRequest request;
  v1::ModelSpec model;
  EXPECT_EQ(Answers().ImportModel(request, &model).code(), absl::StatusCode::kInvalidArgument);
  request.set_hf_config_json("{\"architectures\": [\"NoSuchForCausalLM\"]}");
  const absl::Status unknown = Answers().ImportModel(request, &model);
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(unknown.message(), "NoSuchForCausalLM")) << unknown;

  request.set_hf_config_json(std::string(kMaxHfConfigBytes, ' '));
  EXPECT_FALSE(absl::StrContains(Answers().ImportModel(request, &model).message(), "at most"));
  request.set_hf_config_json(std::string(kMaxHfConfigBytes + 1, ' '));
  EXPECT_TRUE(absl::StrContains(Answers().ImportModel(request, &model).message(), "at most"));
}

}  // namespace
}  // namespace flightplan
