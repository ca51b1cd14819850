#include "service/evidence/evidence_registry.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

using Clock = std::chrono::steady_clock;

// Between tries to reach a store that is down: soon after it went, then less often.
constexpr std::chrono::milliseconds kFirstRetry{100};
constexpr std::chrono::milliseconds kLastRetry{1000};
// A connection that is dead fails at once; what takes longer is a store in trouble.
constexpr std::chrono::milliseconds kAtOnce{500};
// Of a commit, however many steps it has and however slow each is: reports wait behind it.
constexpr absl::Duration kCommitLimit = absl::Seconds(5);
constexpr absl::Duration kComeBackAfter = absl::Seconds(1);

}  // namespace

absl::Status StoreDown(absl::string_view why) {
  return WithRetry(WithReason(absl::UnavailableError(absl::StrCat(why, "; resolving goes on")), "STORE_DOWN"),
                   kComeBackAfter);
}

EvidenceRegistry::EvidenceRegistry(Hooks hooks)
    : hooks_(std::move(hooks)),
      current_(std::make_shared<const EvidenceSnapshot>(kEmptyEvidenceRevision, /*stale=*/true,
                                                        std::vector<EvidenceSnapshot::EntryPtr>())),
      writer_([this] { Write(); }),
      follower_([this] { Follow(); }) {
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait_for(lock, absl::ToChronoMilliseconds(kFirstSnapshotLimit), [this] { return first_try_over_; });
}

EvidenceRegistry::~EvidenceRegistry() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  writer_.join();
  follower_.join();
  for (auto& [unused, reports] : waiting_) {
    for (Waiting& report : reports) report.done(StoreDown("the server stops"));
  }
}

void EvidenceRegistry::Report(absl::string_view tenant, Prepare prepare, Done done) {
  if (!up()) return done(StoreDown("the evidence store does not answer"));
  bool stopping = false;
  size_t own = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping = stopping_;
    const auto known = waiting_.find(tenant);
    own = known == waiting_.end() ? 0 : known->second.size();
    const bool has_share = tenant.empty() || own < kMaxQueuedReports / kTenantShare;
    if (!stopping && has_share && waiting_count_ < kMaxQueuedReports) {
      waiting_[std::string(tenant)].push_back({std::move(prepare), std::move(done)});
      ++waiting_count_;
      done = nullptr;
    }
  }
  if (done == nullptr) return wake_.notify_all();
  if (stopping) return done(StoreDown("the server stops"));
  const std::string whose = tenant.empty() ? "" : absl::StrCat(", ", own, " of them of ", tenant);
  done(WithRetry(absl::ResourceExhaustedError(absl::StrCat("as many reports wait as may", whose)), kComeBackAfter));
}

template <class Operation>
auto EvidenceRegistry::Timed(const char* op, Operation operation) {
  const Clock::time_point start = Clock::now();
  auto result = operation();
  hooks_.observed(op, std::chrono::duration<double>(Clock::now() - start).count(), result.ok());
  return result;
}

absl::Status EvidenceRegistry::Connect(std::unique_ptr<EvidenceStore>* store) {
  if (*store != nullptr) return absl::OkStatus();
  auto opened = Timed("connect", [this] { return hooks_.open(); });
  if (!opened.ok()) return opened.status();
  *store = *std::move(opened);
  return absl::OkStatus();
}

// Brings the snapshot up to what the store holds now.
absl::Status EvidenceRegistry::CatchUp(EvidenceStore* store) {
  const std::lock_guard<std::mutex> lock(publish_mutex_);
  const std::shared_ptr<const EvidenceSnapshot> before = Current();
  std::vector<EvidenceSnapshot::EntryPtr> entries;
  auto changes = Timed("load", [&] {
    return store->ReadChanges(before->revision(),
                              [&](const EvidenceRecord& record) { entries.push_back(hooks_.entry(record)); });
  });
  if (!changes.ok()) return changes.status();
  if (changes->revision == before->revision() && !changes->reset && !before->stale()) return absl::OkStatus();
  if (!changes->reset) entries.insert(entries.begin(), before->entries().begin(), before->entries().end());
  const int64_t reading = before->reading() + (changes->reset ? 1 : 0);
  Publish(std::make_shared<const EvidenceSnapshot>(changes->revision, /*stale=*/false, std::move(entries), reading));
  return absl::OkStatus();
}

void EvidenceRegistry::ReadAgain(const std::function<void()>& before) {
  const std::lock_guard<std::mutex> lock(publish_mutex_);
  before();
  const std::shared_ptr<const EvidenceSnapshot> now = Current();
  std::vector<EvidenceSnapshot::EntryPtr> entries;
  entries.reserve(now->entries().size());
  for (const EvidenceSnapshot::EntryPtr& entry : now->entries()) {
    EvidenceRecord record;
    record.id = entry->id();
    record.revision = entry->revision();
    record.content = entry->content;
    record.gpu = entry->report.run->gpu;
    record.model = entry->report.run->model;
    record.tenant = entry->report.tenant;
    entries.push_back(hooks_.entry(record));
  }
  Publish(
      std::make_shared<const EvidenceSnapshot>(now->revision(), now->stale(), std::move(entries), now->reading() + 1));
}

void EvidenceRegistry::Publish(std::shared_ptr<const EvidenceSnapshot> snapshot) {
  const std::lock_guard<std::mutex> lock(current_mutex_);
  current_.swap(snapshot);
}

void EvidenceRegistry::SetUp(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(publish_mutex_);
  const std::shared_ptr<const EvidenceSnapshot> now = Current();
  if (now->stale() == status.ok()) {  // the answers say so
    Publish(std::make_shared<const EvidenceSnapshot>(now->revision(), !status.ok(), now->entries(), now->reading()));
  }
  if (up_.exchange(status.ok()) != status.ok()) hooks_.changed(status);
}

void EvidenceRegistry::Follow() {
  std::unique_ptr<EvidenceStore> store;
  std::chrono::milliseconds retry = kFirstRetry;
  bool told = false;  // that the store is down, when it was never up
  for (;;) {
    absl::Status status = Connect(&store);
    if (status.ok())
      status = Timed("wait", [&] { return store->WaitForChange(up() ? kFollowEvery : absl::ZeroDuration()); });
    if (status.ok()) status = CatchUp(store.get());
    if (!status.ok()) store.reset();
    if (!status.ok() && !up() && !told) hooks_.changed(status);
    told = !status.ok();
    SetUp(status);
    std::unique_lock<std::mutex> lock(mutex_);
    first_try_over_ = true;
    wake_.notify_all();
    if (status.ok()) retry = kFirstRetry;
    if (!status.ok()) {
      wake_.wait_for(lock, retry, [this] { return stopping_; });
      retry = std::min(2 * retry, kLastRetry);
    }
    if (stopping_) return;
  }
}

void EvidenceRegistry::Write() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    std::vector<Waiting> batch = TakeBatch();
    lock.unlock();
    WriteBatch(std::move(batch));
    lock.lock();
  }
}

// One of each tenant in turn; the first is the one behind the last of the batch before, so that nobody's name helps.
std::vector<EvidenceRegistry::Waiting> EvidenceRegistry::TakeBatch() {
  std::vector<Waiting> batch;
  while (!waiting_.empty() && batch.size() < kMaxReportsPerCommit) {
    auto reports = waiting_.upper_bound(last_served_);
    if (reports == waiting_.end()) reports = waiting_.begin();
    batch.push_back(std::move(reports->second.front()));
    reports->second.pop_front();
    last_served_ = reports->first;
    if (reports->second.empty()) waiting_.erase(reports);
  }
  waiting_count_ -= batch.size();
  return batch;
}

absl::Status EvidenceRegistry::Commit(const std::vector<EvidenceRecord>& records, std::vector<AddOutcome>* outcomes) {
  FLIGHTPLAN_RETURN_IF_ERROR(Connect(&writing_));
  writing_->EndWithin(kCommitLimit);
  auto added = Timed("add", [&] { return writing_->Add(records); });
  if (!added.ok()) return added.status();
  *outcomes = *std::move(added);
  return CatchUp(writing_.get());
}

void EvidenceRegistry::RefuseWaiting() {
  decltype(waiting_) waiting;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting.swap(waiting_);
    waiting_count_ = 0;
  }
  for (auto& [unused, reports] : waiting) {
    for (Waiting& report : reports) report.done(StoreDown("the evidence store does not answer"));
  }
}

void EvidenceRegistry::WriteBatch(std::vector<Waiting> batch) {
  std::vector<EvidenceRecord> records;
  std::vector<Done> accepted;
  const std::shared_ptr<const EvidenceSnapshot> snapshot = Current();
  for (Waiting& report : batch) {
    absl::StatusOr<EvidenceRecord> record = report.prepare(*snapshot);
    if (record.ok()) {
      records.push_back(*std::move(record));
      accepted.push_back(std::move(report.done));
    } else {
      report.done(record.status());
    }
  }
  if (records.empty()) return;
  std::vector<AddOutcome> outcomes;
  const bool old_connection = writing_ != nullptr;
  const Clock::time_point start = Clock::now();
  absl::Status status = Commit(records, &outcomes);
  if (!status.ok() && old_connection && Clock::now() - start < kAtOnce) {
    writing_.reset();  // the store may have restarted since the last report
    status = Commit(records, &outcomes);
  }
  if (!status.ok()) {
    writing_.reset();
    SetUp(status);
    for (const Done& done : accepted) done(StoreDown("the evidence store did not take the report"));
    RefuseWaiting();  // they would wait for as long
    return;
  }
  for (size_t i = 0; i < accepted.size(); ++i) accepted[i](std::make_pair(std::move(records[i]), outcomes[i]));
}

}  // namespace flightplan::service
