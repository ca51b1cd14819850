#include "service/local/input_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"

namespace flightplan::service {
namespace {

constexpr size_t kReadBytes = size_t{16} << 10;  // scripts are small, and a batch reads thousands

absl::Status CannotRead(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
}

// "1 MiB", "64 KiB", "100 bytes".
std::string Size(size_t bytes) {
  constexpr struct {
    int shift;
    const char* unit;
  } kUnits[] = {{30, " GiB"}, {20, " MiB"}, {10, " KiB"}};
  for (const auto& row : kUnits) {
    const size_t unit = size_t{1} << row.shift;
    if (bytes >= unit && bytes % unit == 0) return absl::StrCat(bytes / unit, row.unit);
  }
  return absl::StrCat(bytes, " bytes");
}

// A pipe of the shell, such as <(...), has its writer already. One with a name may wait for it for ever.
bool IsNamedPipe(int fd, const struct stat& info) {
  struct statfs system {};
  return S_ISFIFO(info.st_mode) && (fstatfs(fd, &system) != 0 || system.f_type != PIPEFS_MAGIC);
}

absl::Status CheckKind(const std::string& path, int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return CannotRead(path);
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is a folder, not a file"));
  if (IsNamedPipe(fd, info)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a named pipe, not a file"));
  }
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0 ? absl::OkStatus() : CannotRead(path);
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  if (path == "-") return InputFile("standard input", STDIN_FILENO);
  // O_NONBLOCK: the opening of a pipe waits for its writer.
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return CannotRead(path);
  InputFile file(path, fd);
  FLIGHTPLAN_RETURN_IF_ERROR(CheckKind(path, fd));
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

InputFile::~InputFile() {
  if (fd_ > STDERR_FILENO) close(fd_);
}

absl::StatusOr<size_t> InputFile::Read(char* buffer, size_t size) {
  for (;;) {
    const ssize_t count = read(fd_, buffer, size);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno == EAGAIN) {  // standard input that another process made non-blocking
      pollfd readable{fd_, POLLIN, 0};
      (void)poll(&readable, 1, -1);
    } else if (errno != EINTR) {
      return CannotRead(path_);
    }
  }
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t limit) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  std::string text;
  char buffer[kReadBytes];
  for (;;) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const size_t count, file.Read(buffer, sizeof(buffer)));
    if (count == 0) return text;
    text.append(buffer, count);
    if (text.size() > limit) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is larger than ", Size(limit)));
    }
  }
}

LineReader::LineReader(InputFile file, size_t line_limit, size_t total_limit)
    : file_(std::move(file)), line_limit_(line_limit), total_limit_(total_limit) {}

absl::StatusOr<std::optional<absl::string_view>> LineReader::Next() {
  size_t searched = begin_;
  for (;;) {
    const size_t end = buffer_.find('\n', searched);
    const size_t length = std::min(end, buffer_.size()) - begin_;
    if (length > line_limit_) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_.path(), ": line ", number_ + 1, " is larger than ", Size(line_limit_)));
    }
    if (end != std::string::npos || (ended_ && length > 0)) {
      const absl::string_view line(buffer_.data() + begin_, length);
      begin_ = std::min(begin_ + length + 1, buffer_.size());
      ++number_;
      return std::optional<absl::string_view>(line);
    }
    if (ended_) return std::optional<absl::string_view>();
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    char piece[kReadBytes];
    FLIGHTPLAN_ASSIGN_OR_RETURN(const size_t count, file_.Read(piece, sizeof(piece)));
    ended_ = count == 0;
    total_ += count;
    if (total_ > total_limit_) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_.path(), " is larger than ", Size(total_limit_), ": line ", number_ + 1));
    }
    buffer_.append(piece, count);
  }
}

}  // namespace flightplan::service
