#include "service/line_sink.h"

#include <unistd.h>

#include <cerrno>

namespace flightplan::service {
namespace {

// A descriptor that fails for good (a closed pipe) loses its lines; there is nowhere to say so.
void WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR && errno != EAGAIN) {
      return;
    }
  }
}

}  // namespace

LineSink::LineSink(int fd, size_t max_queued_bytes)
    : fd_(fd), max_queued_bytes_(max_queued_bytes), writer_([this] { Run(); }) {}

LineSink::~LineSink() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  writer_.join();
}

bool LineSink::Write(absl::string_view line) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (queued_.size() + line.size() + 1 > max_queued_bytes_) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    queued_.append(line.data(), line.size());
    queued_.push_back('\n');
  }
  written_.fetch_add(1, std::memory_order_relaxed);
  wake_.notify_one();
  return true;
}

void LineSink::Flush() {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [this] { return queued_.empty() && !writing_; });
}

void LineSink::Run() {
  std::string batch;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queued_.empty(); });
    if (queued_.empty()) return;
    batch.swap(queued_);
    writing_ = true;
    lock.unlock();
    WriteAll(fd_, batch);
    batch.clear();
    lock.lock();
    writing_ = false;
    idle_.notify_all();
  }
}

}  // namespace flightplan::service
