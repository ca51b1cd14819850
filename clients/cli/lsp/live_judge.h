// Keeps the open documents and judges each on a thread of its own after it changed. Newer text supersedes what is being
// judged: the answer to older text is not shown.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "clients/cli/backend.h"
#include "clients/cli/lsp/document.h"
#include "clients/cli/lsp/text_lines.h"

namespace flightplan::cli {

class LiveJudge {
 public:
  static constexpr size_t kMaxDocuments = 256;
  static constexpr size_t kMaxTextBytes = size_t{4} << 20;  // of one; what is above 1 MiB is not judged

  // Gets each answer with the document that it is about; from the judge's thread, or from the one that closes.
  using Publish = std::function<void(const Document& document, const Judgement& judgement)>;
  LiveJudge(std::shared_ptr<Backend> backend, Publish publish);
  ~LiveJudge();

  // False: there are too many, or it is too long.
  bool Put(Document document);
  // The text is given to `change`, which edits it, with its lines, which follow; false: the document is not open, or is
  // no longer for its length.
  using Edit = std::function<void(std::string* text, TextLines* lines)>;
  bool Change(const std::string& uri, int64_t version, const Edit& change);
  void Close(const std::string& uri);
  void Configure(const LspSettings& settings);

  std::optional<Document> Get(const std::string& uri) const;
  LspSettings settings() const;
  // The newest answer, which may be about older text; null: none yet.
  std::shared_ptr<const Judgement> Latest(const std::string& uri) const;
  // Waits until all that changed is judged.
  void Finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    Document document;
    std::optional<TextLines> lines;        // of its text, once it was changed
    std::optional<Clock::time_point> due;  // when to judge it; unset: it is judged
    std::shared_ptr<const Judgement> judgement;
  };
  void Work();
  void Touch(Entry* entry);
  std::optional<std::string> NextDue(Clock::time_point* when) const;

  const std::shared_ptr<Backend> backend_;
  const Publish publish_;
  mutable std::mutex mutex_;
  std::condition_variable change_;
  std::map<std::string, Entry> entries_;
  LspSettings settings_;
  uint64_t generation_ = 0;
  bool busy_ = false;
  bool hurry_ = false;  // nothing more is to come: no rest
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace flightplan::cli
