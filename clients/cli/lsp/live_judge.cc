#include "clients/cli/lsp/live_judge.h"

#include <utility>

namespace flightplan::cli {

LiveJudge::LiveJudge(std::shared_ptr<Backend> backend, Publish publish)
    : backend_(std::move(backend)), publish_(std::move(publish)) {
  settings_.stack.target.clear();
  thread_ = std::thread([this] { Work(); });
}

LiveJudge::~LiveJudge() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  change_.notify_all();
  thread_.join();
}

void LiveJudge::Touch(Entry* entry) {
  entry->document.generation = ++generation_;
  entry->due = Clock::now() + std::chrono::milliseconds(settings_.debounce_ms);
  change_.notify_all();
}

bool LiveJudge::Put(Document document) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool known = entries_.count(document.uri) > 0;
  if (document.text.size() > kMaxTextBytes || (!known && entries_.size() >= kMaxDocuments)) return false;
  Entry& entry = entries_[document.uri];
  entry.document = std::move(document);
  entry.lines.reset();
  Touch(&entry);
  entry.due = Clock::now();  // nobody is typing yet
  return true;
}

bool LiveJudge::Change(const std::string& uri, int64_t version, const Edit& change) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto it = entries_.find(uri);
  if (it == entries_.end()) return false;
  std::optional<TextLines>& lines = it->second.lines;
  if (!lines.has_value()) lines.emplace(it->second.document.text);
  change(&it->second.document.text, &*lines);
  it->second.document.version = version;
  if (it->second.document.text.size() <= kMaxTextBytes) {
    Touch(&it->second);
    return true;
  }
  lock.unlock();
  Close(uri);  // what is not kept cannot be changed further
  return false;
}

void LiveJudge::Close(const std::string& uri) {
  Document closed;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = entries_.find(uri);
    if (it == entries_.end()) return;
    closed = std::move(it->second.document);
    entries_.erase(it);
  }
  publish_(closed, Judgement());  // which takes its diagnostics away
}

void LiveJudge::Configure(const LspSettings& settings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  settings_ = settings;
  for (auto& [uri, entry] : entries_) Touch(&entry);
}

std::optional<Document> LiveJudge::Get(const std::string& uri) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = entries_.find(uri);
  return it == entries_.end() ? std::nullopt : std::make_optional(it->second.document);
}

LspSettings LiveJudge::settings() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return settings_;
}

std::shared_ptr<const Judgement> LiveJudge::Latest(const std::string& uri) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = entries_.find(uri);
  return it == entries_.end() ? nullptr : it->second.judgement;
}

std::optional<std::string> LiveJudge::NextDue(Clock::time_point* when) const {
  std::optional<std::string> next;
  for (const auto& [uri, entry] : entries_) {
    if (!entry.due.has_value() || (next.has_value() && *entry.due >= *when)) continue;
    next = uri;
    *when = *entry.due;
  }
  return next;
}

void LiveJudge::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_) {
    Clock::time_point when;
    const std::optional<std::string> uri = NextDue(&when);
    if (!uri.has_value()) {
      change_.wait(lock);
      continue;
    }
    if (!hurry_ && Clock::now() < when) {
      change_.wait_until(lock, when);
      continue;
    }
    Entry& entry = entries_[*uri];
    entry.due.reset();
    const Document document = entry.document;
    const LspSettings settings = settings_;
    busy_ = true;
    lock.unlock();
    const auto judgement = std::make_shared<const Judgement>(JudgeDocument(document, settings, *backend_));
    lock.lock();
    const auto it = entries_.find(*uri);
    const bool current = it != entries_.end() && it->second.document.generation == document.generation;
    if (it != entries_.end()) it->second.judgement = judgement;
    // Under the lock: a document that is closed now must not get diagnostics after those that took them away.
    if (current) publish_(document, *judgement);
    busy_ = false;
    change_.notify_all();
  }
}

void LiveJudge::Finish() {
  std::unique_lock<std::mutex> lock(mutex_);
  hurry_ = true;
  change_.notify_all();
  Clock::time_point ignored;
  while (busy_ || NextDue(&ignored).has_value()) change_.wait(lock);
}

}  // namespace flightplan::cli
