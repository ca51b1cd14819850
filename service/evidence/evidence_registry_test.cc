#include "service/evidence/evidence_registry.h"

#include <condition_variable>
#include <future>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/base/reason.h"
#include "service/evidence/evidence_snapshot.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

// A store in memory that can be broken and shared.
struct Disk {
  std::mutex mutex;
  std::condition_variable changed;
  bool broken = false;
  bool stuck = false;  // Add waits while it is
  std::vector<EvidenceRecord> records;

  void Set(bool Disk::*what, bool value) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      this->*what = value;
    }
    changed.notify_all();
  }
};

class MemoryStore final : public EvidenceStore {
 public:
  explicit MemoryStore(std::shared_ptr<Disk> disk) : disk_(std::move(disk)) {}

  absl::StatusOr<std::vector<AddOutcome>> Add(absl::Span<const EvidenceRecord> records) override {
    std::unique_lock<std::mutex> lock(disk_->mutex);
    disk_->changed.wait(lock, [this] { return !disk_->stuck; });
    if (disk_->broken) return absl::UnavailableError("broken");
    std::vector<AddOutcome> outcomes;
    for (const EvidenceRecord& record : records) {
      disk_->records.push_back(record);
      disk_->records.back().revision = Revision();
      outcomes.push_back({AddResult::kAdded, Revision()});
    }
    return outcomes;
  }
  absl::StatusOr<EvidenceChanges> ReadChanges(int64_t revision, const Each& each) override {
    const std::lock_guard<std::mutex> lock(disk_->mutex);
    if (disk_->broken) return absl::UnavailableError("broken");
    EvidenceChanges changes;
    changes.revision = Revision();
    changes.reset = revision > Revision();
    for (const EvidenceRecord& record : disk_->records) {
      if (record.revision > (changes.reset ? 0 : revision)) each(record);
    }
    return changes;
  }
  absl::StatusOr<std::vector<EvidenceRecord>> AsOf(int64_t) override { return absl::UnimplementedError("AsOf"); }
  absl::StatusOr<int64_t> Prune(const PruneFilter&) override { return absl::UnimplementedError("Prune"); }
  absl::StatusOr<int64_t> Erase(const PruneFilter&) override { return absl::UnimplementedError("Erase"); }
  absl::Status WaitForChange(absl::Duration most) override {
    std::unique_lock<std::mutex> lock(disk_->mutex);
    disk_->changed.wait_for(lock, absl::ToChronoMilliseconds(std::min(most, absl::Milliseconds(5))));
    return disk_->broken ? absl::UnavailableError("broken") : absl::OkStatus();
  }

 private:
  int64_t Revision() const { return 1 + static_cast<int64_t>(disk_->records.size()); }
  const std::shared_ptr<Disk> disk_;
};

class EvidenceRegistryTest : public testing::Test {
 protected:
  using Stored = absl::StatusOr<std::pair<EvidenceRecord, AddOutcome>>;

  std::unique_ptr<EvidenceRegistry> Start() {
    EvidenceRegistry::Hooks hooks;
    hooks.open = [disk = disk_]() -> absl::StatusOr<std::unique_ptr<EvidenceStore>> {
      const std::lock_guard<std::mutex> lock(disk->mutex);
      if (disk->broken) return absl::UnavailableError("broken");
      return std::make_unique<MemoryStore>(disk);
    };
    hooks.entry = [](const EvidenceRecord& record) { return EntryOf(record, std::nullopt); };
    hooks.changed = [this](const absl::Status& why) { (why.ok() ? ups_ : downs_).fetch_add(1); };
    return std::make_unique<EvidenceRegistry>(std::move(hooks));
  }
  static std::future<Stored> Report(EvidenceRegistry* registry, const std::string& id, const std::string& tenant = "") {
    auto answer = std::make_shared<std::promise<Stored>>();
    registry->Report(
        tenant,
        [id](const EvidenceSnapshot&) -> absl::StatusOr<EvidenceRecord> {
          EvidenceRecord record;
          record.id = id;
          return record;
        },
        [answer](Stored stored) { answer->set_value(std::move(stored)); });
    return answer->get_future();
  }
  template <class Condition>
  static void Eventually(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  std::atomic<int> ups_{0}, downs_{0};
};

TEST_F(EvidenceRegistryTest, AReportIsInTheSnapshotWhenItIsAcknowledged) {
  const auto registry = Start();
  EXPECT_EQ(registry->Current()->version(), "1");
  for (int i = 0; i < 50; ++i) {
    const Stored stored = Report(registry.get(), absl::StrCat("r", i)).get();
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_NE(registry->Current()->Find(absl::StrCat("r", i)), nullptr);
    EXPECT_GE(registry->Current()->revision(), stored->second.revision);
  }
}

TEST_F(EvidenceRegistryTest, FollowsWhatOthersWrite) {
  const auto one = Start();
  const auto two = Start();
  ASSERT_TRUE(Report(one.get(), "a").get().ok());
  Eventually([&] { return two->Current()->Find("a") != nullptr; });
}

TEST_F(EvidenceRegistryTest, WithoutAStoreTheLastSnapshotStandsAndSaysSo) {
  const auto registry = Start();
  ASSERT_TRUE(Report(registry.get(), "a").get().ok());
  disk_->Set(&Disk::broken, true);
  Eventually([&] { return !registry->up(); });
  EXPECT_EQ(registry->Current()->version(), "2-stale");
  EXPECT_NE(registry->Current()->Find("a"), nullptr);
  const Stored refused = Report(registry.get(), "b").get();
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(refused.status()), "STORE_DOWN");
  EXPECT_GT(RetryDelay(refused.status()), absl::ZeroDuration());
  EXPECT_EQ(downs_, 1);
  disk_->Set(&Disk::broken, false);
  Eventually([&] { return registry->up(); });
  EXPECT_EQ(registry->Current()->version(), "2");
  EXPECT_TRUE(Report(registry.get(), "b").get().ok()) << "no restart is needed";
}

TEST_F(EvidenceRegistryTest, ARevisionThatComesBackWithOtherContentHasAnotherVersion) {
  const auto registry = Start();
  ASSERT_TRUE(Report(registry.get(), "a").get().ok());
  ASSERT_TRUE(Report(registry.get(), "b").get().ok());
  const std::string before = registry->Current()->version();
  {
    const std::lock_guard<std::mutex> lock(disk_->mutex);
    disk_->records.pop_back();  // put back from a copy
  }
  disk_->changed.notify_all();
  Eventually([&] { return registry->Current()->Find("b") == nullptr; });
  ASSERT_TRUE(Report(registry.get(), "c").get().ok());
  EXPECT_EQ(registry->Current()->revision(), 3);
  EXPECT_NE(registry->Current()->version(), before);
}

TEST_F(EvidenceRegistryTest, ReadAgainItHasAnotherVersion) {
  const auto registry = Start();
  ASSERT_TRUE(Report(registry.get(), "a").get().ok());
  const std::string before = registry->Current()->version();
  registry->ReadAgain([] {});
  EXPECT_EQ(registry->Current()->revision(), 2);
  EXPECT_NE(registry->Current()->version(), before);
}

TEST_F(EvidenceRegistryTest, StartsWithoutAStore) {
  disk_->broken = true;
  const auto registry = Start();
  EXPECT_FALSE(registry->up());
  EXPECT_EQ(registry->Current()->version(), "1-stale");
  EXPECT_EQ(downs_, 1) << "said once";
  disk_->Set(&Disk::broken, false);
  Eventually([&] { return registry->up(); });
}

TEST_F(EvidenceRegistryTest, RefusesWhatItCannotQueue) {
  const auto registry = Start();
  disk_->Set(&Disk::stuck, true);
  std::vector<std::future<Stored>> answers;
  size_t refused = 0;
  // One commit is in the writer's hands at most, the rest waits.
  for (size_t i = 0; i < kMaxQueuedReports + kMaxReportsPerCommit + 1; ++i) {
    answers.push_back(Report(registry.get(), absl::StrCat(i)));
  }
  disk_->Set(&Disk::stuck, false);
  for (auto& answer : answers) {
    const Stored stored = answer.get();
    if (stored.ok()) continue;
    ++refused;
    EXPECT_EQ(stored.status().code(), absl::StatusCode::kResourceExhausted) << stored.status();
    EXPECT_GT(RetryDelay(stored.status()), absl::ZeroDuration());
  }
  EXPECT_GE(refused, 1u);
  EXPECT_LE(refused, kMaxReportsPerCommit + 1) << "as many as the queue holds were taken";
}

TEST_F(EvidenceRegistryTest, ATenantLeavesOthersTheirTurn) {
  const auto registry = Start();
  disk_->Set(&Disk::stuck, true);
  std::vector<std::future<Stored>> loud;
  size_t refused = 0;
  for (size_t i = 0; i < kMaxQueuedReports; ++i) loud.push_back(Report(registry.get(), absl::StrCat(i), "loud"));
  std::future<Stored> quiet = Report(registry.get(), "quiet", "quiet");
  disk_->Set(&Disk::stuck, false);
  const Stored stored = quiet.get();
  ASSERT_TRUE(stored.ok()) << stored.status();
  for (auto& answer : loud) refused += answer.get().ok() ? 0 : 1;
  EXPECT_GE(refused, kMaxQueuedReports - kMaxQueuedReports / kTenantShare - kMaxReportsPerCommit);
  // In the commit behind the one that was under way, however many wait.
  EXPECT_LE(stored->second.revision, 2 + 2 * static_cast<int64_t>(kMaxReportsPerCommit));
}

TEST_F(EvidenceRegistryTest, WhatWaitsAtTheEndIsAnswered) {
  auto registry = Start();
  disk_->Set(&Disk::stuck, true);
  std::vector<std::future<Stored>> answers;
  answers.reserve(10);
  for (int i = 0; i < 10; ++i) answers.push_back(Report(registry.get(), absl::StrCat(i)));
  std::thread end([&] { registry.reset(); });
  disk_->Set(&Disk::stuck, false);
  for (auto& answer : answers) {
    const Stored stored = answer.get();
    EXPECT_TRUE(stored.ok() || ReasonOf(stored.status()) == "STORE_DOWN") << stored.status();
  }
  end.join();
}

TEST_F(EvidenceRegistryTest, AReportThatIsNonsenseHoldsUpNoOther) {
  const auto registry = Start();
  disk_->Set(&Disk::stuck, true);
  auto first = Report(registry.get(), "first");
  auto bad = std::make_shared<std::promise<Stored>>();
  registry->Report(
      "", [](const EvidenceSnapshot&) { return absl::InvalidArgumentError("nonsense"); },
      [bad](Stored stored) { bad->set_value(std::move(stored)); });
  auto last = Report(registry.get(), "last");
  disk_->Set(&Disk::stuck, false);
  EXPECT_TRUE(first.get().ok());
  EXPECT_EQ(bad->get_future().get().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(last.get().ok());
}

}  // namespace
}  // namespace flightplan::service
