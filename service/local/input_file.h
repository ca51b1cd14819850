// Reads files that users name, within a bound: a file that never ends (/dev/zero) or never begins (a named pipe without
// a writer) is an error with a clear message, not a process that grows or hangs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flightplan::service {

// An open file, read once from its start. Errors are INVALID_ARGUMENT and name the file as it was given.
class InputFile {
 public:
  // "-": standard input, left open at the end. Files, devices and the shell's <(...) are opened; folders and named
  // pipes are refused. Does not wait.
  static absl::StatusOr<InputFile> Open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  // Up to `size` bytes, at least one; 0 at the end.
  absl::StatusOr<size_t> Read(char* buffer, size_t size);
  const std::string& path() const { return path_; }

 private:
  InputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
};

// The whole of `path`, "-" for standard input. What is larger than `limit` is an error: "PATH is larger than 1 MiB".
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t limit);

// Lines without their ends. Keeps one line in memory.
class LineReader {
 public:
  // A line longer than `line_limit`, or more than `total_limit` bytes in all, is an error.
  LineReader(InputFile file, size_t line_limit, size_t total_limit);

  // nullopt at the end. The view holds until the next call.
  absl::StatusOr<std::optional<absl::string_view>> Next();
  int number() const { return number_; }  // of the line that Next returned last, from 1

 private:
  InputFile file_;
  const size_t line_limit_, total_limit_;
  std::string buffer_;
  size_t begin_ = 0;  // of what is not returned yet
  size_t total_ = 0;  // bytes read
  int number_ = 0;
  bool ended_ = false;
};

}  // namespace flightplan::service
