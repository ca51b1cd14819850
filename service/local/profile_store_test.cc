#include "service/local/profile_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/reason.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/profile_message.h"
#include "service/local/local_gpus.h"
#include "tests/support/sample_profile.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::service {
namespace {

using sample::SampleProfile;

class ProfileStoreTest : public ::testing::Test {
 protected:
  ProfileStoreTest() {
    options_.folder = root_.File("state/profiles");
    options_.now = [this] { return now_; };
    options_.gpu_of = [](const std::string& device) { return device == "NVIDIA H200" ? "h200-sxm" : ""; };
    gpu_.name = "h200-sxm";
    gpu_.device_name = "NVIDIA H200";
  }

  std::unique_ptr<ProfileStore> Open() {
    complaints_.clear();
    auto store = ProfileStore::Open(options_, [this](const std::string& what) { complaints_.push_back(what); });
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  // One measured `days` before now.
  v1::HardwareProfile Profile(const std::string& name, double days, const std::string& uuid = "GPU-1") {
    v1::HardwareProfile profile = SampleProfile();
    profile.set_name(name);
    profile.set_device_uuid(uuid);
    profile.mutable_measure_time()->set_seconds(absl::ToUnixSeconds(now_ - days * absl::Hours(24)));
    return profile;
  }
  std::string Found(const ProfileStore& store, const std::string& driver = "") {
    const FoundProfile found = store.Find(gpu_, driver);
    return found.fitted == nullptr ? "" : found.fitted->profile.name;
  }

  const TemporaryFolder root_;
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  ProfileStoreOptions options_;
  GpuSystem gpu_;
  std::vector<std::string> complaints_;
};

TEST_F(ProfileStoreTest, KeepsWhatItIsGivenOverARestart) {
  v1::HardwareProfile profile = Profile("", 1, "GPU-aaaabbbb-0000-1111-2222-33334444cdef");
  const auto stored = Open()->Put(profile);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->name(), "h200-4444cdef-20270114T080000Z");
  EXPECT_EQ(stored->gpu(), "h200-sxm");
  const auto store = Open();
  EXPECT_TRUE(complaints_.empty());
  const auto again = store->Get(stored->name());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->SerializeAsString().size(), stored->SerializeAsString().size());
  EXPECT_EQ(ProfileToJson(*again), ProfileToJson(*stored));
  EXPECT_EQ(Found(*store), stored->name());
  // The file is the export.
  v1::HardwareProfile exported;
  std::ifstream file(absl::StrCat(options_.folder, "/", stored->name(), ".json"));
  ASSERT_TRUE(ProfileFromJson(std::string(std::istreambuf_iterator<char>(file), {}), &exported).ok());
  EXPECT_EQ(ProfileToJson(exported), ProfileToJson(*stored));
}

TEST_F(ProfileStoreTest, TheSameAgainIsFineAnotherUnderItsNameIsNot) {
  const auto store = Open();
  v1::HardwareProfile profile = Profile("a", 1);
  ASSERT_TRUE(store->Put(profile).ok());
  EXPECT_TRUE(store->Put(profile).ok());
  profile.mutable_rows(0)->set_sample_count(7);
  const auto other = store->Put(profile);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReasonOf(other.status()), "PROFILE_CONFLICT");
}

TEST_F(ProfileStoreTest, RefusesWhatIsNoEvidence) {
  const auto store = Open();
  EXPECT_EQ(store->Put(SampleProfile("synthetic")).status().code(), absl::StatusCode::kInvalidArgument);
  v1::HardwareProfile profile = Profile("a", 1);
  profile.clear_rows();
  EXPECT_EQ(store->Put(profile).status().code(), absl::StatusCode::kInvalidArgument);
  profile = Profile("a", 1);
  profile.clear_measure_time();
  EXPECT_EQ(store->Put(profile).status().code(), absl::StatusCode::kInvalidArgument);
  for (const char* name : {"../escape", "a/b", ".hidden", "with space", "a\nb"}) {
    EXPECT_EQ(store->Put(Profile(name, 1)).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(store->revision(), "");
}

TEST_F(ProfileStoreTest, RefusesWhatHasNoJsonForm) {
  const auto store = Open();
  v1::HardwareProfile profile = Profile("watts", 1);
  profile.mutable_conditions()->set_power_limit_watts(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(absl::StrContains(store->Put(profile).status().ToString(), "conditions.power_limit_watts"));
  profile = Profile("time", 1);
  profile.mutable_measure_time()->set_nanos(-1);
  EXPECT_TRUE(absl::StrContains(store->Put(profile).status().ToString(), "measure_time"));
  profile = Profile("time", 1);
  profile.mutable_measure_time()->set_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(store->Put(profile).ok());
}

TEST_F(ProfileStoreTest, FindsThisGpuBeforeTheTypeAndTheNewestOfThem) {
  options_.local = {"580.65.06", {"GPU-here"}};
  const auto store = Open();
  ASSERT_TRUE(store->Put(Profile("site-new", 1, "GPU-there")).ok());
  EXPECT_EQ(store->Find(gpu_, "").origin, ProfileOrigin::kThisSite);
  ASSERT_TRUE(store->Put(Profile("here-old", 5, "GPU-here")).ok());
  ASSERT_TRUE(store->Put(Profile("here-new", 2, "GPU-here")).ok());
  EXPECT_EQ(Found(*store), "here-new");
  EXPECT_EQ(store->Find(gpu_, "").origin, ProfileOrigin::kThisGpu);
  GpuSystem other;
  other.name = "h100-sxm";
  other.device_name = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(store->Find(other, "").fitted, nullptr);
}

TEST_F(ProfileStoreTest, AWholeProfileBeatsANewerPartialOne) {
  const auto store = Open();
  v1::HardwareProfile partial = Profile("partial", 1);
  partial.set_partial(true);
  ASSERT_TRUE(store->Put(partial).ok());
  EXPECT_EQ(Found(*store), "partial");
  ASSERT_TRUE(store->Put(Profile("whole", 9)).ok());
  EXPECT_EQ(Found(*store), "whole");
}

TEST_F(ProfileStoreTest, AgesOutAndSaysSoInItsRevision) {
  const auto store = Open();
  ASSERT_TRUE(store->Put(Profile("a", 29.9)).ok());
  EXPECT_EQ(Found(*store), "a");
  const std::string before = store->revision();
  EXPECT_NE(before, "");
  now_ += absl::Hours(3);
  EXPECT_EQ(Found(*store), "");
  EXPECT_EQ(store->revision(), "");
  EXPECT_TRUE(store->Get("a").ok()) << "it is listed still";
  ASSERT_TRUE(store->Put(Profile("tomorrow", -1)).ok());
  EXPECT_EQ(Found(*store), "") << "a clock that was wrong says nothing about its age";
}

TEST_F(ProfileStoreTest, AnotherDriverMakesAProfileVoid) {
  options_.local = {"590.10", {"GPU-here"}};
  const auto store = Open();
  ASSERT_TRUE(store->Put(Profile("here", 1, "GPU-here")).ok());  // by 580.65.06
  EXPECT_EQ(Found(*store), "");
  ASSERT_TRUE(store->Put(Profile("there", 1, "GPU-there")).ok());
  EXPECT_EQ(Found(*store), "there") << "what driver other machines run is not known";
  EXPECT_EQ(Found(*store, "580.65.06"), "there");
  EXPECT_EQ(Found(*store, "590.10"), "");
}

TEST_F(ProfileStoreTest, ListsNewestFirstPageByPage) {
  const auto store = Open();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store->Put(Profile(absl::StrCat("p", i), i + 1)).ok());
  std::string token;
  std::vector<std::string> names;
  do {
    const auto page = store->List(2, token);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const auto& profile : page->profiles) names.push_back(profile.name());
    token = page->next;
  } while (!token.empty());
  EXPECT_EQ(names, (std::vector<std::string>{"p0", "p1", "p2", "p3", "p4"}));
  EXPECT_FALSE(store->List(-1, "").ok());
  EXPECT_TRUE(store->List(1001, "").ok());
  EXPECT_FALSE(store->List(1, "nonsense").ok());
  EXPECT_EQ(ReasonOf(store->Get("p9").status()), "PROFILE_UNKNOWN");
}

TEST_F(ProfileStoreTest, FilesThatAreNoProfileAreLeftAlone) {
  { ASSERT_TRUE(Open()->Put(Profile("good", 1)).ok()); }
  std::ofstream(absl::StrCat(options_.folder, "/broken.json")) << "{";
  std::ofstream(absl::StrCat(options_.folder, "/renamed.json")) << ProfileToJson(Profile("other", 1));
  std::ofstream(absl::StrCat(options_.folder, "/notes.txt")) << "hello";
  std::ofstream(absl::StrCat(options_.folder, "/good.json.new")) << "half";
  const auto store = Open();
  EXPECT_EQ(Found(*store), "good");
  EXPECT_EQ(complaints_.size(), 2U);
  EXPECT_EQ(store->List(0, "")->profiles.size(), 1U);
}

// The files that are there are known from the start alone.
TEST_F(ProfileStoreTest, WhatIsToBeDoneOnceItIsFullIsSaid) {
  options_.folder = root_.File("full");
  mkdir(options_.folder.c_str(), 0755);
  for (size_t i = 0; i < kMaxStoredProfiles; ++i) {
    v1::HardwareProfile profile = Profile(absl::StrCat("p", i), 1);
    profile.mutable_rows()->DeleteSubrange(1, profile.rows_size() - 1);
    std::ofstream(absl::StrCat(options_.folder, "/p", i, ".json")) << ProfileToJson(profile);
  }
  const absl::Status full = Open()->Put(Profile("more", 1)).status();
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_TRUE(absl::StrContains(full.message(),
                                absl::StrCat("delete some files of ", options_.folder, ", and start the server again")))
      << full;
}

TEST_F(ProfileStoreTest, TheirBytesAreBoundedToo) {
  options_.max_bytes = ProfileToJson(Profile("first", 1)).size() * 3 / 2;
  const auto store = Open();
  ASSERT_TRUE(store->Put(Profile("first", 1)).ok());
  const absl::Status full = store->Put(Profile("more", 2)).status();
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_TRUE(absl::StrContains(full.message(), absl::StrCat(options_.max_bytes, " bytes"))) << full;
  EXPECT_TRUE(store->Put(Profile("first", 1)).ok());  // it is there
  EXPECT_EQ(Found(*Open()), "first");
}

// A pipe that nobody reads stands in for a folder on a server that has gone: whoever opens it for writing waits.
TEST_F(ProfileStoreTest, AFolderThatHangsHoldsNoAnswer) {
  const auto store = Open();
  ASSERT_TRUE(store->Put(Profile("known", 1)).ok());
  const std::string pipe = absl::StrCat(options_.folder, "/slow.json.new");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::future<absl::Status> put =
      std::async(std::launch::async, [&] { return store->Put(Profile("slow", 2)).status(); });
  EXPECT_EQ(put.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  std::future<std::string> found = std::async(std::launch::async, [&] { return Found(*store); });
  EXPECT_EQ(found.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  std::ifstream reader(pipe);  // lets the writer go on
  const absl::Status status = put.get();
  EXPECT_EQ(ReasonOf(status), "STORE_DOWN") << status;  // a pipe cannot be synced
  EXPECT_EQ(found.get(), "known");
}

TEST_F(ProfileStoreTest, DevicesAreNamedAsTheCatalogueOfTheTimeNamesThem) {
  auto in_force = std::make_shared<const Catalog>(*Catalog::Builtin());
  const auto store = OpenProfileStore(
      "", absl::Hours(24), [&in_force] { return in_force; }, [](const std::string&) {});
  ASSERT_TRUE(store.ok()) << store.status();
  const auto name_of = [&](const std::string& name) {
    v1::HardwareProfile profile = Profile(name, 1);
    profile.set_device_name("Site GPU");
    const auto stored = (*store)->Put(profile);
    return stored.ok() ? stored->gpu() : std::string(stored.status().message());
  };
  EXPECT_EQ(name_of("before"), "");
  const CatalogFile files[] = {{"site.yaml", "gpus:\n  - {name: site, device_name: Site GPU}\n"}};
  in_force = std::make_shared<const Catalog>(*Catalog::WithOverlay(files));
  EXPECT_EQ(name_of("after"), "site");
}

TEST_F(ProfileStoreTest, AFolderThatCannotBeWrittenIsAnError) {
  std::ofstream(root_.File("state")) << "a file where the folder should be";
  options_.folder = root_.File("state/profiles");
  auto store = ProfileStore::Open(options_, [](const std::string&) {});
  ASSERT_FALSE(store.ok());  // ENOTDIR: it cannot be read
}

TEST(ReadLocalGpus, ReadsTheDriversFiles) {
  const TemporaryFolder folder;
  const std::string& root = folder.path();
  EXPECT_TRUE(ReadLocalGpus(root).uuids.empty());
  mkdir((root + "/gpus").c_str(), 0755);
  mkdir((root + "/gpus/0000:18:00.0").c_str(), 0755);
  std::ofstream(root + "/version")
      << "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"
         "GCC version:  gcc version 12.2.0\n";
  std::ofstream(root + "/gpus/0000:18:00.0/information")
      << "Model: \t\t NVIDIA H200\nIRQ:   \t\t 1\nGPU UUID: \t GPU-abc\n";
  const LocalGpus gpus = ReadLocalGpus(root);
  EXPECT_EQ(gpus.driver_version, "580.65.06");
  EXPECT_EQ(gpus.uuids, std::vector<std::string>{"GPU-abc"});
  [[maybe_unused]] const int gone = system(absl::StrCat("rm -rf ", root).c_str());
}

}  // namespace
}  // namespace flightplan::service
