#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/base/reason.h"
#include "resolver/catalog/catalog.h"
#include "resolver/evidence/profile_source.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/recorded_profiles.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"
#include "tests/support/sample_profile.h"

namespace flightplan {
namespace {

using sample::SampleProfile;
using testing::CountOf;
using testing::Pin;
using testing::SetSizes;
using testing::StepUs;
using testing::Training;

const Catalog& TheCatalog() {
  static const Catalog& catalog = *new Catalog(*Catalog::Builtin());
  return catalog;
}

// Qwen3-30B-A3B on 16 H200, EP16: the exchange leaves the node.
v1::ResolveConfigRequest Qwen() {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h200-sxm", 16, 4096, 1024);
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  return request;
}

v1::ResolveConfigResponse Resolve(const v1::ResolveConfigRequest& request,
                                  std::shared_ptr<const ProfileSource> source = nullptr) {
  const Resolver resolver(std::make_shared<const Catalog>(TheCatalog()), std::move(source));
  v1::ResolveConfigResponse response;
  const absl::Status status = resolver.ResolveConfig(request, &response);
  EXPECT_TRUE(status.ok()) << status;
  return response;
}

const v1::Decision* Find(const v1::ResolveConfigResponse& response, const std::string& knob) {
  for (const v1::Decision& decision : response.decisions()) {
    if (decision.name() == knob) return &decision;
  }
  return nullptr;
}

bool Cites(const v1::Decision& decision, const std::string& text) {
  for (const v1::Citation& citation : decision.citations()) {
    if (citation.text().find(text) != std::string::npos) return true;
  }
  return false;
}

// A store with one profile.
class OneProfile final : public ProfileSource {
 public:
  OneProfile(const v1::HardwareProfile& message, ProfileOrigin origin) : origin_(origin) {
    Violations violations;
    fitted_ = FitProfile(ProfileFromMessage(message, "", &violations));
    EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  }
  FoundProfile Find(const GpuSystem& gpu, absl::string_view) const override {
    return IsOfType(fitted_->profile, gpu) ? FoundProfile{fitted_, origin_} : FoundProfile{};
  }
  std::string revision() const override { return "one"; }

 private:
  std::shared_ptr<const FittedProfile> fitted_;
  const ProfileOrigin origin_;
};

// The same question with the exchange inside the node, where peers can be measured.
v1::ResolveConfigRequest InsideANode() {
  v1::ResolveConfigRequest request = Qwen();
  request.mutable_layout()->set_expert_model_parallel_size(8);
  return request;
}

v1::HardwareProfile WithPeers() {
  v1::HardwareProfile profile = SampleProfile();
  sample::AddCorun(&profile, "nccl", sample::kSampleNvlink, "measured");
  return profile;
}

TEST(ProbeProfile, DecisionsCiteItsRows) {
  v1::ResolveConfigRequest request = InsideANode();
  request.mutable_software()->mutable_dispatchers();  // none: the exchange is NCCL's, which the profile has
  *request.mutable_probe_profile() = WithPeers();
  const v1::ResolveConfigResponse response = Resolve(request);
  const v1::Decision* overlap = Find(response, "overlap_moe_expert_parallel_comm");
  ASSERT_NE(overlap, nullptr);
  EXPECT_EQ(overlap->basis(), v1::BASIS_MEASURED);
  EXPECT_NE(overlap->reason().find("measured co-run gain 0."), std::string::npos) << overlap->reason();
  EXPECT_NE(overlap->reason().find("on this H200; all-to-all "), std::string::npos) << overlap->reason();
  EXPECT_TRUE(Cites(*overlap, "probe profile h200-test, driver 580.65.06: corun.matrix, nccl beside gemm"));
}

v1::ProbeRow* AddExchange(v1::HardwareProfile* profile, const std::string& id, double rate, double sms = 0) {
  v1::ProbeRow* row = sample::AddRow(profile, id, rate, "bytes_per_second");
  (*row->mutable_labels())["link"] = "nvlink";
  if (sms > 0) (*row->mutable_parameters())["sms"] = sms;
  return row;
}

// Each sentence says where the rate of the exchange is from, and a measured one takes the place of the others.
TEST(ProbeProfile, SaysWhatTheRateOfAnExchangeRestsOn) {
  const auto reason = [](const v1::HardwareProfile& profile, bool flex) {
    v1::ResolveConfigRequest request = InsideANode();
    request.mutable_software()->mutable_dispatchers();
    if (flex) {
      request.mutable_software()->mutable_dispatchers()->add_backends("deepep");
      v1::KnobSetting* const sms = request.add_pinned_knobs();  // so few that their rate tells the sides apart
      sms->set_name("moe_flex_dispatcher_num_sms");
      sms->mutable_value()->set_int_value(8);
    }
    *request.mutable_probe_profile() = profile;
    return Find(Resolve(request), "overlap_moe_expert_parallel_comm")->reason();
  };
  const auto says = [](const std::string& text, const char* part) { return absl::StrContains(text, part); };
  v1::HardwareProfile profile = WithPeers();
  EXPECT_TRUE(says(reason(profile, false), "per layer at the catalogue's link rate against")) << reason(profile, false);
  AddExchange(&profile, "a2a.nccl", 1e11)->set_kind("imported");
  EXPECT_TRUE(says(reason(profile, false), "per layer at the imported rate against")) << reason(profile, false);
  const std::string imported = reason(profile, false);
  AddExchange(&profile, "a2a.nccl", 3e11);
  EXPECT_TRUE(says(reason(profile, false), "per layer at the rate between the node's GPUs against"))
      << reason(profile, false);
  EXPECT_NE(imported.substr(0, imported.find(" per layer")),
            reason(profile, false).substr(0, reason(profile, false).find(" per layer")));
  // NCCL's rate says nothing of DeepEP's; the probe's own kernels stand in for it, by name (where they are the faster
  // ones, since the slower dispatcher is not taken).
  EXPECT_TRUE(says(reason(profile, true), "at the catalogue's link rate")) << reason(profile, true);
  for (const double sms : {4, 8, 16, 24, 32, 48}) AddExchange(&profile, "a2a.p2p.push", 2.4e10 * sms, sms);
  EXPECT_TRUE(says(reason(profile, true), "at the rate of the probe's own kernels between GPUs"))
      << reason(profile, true);
  EXPECT_TRUE(says(reason(profile, false), "at the rate between the node's GPUs")) << reason(profile, false);
}

// One GPU has no peer: what it says of an exchange is an estimate, by name, basis and width.
TEST(ProbeProfile, AnEmulatedExchangeIsNeverCalledMeasured) {
  const std::string driver = "probe profile h200-test";
  int told = 0;
  for (const v1::ResolveConfigRequest& asked : {Qwen(), InsideANode()}) {
    v1::ResolveConfigRequest request = asked;
    v1::HardwareProfile profile = SampleProfile();
    for (v1::ProbeRow& row : *profile.mutable_rows()) row.set_kind("emulated");
    *request.mutable_probe_profile() = profile;
    const v1::ResolveConfigResponse response = Resolve(request);
    for (const v1::Decision& decision : response.decisions()) {
      if (!Cites(decision, driver)) continue;
      ++told;
      EXPECT_EQ(decision.reason().find("measured"), std::string::npos) << decision.reason();
      EXPECT_NE(decision.basis(), v1::BASIS_MEASURED) << decision.reason();
      EXPECT_TRUE(Cites(decision, "(emulated)")) << decision.reason();
    }
  }
  EXPECT_GT(told, 0);
}

TEST(ProbeProfile, AdvisesTheSmCountOfAFlexDispatcher) {
  v1::ResolveConfigRequest request = Qwen();
  request.mutable_layout()->set_expert_model_parallel_size(8);
  request.mutable_software()->mutable_dispatchers()->add_backends("deepep");
  Pin("moe_token_dispatcher_type", "flex", &request);  // by the sample's rates NCCL's exchange is as fast
  const v1::Decision* before = nullptr;
  const v1::ResolveConfigResponse without = Resolve(request);
  before = Find(without, "moe_flex_dispatcher_num_sms");
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(before->value().int_value(), 20);
  *request.mutable_probe_profile() = SampleProfile();
  const v1::ResolveConfigResponse with = Resolve(request);
  const v1::Decision* after = Find(with, "moe_flex_dispatcher_num_sms");
  ASSERT_NE(after, nullptr);
  EXPECT_NE(after->reason(), before->reason());
  // What the probe does not tell apart stays what was published.
  if (after->value().int_value() == 20) {
    EXPECT_NE(after->reason().find(" are alike"), std::string::npos) << after->reason();
  } else {
    EXPECT_EQ(after->basis(), v1::BASIS_ESTIMATE);
    EXPECT_TRUE(Cites(*after, "hbm.sm_curve"));
  }
  EXPECT_GE(after->value().int_value(), 4);
  EXPECT_LE(after->value().int_value(), 64);
}

TEST(ProbeProfile, MeasuredRatesMoveTheForecastAndNarrowItsBand) {
  v1::ResolveConfigRequest request = Qwen();
  const v1::Range before = Resolve(request).estimate().step_time_us();
  *request.mutable_probe_profile() = SampleProfile();
  const v1::Range after = Resolve(request).estimate().step_time_us();
  EXPECT_NE(before.value(), after.value());
  EXPECT_LT((after.high() - after.low()) / after.value(), (before.high() - before.low()) / before.value());
}

// Attention that is faster on short sequences makes short steps shorter, and long ones no slower.
TEST(ProbeProfile, AttentionBySequenceMovesTheForecast) {
  const auto step = [](int64_t sequence, double half) {
    v1::ResolveConfigRequest request = Qwen();
    request.mutable_workload()->set_seq_length(sequence);
    v1::HardwareProfile& profile = *request.mutable_probe_profile();
    profile = SampleProfile();
    for (const double s : {1024., 2048., 4096., 8192.}) {
      for (const char* const id : {"attn.core.fwd", "attn.core.bwd"}) {
        v1::ProbeRow* row = sample::AddRow(&profile, id, 6e14 / (1 + half / s), "flops_per_second", "imported");
        for (const auto& [name, value] :
             {std::pair<const char*, double>{"sequence", s}, {"heads", 32}, {"tokens", 8192}, {"head_dim", 128}}) {
          (*row->mutable_parameters())[name] = value;
        }
      }
    }
    return Resolve(request).estimate().step_time_us().value();
  };
  EXPECT_LT(step(1024, 400), 0.99 * step(1024, 2000));
  EXPECT_GT(step(32768, 400) / step(32768, 2000), step(1024, 400) / step(1024, 2000));
}

// Nobody measured these GPUs: whose rates they are is told, once, and not where a profile of them is used.
TEST(RecordedProfiles, AnAnswerSaysWhoseRatesItHas) {
  const v1::ResolveConfigResponse plain = Resolve(Qwen());
  int told = 0;
  for (const v1::Finding& finding : plain.findings()) {
    if (finding.rule_id() != "evidence.recorded-profile") continue;
    ++told;
    EXPECT_EQ(finding.severity(), v1::SEVERITY_INFO);
    EXPECT_NE(finding.seen().find("rates of h200-sxm are those of a recorded H200, driver 580.159.04"),
              std::string::npos)
        << finding.seen();
  }
  EXPECT_EQ(told, 1);
  v1::ResolveConfigRequest request = Qwen();
  *request.mutable_probe_profile() = SampleProfile();
  EXPECT_EQ(CountOf(Resolve(request).findings(), "evidence.recorded-profile"), 0);
  request = Qwen();
  request.mutable_hardware()->set_gpu("b200-sxm");
  EXPECT_EQ(CountOf(Resolve(request).findings(), "evidence.recorded-profile"), 0);
}

TEST(ProbeProfile, ThisGpuBeatsTheTypeInCertainty) {
  const auto width = [](ProfileOrigin origin) {
    const v1::Range step =
        Resolve(Qwen(), std::make_shared<OneProfile>(SampleProfile(), origin)).estimate().step_time_us();
    return (step.high() - step.low()) / step.value();
  };
  EXPECT_LT(width(ProfileOrigin::kThisGpu), width(ProfileOrigin::kThisSite));
  EXPECT_LT(width(ProfileOrigin::kThisSite), width(ProfileOrigin::kRecorded));
  const auto reason = [](ProfileOrigin origin) {
    return Find(Resolve(Qwen(), std::make_shared<OneProfile>(SampleProfile(), origin)),
                "overlap_moe_expert_parallel_comm")
        ->reason();
  };
  EXPECT_NE(reason(ProfileOrigin::kThisSite).find("emulated exchange on another H200 of this site"), std::string::npos)
      << reason(ProfileOrigin::kThisSite);
  // A card elsewhere beside a link that was stood in for says less than published steps.
  EXPECT_EQ(reason(ProfileOrigin::kRecorded).find("emulated"), std::string::npos) << reason(ProfileOrigin::kRecorded);
}

TEST(ProbeProfile, OneThatIsSentBeatsTheStore) {
  v1::HardwareProfile stored = SampleProfile();
  stored.set_name("stored");
  v1::ResolveConfigRequest request = Qwen();
  *request.mutable_probe_profile() = SampleProfile();
  const auto response = Resolve(request, std::make_shared<OneProfile>(stored, ProfileOrigin::kThisGpu));
  EXPECT_TRUE(Cites(*Find(response, "overlap_moe_expert_parallel_comm"), "probe profile h200-test"));
}

TEST(ProbeProfile, ASyntheticOneIsNeverEvidence) {
  v1::ResolveConfigRequest request = Qwen();
  const v1::ResolveConfigResponse plain = Resolve(request);
  for (const bool one_row : {false, true}) {
    v1::HardwareProfile profile = SampleProfile(one_row ? "measured" : "synthetic");
    if (one_row) profile.mutable_rows(3)->set_kind("synthetic");
    *request.mutable_probe_profile() = profile;
    v1::ResolveConfigResponse with = Resolve(request);
    EXPECT_GT(CountOf(with.findings(), "probe.profile-not-used"), 0);
    EXPECT_EQ(with.estimate().SerializeAsString().size(), plain.estimate().SerializeAsString().size());
    EXPECT_EQ(StepUs(with), StepUs(plain));
    ASSERT_EQ(with.decisions_size(), plain.decisions_size());
    for (int i = 0; i < with.decisions_size(); ++i)
      EXPECT_EQ(with.decisions(i).ShortDebugString(), plain.decisions(i).ShortDebugString());
  }
}

TEST(ProbeProfile, AnotherDriverMakesItVoid) {
  v1::ResolveConfigRequest request = Qwen();
  *request.mutable_probe_profile() = SampleProfile();
  request.mutable_software()->set_driver_version("550.54.15");
  EXPECT_GT(CountOf(Resolve(request).findings(), "probe.profile-not-used"), 0);
  request.mutable_software()->set_driver_version("580.65.06");
  EXPECT_EQ(CountOf(Resolve(request).findings(), "probe.profile-not-used"), 0);
}

TEST(ProbeProfile, OneOfAnotherGpuIsRefused) {
  v1::ResolveConfigRequest request = Qwen();
  request.mutable_hardware()->set_gpu("h100-sxm");
  *request.mutable_probe_profile() = SampleProfile();
  const Resolver resolver(std::make_shared<const Catalog>(TheCatalog()));
  v1::ResolveConfigResponse response;
  const absl::Status status = resolver.ResolveConfig(request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status), "PROFILE_MISMATCH");
}

TEST(ProbeProfile, AMalformedOneIsRefusedFieldByField) {
  v1::ResolveConfigRequest request = Qwen();
  v1::HardwareProfile* profile = request.mutable_probe_profile();
  *profile = SampleProfile();
  profile->mutable_rows(0)->set_unit("GB/s");
  profile->mutable_rows(1)->set_low(std::nan(""));
  profile->mutable_rows(2)->set_high(0);
  profile->mutable_rows(4)->set_kind("guessed");
  const Resolver resolver(std::make_shared<const Catalog>(TheCatalog()));
  v1::ResolveConfigResponse response;
  const absl::Status status = resolver.ResolveConfig(request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  google::rpc::BadRequest details;
  const auto payload = status.GetPayload(kBadRequestPayload);
  ASSERT_TRUE(payload.has_value() && details.ParseFromString(std::string(*payload)));
  std::set<std::string> fields;
  for (const auto& violation : details.field_violations()) fields.insert(violation.field());
  EXPECT_EQ(fields, (std::set<std::string>{"probe_profile.rows[0].unit", "probe_profile.rows[1].low",
                                           "probe_profile.rows[2]", "probe_profile.rows[4].kind"}));
}

TEST(ProbeProfile, APartialOneGivesWhatItHas) {
  v1::ResolveConfigRequest request = Qwen();
  v1::HardwareProfile profile = SampleProfile();
  profile.set_partial(true);
  profile.mutable_rows()->DeleteSubrange(2, profile.rows_size() - 2);  // copy and dense GEMM alone
  *request.mutable_probe_profile() = profile;
  const v1::ResolveConfigResponse with = Resolve(request), without = Resolve(Qwen());
  EXPECT_NE(StepUs(with), StepUs(without));
  EXPECT_EQ(Find(with, "overlap_moe_expert_parallel_comm")->reason(),
            Find(without, "overlap_moe_expert_parallel_comm")->reason());
}

// Random profiles that pass the check must never break an answer.
TEST(ProbeProfile, StrangeFiguresGiveAFiniteForecast) {
  for (const double scale : {1e-6, 1e-3, 1.0, 100.0}) {  // within the ranges of figures
    v1::ResolveConfigRequest request = Qwen();
    v1::HardwareProfile profile = SampleProfile();
    for (v1::ProbeRow& row : *profile.mutable_rows()) {
      row.set_value(row.value() * scale);
      row.set_low(0);
      row.set_high(row.high() * scale * 2);
    }
    *request.mutable_probe_profile() = profile;
    const v1::Range step = Resolve(request).estimate().step_time_us();
    EXPECT_TRUE(std::isfinite(step.value()) && std::isfinite(step.low()) && std::isfinite(step.high())) << scale;
  }
}

TEST(RecordedProfiles, EachIsReadAndHasItsProvenance) {
  for (const RecordedProfileFile& file : kRecordedProfileFiles) {
    const auto profile = ReadRecordedProfile(file);
    EXPECT_TRUE(profile.ok()) << profile.status();
  }
  EXPECT_EQ(RecordedProfiles().size(), kRecordedProfileFiles.size());
}

TEST(RecordedProfiles, OneWithoutProvenanceIsRefused) {
  v1::HardwareProfile profile = SampleProfile();
  const std::string without_notes = ProfileToJson(profile);
  EXPECT_FALSE(ReadRecordedProfile({"a.json", without_notes}).ok());
  profile.add_notes("test bench");
  const std::string good = ProfileToJson(profile);
  EXPECT_TRUE(ReadRecordedProfile({"a.json", good}).ok());
  profile.set_kind("synthetic");
  const std::string synthetic = ProfileToJson(profile);
  EXPECT_FALSE(ReadRecordedProfile({"a.json", synthetic}).ok());
  EXPECT_FALSE(ReadRecordedProfile({"a.json", "{"}).ok());
}

}  // namespace
}  // namespace flightplan
