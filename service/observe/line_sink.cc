#include "service/observe/line_sink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace flightplan::service {
namespace {

// A reader that takes nothing for so long is as good as gone.
constexpr int kStuckMs = 10'000;

int OpenToAppend(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640);
}

// Writes what it can: what is left goes into `text`. 0, or the error.
int WriteAll(int fd, absl::string_view* text) {
  while (!text->empty()) {
    const ssize_t n = ::write(fd, text->data(), text->size());
    if (n > 0) {
      text->remove_prefix(static_cast<size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      if (::poll(&room, 1, kStuckMs) == 0) return EAGAIN;
    } else if (n == 0 || errno != EINTR) {
      return n == 0 ? EIO : errno;
    }
  }
  return 0;
}

int64_t SteadySeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

LineSink::LineSink(int fd, size_t max_queued_bytes)
    : fd_(fd), max_queued_bytes_(max_queued_bytes), writer_([this] { Run(); }) {}

LineSink::LineSink(int fd, std::string path, OnLost on_lost)
    : fd_(fd), path_(std::move(path)), max_queued_bytes_(kQueuedBytes), on_lost_(std::move(on_lost)), writer_([this] {
        Run();
      }) {}

absl::Status LineSink::CheckAppend(const std::string& path) {
  int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) {
    // It would be made, where its folder lets this user.
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    fd = ::open(folder.empty() ? "." : folder.c_str(), O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && ::faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
      const int error = errno;
      ::close(fd);
      fd = -1;
      errno = error;
    }
  }
  if (fd < 0) return absl::FailedPreconditionError(absl::StrCat(path, ": ", std::strerror(errno)));
  ::close(fd);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LineSink>> LineSink::Append(const std::string& path, OnLost on_lost) {
  const int fd = OpenToAppend(path);
  if (fd < 0) return absl::FailedPreconditionError(absl::StrCat(path, ": ", std::strerror(errno)));
  return absl::WrapUnique(new LineSink(fd, path, std::move(on_lost)));
}

LineSink::~LineSink() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  writer_.join();
  if (!path_.empty()) ::close(fd_);
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
    ++asked_;
  }
  written_.fetch_add(1, std::memory_order_relaxed);
  wake_.notify_one();
  return true;
}

bool LineSink::Flush(absl::Duration at_most) {
  std::unique_lock<std::mutex> lock(mutex_);
  return idle_.wait_for(lock, absl::ToChronoNanoseconds(at_most), [this, asked = asked_] { return done_ >= asked; });
}

void LineSink::Reopen() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    reopen_ = true;
    ++asked_;
  }
  wake_.notify_one();
}

bool LineSink::IsAnotherFile() const {
  struct stat named {
  }, open{};
  if (::stat(path_.c_str(), &named) != 0) return errno == ENOENT;
  return ::fstat(fd_, &open) != 0 || named.st_ino != open.st_ino || named.st_dev != open.st_dev;
}

void LineSink::OpenAgain() {
  const int fd = path_.empty() ? -1 : OpenToAppend(path_);
  if (fd < 0) return;
  ::close(std::exchange(fd_, fd));
  torn_ = false;
}

void LineSink::WriteLines(absl::string_view lines) {
  if (!path_.empty() && SteadySeconds() != looked_at_s_) {
    looked_at_s_ = SteadySeconds();
    if (IsAnotherFile()) OpenAgain();
  }
  int error = 0;
  if (torn_) {  // no line is to look like a part of another
    absl::string_view end = "\n";
    error = WriteAll(fd_, &end);
    torn_ = error != 0;
  }
  const char* const begin = lines.data();
  if (error == 0) error = WriteAll(fd_, &lines);
  if (error != 0 && !lines.empty()) {
    torn_ = torn_ || (lines.data() != begin && lines.data()[-1] != '\n');
    const auto lost = static_cast<uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    lost_.fetch_add(lost, std::memory_order_relaxed);
    if (on_lost_) on_lost_(lost, error);
  } else if (failing_ && on_lost_) {
    on_lost_(0, 0);
  }
  failing_ = error != 0;
}

void LineSink::Run() {
  std::string batch;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || reopen_ || !queued_.empty(); });
    const bool reopen = std::exchange(reopen_, false);
    if (queued_.empty() && !reopen) return;
    batch.swap(queued_);
    const uint64_t asked = asked_;
    lock.unlock();
    if (reopen) OpenAgain();
    if (!batch.empty()) WriteLines(batch);
    batch.clear();
    lock.lock();
    done_ = asked;
    idle_.notify_all();
  }
}

}  // namespace flightplan::service
