#include <gtest/gtest.h>

#include "resolver/rules/decide/decide_test_util.h"

namespace flightplan {
namespace {

TEST(Dispatcher, PinnedBackendThatCannotRunIsAnErrorAndStays) {
  NormalizedIntent intent = Intent("deepseek-v3", "gb200", 256, {.pp = 4, .ep = 64}, 2048);
  Pin(intent, Knob::moe_token_dispatcher_type, "flex");
  Pin(intent, Knob::moe_flex_dispatcher_backend, "deepep");
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(Dispatcher(plan), "deepep");
  const Finding* finding = FindFinding(plan, "decide.backend-unsupported");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kError);
  ASSERT_FALSE(finding->fixes.empty());
  for (const Patch& patch : finding->fixes) {
    NormalizedIntent fixed = intent;
    for (const Assignment& assignment : patch) {
      for (auto& [knob, value] : fixed.pins) {
        if (knob == assignment.knob) value = assignment.value;
      }
    }
    EXPECT_EQ(FindFinding(Plan(fixed), "decide.backend-unsupported"), nullptr);
  }
}

TEST(Dispatcher, OpenBackendOfAPinnedFlexRunsHere) {
  NormalizedIntent intent = Intent("deepseek-v3", "gb200", 256, {.pp = 4, .ep = 64}, 2048);
  intent.env.capabilities_known = false;
  Pin(intent, Knob::moe_token_dispatcher_type, "flex");
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(Dispatcher(plan), "hybridep");
  EXPECT_TRUE(plan.findings.empty());
}

TEST(Dispatcher, BackendWithoutFlexIsSaid) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  Pin(intent, Knob::moe_flex_dispatcher_backend, "deepep");
  Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(Dispatcher(plan), "alltoall");
  EXPECT_NE(FindFinding(plan, "decide.backend-without-flex"), nullptr);
  intent.pins.pop_back();  // the type left open: the backend's wish activates it
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
}

TEST(Dispatcher, BuiltForNvlinkStaysInsideItsDomain) {
  NormalizedIntent inside = Intent("qwen3-30b-a3b", "h100", 64, {.ep = 8}, 1024);
  NormalizedIntent across = Intent("qwen3-30b-a3b", "h100", 64, {.ep = 16}, 1024);
  EXPECT_NE(Dispatcher(Plan(across)), "alltoall");
  for (NormalizedIntent* intent : {&inside, &across}) intent->env.capabilities.insert("transport=nvlink");
  EXPECT_NE(Dispatcher(Plan(inside)), "alltoall");
  EXPECT_EQ(Dispatcher(Plan(across)), "alltoall");
  EXPECT_EQ(Find(Plan(across), Knob::moe_token_dispatcher_type)->reason,
            "EP 16 spans 2 NVLink domains, and the installed backends were built for NVLink alone");
}

// DeepEP has kernels for some sizes of a group alone, and for nodes of 8 GPUs.
TEST(Dispatcher, DeepepTakesTheGroupsThatItHas) {
  const auto dispatcher = [](int32_t ep, const char* version, int gpus_per_node) {
    NormalizedIntent intent = Intent("glm-4.5", "h100", int64_t{8} * ep, {.pp = 4, .ep = ep}, 1024);
    intent.env.capabilities = {"deepep"};
    intent.env.packages["deep_ep"] = version;
    intent.env.gpus_per_node = intent.env.nvlink_domain_gpus = gpus_per_node;
    return Dispatcher(Plan(intent));
  };
  EXPECT_EQ(dispatcher(32, "", 8), "deepep");
  EXPECT_EQ(dispatcher(40, "", 8), "alltoall");
  EXPECT_EQ(dispatcher(40, "2.0.0", 8), "alltoall");
  EXPECT_EQ(dispatcher(48, "1.2.1+29d31c0", 8), "alltoall");
  EXPECT_EQ(dispatcher(48, "2.0.0", 8), "deepep");
  EXPECT_EQ(dispatcher(16, "", 4), "alltoall");
  EXPECT_EQ(dispatcher(4, "", 4), "deepep");
}

// Flex backends need RDMA verbs between nodes; inside one nothing of theirs is on the network.
TEST(Dispatcher, WithoutVerbsFlexStaysInsideItsDomain) {
  for (const char* transport : {"tcp", "slingshot"}) {
    NormalizedIntent inside = Intent("qwen3-30b-a3b", "h100", 64, {.ep = 8}, 1024);
    NormalizedIntent across = Intent("qwen3-30b-a3b", "h100", 64, {.ep = 16}, 1024);
    inside.transport = across.transport = transport;
    EXPECT_NE(Dispatcher(Plan(inside)), "alltoall");
    EXPECT_EQ(Dispatcher(Plan(across)), "alltoall");
    for (NormalizedIntent* intent : {&inside, &across}) {
      Pin(*intent, Knob::moe_token_dispatcher_type, "flex");
      Pin(*intent, Knob::moe_flex_dispatcher_backend, "hybridep");
    }
    EXPECT_EQ(FindFinding(Plan(inside), "decide.backend-unsupported"), nullptr);
    const DecidedPlan plan = Plan(across);
    EXPECT_FALSE(FlexBackendRuns(across, plan.config));
    const Finding* finding = FindFinding(plan, "decide.backend-unsupported");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->fixes, std::vector<Patch>({{{Knob::moe_token_dispatcher_type, "", Value("alltoall")}}}));
  }
  NormalizedIntent roce = Intent("qwen3-30b-a3b", "h100", 64, {.ep = 16}, 1024);
  roce.transport = "roce";
  EXPECT_NE(Dispatcher(Plan(roce)), "alltoall");
}

// Whether a backend is installed is no reason where none would run.
TEST(Dispatcher, SaysWhyNoBackendRuns) {
  const auto reason = [](const NormalizedIntent& intent) {
    return Find(Plan(intent), Knob::moe_token_dispatcher_type)->reason;
  };
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "l40s", 64, {.ep = 8}, 512);
  intent.env.capabilities_known = false;  // as where the stack's own image stands for what was not said
  EXPECT_EQ(reason(intent), "no NVLink between the GPUs, which the flex backends need");
  intent = Intent("deepseek-v3", "gb200-nvl72", 1024, {.pp = 4, .ep = 128}, 8192);
  intent.env.capabilities_known = false;
  EXPECT_EQ(reason(intent), "EP 128 exceeds the NVLink domain of 72 GPUs");
  intent = Intent("qwen3-30b-a3b", "h100", 64, {.ep = 8}, 512);
  intent.env.capabilities_known = false;
  intent.env.capabilities.clear();
  EXPECT_EQ(reason(intent).substr(0, 17), "not known whether");
  intent = Intent("minimax-m2.5", "gb300-nvl72", 128, {.ep = 32}, 128);
  intent.env.capabilities_known = false;
  intent.env.capabilities = {"deepep"};  // the image's, which runs on no rack
  EXPECT_EQ(reason(intent), "no flex backend is usable here");
}

TEST(Dispatcher, HangsOnFabricAndCapabilities) {
  NormalizedIntent intent = Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192);
  EXPECT_EQ(Dispatcher(Plan(intent)), "hybridep");
  intent.env.capabilities = {"deepep"};
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  intent.transport = "efa";
  EXPECT_EQ(Dispatcher(Plan(intent)), "alltoall");
  intent.transport.clear();
  intent.env.capabilities_known = false;  // as where the stack's own image stands for what was not said
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  intent.env.capabilities.clear();
  EXPECT_EQ(Dispatcher(Plan(intent)), "alltoall");
  // Over the network, a routing map larger than any published one goes to deepep.
  intent = Intent("qwen3-next-80b-a3b", "h100", 64, {.ep = 64}, 1024);
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  // NVSHMEM 3.5.19 and later make it hang there.
  intent.env.packages["nvshmem"] = "3.6.5";
  EXPECT_EQ(Dispatcher(Plan(intent)), "hybridep");
  intent.env.capabilities = {"deepep"};
  EXPECT_EQ(Dispatcher(Plan(intent)), "alltoall");
  // Between nodes of Blackwell GPUs hybridep is slow, and deepep hangs with the NVSHMEM of Bridge's images since 0.5.
  intent = Intent("qwen3-next-80b-a3b", "b200", 64, {.ep = 64}, 1024);
  EXPECT_EQ(Dispatcher(Plan(intent)), "alltoall");
  intent.env.packages["nvshmem"] = "3.4.5";
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  intent.env.packages.clear();
  intent.env.bridge_release = 4;
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  intent.env.bridge_release = kMain;
  intent.env.target = Target::kMegatronLm;
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  // Inside a node both serve.
  intent = Intent("qwen3-next-80b-a3b", "b200", 64, {.ep = 8}, 1024);
  EXPECT_EQ(Dispatcher(Plan(intent)), "hybridep");
  // In a rack, the same exchange stays inside the NVLink domain.
  intent = Intent("qwen3-next-80b-a3b", "gb200", 64, {.ep = 64}, 1024);
  EXPECT_EQ(Dispatcher(Plan(intent)), "hybridep");
  // A partition of the rack that EP exceeds serves no flex backend.
  intent.env.nvlink_domain_gpus = 16;
  EXPECT_EQ(Dispatcher(Plan(intent)), "alltoall");
}

TEST(Dispatcher, FewCopiesOfATokenFavourAlltoall) {
  EXPECT_EQ(Dispatcher(Plan(Intent("gpt-oss-120b", "gb200", 64, {.ep = 64, .mbs = 4}, 1280))), "alltoall");
  EXPECT_EQ(Dispatcher(Plan(Intent("gpt-oss-20b", "gb200", 8, {.ep = 4}, 64))),
            "hybridep");  // 4 destinations, 4 experts
}

TEST(Dispatcher, SmCountUsesTheReleasesKnob) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 8, {.ep = 8}, 1024);
  EXPECT_EQ(Plan(intent).config.Get(Knob::moe_flex_dispatcher_num_sms).integer(), 32);
  intent.env.bridge_release = 5;
  intent.env.core_release = 18;
  EXPECT_EQ(Plan(intent).config.Get(Knob::moe_hybridep_num_sms).integer(), 32);
}

// More of them move no more over the network (DeepEP docs/README_Hybrid-EP.md).
TEST(Dispatcher, FewerSmsBetweenNodes) {
  const auto sms = [](int64_t gpus, int32_t ep) {
    return Plan(Intent("qwen3-30b-a3b", "h100", gpus, {.ep = ep}, 1024))
        .config.Get(Knob::moe_flex_dispatcher_num_sms)
        .integer();
  };
  EXPECT_EQ(sms(8, 8), 32);
  EXPECT_EQ(sms(16, 16), 16);
}

TEST(Dispatcher, TopologyVariablesFollowTheDomain) {
  DecidedPlan plan = Plan(Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024));
  EXPECT_EQ(plan.env.at("NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN"), "8");
  EXPECT_EQ(plan.env.at("USE_MNNVL"), "0");
  plan = Plan(Intent("qwen3-next-80b-a3b", "gb200", 64, {.ep = 64}, 1024));
  EXPECT_EQ(plan.env.at("NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN"), "64");
  EXPECT_EQ(plan.env.at("NVLINK_DOMAIN_SIZE"), "72");
  EXPECT_EQ(plan.env.at("USE_MNNVL"), "1");
}

}  // namespace
}  // namespace flightplan
