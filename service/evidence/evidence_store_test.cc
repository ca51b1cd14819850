// What both backends must do, on real ones.
#include <stdlib.h>
#include <sys/stat.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "service/evidence/evidence_location.h"
#include "service/evidence/sqlite_evidence_store.h"
#include "service/testing/postgres.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::service {
namespace {

class EvidenceStoreTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("postgres")) {
      location_ = TestPostgres::NewDatabase();
      if (location_.empty()) GTEST_SKIP() << "skipped: no PostgreSQL server is installed";
    } else {
      location_ = absl::StrCat("sqlite:", folder_.File("evidence.db"));
    }
    store_ = Open();
  }
  std::unique_ptr<EvidenceStore> Open() {
    auto store = OpenEvidenceStore(location_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  static EvidenceRecord Record(const std::string& id, const std::string& content = "content") {
    EvidenceRecord record;
    record.id = id;
    record.digest = "digest of " + content;
    record.content = content + std::string("\0\xff'\\", 4);  // bytes, not text
    record.gpu = "h100-sxm";
    record.model = "deepseek-v3";
    record.metric = "step_time_us";
    record.tenant = "t";
    record.received_us = 1000;
    return record;
  }
  AddOutcome Add(const EvidenceRecord& record) {
    const auto outcomes = store_->Add({record});
    EXPECT_TRUE(outcomes.ok()) << outcomes.status();
    return outcomes.ok() ? outcomes->at(0) : AddOutcome();
  }
  static std::string Ids(const std::vector<EvidenceRecord>& records) {
    std::string ids;
    for (const EvidenceRecord& record : records) absl::StrAppend(&ids, record.id, "@", record.revision, " ");
    return ids;
  }
  std::string AsOf(int64_t revision) {
    const auto records = store_->AsOf(revision);
    return records.ok() ? Ids(*records) : std::string(records.status().message());
  }

  const TemporaryFolder folder_;
  std::string location_;
  std::unique_ptr<EvidenceStore> store_;
};

TEST_P(EvidenceStoreTest, StartsEmptyAtRevisionOne) {
  const auto changes = store_->ChangesSince(1);
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_EQ(changes->revision, 1);
  EXPECT_FALSE(changes->reset);
  EXPECT_TRUE(changes->records.empty());
}

TEST_P(EvidenceStoreTest, KeepsEveryFieldAndByte) {
  const EvidenceRecord in = Record("a");
  EXPECT_EQ(Add(in).revision, 2);
  store_ = Open();  // from the disk
  const auto changes = store_->ChangesSince(1);
  ASSERT_TRUE(changes.ok()) << changes.status();
  ASSERT_EQ(changes->records.size(), 1u);
  const EvidenceRecord& out = changes->records[0];
  EXPECT_EQ(out.id, in.id);
  EXPECT_EQ(out.digest, in.digest);
  EXPECT_EQ(out.content, in.content);
  EXPECT_EQ(out.gpu, in.gpu);
  EXPECT_EQ(out.model, in.model);
  EXPECT_EQ(out.metric, in.metric);
  EXPECT_EQ(out.tenant, in.tenant);
  EXPECT_EQ(out.received_us, in.received_us);
  EXPECT_EQ(out.revision, 2);
}

TEST_P(EvidenceStoreTest, TheSameContentAgainIsFineAndOtherContentIsNot) {
  EXPECT_EQ(Add(Record("a")).result, AddResult::kAdded);
  const AddOutcome again = Add(Record("a"));
  EXPECT_EQ(again.result, AddResult::kSame);
  EXPECT_EQ(again.revision, 2);
  const AddOutcome other = Add(Record("a", "other"));
  EXPECT_EQ(other.result, AddResult::kConflict);
  const auto changes = store_->ChangesSince(1);
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(changes->revision, 2) << "nothing was changed by either";
  EXPECT_EQ(changes->records[0].content, Record("a").content);
}

TEST_P(EvidenceStoreTest, OneBatchIsJudgedRecordByRecord) {
  const auto outcomes = store_->Add({Record("a"), Record("a"), Record("a", "other"), Record("b")});
  ASSERT_TRUE(outcomes.ok()) << outcomes.status();
  EXPECT_EQ((*outcomes)[0].result, AddResult::kAdded);
  EXPECT_EQ((*outcomes)[1].result, AddResult::kSame);
  EXPECT_EQ((*outcomes)[2].result, AddResult::kConflict);
  EXPECT_EQ((*outcomes)[3].result, AddResult::kAdded);
  EXPECT_EQ((*outcomes)[3].revision, 3);
}

TEST_P(EvidenceStoreTest, AnotherConnectionSeesWhatIsNew) {
  const auto other = Open();
  ASSERT_TRUE(other->WaitForChange(absl::ZeroDuration()).ok());
  Add(Record("a"));
  Add(Record("b"));
  ASSERT_TRUE(other->WaitForChange(absl::Seconds(10)).ok());
  const auto changes = other->ChangesSince(2);
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(Ids(changes->records), "b@3 ");
  EXPECT_FALSE(changes->reset);
}

TEST_P(EvidenceStoreTest, WhatIsPrunedLeavesLaterSnapshotsButNotThePast) {
  EvidenceRecord old = Record("old");
  old.received_us = 10;
  Add(old);
  Add(Record("new"));
  PruneFilter filter;
  filter.received_before_us = 1000;
  const auto pruned = store_->Prune(filter);
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_EQ(*pruned, 1);
  const auto changes = store_->ChangesSince(3);
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(changes->revision, 4);
  EXPECT_TRUE(changes->reset);
  EXPECT_EQ(Ids(changes->records), "new@3 ");
  EXPECT_EQ(AsOf(3), "old@2 new@3 ");
  EXPECT_EQ(AsOf(4), "new@3 ");
  EXPECT_EQ(AsOf(1), "");
  EXPECT_NE(AsOf(5).find("the store has 1 to 4"), std::string::npos) << AsOf(5);
  EXPECT_EQ(Add(old).result, AddResult::kSame) << "a pruned id stays taken";
  EXPECT_TRUE(Add(old).taken_out);
  EXPECT_FALSE(Add(Record("new")).taken_out);

  const auto erased = store_->Erase({});
  ASSERT_TRUE(erased.ok()) << erased.status();
  EXPECT_EQ(*erased, 1);
  EXPECT_EQ(AsOf(4), "new@3 ");
  EXPECT_NE(AsOf(3).find("the store has 4 to 4"), std::string::npos) << AsOf(3);
}

TEST_P(EvidenceStoreTest, ErasesWhatIsAskedForAndLeavesTheRestToThePast) {
  ASSERT_TRUE(store_->Add({Record("a"), Record("b"), Record("c")}).ok());
  PruneFilter first, second;
  first.ids = {"a"};
  second.ids = {"b", "c"};
  ASSERT_EQ(*store_->Prune(first), 1);
  ASSERT_EQ(*store_->Prune(second), 2);
  EXPECT_EQ(*store_->Erase(first), 1);
  EXPECT_EQ(AsOf(5), "b@3 c@4 ") << "what was taken out after the first is there yet";
  EXPECT_NE(AsOf(4).find("the store has 5 to 6"), std::string::npos) << AsOf(4);
  EXPECT_EQ(*store_->Erase({}), 2);
}

TEST_P(EvidenceStoreTest, PrunesByWhatIsAskedForAndNothingElse) {
  EvidenceRecord other = Record("b");
  other.gpu = "b200-sxm";
  other.tenant = "x' OR '1'='1";
  ASSERT_TRUE(store_->Add({Record("a"), other, Record("c")}).ok());
  PruneFilter filter;
  filter.tenant = "nobody' OR '1'='1";
  EXPECT_EQ(*store_->Prune(filter), 0);
  filter = PruneFilter();
  filter.gpu = "b200-sxm";
  EXPECT_EQ(*store_->Prune(filter), 1);
  filter = PruneFilter();
  filter.ids = {"c", "unknown"};
  EXPECT_EQ(*store_->Prune(filter), 1);
  EXPECT_EQ(store_->ChangesSince(1)->revision, 6);
  EXPECT_EQ(Ids(store_->ChangesSince(1)->records), "a@2 ");
}

TEST_P(EvidenceStoreTest, WritersAtTheSameTimeGetRevisionsOfTheirOwn) {
  constexpr int kWriters = 4, kEach = 25;
  std::vector<std::thread> writers;
  writers.reserve(kWriters);
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([this, w] {
      const auto store = Open();
      for (int i = 0; i < kEach; ++i) {
        const auto outcomes = store->Add({Record(absl::StrCat(w, "-", i))});
        EXPECT_TRUE(outcomes.ok()) << outcomes.status();
      }
    });
  }
  // A reader that follows sees every revision once, in order, and none appears behind its back.
  int64_t seen = 1, count = 0;
  while (seen < 1 + kWriters * kEach) {
    const auto changes = store_->ChangesSince(seen);
    ASSERT_TRUE(changes.ok()) << changes.status();
    for (const EvidenceRecord& record : changes->records) EXPECT_EQ(record.revision, ++seen);
    count += static_cast<int64_t>(changes->records.size());
    EXPECT_EQ(changes->revision, seen);
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(count, kWriters * kEach);
}

INSTANTIATE_TEST_SUITE_P(Backends, EvidenceStoreTest, testing::Values("sqlite", "postgres"),
                         [](const auto& backend) { return std::string(backend.param); });

TEST(SqliteEvidenceStore, RefusesTheFileOfAnotherProgram) {
  const TemporaryFolder folder;
  const std::string path = folder.File("other.db");
  ASSERT_EQ(std::system(absl::StrCat("echo 'this is a text, not a database of any kind' > ", path).c_str()), 0);
  EXPECT_FALSE(OpenSqliteEvidenceStore(path).ok());
  const auto status = OpenSqliteEvidenceStore("/no/such/folder/evidence.db").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("/no/such/folder/evidence.db"), std::string::npos) << status;
}

TEST(SqliteEvidenceStore, IsNotMadeForAReader) {
  const TemporaryFolder folder;
  const std::string path = folder.File("misspelt.db");
  const auto status = OpenEvidenceStore("sqlite:" + path, IfMissing::kRefuse).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find(path), std::string::npos) << status;
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  ASSERT_TRUE(OpenEvidenceStore("sqlite:" + path).ok());
  EXPECT_TRUE(OpenEvidenceStore("sqlite:" + path, IfMissing::kRefuse).ok());
}

TEST(SqliteEvidenceStore, OnlyItsOwnerCanReadTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.File("evidence.db");
  ASSERT_TRUE(OpenSqliteEvidenceStore(path).ok());
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST(PostgresEvidenceStore, SaysWhoDoesNotAnswer) {
  const auto status = OpenEvidenceStore("postgresql://user@/db?host=/no/such/folder").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("/no/such/folder"), std::string::npos) << status;
}

TEST(EvidenceLocation, KnowsWhatItCanOpen) {
  for (const char* fine : {"auto", "off", "sqlite:/a/b.db", "postgresql://u@h/d", "postgres://h/d?sslmode=require"}) {
    EXPECT_TRUE(CheckEvidenceLocation(fine).ok()) << fine;
  }
  for (const char* wrong : {"", "on", "sqlite:b.db", "mysql://h/d", "/a/b.db"}) {
    EXPECT_FALSE(CheckEvidenceLocation(wrong).ok()) << wrong;
  }
}

TEST(EvidenceLocation, ShowsNoPassword) {
  EXPECT_EQ(ShownEvidenceLocation("postgresql://u:s3cr@t@h:5432/d?sslmode=require"), "postgresql://u:***@h:5432/d");
  EXPECT_EQ(ShownEvidenceLocation("postgresql://u@h/d?password=s3cret"), "postgresql://u@h/d");
  EXPECT_EQ(ShownEvidenceLocation("postgresql://h:5432/d"), "postgresql://h:5432/d");
  EXPECT_EQ(ShownEvidenceLocation("sqlite:/a:b@c.db"), "sqlite:/a:b@c.db");
  EXPECT_TRUE(HasPassword("postgresql://u:p@h/d"));
  EXPECT_TRUE(HasPassword("postgresql://u@h/d?sslmode=require&password=p"));
  EXPECT_FALSE(HasPassword("postgresql://u@h:5432/d?sslmode=require"));
}

}  // namespace
}  // namespace flightplan::service
